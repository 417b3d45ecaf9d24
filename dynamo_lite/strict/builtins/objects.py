"""Attributes and types: getattr and its kin, isinstance, super, type, object's own slots, __build_class__."""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from types import CellType
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces, replaces_directly
from dynamo_lite.strict.machine import attributes, stores
from dynamo_lite.strict.machine.attributes import get_attr
from dynamo_lite.strict.machine.calls import WRAPPERS, Kwargs, native
from dynamo_lite.strict.machine.descriptors import get_native, plan_instance
from dynamo_lite.strict.machine.frame import NULL, Frame, cell_value
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import dict_of, inherits, lookup, mro_of, slot, type_name
from dynamo_lite.strict.machine.special import bound_call
from dynamo_lite.strict.machine.truth import truth


@replaces_directly(builtins.getattr)
def getattr_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if kwargs or not 2 <= len(args) <= 3 or not inherits(type(args[1]), str):
        return native(frame, getattr, args, kwargs)
    if len(args) == 2:
        return get_attr(frame, args[0], args[1])
    return start(frame, _get_or_default(*args))


def _get_or_default(obj: Any, name: str, default: Any) -> Routine:
    try:
        return (yield getattr, (obj, name), None)
    except AttributeError:
        return default


@replaces(builtins.hasattr)
def hasattr_(frame: Frame, obj: Any, name: str, /) -> Routine:
    if not inherits(type(name), str):
        raise TypeError(f"attribute name must be string, not '{type_name(type(name))}'")
    try:
        yield getattr, (obj, name), None
    except AttributeError:
        return False
    return True


@replaces(builtins.setattr)
def setattr_(frame: Frame, obj: Any, name: str, value: Any, /) -> Routine:
    if not inherits(type(name), str):
        raise TypeError(f"attribute name must be string, not '{type_name(type(name))}'")
    request = stores.set_attr(frame, obj, name, value)
    if request is not None:
        yield request


@replaces(builtins.delattr)
def delattr_(frame: Frame, obj: Any, name: str, /) -> Routine:
    if not inherits(type(name), str):
        raise TypeError(f"attribute name must be string, not '{type_name(type(name))}'")
    request = stores.del_attr(frame, obj, name)
    if request is not None:
        yield request


LookUp = Callable[[Frame, Any, Any, str], "Frame | None"]


