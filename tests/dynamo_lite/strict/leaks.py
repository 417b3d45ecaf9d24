"""A detector of Python code that runs natively behind the interpreter's back. It watches every strict capture of every test
(``tests/conftest.py``), and the test fails in which something escaped.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final

import pytest

from dynamo_lite.places import is_our_file
from dynamo_lite.strict import capture
from dynamo_lite.strict.machine.code import MACHINE_FILES, is_own
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.policy import tables, watch
from dynamo_lite.strict.transaction import Transaction

# What runs natively while tracing, and why that is sound: the table of docs/interpreter.md.
REHEARSED: Final = "rehearsed slots"
BYSTANDER: Final = "finalisers, ends of weak references, hooks of the collector, signal handlers"
TRUSTED: Final = (
    "library code named in `tables.TRUSTED` and `tables.WEAK_TABLES`, `trusted_slots` of a policy"
)
OPAQUE: Final = "functions of `tables.OPAQUE_FILES`"
WAY_OUT: Final = "`dl.allow_call`, `dl.assume_constant`"
LOOK_UP: Final = "PyTorch's look-up of an operator (`torch/_ops.py`)"
REGISTERED: Final = "what takes instances of a registered class apart, and puts them together"
OPERATOR: Final = "the rule for shapes of an operator from `torch.library`"
LIBRARY: Final = "our own packages, and what they use of the standard library, NumPy and PyTorch"
CLASSES: Final[dict[str, str]] = {
    REHEARSED: "above",
    BYSTANDER: "they belong to objects from outside: the transaction keeps alive what forward drops, objects with `__del__` may not be made in forward, nor weak references to what it made",
    TRUSTED: "each has its reason there",
    OPAQUE: "called by name: the tables judge them before they run",
    LOOK_UP: "it is given names alone, and answers with what is registered under them",
    WAY_OUT: "the user vouches; each use is in the effects",
    REGISTERED: "the registration's own: inputs are made anew with it before the run, results taken apart after it",
    OPERATOR: "part of the operator's declaration, asked about tensors that hold no data",
    LIBRARY: "no code of the program, and what of the program's they call in turn is of a class above",
}
_CAPTURE: Final[Any] = capture
_DOORS: Final = {
    "_way_out": WAY_OUT, "_burned_in": WAY_OUT, "_run_rule": OPERATOR, "on_meta": OPERATOR,
    "_run_fake": OPERATOR,
    **dict.fromkeys(("_library_function", "_environ", "call_native", "_unwrapped", "_watched"), OPAQUE),
}  # fmt: skip
_CALLED: Final = (
    OPAQUE,
    LIBRARY,
)  # classes that vouch for themselves, not for code of the program that they call
_STANDARD: Final = os.path.dirname(os.__file__) + os.sep
_PACKAGES: Final = tuple(
    f"{os.sep}site-packages{os.sep}{name}{os.sep}" for name in ("numpy", "torch", "scipy", "_distutils_hack")
)


def _is_ours(frame: FrameType) -> bool:
    """Code of ours; and what holds no code of the user's: stand-ins (traceback frames, argument checks), and ``__new__`` as ``namedtuple`` writes it."""
    code = frame.f_code
    written = code.co_filename == "<string>" and str(frame.f_globals.get("__name__")).startswith(
        "namedtuple_"
    )
    return watch.is_ours(frame) or written or (not code.co_names and set(code.co_consts) <= {None})


def name_of(frame: FrameType) -> str:
    code = frame.f_code
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"


def _is_library(frame: FrameType) -> bool:
    """Code of the standard library, of NumPy and PyTorch."""
    file = frame.f_code.co_filename
    if file.startswith("<"):
        return file.startswith("<frozen")
    return (
        any(part in file for part in _PACKAGES)
        or is_our_file(file)
        or (file.startswith(_STANDARD) and "site-packages" not in file)
    )


def _stands_in(code: CodeType) -> bool:
    """What a test has put in the place of a function of ours. Programs put nothing there."""
    for module in [*sys.modules.values()]:
        if is_our_file(getattr(module, "__file__", None) or ""):
            for value in [*vars(module).values()]:
                held = vars(value).values() if isinstance(value, type) else (value,)
                if any(getattr(each, "__code__", None) is code for each in held):
                    return True
    return False


@contextmanager
def watched(found: list[str]) -> Iterator[None]:
    """Adds to ``found`` every Python function that the machine, or C code called by it, runs natively."""

    collectors = {code for hook in gc.callbacks if (code := getattr(hook, "__code__", None)) is not None}

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        caller = frame.f_back
        if event != "call" or caller is None or is_own(frame.f_code) or _is_ours(frame):
            return
        if frame.f_code in collectors:  # the collector may run anywhere, and is nobody's callback
            return
        if caller.f_code.co_filename.startswith(MACHINE_FILES) and not frame.f_code.co_filename.startswith(
            "<frozen"
        ):
            found.append(name_of(frame))

    gc.collect()  # what others left to be collected
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)


