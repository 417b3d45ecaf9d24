"""Suspended frames: resuming them, throwing into them, and the instructions that yield and return.

Where the machine itself iterates or delegates (``for``, ``yield from``, ``await``, ``next``) it resumes the suspended frame
directly, without recursion; what the user holds is the real object made in ``machine.drivers``.
"""

from __future__ import annotations

from types import CoroutineType, GeneratorType
from typing import Any, Final

from dynamo_lite.strict.decode.versions import FOR_STEPS_UNCOUNTED
from dynamo_lite.strict.machine.behind import suspended
from dynamo_lite.strict.machine.current import current_machine
from dynamo_lite.strict.machine.frame import Frame, GeneratorFrame, Machine
from dynamo_lite.strict.machine.functions import hand_over
from dynamo_lite.strict.machine.routine import Routine, start
from dynamo_lite.strict.machine.run import LEAVE, chain, unwind
from dynamo_lite.strict.machine.slots import TypeSet


def attach(frame: GeneratorFrame, below: Frame) -> None:
    depth = below.depth + 1
    if depth > below.machine.limit:
        raise RecursionError("maximum recursion depth exceeded")
    frame.back = below
    frame.machine = below.machine
    frame.policy = below.policy
    frame.handled.previous = below.handled
    frame.deliver = None
    frame.running = True
    frame.started = True
    frame.depth = depth


def throw_into(frame: GeneratorFrame, error: BaseException) -> Frame:
    """Raises ``error`` where the attached frame is suspended: the frame to go on with."""
    delegate = delegate_of(frame)
    if delegate is not None:
        problem: BaseException
        try:
            following = start(frame, _throw_delegate(frame, delegate, error), _delegate_yielded)
            return frame if following is None else following
        except BaseException as raised:
            problem = raised
        if frame.handled.value is not None:
            chain(problem, frame.handled.value)
        frame.stack.append(None)
        return unwind(frame, problem)
    if frame.handled.value is not None:
        chain(error, frame.handled.value)
    frame.stack.append(None)  # in place of what would have been sent
    return unwind(frame, error)


def delegate_of(frame: GeneratorFrame) -> Any:
    """What the suspended frame delegates to (``yield from``, ``await``), or None."""
    if not frame.started or frame.done:
        return None
    assert frame.code is not None
    instruction = frame.code.decoded.instructions[frame.index()]
    return frame.stack[-1] if instruction[0] == "yield_sub" else None


class _Raiser:
    """Raises where C only reports: when it is dropped."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def _report_unraisable(error: BaseException) -> None:
    """Hands an exception that cannot be raised to ``sys.unraisablehook``, through C as CPython does."""
    _Raiser(error)


class _Returned:
    """What a delegate returned while an exception was thrown into it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _throw_delegate(frame: GeneratorFrame, delegate: Any, error: BaseException) -> Routine:
    """Passes a thrown exception on to the delegate, as ``generator.throw`` does: a foreign one is given the same arguments."""
    kind = type(delegate)
    if isinstance(error, GeneratorExit):
        if id(kind) in _REAL:
            if hasattr(frame, "failed"):
                error = frame.failed
                del frame.failed
                raise error
            _close_inner(delegate)
            delegate.close()
        else:
            close = None
            try:
                close = yield getattr, (delegate, "close", None), None
            except BaseException as problem:
                _report_unraisable(problem)
            if close is not None:
                yield close, (), None
        raise error
    if id(kind) not in _REAL:
        throw = yield getattr, (delegate, "throw", None), None
        if throw is None:
            raise error
        try:
            return (yield throw, getattr(frame, "thrown", (error,)), None)
        except StopIteration as stop:
            return _Returned(stop.value)
    try:
        return delegate.throw(error)
    except StopIteration as stop:
        return _Returned(stop.value)


def _close_inner(delegate: Any) -> None:
    """Closes what the delegate delegates to, innermost first as ``generator.close`` does, but without recursion.

    What closing one raises is raised in the one around when that is closed.
    """
    chain = [delegate]
    while (inner := suspended(chain[-1])) is not None and not inner.running:
        deeper = delegate_of(inner)
        if id(type(deeper)) not in _REAL:
            break
        chain.append(deeper)
    while len(chain) > 1:
        obj = chain.pop()
        around = suspended(chain[-1])
        assert around is not None
        try:
            obj.close()
        except BaseException as problem:
            around.failed = problem


_REAL: Final = TypeSet((GeneratorType, CoroutineType)).ids


def _delegate_yielded(routine: Frame, result: Any) -> Frame | None:
    """The delegate went on: its yield is ours; or it returned, and so the delegation ends."""
    frame = routine.back
    assert isinstance(frame, GeneratorFrame) and frame.code is not None
    if type(result) is not _Returned:
        return _yield(frame, result)
    target = frame.code.decoded.instructions[frame.index()][1]
    if target is None:
        frame.stack.append(None)
        return unwind(frame, StopIteration(result.value))
    frame.stack[-1] = result.value
    frame.it.__setstate__(target)
    return frame


def leave(frame: GeneratorFrame) -> None:
    """The frame has ended, by return or by an exception: its object ends too."""
    if not hasattr(
        frame, "object"
    ):  # an interrupt came before the object was made: what is handled is the caller's yet
        return
    frame.done = True
    frame.running = False
    frame.handled.previous = None
    frame.handled.value = None
    _drop(frame.machine, frame.stack)
    made = frame.object()
    if made is not None and frame.primed and frame.deliver is not None:
        # it was resumed directly: the driver still waits at its yield
        made.close()


LEAVE.append(leave)

# generators held by generators end on the C stack this deep at most
_NESTED_DROPS: Final = 20


