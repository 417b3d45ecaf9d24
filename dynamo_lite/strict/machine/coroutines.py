"""Delegation: ``yield from``, ``await``, ``async for``."""

from __future__ import annotations

from types import CoroutineType, GeneratorType
from typing import Any, Final

from dynamo_lite.strict.machine.behind import suspended
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.generators import _direct, _over
from dynamo_lite.strict.machine.iteration import get_iter_of
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.run import chain
from dynamo_lite.strict.machine.slots import MISSING, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call, special_call

CO_COROUTINE: Final = 0x80
CO_ITERABLE_COROUTINE: Final = 0x100


def _send(frame: Frame, stack: list[Any], target: int, keep: bool) -> Frame | None:
    value = stack.pop()
    receiver = stack[-1]
    kind = type(receiver)
    if kind is GeneratorType or kind is CoroutineType:
        inner = suspended(receiver)
        if inner is not None:
            if kind is CoroutineType and inner.done:
                raise RuntimeError("cannot reuse already awaited coroutine")
            if _over(receiver, inner):
                if kind is CoroutineType:
                    raise RuntimeError("cannot reuse already awaited coroutine")
                return _returned(frame, None, target, keep)
            if value is not None and not inner.started:
                raise TypeError(f"can't send non-None value to a just-started {type_name(kind)}")
            _direct(frame, receiver, inner, _deliver_keep if keep else _deliver_pop, target)
            inner.stack.append(value)
            return inner
    if value is None:
        method = slot(frame, kind, "__next__")
        if method is None and lookup(kind, "__next__") is MISSING:
            method = lookup(kind, "send")
            request = call(getattr, receiver, "send")
            return start(frame, _send_slowly(request, value), _deliver_sent, (target, keep))
        if method is None:
            try:
                step = type(receiver).__next__
                item = step(receiver) if frame.policy is None else frame.policy.operate(step, receiver)
            except StopIteration as stop:
                result = stop.value
            else:
                stack.append(item)
                return None
            return _returned(frame, result, target, keep)
        return start(frame, _next_slowly(frame, method, receiver), _deliver_sent, (target, keep))
    return start(frame, _send_slowly(call(getattr, receiver, "send"), value), _deliver_sent, (target, keep))


class _Returned:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _next_slowly(frame: Frame, method: Any, receiver: Any) -> Routine:
    try:
        return (yield special_call(method, receiver, ()))
    except StopIteration as stop:
        return _Returned(stop.value)


def _send_slowly(request: Any, value: Any) -> Routine:
    method = yield request
    try:
        return (yield call(method, value))
    except StopIteration as stop:
        return _Returned(stop.value)


def _deliver_sent(routine: Frame, result: Any) -> Frame | None:
    back = routine.back
    assert back is not None
    if type(result) is _Returned:
        target, keep = routine.function
        _returned(back, result.value, target, keep)
    else:
        back.stack.append(result)
    return back


def _returned(frame: Frame, value: Any, target: int, keep: bool) -> Frame | None:
    if keep:
        frame.stack.append(value)
    else:
        frame.stack[-1] = value
    frame.it.__setstate__(target)
    return None


def _deliver_keep(inner: Frame, value: Any) -> Frame | None:
    assert inner.back is not None
    _returned(inner.back, value, inner.extra, True)
    return inner.back


def _deliver_pop(inner: Frame, value: Any) -> Frame | None:
    assert inner.back is not None
    _returned(inner.back, value, inner.extra, False)
    return inner.back


def send(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    return _send(frame, stack, target, True)


def send_pop(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    return _send(frame, stack, target, False)


def _is_iterable_coroutine(obj: Any) -> bool:
    if type(obj) is not GeneratorType:
        return False
    inner = suspended(obj)
    flags = obj.gi_code.co_flags if inner is None else inner.code.flags  # type: ignore[union-attr]
    return bool(flags & CO_ITERABLE_COROUTINE)


def get_yield_from_iter(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    obj = stack[-1]
    kind = type(obj)
    assert frame.code is not None
    if kind is CoroutineType:
        if not frame.code.flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE):
            raise TypeError("cannot 'yield from' a coroutine object in a non-coroutine generator")
        return None
    if kind is GeneratorType:
        return None
    return get_iter_of(frame, stack.pop())


def get_awaitable(frame: Frame, stack: list[Any], where: int) -> Frame | None:
    obj = stack[-1]
    kind = type(obj)
    if kind is CoroutineType:
        if _awaited_elsewhere(obj):
            raise RuntimeError("coroutine is being awaited already")
        return None
    if _is_iterable_coroutine(obj):
        return None
    stack.pop()
    return start(frame, _awaitable(frame, obj, where))


def _awaited_elsewhere(obj: Any) -> bool:
    inner = suspended(obj)
    if inner is None:
        return obj.cr_await is not None
    from dynamo_lite.strict.machine.generators import delegate_of

    return inner.started and not inner.running and delegate_of(inner) is not None


def _awaitable(frame: Frame, obj: Any, where: int) -> Routine:
    kind = type(obj)
    method = lookup(kind, "__await__")
    if method is MISSING:
        if where:
            name = "__aenter__" if where == 1 else "__aexit__"
            raise TypeError(
                f"'async with' received an object from {name} that does not implement __await__: {type_name(kind)}"
            )
        raise TypeError(f"object {type_name(kind)} can't be used in 'await' expression")
    iterator = yield from bound_call(frame, method, obj, ())
    if type(iterator) is CoroutineType or _is_iterable_coroutine(iterator):
        raise TypeError("__await__() returned a coroutine")
    if lookup(type(iterator), "__next__") is MISSING:
        raise TypeError(f"__await__() returned non-iterator of type '{type_name(type(iterator))}'")
    return iterator


def get_aiter(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, _aiter(frame, stack.pop()))


def _aiter(frame: Frame, obj: Any) -> Routine:
    method = lookup(type(obj), "__aiter__")
    if method is MISSING:
        raise TypeError(f"'async for' requires an object with __aiter__ method, got {type_name(type(obj))}")
    iterator = yield from bound_call(frame, method, obj, ())
    if lookup(type(iterator), "__anext__") is MISSING:
        raise TypeError(
            f"'async for' received an object from __aiter__ that does not implement __anext__: {type_name(type(iterator))}"
        )
    return iterator


def get_anext(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, _anext(frame, stack[-1]))


def _anext(frame: Frame, iterator: Any) -> Routine:
    method = lookup(type(iterator), "__anext__")
    if method is MISSING:
        raise TypeError(
            f"'async for' requires an iterator with __anext__ method, got {type_name(type(iterator))}"
        )
    awaitable = yield from bound_call(frame, method, iterator, ())
    if type(awaitable) is CoroutineType or _is_iterable_coroutine(awaitable):
        return awaitable
    try:
        return (yield from _awaitable(frame, awaitable, 0))
    except Exception as error:
        problem = TypeError(
            f"'async for' received an invalid object from __anext__: {type_name(type(awaitable))}"
        )
        chain(error, frame.handled.current())
        problem.__cause__ = problem.__context__ = error
    raise problem
