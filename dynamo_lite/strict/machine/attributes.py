"""Attribute access by CPython's protocol: ``__getattribute__``, descriptors, instance dictionary, ``__getattr__``.

How to load a name from instances of a type is a *plan*, made once per type and name and kept until a class changes: a
getter and what it needs. Whatever only C code would do is left to C in one call.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.strict.machine.calls import CALLERS, invoke
from dynamo_lite.strict.machine.frame import Frame, explain
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import (
    INFOS,
    MISSING,
    NATIVE,
    TypeSet,
    dict_of,
    info_of,
    lookup,
    mro_of,
    plain_dict,
    slot,
)
from dynamo_lite.strict.machine.special import bound_call

if TYPE_CHECKING:
    from dynamo_lite.strict.machine.policy import Policy

Getter = Callable[[Frame, Any, str, Any], "Frame | None"]
Plan = tuple[Getter, Any]

OBJECT_GET: Final[Any] = object.__getattribute__
TYPE_GET: Final[Any] = type.__getattribute__
MODULE_GET: Final[Any] = ModuleType.__getattribute__
SUPER_GET: Final[Any] = super.__getattribute__
_PROPERTY_GET: Final[Any] = property.__get__
_CLASSMETHOD_GET: Final[Any] = classmethod.__dict__["__get__"]

# attributes that the machine gives itself: by (id(type), name)
VIRTUAL: Final[dict[tuple[int, str], Callable[[Frame, Any], Any]]] = {}


def _get_native(frame: Frame, obj: Any, name: str, extra: None) -> None:
    frame.stack.append(getattr(obj, name))


NATIVE_PLAN: Final[Plan] = (_get_native, None)


def _get_asking(frame: Frame, obj: Any, name: str, getter: Any) -> Frame | None:
    """C finds it, and may run code of the program for it: done in a routine, which the policy's observer is told of."""
    if frame.policy is not None:
        return start(frame, _asking(getter, obj, name))
    frame.stack.append(getter(obj, name))
    return None


def _asking(getter: Any, obj: Any, name: str) -> Routine:
    yield from ()  # it asks the machine for nothing
    return getter(obj, name)


_ASKING_PLAN: Final[Plan] = (_get_asking, getattr)


def _asks(attribute: Any, name: str) -> bool:
    """Whether C computes an attribute, and so may run code of the program: a type parameter's bound, a file's name, a class's ``__doc__``."""
    return type(attribute) is types.GetSetDescriptorType and name not in _QUIET


_QUIET: Final = frozenset({"__class__", "__dict__", "__weakref__"})


def get_attr(frame: Frame, obj: Any, name: str) -> Frame | None:
    """``obj.name``: pushes the value (returns None), or returns the frame that will."""
    kind = type(obj)
    info = INFOS.get(id(kind)) or info_of(kind)
    plan = info.plans.get(name)
    if plan is None:
        plan = info.plans[name] = _plan(frame, kind, name)
    if plan is NATIVE_PLAN:
        try:
            value = getattr(obj, name)
        except AttributeError:
            if frame.policy is not None:
                frame.policy.missing_attr(obj, name)
            raise
        frame.stack.append(value if frame.policy is None else frame.policy.load_attr(obj, name, value))
        return None
    if frame.policy is not None and plan[0] is _get_native_or_hook:
        value = _known_by_heart(frame.policy, obj, name, *plan[1])
        if value is not MISSING:
            frame.stack.append(value)
            return None
    try:
        following = plan[0](frame, obj, name, plan[1])
    except AttributeError as error:
        explain(error, (obj, name))
        if frame.policy is not None:
            frame.policy.missing_attr(obj, name)
        raise
    if following is None:
        if frame.policy is not None:
            frame.stack[-1] = frame.policy.load_attr(obj, name, frame.stack[-1])
    else:
        outermost: Frame | None = following
        while outermost is not None and outermost.back is not frame:
            outermost = outermost.back
        if outermost is not None:
            outermost.asked = (obj, name)
    return following


