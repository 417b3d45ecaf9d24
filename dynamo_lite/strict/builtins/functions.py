"""Builtin functions and types that call slots: iteration, length, text, hash, numbers, containers, operators."""

from __future__ import annotations

import builtins
import operator
import types
from typing import Any

from dynamo_lite.strict.builtins.registry import replaces, replaces_directly
from dynamo_lite.strict.machine.behind import suspended
from dynamo_lite.strict.machine.calls import Kwargs, native
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.generators import NO_DEFAULT, resume_next
from dynamo_lite.strict.machine.iteration import (
    END,
    SEQUENCE_ITERATOR,
    collect,
    fill,
    iterates_in_python,
    next_of_sequence,
)
from dynamo_lite.strict.machine.operators import binary_protocol
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import inherits, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call, special_call
from dynamo_lite.strict.machine.truth import index, length, truth, truth_now


@replaces_directly(builtins.next)
def next_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if kwargs or not 1 <= len(args) <= 2:
        return native(frame, next, args, kwargs)
    iterator = args[0]
    inner = suspended(iterator)
    if inner is not None and type(iterator) is types.GeneratorType:
        return resume_next(frame, iterator, inner, None, args[1] if len(args) == 2 else NO_DEFAULT)
    method = slot(frame, type(iterator), "__next__")
    if method is None and type(iterator) is not SEQUENCE_ITERATOR:
        return native(frame, next, args, None)
    return start(frame, _next(frame, iterator, method, args[1:]))


def _next(frame: Frame, iterator: Any, method: Any, default: tuple[Any, ...]) -> Routine:
    if method is None:
        item = yield from next_of_sequence(frame, iterator)
        if item is not END:
            return item
        if not default:
            raise StopIteration
        return default[0]
    try:
        return (yield special_call(method, iterator, ()))
    except StopIteration:
        if not default:
            raise
    return default[0]


def _has_interpreted_length(frame: Frame, obj: Any, /) -> bool:
    if frame.policy is not None and id(type(obj)) in frame.policy.special_ids:
        return False
    return slot(frame, type(obj), "__len__") is not None


@replaces(builtins.len, needed=_has_interpreted_length)
def len_(frame: Frame, obj: Any, /) -> Routine:
    return (yield from length(frame, obj))


@replaces_directly(bool)
def bool_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) != 1 or kwargs:
        return native(frame, bool, args, kwargs)
    if frame.policy is None and (now := truth_now(frame, args[0])) is not None:
        frame.stack.append(now)
        return None
    return start(frame, truth(frame, args[0]))


def _special_or(name: str) -> Any:
    def needed(frame: Frame, obj: Any, *args: Any, **kwargs: Any) -> bool:
        return slot(frame, type(obj), name) is not None

    return needed


def _returns(frame: Frame, obj: Any, name: str, wanted: type, where: str) -> Routine:
    result = yield from bound_call(frame, lookup(type(obj), name), obj, ())
    if not inherits(type(result), wanted):
        raise TypeError(
            f"{where} returned non-{'string' if wanted is str else wanted.__name__} (type {type_name(type(result))})"
        )
    return result


@replaces(builtins.repr, needed=_special_or("__repr__"))
def repr_(frame: Frame, obj: Any, /) -> Routine:
    return (yield from _returns(frame, obj, "__repr__", str, "__repr__"))


def _str_needed(frame: Frame, *args: Any, **kwargs: Any) -> bool:
    if len(args) != 1 or kwargs:
        return False
    kind = type(args[0])
    return slot(frame, kind, "__str__") is not None or (
        lookup(kind, "__str__") is object.__str__ and slot(frame, kind, "__repr__") is not None
    )


@replaces(str, needed=_str_needed)
def str_(frame: Frame, obj: Any, /) -> Routine:
    name = "__str__" if slot(frame, type(obj), "__str__") is not None else "__repr__"
    return (yield from _returns(frame, obj, name, str, name if name == "__str__" else "__str__"))


@replaces(object.__str__, needed=_special_or("__repr__"))
def object_str(frame: Frame, obj: Any, /) -> Routine:
    return (yield from _returns(frame, obj, "__repr__", str, "__str__"))


