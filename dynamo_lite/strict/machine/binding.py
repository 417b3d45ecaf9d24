"""Binding arguments to parameters: the local slots of a call."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.machine.frame import NULL, Code


def bind_arguments(
    code: Code, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> list[Any]:
    """The local slots of a call, parameters filled in. Raises the TypeError that CPython raises."""
    slots = code.blank.copy()
    count, given, flags = code.argcount, len(args), code.flags
    total = count + code.kwonly
    if given <= count:
        slots[:given] = args
    elif flags & 4:
        slots[:count] = args[:count]
    else:
        mismatch(code, fn, args, kwargs)
    if flags & 4:
        slots[total] = args[count:]
    extra: dict[str, Any] | None = None
    if flags & 8:
        extra = {}
        slots[total + (1 if flags & 4 else 0)] = extra
    if kwargs and not _bind_keywords(code, slots, kwargs, extra):
        mismatch(code, fn, args, kwargs)
    if given < count:
        defaults = fn.__defaults__ or ()
        first = count - len(defaults)
        for position in range(given, count):
            if slots[position] is NULL:
                if position < first:
                    mismatch(code, fn, args, kwargs)
                slots[position] = defaults[position - first]
    if code.kwonly:
        values = fn.__kwdefaults__ or {}
        names = code.decoded.slot_names
        for position in range(count, total):
            if slots[position] is NULL:
                if names[position] not in values:
                    mismatch(code, fn, args, kwargs)
                slots[position] = values[names[position]]
    return slots


def _bind_keywords(
    code: Code, slots: list[Any], kwargs: dict[str, Any], extra: dict[str, Any] | None
) -> bool:
    """Puts keyword arguments where they belong; False where they do not fit."""
    names = code.decoded.slot_names
    total = code.argcount + code.kwonly
    for key, value in kwargs.items():
        if not issubclass(type(key), str):
            return False
        try:
            position = names.index(key, code.posonly, total)
        except ValueError:
            if extra is None:
                return False
            extra[key] = value
            continue
        if slots[position] is not NULL:
            return False
        slots[position] = value
    return True


def mismatch(code: Code, fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> None:
    """Raises CPython's own TypeError: a function of the same signature that does nothing is called."""
    original = code.code
    flags = original.co_flags & ~0x2A0
    idle = original.replace(
        co_code=_IDLE.co_code,
        co_consts=_IDLE.co_consts,
        co_stacksize=_IDLE.co_stacksize,
        co_flags=flags,
        co_exceptiontable=b"",
        co_cellvars=(),
        co_freevars=(),
        co_linetable=_IDLE.co_linetable,
        co_names=(),
    )
    double = FunctionType(idle, fn.__globals__, fn.__name__, fn.__defaults__, ())
    double.__kwdefaults__ = fn.__kwdefaults__
    double.__qualname__ = fn.__qualname__
    double(*args, **(kwargs or {}))
    raise TypeError(f"{fn.__qualname__}() cannot bind its arguments")


def _idle() -> None:
    return None


_IDLE: Final = _idle.__code__


def bind_by_plan(
    code: Code, fn: FunctionType, args: list[Any], names: tuple[str, ...], values: list[Any]
) -> list[Any] | None:
    """Binds keywords by slots found once for these names; None where the general way must say what is wrong."""
    plans = code.plans
    count = len(args)
    key = (count, names)
    plan = plans.get(key)
    if plan is None:
        plan = plans[key] = _keyword_plan(code, count, names)
    positions, missing = plan
    if positions is None:
        return None
    slots = args + code.blank[count:]
    for position, value in zip(positions, values, strict=True):
        slots[position] = value
    if missing:
        defaults = fn.__defaults__ or ()
        first = code.argcount - len(defaults)
        named = fn.__kwdefaults__ or {}
        for position, name in missing:
            if position < code.argcount:
                if position < first:
                    return None
                slots[position] = defaults[position - first]
            elif name in named:
                slots[position] = named[name]
            else:
                return None
    return slots


def _keyword_plan(
    code: Code, count: int, names: tuple[str, ...]
) -> tuple[list[int] | None, list[tuple[int, str]]]:
    """Where keywords of these names go after ``count`` positional arguments, and which parameters then are left."""
    total = code.argcount + code.kwonly
    if count > code.argcount:
        return None, []
    known = code.decoded.slot_names[:total]
    positions = []
    for name in names:
        if (
            name not in known
            or (position := known.index(name)) < max(code.posonly, count)
            or position in positions
        ):
            return None, []
        positions.append(position)
    left = [(i, known[i]) for i in range(count, total) if i not in positions]
    return positions, left