# types of C code that look their attributes up in a way of their own
_OWN_WAY: Final = TypeSet(
    (type, ModuleType, super, types.GenericAlias, weakref.ProxyType, weakref.CallableProxyType)
)


def is_generic(getattribute: Any) -> bool:
    """Whether a ``__getattribute__`` is the generic one: each builtin type has a wrapper of its own around the same C function."""
    return type(getattribute) is types.WrapperDescriptorType and getattribute.__objclass__ not in _OWN_WAY


def _plan(frame: Frame, kind: type, name: str) -> Plan:
    virtual = VIRTUAL.get((id(kind), name))
    if virtual is not None:
        return _get_virtual, virtual
    getattribute = lookup(kind, "__getattribute__")
    hook = lookup(kind, "__getattr__")
    if hook is MISSING or type(hook) in NATIVE:
        hook = None
    if is_generic(getattribute):
        plan = _plan_instance(frame, kind, name)
        native_getter = getattribute
    elif getattribute is TYPE_GET:
        plan = _get_class, None
        native_getter = TYPE_GET
    elif getattribute is MODULE_GET:
        plan = _get_module, None
        native_getter = MODULE_GET
    elif getattribute is SUPER_GET:
        plan = _get_super, None
        native_getter = SUPER_GET
    elif type(getattribute) in NATIVE:
        plan = _ASKING_PLAN
        native_getter = getattribute
    elif slot(frame, kind, "__getattribute__") is None:
        return NATIVE_PLAN
    elif hook is None:
        return _get_by_function, getattribute
    else:
        return _get_by_function_or_hook, (getattribute, hook)
    if hook is None or (type(hook) is FunctionType and slot(frame, kind, "__getattr__") is None):
        # an opaque hook: C calls it as part of the look-up
        return plan if hook is None or plan[0] is not _get_module else NATIVE_PLAN
    if plan[0] is _get_native:
        return _get_native_or_hook, (native_getter, hook)
    if plan is _ASKING_PLAN:
        plan = _get_asking, native_getter
    return _get_or_hook, (plan, hook)


_PLAIN_KINDS: Final = NATIVE | {FunctionType, types.MethodType, staticmethod}


def _plan_instance(frame: Frame, kind: type, name: str) -> Plan:
    """Loading from an instance whose type has the generic ``__getattribute__``."""
    attribute = lookup(kind, name)
    described = type(attribute)
    if attribute is MISSING or described in _PLAIN_KINDS:
        # a method looks further in what it calls
        return _ASKING_PLAN if kind is types.MethodType or _asks(attribute, name) else NATIVE_PLAN
    getter = lookup(described, "__get__")
    if getter is MISSING:
        return NATIVE_PLAN
    if getter is _PROPERTY_GET:
        return _get_property, attribute
    if getter is _CLASSMETHOD_GET and type(attribute.__func__) not in _PLAIN_KINDS:
        return _get_chained, attribute
    if slot(frame, described, "__get__") is None:
        return NATIVE_PLAN
    if frame.policy is not None:
        frame.policy.described(kind, name, attribute)
    is_data = lookup(described, "__set__") is not MISSING or lookup(described, "__delete__") is not MISSING
    return (_get_data_descriptor if is_data else _get_descriptor), (attribute, getter)


def _get_virtual(frame: Frame, obj: Any, name: str, compute: Any) -> None:
    frame.stack.append(compute(frame, obj))


def _get_native_or_hook(frame: Frame, obj: Any, name: str, extra: Any) -> Frame | None:
    """C finds it, or the class's ``__getattr__`` is called."""
    native, hook = extra
    try:
        value = native(obj, name)
    except AttributeError:
        pass
    else:
        frame.stack.append(value)
        return None
    if frame.policy is not None:
        frame.policy.not_held(obj, name)
    if type(hook) is FunctionType:
        return invoke(frame, hook, (obj, name), None)
    return start(frame, bound_call(frame, hook, obj, (name,)))