def _called(look_up: LookUp) -> Callable[[Frame, Any, Any, Kwargs], Frame | None]:
    """A ``__getattribute__`` of C code called by name: the look-up without the class's own hooks."""

    def call_wrapper(frame: Frame, wrapper: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        obj, name = args if len(args) == 2 and not kwargs else (None, None)
        if not inherits(type(name), str) or not inherits(type(obj), wrapper.__objclass__):
            return native(frame, wrapper, args, kwargs)
        following = look_up(frame, wrapper, obj, name)  # type: ignore[arg-type]
        if following is None and frame.policy is not None:
            frame.stack[-1] = frame.policy.load_attr(obj, name, frame.stack[-1])  # type: ignore[arg-type]
        return following

    return call_wrapper


def _instance_attribute(frame: Frame, wrapper: Any, obj: Any, name: str) -> Frame | None:
    getter, extra = plan_instance(frame, type(obj), name)
    if getter is get_native:
        frame.stack.append(wrapper(obj, name))
        return None
    return getter(frame, obj, name, extra)


_GETTERS: Final = {
    type: _called(lambda frame, wrapper, obj, name: attributes._get_class(frame, obj, name, None)),
    types.ModuleType: _called(
        lambda frame, wrapper, obj, name: attributes._get_module(frame, obj, name, None)
    ),
}
_generic_getter: Final = _called(_instance_attribute)


def _getattribute(frame: Frame, wrapper: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    getter = _generic_getter if attributes.is_generic(wrapper) else _GETTERS.get(wrapper.__objclass__)
    return native(frame, wrapper, args, kwargs) if getter is None else getter(frame, wrapper, args, kwargs)


WRAPPERS["__getattribute__"] = _getattribute


def _applies(wrapper: Any, obj: Any) -> bool:
    """Whether a C ``__setattr__`` may be used on the object: it must be the one of its nearest C class."""
    for base in mro_of(type(obj)):
        found = dict_of(base).get(wrapper.__name__)
        if type(found) is types.WrapperDescriptorType:
            return found is wrapper
    return False


def _generic(wrapper: Any, act: Any) -> None:
    def routine(frame: Frame, obj: Any, name: str, *value: Any) -> Routine:
        if not inherits(type(name), str) or not _applies(wrapper, obj):
            wrapper(obj, name, *value)
            return
        request = act(frame, obj, name, *value)
        if request is not None:
            yield request

    replaces(wrapper)(routine)


_generic(object.__setattr__, stores.set_generic)
_generic(type.__setattr__, stores.set_generic)
_generic(object.__delattr__, stores.del_generic)
_generic(type.__delattr__, stores.del_generic)


@replaces(property.__get__)
def property_get(frame: Frame, prop: Any, obj: Any, owner: Any = None, /) -> Routine:
    if obj is None or prop.fget is None:
        return property.__get__(prop, obj, owner)
    return (yield call(prop.fget, obj))


@replaces(property.__set__)
def property_set(frame: Frame, prop: Any, obj: Any, value: Any, /) -> Routine:
    if prop.fset is None:
        return property.__set__(prop, obj, value)
    yield call(prop.fset, obj, value)


@replaces(property.__delete__)
def property_delete(frame: Frame, prop: Any, obj: Any, /) -> Routine:
    if prop.fdel is None:
        return property.__delete__(prop, obj)
    yield call(prop.fdel, obj)


# --- isinstance, issubclass


@replaces_directly(builtins.isinstance)
def isinstance_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) == 2 and not kwargs:
        obj, cls = args
        if type(obj) is cls:
            frame.stack.append(True)
            return None
        if type(cls) is type and inherits(type(obj), cls):
            frame.stack.append(True)
            return None
        special = frame.policy is not None and id(type(obj)) in frame.policy.special_ids
        if not special or _asks_metaclass(frame, cls):
            return start(frame, _check("__instancecheck__", frame, obj, cls))
    return native(frame, isinstance, args, kwargs)


def _asks_metaclass(frame: Frame, cls: Any) -> bool:
    """Whether code of a metaclass decides what is an instance, of a class or of one in a tuple."""
    if type(cls) is tuple:
        return any(_asks_metaclass(frame, each) for each in cls)
    return slot(frame, type(cls), "__instancecheck__") is not None


def _check(name: str, frame: Frame, obj: Any, cls: Any) -> Routine:
    native_check = isinstance if name == "__instancecheck__" else issubclass
    if type(cls) is tuple:
        for each in cls:
            if (yield native_check, (obj, each), None):
                return True
        return False
    if name == "__instancecheck__" and type(obj) is cls:
        return True
    kind = type(cls)
    method = slot(frame, kind, name)
    if method is not None:
        result = yield from bound_call(frame, method, cls, (obj,))
        return (yield from truth(frame, result))
    if name == "__instancecheck__" and kind is type and _plain_class_attribute(frame, obj):
        return inherits(type(obj), cls) or isinstance(obj, cls)
    if name == "__instancecheck__" and not _plain_class_attribute(frame, obj) and kind is type:
        if inherits(type(obj), cls):
            return True
        try:
            claimed = yield getattr, (obj, "__class__"), None
        except AttributeError:
            return False
        return issubclass(type(claimed), type) and inherits(claimed, cls)
    return native_check(obj, cls)


def _plain_class_attribute(frame: Frame, obj: Any) -> bool:
    """Whether ``obj.__class__`` is its type, found without user code."""
    kind = type(obj)
    return (
        slot(frame, kind, "__getattribute__") is None
        and type(lookup(kind, "__class__")) is types.GetSetDescriptorType
    )


@replaces(builtins.issubclass)
def issubclass_(frame: Frame, cls: Any, wanted: Any, /) -> Routine:
    return (yield from _check("__subclasscheck__", frame, cls, wanted))


# --- super, type, __build_class__


@replaces_directly(super)
def super_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if args or kwargs:
        return native(frame, super, args, kwargs)
    code = frame.code
    if code is None:
        raise RuntimeError("super(): no current frame")
    if code.argcount == 0:
        raise RuntimeError("super(): no arguments")
    first = frame.stack[0]
    if type(first) is CellType and code.decoded.slot_names[0] != "__class__" and _is_cell(code.code, 0):
        first = cell_value(first)
    if first is NULL:
        raise RuntimeError("super(): arg[0] deleted")
    names = code.decoded.slot_names
    if "__class__" not in code.code.co_freevars:
        raise RuntimeError("super(): __class__ cell not found")
    cell = frame.stack[len(names) - len(code.code.co_freevars) + code.code.co_freevars.index("__class__")]
    cls = cell_value(cell)
    if cls is NULL:
        raise RuntimeError("super(): empty __class__ cell")
    frame.stack.append(super(cls, first))
    return None


def _is_cell(code: types.CodeType, position: int) -> bool:
    return code.co_varnames[position] in code.co_cellvars
