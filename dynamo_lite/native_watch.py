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
from itertools import islice
from types import BuiltinFunctionType, FrameType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from dynamo_lite import dispatch, places
from dynamo_lite.native_truth import COMPARING, Comparison, comparison
from dynamo_lite.strict.policy import impure
from dynamo_lite.strict.policy.origins import LISTING
from dynamo_lite.trace.outlets import Outlets
from dynamo_lite.trace.settings import WHOLE
from dynamo_lite.trace.tracer import Tracer
from fx_ir.provenance import Effect, EffectKind
from solver.errors import Location

_ENVIRON: Final = type(os.environ)
_MODE_READERS: Final = frozenset({"is_grad_enabled", "is_inference_mode_enabled"})
_READS: Final = frozenset({"__getitem__", "get", "__contains__"})
_MET: Final = _READS | WHOLE | {"__setattr__", "__getattr__"}
_IMPURE_FILES: Final = ("/random.py", "/uuid.py", "/secrets.py")  # what they call, they do for the user
_CONCERNS: Final[dict[str, bool]] = {}  # by file: whether its calls of C functions are looked at
_REASONS: Final[dict[BuiltinFunctionType, tuple[str, str] | None]] = {}


def _reason(fn: BuiltinFunctionType) -> tuple[str, str] | None:
    """Why a C function is impure; remembered for the functions of modules."""
    if type(fn.__self__) is not ModuleType:
        return impure.reason(fn)
    if fn not in _REASONS:
        _REASONS[fn] = impure.reason(fn)
    return _REASONS[fn]


class Watch:
    """Effects met so far; where each attribute was written last."""

    def __init__(self, tracer: Tracer) -> None:
        self.effects: dict[tuple[str, Location | None], Effect] = {}
        self.writes: dict[tuple[int, str], Location | None] = {}
        self.listed: set[int] = set()  # dicts of which all keys were told
        self.looked_up: set[tuple[int, str]] = (
            set()
        )  # by __getattr__, which C calls where it finds nothing itself
        self.compared: Comparison | None = None
        self._tracer = tracer
        self._settings = tracer.library.settings()
        self.outlets = Outlets()

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
                if id(arg) in self._settings:
                    self._tracer.read_setting(arg)
                if arg.__name__ in LISTING:
                    self.listed.add(id(arg.__self__))
                file = frame.f_code.co_filename
                if _CONCERNS.get(file, True):  # most calls are a library's own
                    self._c_call(file, arg)
        elif event == "call":
            name = frame.f_code.co_name
            if name in _MET:
                self._call(frame, name)
        elif event == "return" and frame.f_code.co_name in COMPARING:
            self.compared = comparison(frame, arg) or self.compared

    def _call(self, frame: FrameType, name: str) -> None:
        code = frame.f_code
        if name == "__setattr__" and code.co_argcount == 3:
            target, attribute, _ = islice(frame.f_locals.values(), 3)  # arguments come first
            self.writes[id(target), attribute] = places.native_location()
        elif name == "__getattr__" and code.co_argcount == 2:
            target, attribute = islice(frame.f_locals.values(), 2)
            self.looked_up.add((id(target), attribute))
        elif code.co_qualname.startswith("_Environ."):
            self._environment(frame)

    def _c_call(self, file: str, fn: BuiltinFunctionType) -> None:
        library = places.is_library_file(file)
        _CONCERNS[file] = not library or file.endswith(_IMPURE_FILES)
        if not _CONCERNS[file]:
            return
        if fn is id:
            if not library:
                self.note("other", "builtins.id", "noted")
            return
        if fn.__name__ in _MODE_READERS:
            self._tracer.looked("mode")
            if fn.__name__ == "is_inference_mode_enabled":
                self._tracer.looked("inference")
        why = _reason(fn)
        if why is not None:
            self.note(impure.kind_of(why), impure.name_of(fn), "noted")

    def _environment(self, frame: FrameType) -> None:
        key = frame.f_locals.get("key")
        if frame.f_code.co_name in WHOLE:
            self._tracer.settings.environment(places.native_location)
        elif isinstance(key, (str, bytes)):
            self._tracer.settings.variable(os.fsdecode(key), places.native_location)
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
        try:
            if not taken:
                sys.setprofile(watch.hook)
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
        self._users: set[int] = set()
        self._originals: list[tuple[Any, str, Any]] = []

    def enter(self, who: object) -> None:
        with self._lock:
            self._users.add(id(who))
            if len(self._users) == 1:
                for owner, name, what in _OUTPUT:
                    self._originals.append((owner, name, getattr(owner, name)))
                    setattr(owner, name, self._door(getattr(owner, name), what))

    def leave(self, who: object) -> None:
        """Twice is as good as once."""
        with self._lock:
            self._users.discard(id(who))
            while self._originals and not self._users:
                setattr(*self._originals[-1])
                self._originals.pop()

    def _door(self, original: Callable[..., Any], what: str) -> Callable[..., Any]:
        def door(*args: Any, **kwargs: Any) -> Any:
            watch = self.skipping.watch
            if watch is not None and watch.is_tracing():
                watch.outlets.check(what, kwargs, places.native_location())
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
    try:
        _DOORS.enter(watch)
        _DOORS.skipping.watch = watch
        with watch.outlets.kept():
            yield
    finally:
        _DOORS.skipping.watch = before
        try:
            _DOORS.leave(watch)
        except BaseException:  # an interrupt came in between: once more
            _DOORS.leave(watch)
            raise


def user_variables() -> Mapping[str, Any]:
    """The variables of the innermost frame that is the user's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not places.is_library_file(frame.f_code.co_filename):
            return frame.f_locals
        frame = frame.f_back
    return {}
