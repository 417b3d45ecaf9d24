"""``python -m solver``."""

import gc
import sys

from solver.cli import main

if __name__ == "__main__":
    gc.set_threshold(
        200_000, 20, 20
    )  # a short run over many small, long-lived nodes: collecting early finds nothing
    sys.exit(main())