@replaces(builtins.ascii, needed=_special_or("__repr__"))
def ascii_(frame: Frame, obj: Any, /) -> Routine:
    text = yield call(repr, obj)
    return text if str.isascii(text) else str.encode(text, "ascii", "backslashreplace").decode("ascii")


def _format_needed(frame: Frame, obj: Any, spec: Any = "", /) -> bool:
    kind = type(obj)
    if not inherits(type(spec), str):
        return False
    return slot(frame, kind, "__format__") is not None or (
        lookup(kind, "__format__") is object.__format__ and _str_needed(frame, obj)
    )


@replaces(builtins.format, needed=_format_needed)
def format_(frame: Frame, obj: Any, spec: Any = "", /) -> Routine:
    method = slot(frame, type(obj), "__format__")
    if method is None:
        if spec:
            return object.__format__(obj, spec)
        return (yield call(str, obj))
    result = yield from bound_call(frame, method, obj, (spec,))
    if not inherits(type(result), str):
        raise TypeError(f"__format__ must return a str, not {type_name(type(result))}")
    return result


@replaces(builtins.hash, needed=_special_or("__hash__"))
def hash_(frame: Frame, obj: Any, /) -> Routine:
    result = yield from bound_call(frame, lookup(type(obj), "__hash__"), obj, ())
    if not inherits(type(result), int):
        raise TypeError("__hash__ method should return an integer")
    return hash(_Hash(result))


class _Hash:
    """Lets C reduce an interpreted hash to a machine word, as it does."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return self.value


@replaces(builtins.abs, needed=_special_or("__abs__"))
def abs_(frame: Frame, obj: Any, /) -> Routine:
    return (yield from bound_call(frame, lookup(type(obj), "__abs__"), obj, ()))


@replaces(operator.index, needed=_special_or("__index__"))
def index_(frame: Frame, obj: Any, /) -> Routine:
    return (yield from index(frame, obj))


@replaces(
    builtins.divmod,
    needed=lambda frame, a, b, /: (
        slot(frame, type(a), "__divmod__") is not None or slot(frame, type(b), "__rdivmod__") is not None
    ),
)
def divmod_(frame: Frame, a: Any, b: Any, /) -> Routine:
    result = yield from binary_protocol(frame, "divmod", a, b)
    if result is NotImplemented:
        raise TypeError(
            f"unsupported operand type(s) for divmod(): '{type_name(type(a))}' and '{type_name(type(b))}'"
        )
    return result


# --- containers made from iterables


def _only_iterable(frame: Frame, *args: Any, **kwargs: Any) -> bool:
    return (
        len(args) == 1
        and not kwargs
        and (suspended(args[0]) is not None or iterates_in_python(frame, args[0]))
    )


def _container(cls: type) -> None:
    def routine(frame: Frame, iterable: Any, /) -> Routine:
        if cls is list or cls is tuple:
            return cls((yield from collect(frame, iterable)))
        made: set[Any] = set()
        yield from fill(frame, made, iterable)
        return made if cls is set else cls(made)

    replaces(cls, needed=_only_iterable)(routine)


for _cls in (list, tuple, set, frozenset):
    _container(_cls)


# --- operator functions: the operators themselves


def _operator(fn: Any, symbol: str) -> None:
    from dynamo_lite.strict.machine.operators import binary

    def handler(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        if len(args) != 2 or kwargs:
            return native(frame, fn, args, kwargs)
        return binary(frame, symbol, args[0], args[1])

    replaces_directly(fn)(handler)


def _comparison(fn: Any, symbol: str) -> None:
    from dynamo_lite.strict.machine.operators import compare_values

    def handler(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        if len(args) != 2 or kwargs:
            return native(frame, fn, args, kwargs)
        return compare_values(frame, symbol, args[0], args[1])

    replaces_directly(fn)(handler)


def _register_operators() -> None:
    from dynamo_lite.strict.machine.operators import _COMPARE, _NATIVE

    for symbol, fn in _NATIVE.items():
        _operator(fn, symbol)
    for symbol, (_, _, fn) in _COMPARE.items():
        _comparison(fn, symbol)


_register_operators()
