"""Raising, handling, ``with``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dynamo_lite.places import in_front
from dynamo_lite.strict.machine.calls import invoke
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.run import chain, get_context, get_traceback, unwind
from dynamo_lite.strict.machine.slots import MISSING, inherits, lookup, mro_of, type_name
from dynamo_lite.strict.machine.special import lookup_special


def raise_(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    if count == 0:
        handled = frame.handled.current()
        if handled is None:
            raise RuntimeError("No active exception to reraise")
        return unwind(frame, handled, again=True)
    cause = stack.pop() if count == 2 else MISSING
    error = stack.pop()
    if isinstance_of(error, BaseException) and (
        cause is MISSING or cause is None or isinstance_of(cause, BaseException)
    ):
        return _raise(frame, error, cause)
    return start(frame, _make(frame, error, cause), _deliver_raise)


def isinstance_of(obj: Any, cls: type) -> bool:
    """isinstance by the type alone, without asking the object."""
    return inherits(type(obj), cls)


def _raise(frame: Frame, error: BaseException, cause: Any) -> Frame:
    if frame.policy is not None:
        frame.policy.before_write("content", error, None)
    if cause is not MISSING:
        BaseException.__dict__["__cause__"].__set__(error, cause)
    chain(error, frame.handled.current())
    return unwind(frame, error)


def _make(frame: Frame, error: Any, cause: Any) -> Routine:
    """Instances of the classes named in ``raise``."""
    error = yield from _instance(error, "exceptions must derive from BaseException", True)
    if cause is not MISSING and cause is not None:
        cause = yield from _instance(cause, "exception causes must derive from BaseException", False)
    return error, cause


def _instance(value: Any, message: str, check: bool) -> Routine:
    if issubclass(type(value), type) and issubclass(value, BaseException):
        made = yield call(value)
        if not inherits(type(made), BaseException):
            raise TypeError(
                f"calling {value!r} should have returned an instance of BaseException, not {type(made)!r}"
            )
        return made
    if issubclass(type(value), BaseException):
        return value
    raise TypeError(message)


def _deliver_raise(routine: Frame, result: Any) -> Frame:
    back = routine.back
    assert back is not None
    return _raise(back, *result)


def reraise(frame: Frame, stack: list[Any], depth: int) -> Frame:
    error = stack.pop()
    return unwind(frame, error, again=True, at=stack[-depth] if depth else None)


def push_exc_info(frame: Frame, stack: list[Any], arg: None) -> None:
    error = stack[-1]
    handled = frame.handled
    stack[-1] = handled.value
    handled.value = error
    stack.append(error)


def pop_except(frame: Frame, stack: list[Any], arg: None) -> None:
    frame.handled.value = stack.pop()


def load_assertion_error(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(AssertionError)


def _is_exception_class(value: Any) -> bool:
    return issubclass(type(value), type) and issubclass(value, BaseException)


def _check_types(wanted: Any) -> None:
    for each in wanted if type(wanted) is tuple else (wanted,):
        if not _is_exception_class(each):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")


def matches(error: Any, wanted: Any) -> bool:
    """PyErr_GivenExceptionMatches."""
    mro = mro_of(type(error))
    if type(wanted) is tuple:
        return any(matches(error, each) for each in wanted)
    return any(wanted is base for base in mro)


def check_exc_match(frame: Frame, stack: list[Any], arg: None) -> None:
    wanted = stack.pop()
    _check_types(wanted)
    stack.append(matches(stack[-1], wanted))


def check_eg_match(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    wanted = stack.pop()
    error = stack.pop()
    _check_types(wanted)
    for each in wanted if type(wanted) is tuple else (wanted,):
        if issubclass(each, BaseExceptionGroup):
            raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    return start(frame, _split(frame, error, wanted), _deliver_split)


def _wrapped_is_traced() -> bool:
    """Whether this CPython gives the group that it puts around a lone exception a traceback entry."""
    traced = False
    try:
        raise KeyError
    except* KeyError as group:
        traced = group.__traceback__ is not None
    return traced


_WRAPPED_IS_TRACED: Final = _wrapped_is_traced()


def _split(frame: Frame, error: Any, wanted: Any) -> Routine:
    if matches(error, wanted):
        if isinstance_of(error, BaseExceptionGroup):
            return None, error
        group = BaseExceptionGroup("", (error,))  # an ExceptionGroup where it can be one
        tb = get_traceback(error)
        if _WRAPPED_IS_TRACED and tb is not None:
            group.__traceback__ = in_front(tb, None)
        return None, group
    if isinstance_of(error, BaseExceptionGroup):
        method = yield call(getattr, error, "split")
        pair = yield call(method, wanted)
        if type(pair) is not tuple:
            raise TypeError(
                f"{type_name(type(error))}.split must return a tuple, not {type_name(type(pair))}"
            )
        if len(pair) < 2:
            raise TypeError(
                f"{type_name(type(error))}.split must return a 2-tuple, got tuple of size {len(pair)}"
            )
        matched, rest = pair[0], pair[1]
        return (error, None) if matched is None else (rest, matched)
    return error, None


def _deliver_split(routine: Frame, result: Any) -> Frame | None:
    back = routine.back
    assert back is not None
    rest, matched = result
    back.stack.append(rest)
    if matched is not None:
        back.handled.value = matched
    back.stack.append(matched)
    return back


def prep_reraise_star(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    raised = stack.pop()
    original = stack.pop()
    return start(frame, _prepare(frame, original, raised))


def _prepare(frame: Frame, original: Any, raised: list[Any]) -> Routine:
    """What ``except*`` raises at its end: new exceptions, and what was not handled of the original."""
    if not raised:
        return None
    if not isinstance_of(original, BaseExceptionGroup):
        return raised[0]
    new: list[Any] = []
    again: list[Any] = []
    for each in raised:
        if each is None:
            continue
        same = (
            isinstance_of(each, BaseExceptionGroup)
            and each.__traceback__ is original.__traceback__
            and each.__cause__ is original.__cause__
            and get_context(each) is get_context(original)
            and getattr(each, "__notes__", None) is getattr(original, "__notes__", None)
        )
        (again if same else new).append(each)
    if again:
        leaves: set[int] = set()
        for group in again:
            _leaves(group, leaves)
        kept = yield from _project(original, leaves)
        if kept is not None:
            new.append(kept)
    if not new:
        return None
    if len(new) == 1:
        return new[0]
    return (
        ExceptionGroup("", new) if all(isinstance(e, Exception) for e in new) else BaseExceptionGroup("", new)
    )


def _leaves(error: Any, into: set[int]) -> None:
    if isinstance_of(error, BaseExceptionGroup):
        for inner in error.exceptions:
            _leaves(inner, into)
    else:
        into.add(id(error))


def _project(error: Any, leaves: set[int]) -> Routine:
    """The part of a group that holds the given leaves, made by ``derive``."""
    if not isinstance_of(error, BaseExceptionGroup):
        return error if id(error) in leaves else None
    kept = []
    for inner in error.exceptions:
        part = yield from _project(inner, leaves)
        if part is not None:
            kept.append(part)
    if not kept:
        return None
    method = yield call(getattr, error, "derive")
    made = yield call(method, kept)
    made.__traceback__ = error.__traceback__
    made.__cause__ = error.__cause__
    made.__context__ = error.__context__
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, list):
        made.__notes__ = list(notes)
    return made


# --- with


def before_with(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, _enter(frame, stack.pop(), "__enter__", "__exit__", "context manager"), _deliver_pair)


def before_async_with(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    manager = stack.pop()
    return start(
        frame,
        _enter(frame, manager, "__aenter__", "__aexit__", "asynchronous context manager"),
        _deliver_pair,
    )


def _enter(frame: Frame, manager: Any, enter: str, leave: str, what: str) -> Routine:
    kind = type(manager)
    opening = lookup(kind, enter)
    if opening is MISSING:
        raise TypeError(f"'{type_name(kind)}' object does not support the {what} protocol")
    opening = yield from lookup_special(frame, manager, enter)
    closing = lookup(kind, leave)
    if closing is MISSING:
        raise TypeError(
            f"'{type_name(kind)}' object does not support the {what} protocol (missed {leave} method)"
        )
    closing = yield from lookup_special(frame, manager, leave)
    entered = yield call(opening)
    return closing, entered


def _deliver_pair(routine: Frame, pair: Any) -> Frame | None:
    back = routine.back
    assert back is not None
    back.stack.extend(pair)
    return back


def with_except_start(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    error = stack[-1]
    return invoke(frame, stack[-4], (type(error), error, get_traceback(error)), None)


# --- the ends of generators and asynchronous loops


def _leaving_is_traced() -> bool:
    """Whether this CPython shows the generator in the traceback of the RuntimeError for a StopIteration that left it."""

    def generator() -> Iterator[None]:
        yield next(iter(()))

    try:
        next(generator())
    except RuntimeError as error:
        tb = get_traceback(error)
        return tb is not None and tb.tb_next is not None
    raise AssertionError("StopIteration left a generator")


_LEAVING_IS_TRACED: Final = _leaving_is_traced()


def stop_iteration_error(frame: Frame, stack: list[Any], keeps_traceback: bool) -> None:
    error = stack[-1]
    assert frame.code is not None
    flags = frame.code.flags
    if isinstance_of(error, StopIteration):
        kind = "async generator" if flags & 0x200 else "coroutine" if flags & 0x80 else "generator"
        text = f"{kind} raised StopIteration"
    elif flags & 0x200 and isinstance_of(error, StopAsyncIteration):
        text = "async generator raised StopAsyncIteration"
    else:
        return
    made = RuntimeError(text)
    made.__cause__ = error
    made.__context__ = error
    made.__traceback__ = get_traceback(error) if keeps_traceback and _LEAVING_IS_TRACED else None
    stack[-1] = made


def end_async_for(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    error = stack.pop()
    stack.pop()
    if isinstance_of(error, StopAsyncIteration):
        return None
    return unwind(frame, error, again=True)


def cleanup_throw(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    error = stack[-1]
    if isinstance_of(error, StopIteration):
        del stack[-3:]
        stack.append(None)
        stack.append(error.value)
        return None
    return unwind(frame, error, again=True)
