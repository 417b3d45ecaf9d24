"""Frames as user code sees them: ``sys._getframe`` and a generator's ``gi_frame``."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, MutableMapping
from types import CellType, FrameType, TracebackType
from typing import Any, Final

from dynamo_lite.strict.decode.versions import LOCALS_PERSIST
from dynamo_lite.strict.machine.code import MACHINE_FILES
from dynamo_lite.strict.machine.frame import EXIT, NULL, Code, Frame, GeneratorFrame, cell_value
from dynamo_lite.strict.machine.run import behind


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
    if frame.locals is not None:
        # variables of comprehensions inlined into a class body or module are seen beside its namespace
        hidden = dict(_bound(frame, code, _HIDDEN))
        if not hidden or type(frame.locals) is not dict:
            return frame.locals
        return {**frame.locals, **dict(_bound(frame, code, frozenset()))}
    if not LOCALS_PERSIST:
        return dict(_bound(frame, code, frozenset()))
    found: dict[str, Any] = frame.snapshot if hasattr(frame, "snapshot") else {}
    frame.snapshot = found
    bound = dict(_bound(frame, code, frozenset()))
    for name in code.decoded.slot_names:
        if name not in bound:
            found.pop(name, None)
    found.update(bound)
    return found


# slots of class bodies that are no variables of comprehensions
_HIDDEN: Final = frozenset({"__class__", "__classdict__"})


def _bound(frame: Frame, code: Code, but: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """The bound local variables; where ``but`` names some, without these and without free ones."""
    free = code.code.co_freevars
    cells = {*code.code.co_cellvars, *free}
    for name, value in zip(code.decoded.slot_names, frame.stack, strict=False):
        if value is NULL or name in but or (but and name in free):
            continue
        if type(value) is CellType and name in cells:
            value = cell_value(value)
            if value is NULL:
                continue
        yield name, value


def frame_of(tb: TracebackType) -> Any:
    """``tb_frame`` as user code sees it: the view of an interpreted frame."""
    frame = behind(tb.tb_frame)
    return tb.tb_frame if frame is None else view_of(frame)


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

    def __repr__(self) -> str:
        code = self.f_code
        return (
            f"<frame at {id(self):#x}, file {code.co_filename!r}, line {self.f_lineno}, code {code.co_name}>"
        )

    @property
    def __module__(self) -> Any:  # type: ignore[override]
        raise AttributeError("'frame' object has no attribute '__module__'")

    @property
    def f_back(self) -> Any:
        frame = self._frame.back
        while frame is not None and frame.code is None:
            if frame.extra is EXIT and (frame.back is None or frame.back.back is None):
                return host_frame()
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
        found = frame_locals(self._frame)
        return found if LOCALS_PERSIST or found is self._frame.locals else FrameLocals(self._frame)

    @property
    def f_lineno(self) -> int | None:
        code = self._frame.code
        assert code is not None
        return code.decoded.position(max(self._frame.index(), 0))[0]

    @property
    def f_lasti(self) -> int:
        code = self._frame.code
        assert code is not None
        return code.decoded.offsets[max(self._frame.index(), 0)]

    def clear(self) -> None:
        """As ``frame.clear``: closes a suspended frame, empties one that has ended; one that runs cannot be cleared."""
        frame = self._frame
        if _is_running(frame):
            raise RuntimeError("cannot clear an executing frame")
        if isinstance(frame, GeneratorFrame):
            made = None if frame.done else frame.object()
            if made is not None:
                made.__del__()
            frame.done = True
        frame.stack.clear()


class FrameLocals(MutableMapping[str, Any]):
    """The local variables of an interpreted frame, read and written in place: ``f_locals`` of CPython 3.13 and later."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def _more(self) -> dict[str, Any]:
        """Names that are no variables of the code."""
        frame = self._frame
        if not hasattr(frame, "snapshot"):
            frame.snapshot = {}
        return frame.snapshot

    def copy(self) -> dict[str, Any]:
        """A dict of now."""
        return {**frame_locals(self._frame), **self._more()}

    def __getitem__(self, name: str) -> Any:
        return self.copy()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        frame = self._frame
        assert frame.code is not None
        names = frame.code.decoded.slot_names
        if name not in names:
            self._more()[name] = value
            return
        slot = names.index(name)
        held = frame.stack[slot]
        code = frame.code.code
        if type(held) is CellType and name in (*code.co_cellvars, *code.co_freevars):
            held.cell_contents = value
        else:
            frame.stack[slot] = value

    def __delitem__(self, name: str) -> None:
        assert self._frame.code is not None
        if name in self._frame.code.decoded.slot_names:
            raise ValueError("cannot remove local variables from FrameLocalsProxy")
        del self._more()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def __len__(self) -> int:
        return len(self.copy())

    def __or__(self, other: Any) -> dict[str, Any]:
        return self.copy() | dict(other)

    def __repr__(self) -> str:
        return repr(self.copy())


def _is_running(frame: Frame) -> bool:
    current: Frame | None = frame.machine.frame
    while current is not None and current is not frame:
        current = current.back
    return current is frame


_HERE: Final = MACHINE_FILES


def host_frame() -> Any:
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