def _drop(machine: Machine, held: list[Any]) -> None:
    """Drops what an ended frame held. Generators among it may end by that: far in, an outer call drops what theirs held."""
    if machine.dropping >= _NESTED_DROPS:
        machine.doomed.append(held[:])
        held.clear()
        return
    machine.dropping += 1
    try:
        held.clear()
        if machine.dropping == _NESTED_DROPS:
            while machine.doomed:
                machine.doomed.pop()
    finally:
        machine.dropping -= 1


def is_running(frame: GeneratorFrame) -> bool:
    """Whether the frame runs now. One that an interrupt between two steps of the machine has left marked so has ended."""
    if not frame.running or frame.machine is not current_machine():
        return frame.running
    current: Frame | None = frame.machine.frame
    while current is not None and current is not frame:
        current = current.back
    if current is None:
        leave(frame)
    return current is frame


# --- direct resumption


def _direct(below: Frame, made: Any, frame: GeneratorFrame, deliver: Any, extra: Any) -> GeneratorFrame:
    """Attaches the frame above ``below``, without its driver."""
    attach(frame, below)
    frame.deliver = deliver
    frame.extra = extra
    return frame


def _over(made: Any, frame: GeneratorFrame) -> bool:
    """Whether the frame has ended (its object may have been closed before it began); else its driver waits."""
    if frame.running and is_running(frame):
        kind = "coroutine" if type(made) is CoroutineType else "generator"
        raise ValueError(f"{kind} already executing")
    if not frame.primed and not frame.done:
        frame.priming = True
        try:
            made.send(None)
        except (
            StopIteration,
            RuntimeError,
        ):  # closed before it began; a closed coroutine says so by RuntimeError
            frame.priming = False
            frame.done = True
    return frame.done


def resume_for(below: Frame, made: Any, frame: GeneratorFrame, target: int) -> Frame | None:
    """``for``: the next item is pushed, or the loop is left."""
    if (not frame.primed or frame.running or frame.done) and _over(made, frame):
        below.stack.pop()
        below.it.__setstate__(target)
        return None
    frame.back = below
    frame.machine = machine = below.machine
    frame.policy = below.policy
    frame.handled.previous = below.handled
    frame.deliver = _deliver_for
    frame.extra = target
    frame.depth = depth = below.depth + 1
    if depth > machine.limit and not FOR_STEPS_UNCOUNTED:
        raise RecursionError("maximum recursion depth exceeded")
    frame.running = frame.started = True
    frame.stack.append(None)
    return frame


def _deliver_for(frame: Frame, value: Any) -> Frame | None:
    back = frame.back
    assert back is not None
    back.stack.pop()
    back.it.__setstate__(frame.extra)
    return back


def resume_next(below: Frame, made: Any, frame: GeneratorFrame, value: Any, default: Any) -> Frame | None:
    """``next`` and ``send``: the next item is pushed; at the end StopIteration, or the default where there is one."""
    if value is not None and not frame.started and not frame.done:
        raise TypeError("can't send non-None value to a just-started generator")
    if _over(made, frame):
        if default is _NO_DEFAULT:
            raise StopIteration
        below.stack.append(default)
        return None
    # the caller may hold nothing else of the object while it runs, and dropping it would close it
    _direct(below, made, frame, _deliver_stop, (default, made))
    frame.stack.append(value)
    return frame


def throw_first(below: Frame, made: Any, frame: GeneratorFrame, error: BaseException) -> Frame:
    """Throws into a frame that has not begun: it ends on the line of its definition. No driver may turn StopIteration over."""
    _direct(below, made, frame, _deliver_stop, (_NO_DEFAULT, made))
    return throw_into(frame, error)


_NO_DEFAULT: Final = object()
NO_DEFAULT: Final = _NO_DEFAULT


def _deliver_stop(frame: Frame, value: Any) -> Frame | None:
    back = frame.back
    assert back is not None
    default, _ = frame.extra
    frame.extra = None
    if default is not _NO_DEFAULT:
        back.stack.append(default)
        return back
    error = StopIteration() if value is None else StopIteration(value)
    chain(error, back.handled.current())
    return unwind(back, error)


# --- instructions


def _yield(frame: GeneratorFrame, value: Any) -> Frame:
    back = frame.back
    assert back is not None
    frame.running = False
    frame.back = None
    frame.handled.previous = None
    back.stack.append(value)
    frame.extra = None  # last: this may drop the object, which closes it
    return back


def yield_value(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    back = frame.back
    frame.running = False  # type: ignore[attr-defined]
    frame.back = None
    frame.handled.previous = None
    back.stack.append(stack.pop())  # type: ignore[union-attr]
    frame.extra = None  # last: this may drop the object, which closes it
    return back


def yield_sub(frame: Frame, stack: list[Any], arg: int | None) -> Frame | None:
    frame.async_yield = False  # type: ignore[attr-defined]
    return _yield(frame, stack.pop())  # type: ignore[arg-type]


def yield_async(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    frame.async_yield = True  # type: ignore[attr-defined]
    return _yield(frame, stack.pop())  # type: ignore[arg-type]


def _finish(frame: Frame, value: Any) -> Frame | None:
    assert isinstance(frame, GeneratorFrame)
    back, deliver = frame.back, frame.deliver
    assert back is not None
    leave(frame)
    if deliver is None:
        frame.back = None
        back.stack.append(value)
        return back
    following = hand_over(frame, value)
    frame.back = None
    return following


def generator_return(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return _finish(frame, stack.pop())


def generator_return_const(frame: Frame, stack: list[Any], value: Any) -> Frame | None:
    return _finish(frame, value)
