"""``python -m dynamo_lite``: the command ``dynamo-lite``."""

import sys

from dynamo_lite.cli import main

if __name__ == "__main__":
    sys.exit(main())
