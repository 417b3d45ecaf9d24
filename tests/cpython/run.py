"""CPython's own tests under ``dl.interpret``.

``python -m tests.cpython.run MODULE…`` runs modules of the installed ``test`` package twice in processes of their own, natively
and with every test method interpreted, and prints how many tests that pass natively pass interpreted too. Each example of a
doctest counts as a test.
"""

from __future__ import annotations

import argparse
import doctest
import importlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
# of processor time, so that a busy machine changes nothing; a test that only waits is given more
SECONDS: Final = 10
WAITING_SECONDS: Final = 120
EXAMPLES: Final = "its examples count"

MODULES: Final = (
    "generators", "yield_from", "with", "contextlib", "contextlib_async", "except_star", "exceptions", "raise",
    "exception_group", "patma", "scope", "named_expressions", "call", "keywordonlyarg", "positional_only_arg", "descr",
    "super", "property", "decorators", "fstring", "grammar", "listcomps", "setcomps", "dictcomps", "genexps", "class",
    "metaclass", "coroutines", "asyncgen", "dataclasses", "enum", "functools", "itertools", "enumerate", "operator",
    "iter", "iterlen", "range", "slice", "sort", "tuple", "list", "dict", "set", "bool", "int", "float", "compare",
    "richcmp", "binop", "augassign", "unary", "unpack", "unpack_ex", "builtin", "collections", "defaultdict", "deque",
    "typing", "types", "type_params", "funcattrs", "weakref", "copy", "inspect",
)  # fmt: skip


@dataclass
class Outcome:
    """Results by test id: ``ok``, ``skip``, or the last line of what went wrong; and seconds of processor time."""

    results: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    crashed: str = ""


class TooSlow(BaseException):
    """A test took longer than it may."""


