"""The run loop, and what happens when an exception leaves an instruction."""

from __future__ import annotations

from collections.abc import Iterator
from opcode import opmap
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Final

from dynamo_lite.places import in_front
from dynamo_lite.strict.decode.fuse import joined_loads
from dynamo_lite.strict.machine.code import MACHINE_FILES
from dynamo_lite.strict.machine.frame import EXIT, NULL, Code, Frame, GeneratorFrame, Machine, explain
from dynamo_lite.strict.machine.host import HOST
from dynamo_lite.strict.machine.routine import INVOKE, advance

_CONTEXT: Final[Any] = BaseException.__dict__["__context__"]
_TRACEBACK: Final[Any] = BaseException.__dict__["__traceback__"]
get_context: Final = _CONTEXT.__get__
set_context: Final = _CONTEXT.__set__
get_traceback: Final = _TRACEBACK.__get__
set_traceback: Final = _TRACEBACK.__set__


def run(frame: Frame) -> Any:
    """Runs ``frame`` and what it calls until the exit frame below it is reached; returns its value or raises."""
    machine = frame.machine
    error: BaseException | None
    while True:
        machine.frame = frame
        stack = frame.stack
        try:
            for handler, arg in frame.it:
                following = handler(frame, stack, arg)
                if following is not None:
                    frame = following
                    break
            else:
                return stack.pop()
            continue
        except BaseException as problem:
            if frame.extra is EXIT:
                raise
            error = problem
        attach_context(error, frame)
        try:
            frame = unwind(frame, error)
        finally:
            error = None


