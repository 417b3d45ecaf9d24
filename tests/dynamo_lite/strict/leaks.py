"""A detector of Python code that runs natively behind the interpreter's back, alone or over every capture of a test run.

``python -m pytest -p tests.dynamo_lite.strict.leaks tests`` watches each strict capture of the tests given, and fails the
test in which something escaped.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import pytest

from dynamo_lite.strict import capture
from dynamo_lite.strict.machine.code import MACHINE_FILES, is_own
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.strict.policy import tables, watch
from dynamo_lite.strict.transaction import Transaction

# What runs natively while tracing, and why that is sound. A frame is of a class where its test says so.
REHEARSED: Final = (
    "a slot that C calls: it was run interpreted first, with the same arguments, and could be repeated"
)
BYSTANDER: Final = (
    "finalisers, ends of weak references, hooks and signals of objects from outside: not the program's code"
)
TRUSTED: Final = "library code of ``tables.TRUSTED`` and ``tables.WEAK_TABLES``, each with its reason"
OPAQUE: Final = "a function of ``tables.OPAQUE_FILES`` or of the policy's own list, called by name and met by the tables before it runs"
WAY_OUT: Final = "a function marked by ``dl.allow_call`` or ``dl.assume_constant``: listed in the effects"
CACHES: Final = "what functools.lru_cache says of itself, asked by the policy"
CLASSES: Final[tuple[str, ...]] = (REHEARSED, BYSTANDER, TRUSTED, OPAQUE, WAY_OUT, CACHES)
_CAPTURE: Final[Any] = capture
_DOORS: Final = frozenset({"_library_function", "_environ", "call_native", "_unwrapped"})


def _is_ours(frame: FrameType) -> bool:
    """Code of ours without a file; and stand-ins (traceback frames, argument checks), which hold no code of the user's."""
    return watch.is_ours(frame) or (not frame.f_code.co_names and set(frame.f_code.co_consts) <= {None})


def name_of(frame: FrameType) -> str:
    code = frame.f_code
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"


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
        self._pending: dict[int, FrameType] = {}

    def class_of(self, frame: FrameType) -> str | None:
        """The listed class of a frame that began natively; None: it escaped."""
        code = frame.f_code
        if id(frame) in self._rehearsed:
            return REHEARSED
        if watch.is_bystander(frame):
            return BYSTANDER
        if code.co_filename.endswith((*tables.TRUSTED, *tables.WEAK_TABLES)):
            return TRUSTED
        caller = frame.f_back
        door = "" if caller is None else caller.f_code.co_name
        if door == "_way_out":
            return WAY_OUT
        if door == "_cached" and code.co_filename == functools.__file__:
            return CACHES
        machine = peek()
        opaque = machine is not None and machine.policy is not None and machine.policy.opaque(code)
        return OPAQUE if opaque and door in _DOORS else None

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

        def profile(frame: FrameType, event: str, arg: Any) -> None:
            if event == "return":
                self._rehearsed.discard(id(frame))
            if event != "call" or is_own(frame.f_code) or _is_ours(frame):
                return
            caller = frame.f_back
            if caller is None or not caller.f_code.co_filename.startswith(MACHINE_FILES):
                return
            machine = peek()
            if machine is None or machine.policy is None:
                return  # before the run, or after it
            kind = self.class_of(frame)
            if kind is None:
                self._pending[id(frame)] = frame
            else:
                self.classes[kind] += 1

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
            self.escaped += map(name_of, self._pending.values())
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

            def __exit__(self, *error: object) -> None:
                self.end.__exit__(None, None, None)
                super().__exit__(*error)

        module.Transaction = Watched
        try:
            yield
        finally:
            module.Transaction = original


@pytest.fixture(autouse=True)
def _nothing_escapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``-p tests.dynamo_lite.strict.leaks``: each test fails in which something escaped."""
    if not request.config.pluginmanager.hasplugin("tests.dynamo_lite.strict.leaks"):
        yield
        return
    detector = Detector()
    with detector.installed():
        yield
    assert detector.escaped == []
