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
from dynamo_lite.strict.machine.descriptors import (
    ASKING_PLAN,
    CLASSMETHOD_GET,
    NATIVE_PLAN,
    PLAIN_KINDS,
    PROPERTY_GET,
    Plan,
    asking,
    asks,
    chained,
    get_asking,
    get_data_descriptor,
    get_from,
    get_native,
    get_property,
    plan_instance,
)
from dynamo_lite.strict.machine.frame import Frame, explain
from dynamo_lite.strict.machine.routine import Routine, start
from dynamo_lite.strict.machine.slots import (
    INFOS,
    MISSING,
    NATIVE,
    TypeSet,
    dict_of,
    info_of,
    lookup,
    mro_of,
    slot,
)
from dynamo_lite.strict.machine.special import bound_call

if TYPE_CHECKING:
    from dynamo_lite.strict.machine.policy import Policy

OBJECT_GET: Final[Any] = object.__getattribute__
TYPE_GET: Final[Any] = type.__getattribute__
MODULE_GET: Final[Any] = ModuleType.__getattribute__
SUPER_GET: Final[Any] = super.__getattribute__

# attributes that the machine gives itself: by (id(type), name)
VIRTUAL: Final[dict[tuple[int, str], Callable[[Frame, Any], Any]]] = {}


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
        plan = plan_instance(frame, kind, name)
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
        plan = ASKING_PLAN
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
    if plan[0] is get_native:
        return _get_native_or_hook, (native_getter, hook)
    if plan is ASKING_PLAN:
        plan = get_asking, native_getter
    return _get_or_hook, (plan, hook)


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
    if above is not MISSING and type(above) not in PLAIN_KINDS:
        getter = lookup(type(above), "__get__")
        interpreted = getter is PROPERTY_GET or (
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
                if getter is PROPERTY_GET:
                    return get_property(frame, cls, name, above)
                return get_data_descriptor(frame, cls, name, (above, getter))
    attribute = lookup(cls, name)
    described = type(attribute)
    if attribute is not MISSING and described not in PLAIN_KINDS:
        getter = lookup(described, "__get__")
        if getter is CLASSMETHOD_GET:
            if type(attribute.__func__) not in PLAIN_KINDS:
                return start(frame, chained(frame, attribute.__func__, cls))
        elif getter is not MISSING and slot(frame, described, "__get__") is not None:
            if frame.policy is not None:
                frame.policy.described(cls, name, attribute)
            if type(getter) is FunctionType:
                return invoke(frame, getter, (attribute, None, cls), None)
            return start(frame, bound_call(frame, getter, attribute, (None, cls)))
    if frame.policy is not None and asks(above, name):
        return start(frame, asking(TYPE_GET, cls, name))
    frame.stack.append(TYPE_GET(cls, name))
    return None


def _get_module(frame: Frame, module: Any, name: str, extra: None) -> Frame | None:
    """A module's attribute, its class's descriptors, or its ``__getattr__`` function."""
    namespace = OBJECT_GET(module, "__dict__")
    if name in namespace and lookup(type(module), name) is MISSING:
        frame.stack.append(namespace[name])
        return None
    if type(module) is not ModuleType:
        getter, more = plan_instance(frame, type(module), name)
        if getter is not get_native:
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
        if attribute is not MISSING and type(attribute) not in PLAIN_KINDS:
            receiver = _self(obj)
            instance = None if receiver is owner else receiver
            if frame.policy is not None:
                frame.policy.described(owner, name, attribute)
            return get_from(frame, attribute, instance, owner, lambda: SUPER_GET(obj, name))
        if frame.policy is not None and asks(attribute, name):
            return start(frame, asking(SUPER_GET, obj, name))
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


CALLERS[id(_RunPlan)] = _run_plan
