"""What the host interpreter reports: Python functions that begin natively, while somebody wants to know.

CPython 3.12 and later tell by ``sys.monitoring``, which costs nothing where it is told to be silent: each function of ours is reported
once. Before that the thread's trace hook is set for the time of one call; a debugger's hook comes back after it.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any, Final, Protocol

from dynamo_lite.strict.machine.code import is_own


class Observer(Protocol):
    """Is told of Python functions that begin in its thread."""

    def began(self, frame: FrameType) -> None:
        """The frame is about to run; raising stops it."""

    def check(self) -> None:
        """Raises what ``began`` raised, in case C code dropped it."""


class _Hook:
    """A trace function."""

    __slots__ = ("observer",)

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        self.observer.began(frame)


class TraceHook:
    """The thread's trace hook."""

    def begin(self, observer: Observer) -> Any:
        """From now on ``observer`` is told; what is returned is for :meth:`end`."""
        before = sys.gettrace()
        sys.settrace(_Hook(observer))
        return before

    def end(self, before: Any) -> None:
        """Ends what ``begin`` or ``pause`` began."""
        sys.settrace(before)

    def pause(self) -> Any:
        """Nobody is told until :meth:`end`. A debugger goes on."""
        before = sys.gettrace()
        if type(before) is _Hook:
            sys.settrace(None)
        return before

    def release(self) -> None:
        """Nobody in this thread will ask for a while."""


class _Local(threading.local):
    observer: Observer | None = None


class Monitoring:
    """``sys.monitoring``. The events are on from the first ``begin`` to the last ``release`` of all threads."""

    def __init__(self) -> None:
        self._local = _Local()
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._tool: int | None = None

    def begin(self, observer: Observer) -> Any:
        if self._tool is None or threading.get_ident() not in self._threads:
            self._open()
        before = self._local.observer
        self._local.observer = observer
        return before

    def end(self, before: Any) -> None:
        self._local.observer = before

    def pause(self) -> Any:
        before = self._local.observer
        self._local.observer = None
        return before

    def release(self) -> None:
        with self._lock:
            self._threads.discard(threading.get_ident())
            if self._tool is not None and not self._threads:
                monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
                monitoring.set_events(self._tool, 0)
                monitoring.free_tool_id(self._tool)
                self._tool = None

    def _open(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        with self._lock:
            self._threads.add(threading.get_ident())
            if self._tool is not None:
                return
            free = [tool for tool in range(6) if monitoring.get_tool(tool) is None]
            if not free:
                raise RuntimeError("every tool of sys.monitoring is taken: end a profiler or debugger")
            self._tool = free[-1]
            monitoring.use_tool_id(self._tool, "dynamo_lite")
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
            monitoring.set_events(self._tool, monitoring.events.PY_START)

    def _started(self, code: CodeType, offset: int) -> Any:
        if is_own(code):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]
        observer = self._local.observer
        if observer is not None:
            observer.began(sys._getframe(1))
        return None


HOST: Final[TraceHook | Monitoring] = Monitoring() if hasattr(sys, "monitoring") else TraceHook()
