"""What the host interpreter reports: Python functions that begin natively, while somebody wants to know.

CPython 3.12 and later tell by ``sys.monitoring``, which costs nothing where it is told to be silent: each function of ours is reported
once. Before that the thread's trace hook is set for the time of one call; a debugger's hook comes back after it.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from types import CodeType, FrameType
from typing import Any, Final, Protocol

from dynamo_lite.strict.machine.code import is_own


class Observer(Protocol):
    """Is told of Python functions that begin in its thread. ``problem`` is what ``began`` raised since the last ``check``."""

    token: Any
    problem: BaseException | None

    def began(self, frame: FrameType) -> None:
        """The frame is about to run; raising stops it."""

    def check(self) -> None:
        """Raises the problem, in case C code dropped it."""


class _Hook:
    """A trace function."""

    __slots__ = ("began",)

    def __init__(self, observer: Observer) -> None:
        self.began = observer.began

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        self.began(frame)


class TraceHook:
    """The thread's trace hook.

    ``tell(token)`` says who is told from now on, ``told()`` who is now. Both are C functions, since the hook would see any other begin.
    """

    told: Final = staticmethod(sys.gettrace)
    tell: Final = staticmethod(sys.settrace)

    def token(self, observer: Observer) -> Any:
        """What ``tell`` takes for an observer."""
        return _Hook(observer)

    def pause(self) -> Any:
        """Nobody is told until what is returned is given to ``tell``. A debugger goes on."""
        before = sys.gettrace()
        if type(before) is _Hook:
            sys.settrace(None)
        return before

    def acquire(self, who: object) -> None:
        """``who`` in this thread may ask until :meth:`release`."""

    def release(self, who: object) -> None:
        """Ends :meth:`acquire`."""


class _Local(threading.local):
    observer: Observer | None = None


class Monitoring:
    """``sys.monitoring``, with the same methods. The events are on while somebody in any thread may ask."""

    def __init__(self) -> None:
        self._local = _Local()
        self._lock = threading.Lock()
        self._users: set[int] = set()
        self._tool: int | None = None
        self.told: Final = partial(getattr, self._local, "observer")
        self.tell: Final = partial(setattr, self._local, "observer")

    def token(self, observer: Observer) -> Any:
        return observer

    def pause(self) -> Any:
        before = self._local.observer
        self._local.observer = None
        return before

    def acquire(self, who: object) -> None:
        with self._lock:
            if self._tool is None:
                self._open()
            self._users.add(id(who))

    def release(self, who: object) -> None:
        with self._lock:
            self._users.discard(id(who))
            if self._tool is not None and not self._users:
                monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
                monitoring.set_events(self._tool, 0)
                monitoring.free_tool_id(self._tool)
                self._tool = None

    def _open(self) -> None:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
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
