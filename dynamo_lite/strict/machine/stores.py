"""Writing and deleting attributes by CPython's protocol."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

from dynamo_lite.strict.machine.calls import invoke
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Request
from dynamo_lite.strict.machine.slots import (
    MISSING,
    NATIVE,
    classes_changed,
    dict_of,
    info_of,
    lookup,
    mro_of,
    slot,
)
from dynamo_lite.strict.machine.special import special_call

_PROPERTY_SET: Final[Any] = property.__set__


_PROPERTY_DELETE: Final[Any] = property.__delete__


def set_attr(frame: Frame, obj: Any, name: str, value: Any) -> Request | None:
    """``obj.name = value``: done at once (None), or the call that does it."""
    kind = type(obj)
    setter = slot(frame, kind, "__setattr__")
    if setter is not None:
        return special_call(setter, obj, (name, value))
    return set_generic(frame, obj, name, value)


def set_generic(frame: Frame, obj: Any, name: str, value: Any) -> Request | None:
    """As ``object.__setattr__`` and ``type.__setattr__``."""
    attribute = lookup(type(obj), name)
    if attribute is not MISSING:
        setter = lookup(type(attribute), "__set__")
        if setter is _PROPERTY_SET:
            if attribute.fset is not None:
                return attribute.fset, (obj, value), None
            _PROPERTY_SET(attribute, obj, value)  # raises, and writes nothing
        elif setter is not MISSING and slot(frame, type(attribute), "__set__") is not None:
            return special_call(setter, attribute, (obj, value))
    if frame.policy is not None:
        frame.policy.before_write("attr", obj, name)
    if issubclass(type(obj), type):
        type.__setattr__(obj, name, value)
        classes_changed()
    else:
        _native_setattr(obj, name, value)
        if name == "__class__":
            classes_changed()
    return None


def _native_setattr(obj: Any, name: str, value: Any) -> None:
    kind = type(obj)
    setter = lookup(kind, "__setattr__")
    if type(setter) is types.WrapperDescriptorType:
        setter(obj, name, value)
    else:
        for base in mro_of(kind):
            found = dict_of(base).get("__setattr__")
            if type(found) is types.WrapperDescriptorType:
                found(obj, name, value)
                return


def del_attr(frame: Frame, obj: Any, name: str) -> Request | None:
    """``del obj.name``: done at once (None), or the call that does it."""
    deleter = slot(frame, type(obj), "__delattr__")
    if deleter is not None:
        return special_call(deleter, obj, (name,))
    return del_generic(frame, obj, name)


def del_generic(frame: Frame, obj: Any, name: str) -> Request | None:
    """As ``object.__delattr__``."""
    attribute = lookup(type(obj), name)
    if attribute is not MISSING:
        deleter = lookup(type(attribute), "__delete__")
        if deleter is _PROPERTY_DELETE:
            if attribute.fdel is not None:
                return attribute.fdel, (obj,), None
            _PROPERTY_DELETE(attribute, obj)  # raises, and writes nothing
        elif deleter is not MISSING and slot(frame, type(attribute), "__delete__") is not None:
            return special_call(deleter, attribute, (obj,))
    if frame.policy is not None:
        frame.policy.before_write("attr", obj, name)
    if issubclass(type(obj), type):
        type.__delattr__(obj, name)
        classes_changed()
        return None
    for base in mro_of(type(obj)):
        found = dict_of(base).get("__delattr__")
        if type(found) is types.WrapperDescriptorType:
            found(obj, name)
            return None
    return None


def _stores_natively(frame: Frame, kind: type, name: str) -> bool:
    """Whether C alone stores this attribute: the generic way, and no interpreted data descriptor of that name."""
    stores = info_of(kind).stores
    try:
        return stores[name]
    except KeyError:
        pass
    plain = lookup(kind, "__setattr__") is object.__setattr__ and name != "__class__"
    if plain:
        attribute = lookup(kind, name)
        setter = MISSING if attribute is MISSING else lookup(type(attribute), "__set__")
        plain = setter is MISSING or type(attribute) in NATIVE
    stores[name] = plain
    return plain


def store_attr(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    obj = stack.pop()
    if frame.policy is None and _stores_natively(frame, type(obj), name):
        setattr(obj, name, stack.pop())
        return None
    request = set_attr(frame, obj, name, stack.pop())
    return None if request is None else perform(frame, request)


def delete_attr(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    request = del_attr(frame, stack.pop(), name)
    return None if request is None else perform(frame, request)


def perform(frame: Frame, request: Request) -> Frame | None:
    """Makes a call for its effect; its value is dropped."""
    following = invoke(frame, *request)
    if following is None:
        frame.stack.pop()
        return None
    bottom = following
    while bottom.back is not frame:
        assert bottom.back is not None
        bottom = bottom.back
    bottom.deliver = dropped if bottom.deliver is None else _then_dropped(bottom.deliver)
    return following


def _then_dropped(deliver: Any) -> Callable[[Frame, Any], Frame | None]:
    def drop(frame: Frame, value: Any) -> Frame | None:
        deliver(frame, value)
        assert frame.back is not None
        frame.back.stack.pop()
        return frame.back

    return drop


def dropped(frame: Frame, value: Any) -> Frame | None:
    """Delivers nothing."""
    return frame.back