def _known_by_heart(policy: Policy, obj: Any, name: str, native: Any, hook: Any) -> Any:
    """What C finds, or what a ``__getattr__`` gives that the policy knows without interpreting it; else MISSING."""
    try:
        value = native(obj, name)
    except AttributeError:
        return policy.hooked(hook, obj, name) if type(hook) is FunctionType else MISSING
    return policy.load_attr(obj, name, value)


def _get_property(frame: Frame, obj: Any, name: str, attribute: Any) -> Frame | None:
    getter = attribute.fget
    if getter is None:
        frame.stack.append(_PROPERTY_GET(attribute, obj, type(obj)))
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
            else _CLASSMETHOD_GET(classmethod(inner), None, owner)
        )
    if getter is _PROPERTY_GET:
        return (yield call(inner.fget, owner))
    if slot(frame, type(inner), "__get__") is not None:
        return (yield call(getter, inner, owner, owner))
    return type(inner).__get__(inner, owner, owner)


class _Probe:
    seen = classmethod(property(lambda cls: 1))  # type: ignore[arg-type, var-annotated]


_CHAINS: Final[bool] = isinstance(_Probe.seen, int)


def _get_data_descriptor(frame: Frame, obj: Any, name: str, extra: Any) -> Frame | None:
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
    return _get_data_descriptor(frame, obj, name, extra)


def _get_by_function(frame: Frame, obj: Any, name: str, getattribute: Any) -> Frame | None:
    """A ``__getattribute__`` written in Python."""
    if type(getattribute) is FunctionType:
        return invoke(frame, getattribute, (obj, name), None)
    return start(frame, bound_call(frame, getattribute, obj, (name,)))


def _get_by_function_or_hook(frame: Frame, obj: Any, name: str, extra: Any) -> Frame | None:
    return start(frame, _get_twice(frame, obj, name, *extra))


def _get_twice(frame: Frame, obj: Any, name: str, getattribute: Any, hook: Any) -> Routine:
    try:
        return (yield from bound_call(frame, getattribute, obj, (name,)))
    except AttributeError:
        pass
    return (yield from bound_call(frame, hook, obj, (name,)))


def _get_or_hook(frame: Frame, obj: Any, name: str, extra: Any) -> Frame | None:
    """Some interpreted way of loading, and ``__getattr__`` when it raises AttributeError."""
    plan, hook = extra
    return start(frame, _guarded(frame, plan, hook, obj, name))


def _guarded(frame: Frame, plan: Plan, hook: Any, obj: Any, name: str) -> Routine:
    try:
        return (yield _RunPlan(plan), (obj, name), None)
    except AttributeError:
        pass
    if frame.policy is not None:
        frame.policy.not_held(obj, name)
    return (yield from bound_call(frame, hook, obj, (name,)))


class _RunPlan:
    """A callable that stands for a plan in a routine's request."""

    __slots__ = ("plan",)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan


def _run_plan(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Any) -> Frame | None:
    getter, extra = fn.plan
    return getter(frame, args[0], args[1], extra)  # type: ignore[no-any-return]


