"""What an attribute that a class holds gives: descriptors, properties, methods, and what C computes."""

from __future__ import annotations

import types
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.machine.calls import invoke
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import MISSING, NATIVE, lookup, plain_dict, slot
from dynamo_lite.strict.machine.special import bound_call

Getter = Callable[[Frame, Any, str, Any], "Frame | None"]
Plan = tuple[Getter, Any]

PROPERTY_GET: Final[Any] = property.__get__
CLASSMETHOD_GET: Final[Any] = classmethod.__dict__["__get__"]


def get_native(frame: Frame, obj: Any, name: str, extra: None) -> None:
    frame.stack.append(getattr(obj, name))


NATIVE_PLAN: Final[Plan] = (get_native, None)


def get_asking(frame: Frame, obj: Any, name: str, getter: Any) -> Frame | None:
    """C finds it, and may run code of the program for it: done in a routine, which the policy's observer is told of."""
    if frame.policy is not None:
        return start(frame, asking(getter, obj, name))
    frame.stack.append(getter(obj, name))
    return None


def asking(getter: Any, obj: Any, name: str) -> Routine:
    yield from ()  # it asks the machine for nothing
    return getter(obj, name)


ASKING_PLAN: Final[Plan] = (get_asking, getattr)


def asks(attribute: Any, name: str) -> bool:
    """Whether C computes an attribute, and so may run code of the program: a type parameter's bound, a file's name, a class's ``__doc__``."""
    return type(attribute) is types.GetSetDescriptorType and name not in _QUIET


_QUIET: Final = frozenset({"__class__", "__dict__", "__weakref__"})


PLAIN_KINDS: Final = NATIVE | {FunctionType, types.MethodType, staticmethod}


def plan_instance(frame: Frame, kind: type, name: str) -> Plan:
    """Loading from an instance whose type has the generic ``__getattribute__``."""
    attribute = lookup(kind, name)
    described = type(attribute)
    if attribute is MISSING or described in PLAIN_KINDS:
        # a method looks further in what it calls
        return ASKING_PLAN if kind is types.MethodType or asks(attribute, name) else NATIVE_PLAN
    getter = lookup(described, "__get__")
    if getter is MISSING:
        return NATIVE_PLAN
    if getter is PROPERTY_GET:
        return get_property, attribute
    if getter is CLASSMETHOD_GET and type(attribute.__func__) not in PLAIN_KINDS:
        return _get_chained, attribute
    if slot(frame, described, "__get__") is None:
        return NATIVE_PLAN
    if frame.policy is not None:
        frame.policy.described(kind, name, attribute)
    is_data = lookup(described, "__set__") is not MISSING or lookup(described, "__delete__") is not MISSING
    return (get_data_descriptor if is_data else _get_descriptor), (attribute, getter)


def get_property(frame: Frame, obj: Any, name: str, attribute: Any) -> Frame | None:
    getter = attribute.fget
    if getter is None:
        frame.stack.append(PROPERTY_GET(attribute, obj, type(obj)))
        return None
    return invoke(frame, getter, (obj,), None)


def _get_chained(frame: Frame, obj: Any, name: str, attribute: Any) -> Frame | None:
    """A classmethod around another descriptor."""
    return start(frame, chained(frame, attribute.__func__, type(obj)))


def chained(frame: Frame, inner: Any, owner: Any) -> Routine:
    """What ``classmethod.__get__`` gives for a wrapped callable."""
    getter = lookup(type(inner), "__get__") if _CHAINS else MISSING
    if getter is MISSING:
        # C binds what cannot be called, too
        return (
            types.MethodType(inner, owner)
            if callable(inner)
            else CLASSMETHOD_GET(classmethod(inner), None, owner)
        )
    if getter is PROPERTY_GET:
        return (yield call(inner.fget, owner))
    if slot(frame, type(inner), "__get__") is not None:
        return (yield call(getter, inner, owner, owner))
    return type(inner).__get__(inner, owner, owner)


class _Probe:
    seen = classmethod(property(lambda cls: 1))  # type: ignore[arg-type, var-annotated]


_CHAINS: Final[bool] = isinstance(_Probe.seen, int)


def get_data_descriptor(frame: Frame, obj: Any, name: str, extra: Any) -> Frame | None:
    attribute, getter = extra
    if type(getter) is FunctionType:
        return invoke(frame, getter, (attribute, obj, type(obj)), None)
    return start(frame, bound_call(frame, getter, attribute, (obj, type(obj))))


def _get_descriptor(frame: Frame, obj: Any, name: str, extra: Any) -> Frame | None:
    """A descriptor without ``__set__``: the instance dictionary goes first."""
    namespace = plain_dict(obj)
    if namespace is not None and name in namespace:
        frame.stack.append(namespace[name])
        return None
    if frame.policy is not None:
        frame.policy.not_held(obj, name)
    return get_data_descriptor(frame, obj, name, extra)


def get_from(
    frame: Frame, attribute: Any, instance: Any, owner: type, native: Callable[[], Any]
) -> Frame | None:
    """``attribute.__get__(instance, owner)`` where that may be interpreted, else what ``native`` gives."""
    getter = lookup(type(attribute), "__get__")
    if getter is PROPERTY_GET and instance is not None and attribute.fget is not None:
        return invoke(frame, attribute.fget, (instance,), None)
    if getter is CLASSMETHOD_GET and type(attribute.__func__) not in PLAIN_KINDS:
        return start(frame, chained(frame, attribute.__func__, owner))
    if getter is not MISSING and slot(frame, type(attribute), "__get__") is not None:
        return start(frame, bound_call(frame, getter, attribute, (instance, owner)))
    frame.stack.append(native())
    return None
