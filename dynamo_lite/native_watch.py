"""What non-strict mode sees of the running program besides tensors: writes to attributes, impure calls, output.

The interpreter's profile hook tells of every call; output (``print``, ``logging``, ``warnings``) is skipped and noted. All of
it concerns the tracing thread alone and is undone at the end.
"""

from __future__ import annotations

import builtins
import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import BuiltinFunctionType, FrameType, MethodType
from typing import Any, Final

import numpy as np

from dynamo_lite import dispatch, places
from dynamo_lite.strict.policy import impure
from dynamo_lite.strict.policy.origins import LISTING
from dynamo_lite.trace.tracer import Tracer
from fx_ir.provenance import Assumption, Effect, EffectKind
from solver.errors import Location

_ENVIRON: Final = type(os.environ)
_MODE_READERS: Final = frozenset({"is_grad_enabled", "is_inference_mode_enabled"})
_READS: Final = frozenset({"__getitem__", "get", "__contains__"})
_IMPURE_FILES: Final = ("/random.py", "/uuid.py", "/secrets.py")  # what they call, they do for the user


class Watch:
    """Effects and assumptions met so far; where each attribute was written last."""

    def __init__(self, tracer: Tracer) -> None:
        self.effects: dict[tuple[str, Location | None], Effect] = {}
        self.assumptions: dict[str, Assumption] = {}
        self.writes: dict[tuple[int, str], Location | None] = {}
        self.listed: set[int] = set()  # dicts of which all keys were told
        self.looked_up: set[tuple[int, str]] = (
            set()
        )  # by __getattr__, which C calls where it finds nothing itself
        self._tracer = tracer

    def note(self, kind: EffectKind, what: str, became: Any) -> None:
        """Enters an effect once a line."""
        where = places.native_location()
        self.effects.setdefault((what, where), Effect(kind, what, where, became))

    def is_tracing(self) -> bool:
        """True in the thread, and at the time, of this capture."""
        return dispatch.recorder() is self._tracer

    # --- the profile hook

    def hook(self, frame: FrameType, event: str, arg: Any) -> None:
        """Called by the interpreter at every call."""
        if event == "c_call":
            if type(arg) is BuiltinFunctionType:
                self._c_call(frame, arg)
        elif event == "call":
            code = frame.f_code
            if code.co_name == "__setattr__" and code.co_argcount == 3:
                values = frame.f_locals
                target, name, _ = (values[each] for each in code.co_varnames[:3])
                self.writes[id(target), name] = places.native_location()
            elif code.co_name == "__getattr__" and code.co_argcount == 2:
                target, name = (frame.f_locals[each] for each in code.co_varnames[:2])
                self.looked_up.add((id(target), name))
            elif code.co_name in _READS and code.co_qualname.startswith("_Environ."):
                self._environment(frame)

    def _c_call(self, frame: FrameType, fn: BuiltinFunctionType) -> None:
        if fn.__name__ in LISTING:
            self.listed.add(id(fn.__self__))
        file = frame.f_code.co_filename
        if fn is id:
            if not places.is_library_file(file):
                self.note("other", "builtins.id", "noted")
        elif not places.is_library_file(file) or file.endswith(_IMPURE_FILES):
            if fn.__name__ in _MODE_READERS:
                self._tracer.looked("mode")
            why = impure.reason(fn)
            if why is not None:
                self.note(impure.kind_of(why), impure.name_of(fn), "noted")

    def _environment(self, frame: FrameType) -> None:
        key = frame.f_locals.get("key")
        if isinstance(key, str) and frame.f_locals.get("self") is os.environ:
            found = os.environ._data.get(os.environ.encodekey(key))
            value = None if found is None else os.environ.decodevalue(found)
            where = places.native_location()
            kind: Any = "absence" if value is None else "value"
            self.assumptions.setdefault(key, Assumption(f"environment {key}", value, kind, where))
            self.note("other", f"os.environ[{key!r}]", "noted")


def is_watch(hook: Any) -> bool:
    """Whether a profile hook is that of a watch; a profiler of the user's is not."""
    return type(hook) is MethodType and hook.__func__ is Watch.hook


@contextmanager
def watching(tracer: Tracer) -> Iterator[Watch]:
    """Watches the block. A profiler that runs already keeps the hook; then impure calls pass unnoticed."""
    watch = Watch(tracer)
    drawn = _numpy_draws()
    taken = sys.getprofile() is not None
    with _output_skipped(watch):
        if not taken:
            sys.setprofile(watch.hook)
        try:
            yield watch
        finally:
            if not taken:
                sys.setprofile(None)
            if _numpy_draws() != drawn:  # compiled methods, of which the hook does not tell
                watch.effects["numpy.random", None] = Effect("random", "numpy.random", None, "noted")


def _numpy_draws() -> tuple[int, int]:
    """How far NumPy's global generator is."""
    state: Any = np.random.get_state()
    return hash(state[1].tobytes()), state[2]


class _Skipping(threading.local):
    watch: Watch | None = None


class _Doors:
    """``print``, ``warnings.warn`` and logging, replaced while any thread traces; each thread skips for its own watch."""

    def __init__(self) -> None:
        self.skipping = _Skipping()
        self._lock = threading.Lock()
        self._users = 0
        self._originals: list[tuple[Any, str, Any]] = []

    def enter(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                for owner, name, what in _OUTPUT:
                    self._originals.append((owner, name, getattr(owner, name)))
                    setattr(owner, name, self._door(getattr(owner, name), what))

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                while self._originals:
                    setattr(*self._originals.pop())

    def _door(self, original: Callable[..., Any], what: str) -> Callable[..., Any]:
        def door(*args: Any, **kwargs: Any) -> Any:
            watch = self.skipping.watch
            if watch is not None and watch.is_tracing():
                return watch.note("output", what, "dropped")
            return original(*args, **kwargs)

        return door


_OUTPUT: Final[tuple[tuple[Any, str, str], ...]] = (
    (builtins, "print", "builtins.print"),
    (warnings, "warn", "warnings.warn"),
    (logging.Logger, "handle", "logging"),
)
_DOORS: Final = _Doors()


@contextmanager
def _output_skipped(watch: Watch) -> Iterator[None]:
    """While tracing, output is noted instead of made; other threads write as ever."""
    before = _DOORS.skipping.watch
    _DOORS.enter()
    _DOORS.skipping.watch = watch
    try:
        yield
    finally:
        _DOORS.skipping.watch = before
        _DOORS.leave()


def user_variables() -> Mapping[str, Any]:
    """The variables of the innermost frame that is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not places.is_library_file(frame.f_code.co_filename):
            return frame.f_locals
        frame = frame.f_back
    return {}
