"""Routines: slow paths written as host generators that ask the machine for calls.

A routine yields requests ``(function, positional arguments, keyword arguments or None)`` and is sent the results, or
thrown the exceptions. It stands on the explicit stack as a frame of its own, so what it calls is interpreted without
recursion. Its return value is delivered as a call's result.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from itertools import repeat
from typing import Any

from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.host import HOST

Request = tuple[Any, tuple[Any, ...], dict[str, Any] | None]
Routine = Generator[Request, Any, Any]
Deliver = Callable[[Frame, Any], "Frame | None"]
Invoke = Callable[[Frame, Any, tuple[Any, ...], dict[str, Any] | None], "Frame | None"]
# set by machine.calls, which this module cannot import
INVOKE: list[Invoke] = []


def call(fn: Any, *args: Any, **kwargs: Any) -> Request:
    """A request to call ``fn``."""
    return fn, args, kwargs or None


def start(back: Frame, routine: Routine, deliver: Deliver | None = None, extra: Any = None) -> Frame | None:
    """Begins a routine on top of ``back``.

    Its result is pushed there, now (None is returned) or when the returned frame has run; or ``deliver`` says what is
    done with it.
    """
    frame = Frame()
    frame.stack = []
    frame.it = repeat((_resume, None))  # type: ignore[assignment]
    frame.code = None
    frame.globals = back.globals
    frame.locals = None
    frame.back = back
    frame.handled = back.handled
    frame.machine = back.machine
    frame.policy = back.policy
    frame.depth = back.depth
    frame.deliver = deliver
    frame.extra = routine
    frame.function = extra
    return advance(frame, None, None, back)


def _resume(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    """The one instruction of a routine's frame: hand over the result of the call it asked for."""
    return advance(frame, stack.pop(), None, None)


def advance(frame: Frame, value: Any, error: BaseException | None, starter: Frame | None) -> Frame | None:
    """Runs a routine until it waits for an interpreted call, or returns. Raises what leaves it."""
    routine: Routine = frame.extra
    stack = frame.stack
    invoke = INVOKE[0]
    while True:
        policy = frame.policy
        observer = None if policy is None else policy.observer
        before = None if observer is None else HOST.told()
        try:
            if observer is not None:
                HOST.tell(observer.token)
            fn, args, kwargs = routine.send(value) if error is None else routine.throw(error)
        except StopIteration as stop:
            result = stop.value
            error = None  # this frame may stand in its traceback
            break
        except RuntimeError as problem:
            wrapped = _wrapped(problem, error)
            if wrapped is None:
                raise
        else:
            wrapped = None
        finally:
            if observer is not None:
                HOST.tell(before)
                if observer.problem is not None:
                    observer.check()
        if wrapped is not None:
            raise wrapped
        error = None
        try:
            called = invoke(frame, fn, args, kwargs)
        except BaseException as problem:
            error = problem
            continue
        if called is not None:
            return called
        value = stack.pop()
    back = frame.back
    assert back is not None
    if frame.deliver is not None:
        following = frame.deliver(frame, result)
        return None if starter is not None and following is back else following
    back.stack.append(result)
    return None if starter is not None else back


def _wrapped(error: RuntimeError, thrown: BaseException | None) -> StopIteration | None:
    """The StopIteration that the routine let out and that the host turned into ``error``.

    It is the one that was thrown in, or one raised by the routine itself: then no frame below this one is in the
    traceback. Any other RuntimeError of this kind is the program's own.
    """
    cause = error.__cause__
    if not isinstance(cause, StopIteration) or error.args != ("generator raised StopIteration",):
        return None
    tb = error.__traceback__
    return cause if cause is thrown or tb is None or tb.tb_next is None else None