def execute(machine: Machine, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
    """Calls ``fn`` from native code: a run of its own on top of the machine's current frame."""
    outer = machine.frame
    leave = machine.begin_run()
    handled, value = leave.handled, leave.handled.value
    observed = None if machine.policy is None else HOST.told()
    try:
        machine.frame = leave
        if machine.policy is not None:
            HOST.pause()
        frame = INVOKE[0](leave, fn, args, kwargs)
        return leave.stack.pop() if frame is None else run(frame)
    finally:
        machine.frame = outer
        machine.end_run()
        handled.value = value  # an interrupt may come between the steps of a handler
        if machine.policy is not None:
            HOST.tell(observed)


def attach_context(error: BaseException, frame: Frame) -> None:
    """Sets ``__context__`` of an exception that C code raised while another one was handled.

    One that only passed through C from a run of its own has its context already.
    """
    handled = frame.handled.current()
    if handled is None or handled is error or get_context(error) is not None:
        return
    tb = get_traceback(error)
    while tb is not None and not _is_shadow(tb.tb_frame.f_code):
        if tb.tb_frame.f_code is _raise_out.__code__:
            return
        tb = tb.tb_next
    chain(error, handled)


def raise_in(frame: Frame, error: BaseException) -> Frame:
    """Raises in ``frame`` what C code or a handler raised on its behalf: the frame to go on with."""
    attach_context(error, frame)
    return unwind(frame, error)


def chain(error: BaseException, handled: BaseException | None) -> None:
    """Sets the context as ``raise`` does: the handled exception, without making a cycle."""
    if handled is None or handled is error:
        return
    link = slow = handled
    advance_slow = False
    while (context := get_context(link)) is not None:
        if context is error:
            set_context(link, None)
            break
        link = context
        if link is slow:  # a cycle that was there before
            break
        if advance_slow:
            slow = get_context(slow)
        advance_slow = not advance_slow
    set_context(error, handled)


def unwind(frame: Frame, error: BaseException, again: bool = False, at: int | None = None) -> Frame:
    """The frame that goes on after an exception in ``frame``; the exit frame raises it out of the run.

    ``again``: a re-raise, for which this frame is in the traceback already. ``at``: the instruction that the frame shows from then on.
    """
    tb = get_traceback(error)
    # a re-raised one was cleaned before: only what has come in front of it is looked at
    if tb is not None and not (again and not tb.tb_frame.f_code.co_filename.startswith(MACHINE_FILES)):
        tb = user_traceback(tb)
    refused = frame.policy is not None and isinstance(error, frame.policy.uncatchable)
    machine = frame.machine
    current: Frame | None = frame
    while current is not None:
        machine.frame = current  # what is dropped here may be closed, which runs on top of it
        code = current.code
        if code is None:
            set_traceback(error, tb)
            if current.extra is EXIT:
                current.it = iter(((_raise_out, error),))  # type: ignore[assignment]
                return current
            if refused:
                current.extra.close()
                current = current.back
                continue
            try:
                following = advance(current, None, error, None)
            except BaseException as problem:
                if problem is not error:  # raised in its stead by what the routine does for C
                    attach_context(problem, current)
                error = problem
                tb = user_traceback(get_traceback(error))
            else:
                assert following is not None
                return following
        else:
            index = current.index()
            if not again:
                offset = code.decoded.offsets[index]
                if type(error) is UnboundLocalError:
                    offset = _load_place(current, index, offset)
                tb = TracebackType(tb, _shadow(current, code, offset), offset, _LAZY_LINE)
            handlers = code.handlers
            handler = handlers[index] if handlers else None
            if handler is not None and not refused:
                target, depth, push_index = handler
                stack = current.stack
                del stack[code.slots + depth :]
                if push_index:
                    stack.append(index if at is None else at)
                stack.append(error)
                current.it.__setstate__(target)
                set_traceback(error, tb)
                return current
            del current.stack[code.slots :]
            if at is not None:
                current.it.__setstate__(at + 1)
                at = None
            if code.suspendable:
                assert isinstance(current, GeneratorFrame)
                LEAVE[0](current)
        if isinstance(error, AttributeError) and hasattr(current, "asked"):
            explain(error, current.asked)
            if current.policy is not None:
                current.policy.missing_attr(*current.asked)
        again = False
        below = current.back
        if code is not None and code.suspendable:
            current.back = None
        current = below
    if isinstance(error, KeyboardInterrupt):  # it came while a frame was being taken off
        raise error
    raise AssertionError("no exit frame below")


def _load_place(frame: Frame, index: int, offset: int) -> int:
    """The byte offset of the load that found its slot empty, where the instruction is joined of several."""
    assert frame.code is not None
    for slot, place in joined_loads(frame.code.decoded, index):
        if frame.stack[slot] is NULL:
            return place
    return offset


def _raise_out(frame: Frame, stack: list[Any], error: BaseException) -> None:
    """The one instruction of an exit frame that an exception has reached."""
    frame.it = iter(())  # type: ignore[assignment]
    try:
        raise error
    finally:
        del error  # which holds this frame


# CPython computes the line of such an entry when it is asked for
_LAZY_LINE: Final = -1

# what ends a generator whose frame was left by an exception; set by machine.generators
LEAVE: Final[list[Any]] = []


def user_traceback(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without the machine's own frames. Behind a shadow it has none: it was cleaned before."""
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(MACHINE_FILES):
        tb = tb.tb_next
    link = tb
    kept = []
    found = False
    while link is not None and not _is_shadow(link.tb_frame.f_code):
        if link.tb_frame.f_code.co_filename.startswith(MACHINE_FILES):
            found = True
        else:
            kept.append(link)
        link = link.tb_next
    if not found:
        return tb
    for entry in reversed(kept):
        link = in_front(entry, link)
    return link


def _ahead() -> int:
    """By how many code units the position of a suspended generator lies behind the instruction that suspended it."""

    def generator() -> Iterator[None]:
        yield

    code = generator.__code__.co_code
    suspending = next(i for i in range(0, len(code), 2) if code[i] == opmap["RETURN_GENERATOR"])
    made: Any = generator()
    return (made.gi_frame.f_lasti - suspending) // 2  # type: ignore[no-any-return]


_AHEAD: Final = _ahead()
_NOP: Final = bytes((opmap["NOP"], 0))
_ENDING: Final = bytes((opmap["RETURN_GENERATOR"], 0, opmap["POP_TOP"], 0, opmap["RESUME"], 0))


# the one variable of a shadow: the frame it stands for
BEHIND: Final = ".frame"


def shadow_code(code: Code, offset: int) -> CodeType:
    """Code with the name, file and positions of ``code`` that makes a generator at ``offset`` and does nothing else."""
    shadow = code.shadows.get(offset)
    if shadow is None:
        original = code.code
        size = len(original.co_code) // 2
        at = max(offset // 2 - _AHEAD, 0)
        shadow = code.shadows[offset] = original.replace(
            co_code=_NOP * at + _ENDING + _NOP * (size - at),
            co_consts=(None,),
            co_names=(),
            co_varnames=(BEHIND,),
            co_cellvars=(),
            co_freevars=(),
            co_argcount=1,
            co_posonlyargcount=0,
            co_kwonlyargcount=0,
            co_nlocals=1,
            co_stacksize=1,
            co_flags=0x23,
            co_exceptiontable=b"",
        )
    return shadow


def _is_shadow(code: CodeType) -> bool:
    return code.co_varnames == (BEHIND,)


def shadow_frame(frame: Frame) -> FrameType:
    """A real frame object that stands for an interpreted frame in a traceback: same names, same position.

    It is the frame of a generator that is suspended at the instruction and dropped at once.
    """
    assert frame.code is not None
    return _shadow(frame, frame.code, frame.code.decoded.offsets[max(frame.index(), 0)])


def _shadow(frame: Frame, code: Code, offset: int) -> FrameType:
    made = FunctionType(shadow_code(code, offset), frame.globals)(frame).gi_frame
    assert isinstance(made, FrameType)
    return made


def behind(shadow: FrameType) -> Frame | None:
    """The interpreted frame that a real frame stands for."""
    if not _is_shadow(shadow.f_code):
        return None
    found = shadow.f_locals.get(BEHIND)
    return found if isinstance(found, Frame) else None