def _get_class(frame: Frame, cls: Any, name: str, extra: None) -> Frame | None:
    """``type.__getattribute__``: the metaclass's data descriptors, then the MRO, then the metaclass's rest."""
    meta = type(cls)
    above = lookup(meta, name)
    if above is not MISSING and type(above) not in _PLAIN_KINDS:
        getter = lookup(type(above), "__get__")
        interpreted = getter is _PROPERTY_GET or (
            getter is not MISSING and slot(frame, type(above), "__get__") is not None
        )
        if interpreted:
            is_data = (
                lookup(type(above), "__set__") is not MISSING
                or lookup(type(above), "__delete__") is not MISSING
            )
            if is_data or lookup(cls, name) is MISSING:
                if frame.policy is not None:
                    frame.policy.described(meta, name, above)
                if getter is _PROPERTY_GET:
                    return _get_property(frame, cls, name, above)
                return _get_data_descriptor(frame, cls, name, (above, getter))
    attribute = lookup(cls, name)
    described = type(attribute)
    if attribute is not MISSING and described not in _PLAIN_KINDS:
        getter = lookup(described, "__get__")
        if getter is _CLASSMETHOD_GET:
            if type(attribute.__func__) not in _PLAIN_KINDS:
                return start(frame, chained(frame, attribute.__func__, cls))
        elif getter is not MISSING and slot(frame, described, "__get__") is not None:
            if frame.policy is not None:
                frame.policy.described(cls, name, attribute)
            if type(getter) is FunctionType:
                return invoke(frame, getter, (attribute, None, cls), None)
            return start(frame, bound_call(frame, getter, attribute, (None, cls)))
    if frame.policy is not None and _asks(above, name):
        return start(frame, _asking(TYPE_GET, cls, name))
    frame.stack.append(TYPE_GET(cls, name))
    return None


def _get_module(frame: Frame, module: Any, name: str, extra: None) -> Frame | None:
    """A module's attribute, its class's descriptors, or its ``__getattr__`` function."""
    namespace = OBJECT_GET(module, "__dict__")
    if name in namespace and lookup(type(module), name) is MISSING:
        frame.stack.append(namespace[name])
        return None
    if type(module) is not ModuleType:
        getter, more = _plan_instance(frame, type(module), name)
        if getter is not _get_native:
            return getter(frame, module, name, more)
    if "__getattr__" in namespace:
        try:
            value = OBJECT_GET(module, name)
        except AttributeError:
            pass
        else:
            frame.stack.append(value)
            return None
        return invoke(frame, namespace["__getattr__"], (name,), None)
    frame.stack.append(MODULE_GET(module, name))
    return None


_this_class: Final = super.__dict__["__thisclass__"].__get__
_self: Final = super.__dict__["__self__"].__get__
_self_class: Final = super.__dict__["__self_class__"].__get__


def _get_super(frame: Frame, obj: Any, name: str, extra: None) -> Frame | None:
    """``super(cls, self).name``."""
    owner = _self_class(obj)
    if owner is not None and name != "__class__":
        start_class = _this_class(obj)
        attribute = _after(owner, start_class, name)
        if attribute is not MISSING and type(attribute) not in _PLAIN_KINDS:
            receiver = _self(obj)
            instance = None if receiver is owner else receiver
            if frame.policy is not None:
                frame.policy.described(owner, name, attribute)
            return get_from(frame, attribute, instance, owner, lambda: SUPER_GET(obj, name))
        if frame.policy is not None and _asks(attribute, name):
            return start(frame, _asking(SUPER_GET, obj, name))
    frame.stack.append(SUPER_GET(obj, name))
    return None


def _after(owner: type, start_class: type, name: str) -> Any:
    seen = False
    for base in mro_of(owner):
        if seen:
            namespace = dict_of(base)
            if name in namespace:
                return namespace[name]
        elif base is start_class:
            seen = True
    return MISSING


def get_from(
    frame: Frame, attribute: Any, instance: Any, owner: type, native: Callable[[], Any]
) -> Frame | None:
    """``attribute.__get__(instance, owner)`` where that may be interpreted, else what ``native`` gives."""
    getter = lookup(type(attribute), "__get__")
    if getter is _PROPERTY_GET and instance is not None and attribute.fget is not None:
        return invoke(frame, attribute.fget, (instance,), None)
    if getter is _CLASSMETHOD_GET and type(attribute.__func__) not in _PLAIN_KINDS:
        return start(frame, chained(frame, attribute.__func__, owner))
    if getter is not MISSING and slot(frame, type(attribute), "__get__") is not None:
        return start(frame, bound_call(frame, getter, attribute, (instance, owner)))
    frame.stack.append(native())
    return None


CALLERS[id(_RunPlan)] = _run_plan