class _Result(unittest.TestResult):
    def __init__(self, outcome: Outcome, path: str) -> None:
        super().__init__()
        self.outcome = outcome
        self.path = path
        self.begun = 0.0
        self.running = ""

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.outcome.results[test.id()] = "ok"
        self.begun = time.process_time()
        self.running = test.id()
        self.save(test.id())
        _set_timers(SECONDS, WAITING_SECONDS)

    def stopTest(self, test: unittest.TestCase) -> None:
        _set_timers(0, 0)
        self.outcome.seconds[test.id()] = time.process_time() - self.begun
        super().stopTest(test)

    def save(self, running: str) -> None:
        """Written before each test, so that a crash of the process costs that test alone."""
        data = {"results": {**self.outcome.results, running: "crash"}, "seconds": self.outcome.seconds}
        Path(self.path).write_text(json.dumps(data))

    def example(self, number: int, what: str) -> None:
        """What came of an example of the docstring that is running; the docstring itself no longer counts."""
        docstring = self.running
        self.outcome.results[docstring] = EXAMPLES
        self.outcome.results[f"{docstring}[{number}]"] = what

    def _bad(self, test: unittest.TestCase, err: Any) -> None:
        if self.outcome.results.get(test.id()) == EXAMPLES:
            return
        text = f"{err[0].__name__}: {err[1]}".strip().splitlines()
        self.outcome.results[test.id().split(" ")[0]] = (text or ["?"])[0][:200]
        if os.environ.get("TRACE"):
            import traceback

            sys.__stderr__.write(f"--- {test.id()}\n" + "".join(traceback.format_exception(*err)))  # type: ignore[union-attr]

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._bad(test, err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._bad(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._bad(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.outcome.results[test.id()] = "skip"

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.outcome.results[test.id()] = "unexpected success"


def _record_examples(result: _Result) -> None:
    """Has doctest's runner report each example to ``result``."""

    class Runner(doctest.DocTestRunner):
        def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
            result.example(test.examples.index(example), "ok")

        def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
            super().report_failure(out, test, example, got)
            result.example(test.examples.index(example), f"got {got.strip()[:160]!r}")

        def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
            super().report_unexpected_exception(out, test, example, exc_info)
            result.example(test.examples.index(example), f"{exc_info[0].__name__}: {exc_info[1]}"[:160])

    doctest.DocTestRunner = Runner  # type: ignore[misc]


def _set_timers(computing: float, waiting: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, computing)
    signal.setitimer(signal.ITIMER_REAL, waiting)


def _alarm(signum: int, frame: FrameType | None) -> None:
    _set_timers(1, 1)
    raise TooSlow(f"over {SECONDS} s")


def _flatten(suite: Any) -> list[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        return [suite]
    return [test for inner in suite for test in _flatten(inner)]


def run_here(module: str, interpreted: bool, wanted: list[str], skip: set[str], path: str) -> None:
    """Runs a module's tests in this process; results go to the file ``path``."""
    warnings.simplefilter("ignore")
    if interpreted:
        from dynamo_lite.strict.interpret import interpret

        def call(self: unittest.TestCase, method: Any) -> Any:
            return interpret(method)()

        unittest.TestCase._callTestMethod = call  # type: ignore[attr-defined]
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGPROF, _alarm)
    outcome = Outcome()
    result = _Result(outcome, path)
    _record_examples(result)
    loaded = importlib.import_module(f"test.test_{module}")
    tests = _flatten(unittest.defaultTestLoader.loadTestsFromModule(loaded))
    tests = [test for test in tests if test.id() not in skip]
    if wanted:
        tests = [test for test in tests if any(each in test.id() for each in wanted)]
    os.chdir(tempfile.mkdtemp())
    real, sys.stdout = sys.stdout, io.StringIO()
    try:
        suite = unittest.TestSuite(tests)
        while True:
            try:
                suite.run(result)
                break
            except (TooSlow, KeyboardInterrupt) as error:
                _set_timers(0, 0)
                running = list(outcome.results)[-1] if outcome.results else ""
                outcome.results[running] = f"{type(error).__name__}: {error}"
                suite = unittest.TestSuite([t for t in tests if t.id() not in outcome.results])
    finally:
        sys.stdout = real
        _set_timers(0, 0)
    Path(path).write_text(json.dumps({"results": outcome.results, "seconds": outcome.seconds}))


def run_apart(
    module: str,
    interpreted: bool,
    wanted: tuple[str, ...] = (),
    skip: tuple[str, ...] = (),
    timeout: float = 900,
) -> Outcome:
    """Runs a module's tests in a process of its own; a crash is charged to the test that was running."""
    total = Outcome()
    stderr = None if os.environ.get("TRACE") else subprocess.PIPE
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out.json"
        for _ in range(12):
            job = json.dumps([module, interpreted, list(wanted), [*skip, *total.results], str(path)])
            command = [sys.executable, "-m", "tests.cpython.run", "--job", job]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=stderr, text=True, timeout=timeout
                )
                code, note = done.returncode, (done.stderr or "")[-400:]
            except subprocess.TimeoutExpired:
                code, note = 1, "timeout"
            if not path.exists():
                total.crashed = note
                return total
            data = json.loads(path.read_text())
            path.unlink()
            total.results.update(data["results"])
            total.seconds.update(data["seconds"])
            if code == 0:
                return total
    return total


@dataclass
class Comparison:
    """What passes natively, and what of that fails interpreted."""

    module: str
    native: int
    failed: dict[str, str]

    @property
    def passed(self) -> int:
        return self.native - len(self.failed)


def compare(module: str, wanted: tuple[str, ...] = ()) -> Comparison:
    """Runs a module both ways."""
    native = run_apart(module, False, wanted)
    interpreted = run_apart(module, True, wanted)
    good = [test for test, what in native.results.items() if what == "ok"]
    failed = {
        test: interpreted.results.get(test, "did not run")
        for test in good
        if interpreted.results.get(test) != "ok"
    }
    return Comparison(module, len(good), failed)


def exists(module: str) -> bool:
    """Whether the running Python's ``test`` package has the module."""
    try:
        return importlib.util.find_spec(f"test.test_{module}") is not None
    except ImportError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="names without test_, or all")
    parser.add_argument("--only", action="append", default=[], help="part of the test ids to run")
    parser.add_argument("--json", help="write the failures here")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        module, interpreted, wanted, skip, path = json.loads(options.job)
        run_here(module, interpreted, wanted, set(skip), path)
        return 0
    names = [n for m in options.modules for n in (MODULES if m == "all" else (m,))]
    native = passed = 0
    failures: dict[str, str] = {}
    for name in names:
        if not exists(name):
            print(f"{name:22} not in this Python")
            continue
        found = compare(name, tuple(options.only))
        native += found.native
        passed += found.passed
        failures.update(found.failed)
        share = 100 * found.passed / found.native if found.native else 100.0
        print(f"{name:22} {found.passed:5} of {found.native:5}  {share:6.1f} %", flush=True)
        for test, what in found.failed.items():
            print(f"    {test.removeprefix('test.')}: {what}", flush=True)
    print(f"{'total':22} {passed:5} of {native:5}  {100 * passed / max(native, 1):6.1f} %")
    if options.json:
        Path(options.json).write_text(json.dumps(failures, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
