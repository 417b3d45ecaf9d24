"""Generators, coroutines and asynchronous generators: real objects in front of suspended frames.

The object that user code sees is a real generator (coroutine, asynchronous generator) made from a small native driver. Its
type, ``inspect``, asyncio, finalisation at collection and so on are CPython's own.
"""

from __future__ import annotations

import types
from types import CodeType, FunctionType
from typing import Any, Final

from dynamo_lite.strict.machine.behind import remember
from dynamo_lite.strict.machine.current import current_machine
from dynamo_lite.strict.machine.frame import Frame, GeneratorFrame, Handled
from dynamo_lite.strict.machine.functions import hand_over
from dynamo_lite.strict.machine.generators import attach, is_running, throw_into
from dynamo_lite.strict.machine.generators import leave as end
from dynamo_lite.strict.machine.host import HOST
from dynamo_lite.strict.machine.run import get_traceback, run, user_traceback

CO_GENERATOR: Final = 0x20
CO_COROUTINE: Final = 0x80
CO_ITERABLE_COROUTINE: Final = 0x100
CO_ASYNC_GENERATOR: Final = 0x200

_PRIMED: Final = object()


def _enter(frame: GeneratorFrame) -> Frame:
    """Prepares a run that resumes ``frame`` from native code; the exit frame is put below it."""
    if frame.running and is_running(frame):
        raise ValueError("generator already executing")
    machine = current_machine()
    leave = machine.begin_run()
    try:
        attach(frame, leave)
    except BaseException:
        machine.end_run()
        raise
    return leave


def resume(frame: GeneratorFrame, value: Any) -> Any:
    """Sends a value into the frame and runs it to its next yield, its return or an exception."""
    leave = _enter(frame)
    frame.stack.append(value)
    return _run(frame, leave)


def resume_throw(frame: GeneratorFrame, pending: list[BaseException]) -> Any:
    """Throws what is pending into the frame and runs it to its next yield, its return or an exception.

    None of our frames goes on to hold the exception: it may leave through them, and would keep itself and its callers alive.
    """
    if isinstance(pending[0], GeneratorExit) and (
        not frame.started or (frame.policy is not None and current_machine().policy is None)
    ):
        # it has not begun; or the trace that it belongs to is over and undone: what it would clean up is no more
        frame.deliver = None
        end(frame)
        raise pending.pop()
    leave = _enter(frame)
    outer = leave.back
    assert outer is not None
    machine = leave.machine
    observed = None if machine.policy is None else HOST.pause()
    try:
        machine.frame = frame
        return run(throw_into(frame, pending.pop()))
    finally:
        machine.frame = outer
        machine.end_run()
        if machine.policy is not None:
            HOST.tell(observed)


def _run(frame: Frame, leave: Frame) -> Any:
    machine = leave.machine
    outer = leave.back
    assert outer is not None
    observed = None if machine.policy is None else HOST.pause()
    try:
        return run(frame)
    finally:
        machine.frame = outer
        machine.end_run()
        if machine.policy is not None:
            HOST.tell(observed)


def _driver(frame: GeneratorFrame) -> Any:
    """The body of every generator and coroutine object: passes what happens to it to the frame."""
    error: Any = None
    value: Any = None
    pending: list[BaseException] = []
    if frame.priming:
        frame.priming = False
        frame.primed = True
        try:
            value = yield _PRIMED
        except BaseException as thrown:
            error = thrown
    frame.primed = True
    while True:
        if frame.done or (frame.running and not is_running(frame)):
            if error is not None and not isinstance(error, GeneratorExit):
                raise error
            error = None  # this frame stands in its traceback
            return None
        if error is None:
            result = resume(frame, value)
        else:
            pending.append(error)
            error = None
            result = resume_throw(frame, pending)
        if _ended(frame):
            return result
        try:
            value = yield result
            continue
        except BaseException as thrown:
            error = thrown
            error.__traceback__ = _strip_head(error)


def _ended(frame: GeneratorFrame) -> bool:
    """Whether the frame has ended; asked anew, since running it changes that."""
    return frame.done


def _strip_head(error: BaseException) -> Any:
    return user_traceback(get_traceback(error))


async def _async_driver(frame: GeneratorFrame) -> Any:
    """The body of every asynchronous generator object; what it awaits is passed on as a coroutine would."""
    error: Any = None
    value: Any = None
    pending: list[BaseException] = []
    frame.primed = True
    while not frame.done:
        try:
            if error is None:
                result = resume(frame, value)
            else:
                pending.append(error)
                error = None
                result = resume_throw(frame, pending)
        except StopAsyncIteration as stop:
            raise RuntimeError("async generator raised StopAsyncIteration") from stop
        if _ended(frame):
            return
        try:
            if frame.async_yield:
                value = yield result
            else:
                value = await _raw_yield(result)
        except BaseException as thrown:
            error = thrown
            error.__traceback__ = _strip_head(error)


@types.coroutine
def _raw_yield(value: Any) -> Any:
    return (yield value)


def _variant(flags: int) -> FunctionType:
    code = _driver.__code__
    made: CodeType = code.replace(co_flags=(code.co_flags & ~CO_GENERATOR) | flags)
    return FunctionType(made, globals(), "driver")


_DRIVERS: Final[dict[int, Any]] = {
    CO_GENERATOR: _driver,
    CO_GENERATOR | CO_ITERABLE_COROUTINE: _variant(CO_GENERATOR | CO_ITERABLE_COROUTINE),
    CO_COROUTINE: _variant(CO_COROUTINE),
    CO_ASYNC_GENERATOR: _async_driver,
}


def return_generator(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    """Makes the object and returns it to the caller; the frame waits here."""
    assert isinstance(frame, GeneratorFrame) and frame.code is not None
    kind = frame.code.flags & 0x3A0
    made = _DRIVERS[kind](frame)
    function = frame.function
    if function is not None:
        made.__name__ = function.__name__
        made.__qualname__ = function.__qualname__
    else:
        made.__name__ = frame.code.name
        made.__qualname__ = frame.code.code.co_qualname
    held = remember(made, frame, frame.code.code)
    frame.running = frame.done = frame.primed = frame.priming = frame.started = frame.async_yield = False
    back, deliver = frame.back, frame.deliver
    assert back is not None
    frame.handled = Handled()
    frame.object = held  # last: an interrupt may come at any step, and a frame with an object is whole
    frame.back = None
    if deliver is not None:
        frame.back = back
        following = hand_over(frame, made)
        frame.back = frame.deliver = None
        return following
    back.stack.append(made)
    return back