class Detector:
    """Looks at every strict capture: frames that begin natively, by class; ``escaped`` has those of no class."""

    def __init__(self) -> None:
        self.escaped: list[str] = []
        self.classes: dict[str, int] = dict.fromkeys(CLASSES, 0)
        # some hosts tell the profiler of a frame before the watch, others after it
        self._rehearsed: set[int] = set()
        self._pending: dict[int, tuple[FrameType, str]] = {}
        self._begun: dict[int, str] = {}  # the classes of frames that our code has begun and that still run

    def class_of(self, frame: FrameType, caller: FrameType) -> str | None:
        """The listed class of a frame that our code began, itself or by C code; None: it escaped."""
        code = frame.f_code
        if id(frame) in self._rehearsed:
            return REHEARSED
        if watch.is_bystander(frame):
            return BYSTANDER
        machine = peek()
        policy: Any = None if machine is None else machine.policy
        if policy is None and os.path.basename(caller.f_code.co_filename).startswith("pytree"):
            return REGISTERED
        if code.co_filename.endswith((*tables.TRUSTED, *tables.WEAK_TABLES)):
            return TRUSTED
        if code in getattr(policy, "trusted_slots", ()):
            return TRUSTED
        door = caller.f_code.co_name
        known = _DOORS.get(door)
        if known is not None and (known is not OPAQUE or (policy is not None and policy.opaque(code))):
            return known
        if door == "get_attr" and code.co_filename.endswith(f"{os.sep}torch{os.sep}_ops.py"):
            return LOOK_UP
        if (door == "_cached" and code.co_filename == functools.__file__) or code is os.fsdecode.__code__:
            return LIBRARY
        if code.co_filename.startswith("<frozen importlib") or door == "<module>":
            return LIBRARY  # our own imports: those of the program are interpreted
        machinery = caller.f_code.co_filename.startswith(MACHINE_FILES)
        return LIBRARY if not machinery and _is_library(frame) else None

    def began(self, frame: FrameType) -> None:
        """A Python function that is not ours begins, natively."""
        caller, root = frame.f_back, frame
        assert caller is not None
        while root.f_back is not None and not _is_ours(root.f_back):
            root = root.f_back
            if root.f_code.co_filename.startswith("<frozen importlib"):
                return  # an import of ours, with its finders: those of the program are interpreted
        if root is not frame:
            if self._begun.get(id(root)) in _CALLED and not _is_library(frame) and not self._is_opaque(frame):
                assert root.f_back is not None
                self.escaped.append(f"{name_of(frame)}, called by {name_of(root)} for {name_of(root.f_back)}")
            return
        kind = self.class_of(frame, caller)
        if kind is None and _stands_in(frame.f_code):
            return
        if kind is None:
            self._pending[id(frame)] = frame, name_of(caller)
        else:
            self._begun[id(frame)] = kind
            self.classes[kind] += 1

    def _is_opaque(self, frame: FrameType) -> bool:
        machine = peek()
        return machine is not None and machine.policy is not None and machine.policy.opaque(frame.f_code)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Looks at what the thread runs."""
        rehearse = watch.Watch._rehearse

        def noting(this: Any, frame: FrameType) -> None:
            before = sys.getprofile()
            try:
                rehearse(this, frame)
            except BaseException:
                self._pending.pop(id(frame), None)  # it was stopped
                raise
            sys.setprofile(before)
            if self._pending.pop(id(frame), None) is None:
                self._rehearsed.add(id(frame))
            else:
                self.classes[REHEARSED] += 1

        peeking = watch.Peek.began

        def stopping(this: Any, frame: FrameType) -> None:
            try:
                peeking(this, frame)
            except BaseException:
                self._pending.pop(id(frame), None)
                raise

        reports = getattr(
            sys.unraisablehook, "func", sys.unraisablehook
        )  # the test runner's, which any error may call
        reporter = getattr(reports, "__code__", None)

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            if event == "return":
                self._rehearsed.discard(id(frame))
                self._begun.pop(id(frame), None)
            elif frame.f_code is reporter:
                return
            elif event == "call" and not is_own(frame.f_code) and not _is_ours(frame) and frame.f_back:
                self.began(frame)

        watch.Watch._rehearse = noting  # type: ignore[assignment, method-assign]
        watch.Peek.began = stopping  # type: ignore[assignment, method-assign]
        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(before)
            watch.Watch._rehearse = rehearse  # type: ignore[method-assign]
            watch.Peek.began = peeking  # type: ignore[method-assign]
            self.escaped += [f"{name_of(frame)}, called by {by}" for frame, by in self._pending.values()]
            self._pending.clear()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Every strict capture of this process is watched."""
        detector, module = self, _CAPTURE
        original = module.Transaction

        class Watched(Transaction):
            def __enter__(self) -> Transaction:
                self.end = detector.watching()
                entered = super().__enter__()
                self.end.__enter__()
                return entered

            def __exit__(
                self, kind: object = None, error: BaseException | None = None, traceback: object = None
            ) -> None:
                self.end.__exit__(None, None, None)
                super().__exit__(kind, error, traceback)

        module.Transaction = Watched
        try:
            yield
        finally:
            module.Transaction = original


@pytest.fixture(autouse=True)
def nothing_escapes() -> Iterator[None]:
    """Each test fails in which something escaped."""
    detector = Detector()
    with detector.installed():
        yield
    assert not detector.escaped, detector.escaped
