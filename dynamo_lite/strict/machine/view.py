"""Frames as user code sees them: ``sys._getframe`` and a generator's ``gi_frame``."""

from __future__ import annotations

import sys
import weakref
from types import CellType, FrameType
from typing import Any, Final

from dynamo_lite.strict.machine.code import MACHINE_FILES
from dynamo_lite.strict.machine.frame import EXIT, NULL, Frame, GeneratorFrame, cell_value


def user_frame(frame: Frame) -> Frame:
    """The innermost frame of user code at or below ``frame``."""
    current: Frame | None = frame
    while current is not None and current.code is None:
        current = current.back
    return frame if current is None else current


def frame_locals(frame: Frame) -> Any:
    """The namespace, or a snapshot of the local variables."""
    code = frame.code
    if code is None:
        return {}
    found: dict[str, Any] = {}
    if frame.locals is not None:
        # variables of comprehensions inlined into a class body or module are seen beside its namespace
        hidden = [
            value
            for name, value in zip(code.decoded.slot_names, frame.stack, strict=False)
            if value is not NULL
        ]
        if not hidden or type(frame.locals) is not dict or not code.code.co_varnames:
            return frame.locals
        found.update(frame.locals)
    for name, value in zip(code.decoded.slot_names, frame.stack, strict=False):
        if value is NULL or name.startswith("."):
            continue
        if type(value) is CellType and (name in code.code.co_cellvars or name in code.code.co_freevars):
            value = cell_value(value)
            if value is NULL:
                continue
        found[name] = value
    return found


class FrameView:
    """An interpreted frame behind the interface of a real one."""

    __slots__ = ("__weakref__", "_frame", "f_trace", "f_trace_lines", "f_trace_opcodes")

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.f_trace = None
        self.f_trace_lines = True
        self.f_trace_opcodes = False

    @property
    def frame(self) -> Frame:
        """The machine's own frame."""
        return self._frame

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return FrameType

    def __eq__(self, other: object) -> bool:
        return type(other) is FrameView and other._frame is self._frame

    def __hash__(self) -> int:
        return id(self._frame)

    @property
    def f_back(self) -> Any:
        frame = self._frame.back
        while frame is not None and frame.code is None:
            if frame.extra is EXIT and (frame.back is None or frame.back.back is None):
                return _host_frame()
            frame = frame.back
        return None if frame is None else view_of(frame)

    @property
    def f_code(self) -> Any:
        assert self._frame.code is not None
        return self._frame.code.code

    @property
    def f_globals(self) -> Any:
        return self._frame.globals

    @property
    def f_builtins(self) -> Any:
        from dynamo_lite.strict.machine.names import builtins_of

        return builtins_of(self._frame)

    @property
    def f_locals(self) -> Any:
        return frame_locals(self._frame)

    @property
    def f_lineno(self) -> int:
        return self._frame.line()

    @property
    def f_lasti(self) -> int:
        code = self._frame.code
        assert code is not None
        return code.decoded.offsets[max(self._frame.index(), 0)]

    def clear(self) -> None:
        """As ``frame.clear``: closes a suspended frame; one that runs cannot be cleared."""
        frame = self._frame
        if not isinstance(frame, GeneratorFrame) or frame.running:
            raise RuntimeError("cannot clear an executing frame")
        made = frame.object()
        if made is not None:
            made.close()
        frame.done = True
        frame.stack.clear()


_HERE: Final = MACHINE_FILES


def _host_frame() -> Any:
    """The real frame that called the interpreter."""
    frame: Any = sys._getframe()
    outermost = None
    while frame is not None:
        if frame.f_code.co_filename.startswith(_HERE):
            outermost = frame
        frame = frame.f_back
    return outermost.f_back if outermost is not None else None


# not a WeakValueDictionary: that is Python code, which would run while C code is watched
_VIEWS: Final[dict[int, weakref.ref[FrameView]]] = {}


def view_of(frame: Frame) -> FrameView:
    """The view of a frame: the same one while somebody holds it."""
    key = id(frame)
    found = _VIEWS.get(key)
    view = None if found is None else found()
    if view is None or view.frame is not frame:
        view = FrameView(frame)
        _VIEWS[key] = weakref.ref(view, lambda dead: _VIEWS.pop(key) if _VIEWS.get(key) is dead else None)
    return view
