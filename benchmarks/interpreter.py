"""How much slower than CPython the interpreter runs plain Python, both timed in one process.

``python -m benchmarks.interpreter`` prints a table: CPython's time, the interpreter's (medians of processor time, warm), the first
interpreted run (with decoding), the ratio, and the geometric mean of the ratios. Where PyTorch and transformers are installed, a forward of theirs
over stubs of tensors is one of the programs.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from benchmarks.interpreter_programs import PROGRAMS
from dynamo_lite.strict.interpret import interpret


def seconds(fn: Callable[[int], Any], size: int) -> float:
    start = time.process_time()
    fn(size)
    return time.process_time() - start


def measure(fn: Callable[[int], Any], size: int, repeats: int) -> tuple[float, float, float]:
    """CPython's median, the interpreter's first run, the interpreter's median."""
    run = interpret(fn)
    start = time.process_time()
    result = run(size)
    first = time.process_time() - start
    if result != fn(size):
        raise AssertionError(f"{fn.__name__}: the interpreter computes {result!r}, CPython {fn(size)!r}")
    native = statistics.median(seconds(fn, size) for _ in range(4 * repeats))
    interpreted = statistics.median(seconds(run, size) for _ in range(repeats))
    return native, first, interpreted


def programs() -> dict[str, tuple[Callable[[int], Any], int]]:
    """The programs; with a forward of transformers where that is installed."""
    if not (find_spec("torch") and find_spec("transformers")):
        return PROGRAMS
    from benchmarks.interpreter_transformers import forward

    return {**PROGRAMS, "transformers": (forward(), 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs to run (all)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    for name, (fn, size) in programs().items():
        if options.names and name not in options.names:
            continue
        native, first, interpreted = measure(fn, size, options.repeats)
        rows[name] = {
            "native": native,
            "first": first,
            "interpreted": interpreted,
            "ratio": interpreted / native,
        }
        if not options.json:
            print(
                f"{name:16} CPython {native * 1e3:8.2f} ms   first {first * 1e3:8.1f} ms   "
                f"interpreted {interpreted * 1e3:8.1f} ms   {interpreted / native:6.1f}×",
                flush=True,
            )
    mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows.values()))
    if options.json:
        print(json.dumps({"programs": rows, "geometric_mean": mean}))
    else:
        print(f"geometric mean {mean:.1f}× of CPython {sys.version.split()[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
