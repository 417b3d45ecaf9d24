"""Special methods, looked up on the type and called as C code does, whatever descriptor they are."""

from __future__ import annotations

import types
from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.machine.calls import CALLERS, bind
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Request, Routine, start
from dynamo_lite.strict.machine.slots import MISSING, lookup

# called with the object in front instead of being bound first (None cannot be bound by __get__)
_UNBOUND: Final = frozenset({FunctionType, types.WrapperDescriptorType, types.MethodDescriptorType})


def bound_call(frame: Frame, attribute: Any, obj: Any, args: tuple[Any, ...]) -> Routine:
    """Calls a special method that may be any descriptor."""
    if type(attribute) in _UNBOUND:
        return (yield attribute, (obj, *args), None)
    bound = yield from bind(frame, attribute, obj, type(obj))
    return (yield bound, args, None)


def lookup_special(frame: Frame, obj: Any, name: str) -> Routine:
    """A special method found on the type and bound, as C code looks it up; AttributeError where there is none."""
    attribute = lookup(type(obj), name)
    if attribute is MISSING:
        raise AttributeError(name)
    if type(attribute) is FunctionType:
        return types.MethodType(attribute, obj)
    return (yield from bind(frame, attribute, obj, type(obj)))


def special_call(attribute: Any, obj: Any, args: tuple[Any, ...]) -> Request:
    """The request that calls a special method, whatever descriptor it is.

    Where StopIteration matters, a routine must yield this itself: a nested generator would turn it into RuntimeError.
    """
    if type(attribute) in _UNBOUND:
        return attribute, (obj, *args), None
    return _Bound(attribute, obj), args, None


class _Bound:
    """A special method that is some other descriptor, to be bound when called."""

    __slots__ = ("attribute", "obj")

    def __init__(self, attribute: Any, obj: Any) -> None:
        self.attribute = attribute
        self.obj = obj


def _call_bound(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Any) -> Frame | None:
    return start(frame, bound_call(frame, fn.attribute, fn.obj, args))


CALLERS[id(_Bound)] = _call_bound
