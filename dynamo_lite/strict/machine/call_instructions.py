"""The instructions that call."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from dynamo_lite.strict.machine.binding import bind_by_plan
from dynamo_lite.strict.machine.build import merge_mapping
from dynamo_lite.strict.machine.calls import METHOD_NAMES, REPLACEMENTS, describe, enter, invoke, meet
from dynamo_lite.strict.machine.code import PLAIN, TRACED
from dynamo_lite.strict.machine.construction import initialised, plain_init
from dynamo_lite.strict.machine.frame import NULL, Frame, new_frame
from dynamo_lite.strict.machine.iteration import collect
from dynamo_lite.strict.machine.policy import CONSTANT_MARK
from dynamo_lite.strict.machine.routine import Routine, start
from dynamo_lite.strict.machine.slots import INFOS, MISSING, info_of, lookup, type_name

_new_object: Final = object.__new__


def _call(frame: Frame, stack: list[Any], fn: Any, args: list[Any]) -> Frame | None:
    """A call with positional arguments; functions and methods with plain parameters go the short way."""
    kind = type(fn)
    if kind is MethodType:
        args.insert(0, fn.__self__)
        fn = fn.__func__
        kind = type(fn)
    if kind is FunctionType:
        plain = frame.policy is None
        code = (PLAIN if plain else TRACED).get(id(fn.__code__))
        if (
            code is not None
            and code.simple
            and len(args) == code.argcount
            and not code.opaque
            and (plain or not getattr(fn, CONSTANT_MARK, False))
        ):
            if not plain and id(fn) not in frame.machine.entered:
                meet(frame, fn)
            args += code.padding
            made = new_frame(code, args, fn.__globals__, frame)
            made.function = fn
            return made
    elif kind is type and frame.policy is None:
        info = INFOS.get(id(fn)) or info_of(fn)
        init = info.maker
        if init is None:
            init = info.maker = plain_init(frame, fn)
        if init is not False:
            obj = _new_object(fn)
            made_or_none = enter(frame, init, (obj, *args), None)
            if made_or_none is not None:
                made_or_none.deliver = initialised
                made_or_none.extra = obj
                return made_or_none
            stack[-1] = obj
            return None
    elif (
        kind is BuiltinFunctionType
        and frame.policy is None
        and fn not in REPLACEMENTS
        and fn.__name__ not in METHOD_NAMES
    ):
        stack.append(fn(*args))
        return None
    return invoke(frame, fn, tuple(args), None)


def call_null_below(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    first = len(stack) - count
    fn = stack[first - 2]
    if fn is NULL:
        fn = stack[first - 1]
        args = stack[first:]
    else:
        args = stack[first - 1 :]
    del stack[first - 2 :]
    return _call(frame, stack, fn, args)


def call_null_above(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    first = len(stack) - count
    fn = stack[first - 2]
    args = stack[first:] if stack[first - 1] is NULL else stack[first - 1 :]
    del stack[first - 2 :]
    return _call(frame, stack, fn, args)


def _call_kw(frame: Frame, stack: list[Any], count: int, names: tuple[str, ...], above: bool) -> Frame | None:
    size = len(stack)
    first = size - count
    fn, own = stack[first - 2], stack[first - 1]
    if fn is NULL and not above:
        fn, own = own, NULL
    split = size - len(names)
    args = stack[first:split] if own is NULL else [own, *stack[first:split]]
    values = stack[split:]
    del stack[first - 2 :]
    if type(fn) is MethodType:
        args.insert(0, fn.__self__)
        fn = fn.__func__
    if type(fn) is FunctionType:
        plain = frame.policy is None
        code = (PLAIN if plain else TRACED).get(id(fn.__code__))
        if (
            code is not None
            and code.planned
            and not code.opaque
            and (plain or not getattr(fn, CONSTANT_MARK, False))
        ):
            if not plain and id(fn) not in frame.machine.entered:
                meet(frame, fn)
            slots = bind_by_plan(code, fn, args, names, values)
            if slots is not None:
                made = new_frame(code, slots, fn.__globals__, frame)
                made.function = fn
                return made
    return invoke(frame, fn, tuple(args), dict(zip(names, values, strict=True)))


def call_kw_null_below(frame: Frame, stack: list[Any], arg: tuple[int, tuple[str, ...]]) -> Frame | None:
    return _call_kw(frame, stack, arg[0], arg[1], False)


def call_kw_null_above(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    return _call_kw(frame, stack, count, stack.pop(), True)


def _call_ex(frame: Frame, fn: Any, args: Any, kwargs: Any) -> Frame | None:
    if type(args) is tuple and (kwargs is None or type(kwargs) is dict):
        return invoke(frame, fn, args, dict(kwargs) if kwargs else None)
    return start(frame, _expand(frame, fn, args, kwargs))


def _expand(frame: Frame, fn: Any, args: Any, kwargs: Any) -> Routine:
    """``f(*args, **kwargs)`` where they are not a tuple and a dict yet."""
    if type(args) is not tuple:
        iterator = lookup(type(args), "__iter__")
        if iterator is MISSING and lookup(type(args), "__getitem__") is MISSING:
            shown = yield from describe(fn)
            raise TypeError(f"{shown} argument after * must be an iterable, not {type_name(type(args))}")
        args = tuple((yield from collect(frame, args)))
    if kwargs is not None and type(kwargs) is not dict:
        merged: dict[Any, Any] = {}
        yield from merge_mapping(frame, merged, kwargs, fn)
        kwargs = merged
    return (yield fn, args, kwargs or None)


def call_ex_null_below(frame: Frame, stack: list[Any], has_kwargs: bool) -> Frame | None:
    kwargs = stack.pop() if has_kwargs else None
    args = stack.pop()
    fn = stack.pop()
    below = stack.pop()
    if below is not NULL:
        args = (fn, *args)
        fn = below
    return _call_ex(frame, fn, args, kwargs)


def call_ex_null_above(frame: Frame, stack: list[Any], has_kwargs: bool) -> Frame | None:
    kwargs = stack.pop() if has_kwargs else None
    args = stack.pop()
    stack.pop()
    return _call_ex(frame, stack.pop(), args, kwargs)
