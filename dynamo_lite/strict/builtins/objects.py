"""Attributes and types: getattr and its kin, isinstance, super, type, object's own slots, __build_class__."""

from __future__ import annotations

import builtins
import types
from types import CellType, FunctionType
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces, replaces_directly
from dynamo_lite.strict.decode.versions import SET_NAME_WRAPS
from dynamo_lite.strict.machine import attributes
from dynamo_lite.strict.machine.attributes import bound_call, get_attr
from dynamo_lite.strict.machine.calls import Kwargs, construct, native
from dynamo_lite.strict.machine.frame import NULL, Frame, cell_value, new_frame
from dynamo_lite.strict.machine.operators import truth
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import MISSING, classes_changed, dict_of, lookup, mro_of, slot
from dynamo_lite.strict.machine.view import user_frame


@replaces_directly(builtins.getattr)
def getattr_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if kwargs or not 2 <= len(args) <= 3 or str not in mro_of(type(args[1])):
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
    if str not in mro_of(type(name)):
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    try:
        yield getattr, (obj, name), None
    except AttributeError:
        return False
    return True


@replaces(builtins.setattr)
def setattr_(frame: Frame, obj: Any, name: str, value: Any, /) -> Routine:
    if str not in mro_of(type(name)):
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    request = attributes.set_attr(frame, obj, name, value)
    if request is not None:
        yield request


@replaces(builtins.delattr)
def delattr_(frame: Frame, obj: Any, name: str, /) -> Routine:
    if str not in mro_of(type(name)):
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    request = attributes.del_attr(frame, obj, name)
    if request is not None:
        yield request


@replaces_directly(object.__getattribute__, type.__getattribute__, types.ModuleType.__getattribute__)
def generic_get(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``object.__getattribute__`` called by name: the generic look-up, without the class's own hooks."""
    obj, name = args if len(args) == 2 and not kwargs else (None, None)
    if str not in mro_of(type(name)):
        return native(frame, object.__getattribute__, args, kwargs)
    if issubclass(type(obj), type):
        return attributes._get_class(frame, obj, name, None)  # type: ignore[arg-type]
    getter, extra = attributes._plan_instance(frame, type(obj), name)  # type: ignore[arg-type]
    if getter is attributes._get_native:
        return native(frame, object.__getattribute__, args, kwargs)
    return getter(frame, obj, name, extra)  # type: ignore[arg-type]


def _applies(wrapper: Any, obj: Any) -> bool:
    """Whether a C ``__setattr__`` may be used on the object: it must be the one of its nearest C class."""
    for base in mro_of(type(obj)):
        found = dict_of(base).get(wrapper.__name__)
        if type(found) is types.WrapperDescriptorType:
            return found is wrapper
    return False


def _generic(wrapper: Any, act: Any) -> None:
    def routine(frame: Frame, obj: Any, name: str, *value: Any) -> Routine:
        if str not in mro_of(type(name)) or not _applies(wrapper, obj):
            wrapper(obj, name, *value)
            return
        request = act(frame, obj, name, *value)
        if request is not None:
            yield request

    replaces(wrapper)(routine)


_generic(object.__setattr__, attributes.set_generic)
_generic(type.__setattr__, attributes.set_generic)
_generic(object.__delattr__, attributes.del_generic)
_generic(type.__delattr__, attributes.del_generic)


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
        if type(cls) is type and cls in mro_of(type(obj)):
            frame.stack.append(True)
            return None
        if frame.policy is None or type(obj) not in frame.policy.special_types:
            return start(frame, _check("__instancecheck__", frame, obj, cls))
    return native(frame, isinstance, args, kwargs)


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
        return cls in mro_of(type(obj)) or isinstance(obj, cls)
    if name == "__instancecheck__" and not _plain_class_attribute(frame, obj) and kind is type:
        if cls in mro_of(type(obj)):
            return True
        try:
            claimed = yield getattr, (obj, "__class__"), None
        except AttributeError:
            return False
        return issubclass(type(claimed), type) and cls in mro_of(claimed)
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


@replaces(builtins.__build_class__)
def build_class(frame: Frame, function: Any, name: Any, /, *bases: Any, **kwargs: Any) -> Routine:
    if type(function) is not FunctionType:
        raise TypeError("__build_class__: func must be a function")
    if type(name) is not str:
        raise TypeError("__build_class__: name is not a string")
    resolved = yield from _resolve_bases(frame, bases)
    explicit = "metaclass" in kwargs
    if explicit:
        meta = kwargs.pop("metaclass")
    elif resolved:
        meta = type(resolved[0])
    else:
        meta = type
    if issubclass(type(meta), type):
        meta = _most_derived(meta, resolved)
    if meta is type:
        namespace: Any = {}
    else:
        try:
            prepare = yield getattr, (meta, "__prepare__"), None
        except AttributeError:
            namespace = {}
        else:
            namespace = yield prepare, (name, resolved), dict(kwargs)
    if not hasattr(type(namespace), "__getitem__"):
        shown = meta.__name__ if isinstance(meta, type) else "<metaclass>"
        raise TypeError(f"{shown}.__prepare__() must return a mapping, not {type(namespace).__name__}")
    cell = yield _RUN_BODY, (function, namespace), None
    if resolved is not bases:
        if type(namespace) is dict:
            namespace["__orig_bases__"] = bases
        else:
            setter = yield getattr, (namespace, "__setitem__"), None
            yield setter, ("__orig_bases__", bases), None
    cls = yield meta, (name, resolved, namespace), dict(kwargs)
    if type(cell) is CellType and issubclass(type(cls), type):
        value = cell_value(cell)
        if value is NULL:
            raise RuntimeError(
                f"__class__ not set defining {name!r} as {cls!r}. Was __classcell__ propagated to type.__new__?"
            )
        if value is not cls:
            raise TypeError(f"__class__ set to {value!r} defining {name!r} as {cls!r}")
    return cls


def _resolve_bases(frame: Frame, bases: tuple[Any, ...]) -> Routine:
    """``__mro_entries__``; the same tuple where no base has it."""
    out: list[Any] = []
    changed = False
    for base in bases:
        if issubclass(type(base), type):
            out.append(base)
            continue
        try:
            method = yield getattr, (base, "__mro_entries__"), None
        except AttributeError:
            out.append(base)
            continue
        entries = yield method, (bases,), None
        if type(entries) is not tuple:
            raise TypeError("__mro_entries__ must return a tuple")
        changed = True
        out.extend(entries)
    return tuple(out) if changed else bases


def _most_derived(meta: Any, bases: tuple[Any, ...]) -> Any:
    winner = meta
    for base in bases:
        kind = type(base)
        if kind in mro_of(winner):
            continue
        if winner in mro_of(kind):
            winner = kind
            continue
        raise TypeError(
            "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass of the metaclasses "
            "of all its bases"
        )
    return winner


class _RunBody:
    """Stands for running a class body; the machine calls it by its type."""

    __slots__ = ()


_RUN_BODY: Final = _RunBody()


def _run_body(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame:
    from dynamo_lite.strict.machine.code import code_for

    function, namespace = args
    code = code_for(function.__code__, frame.policy)
    made = new_frame(code, code.blank.copy(), function.__globals__, frame)
    made.function = function
    made.locals = namespace
    return made


def _skip_names(frame: Frame, namespace: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [
        (key, value, lookup(type(value), "__set_name__"))
        for key, value in namespace.items()
        if slot(frame, type(value), "__set_name__") is not None
    ]


class _Placeholder:
    """Stands in a new class's namespace for a value whose ``__set_name__`` is to be interpreted."""


@replaces(type.__new__)
def type_new(frame: Frame, meta: Any, *args: Any, **kwargs: Any) -> Routine:
    """``type.__new__``: C makes the class; ``__set_name__`` and ``__init_subclass__`` are interpreted after it."""
    if len(args) != 3 or type(args[1]) is not tuple or not isinstance(args[2], dict):
        return type.__new__(meta, *args, **kwargs)
    name, bases, namespace = args
    if not all(issubclass(type(base), type) for base in bases):
        return type.__new__(meta, *args, **kwargs)  # C says what is wrong
    winner = _most_derived(meta, bases)
    if winner is not meta:
        new = yield getattr, (winner, "__new__"), None
        if new is not type.__new__:
            return (yield new, (winner, *args), kwargs)
        meta = winner
    named = _skip_names(frame, namespace)
    hook = _init_subclass_of(frame, bases)
    copy = dict(namespace)
    for key, _, _ in named:
        copy[key] = _Placeholder()
    module = user_frame(frame).globals.get("__name__", MISSING)
    if "__module__" not in copy and module is not MISSING:
        copy["__module__"] = module
    swapped = _silence(hook)
    try:
        cls = type.__new__(meta, name, bases, copy, **kwargs)
    finally:
        if swapped is not None:
            swapped[0].__code__ = swapped[1]
    for key, value, _ in named:
        type.__setattr__(cls, key, value)
    classes_changed()
    for key, value, method in named:
        yield from _set_name(frame, method, value, cls, key)
    if swapped is not None:
        method = yield getattr, (super(cls, cls), "__init_subclass__"), None
        yield method, (), kwargs
    return cls


def _init_subclass_of(frame: Frame, bases: tuple[Any, ...]) -> Any:
    """The Python function that C would call as ``__init_subclass__`` of the new class."""
    for base in _merged(bases):
        found = dict_of(base).get("__init_subclass__", MISSING)
        if found is not MISSING:
            function = found.__func__ if type(found) is classmethod else found
            return function if type(function) is FunctionType else None
    return None


def _merged(bases: tuple[Any, ...]) -> list[type]:
    """The MRO that a class with these bases will have, but for itself (C3)."""
    if len(bases) == 1:
        return list(mro_of(bases[0]))
    rows = [list(mro_of(base)) for base in bases] + [list(bases)]
    out: list[type] = []
    while rows := [row for row in rows if row]:
        for row in rows:
            head = row[0]
            if not any(head in other[1:] for other in rows):
                break
        else:
            return out
        out.append(head)
        rows = [row[1:] if row[0] is head else row for row in rows]
    return out


def _silence(function: Any) -> tuple[Any, types.CodeType] | None:
    """Makes a function do nothing for the moment in which C calls it; the machine calls it afterwards."""
    if function is None:
        return None
    original = function.__code__
    function.__code__ = original.replace(
        co_code=_IDLE.co_code,
        co_consts=_IDLE.co_consts,
        co_names=(),
        co_stacksize=_IDLE.co_stacksize,
        co_linetable=_IDLE.co_linetable,
        co_exceptiontable=b"",
        co_flags=(original.co_flags & 0x10) | 0xF,
        co_argcount=0,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_varnames=("args", "kwargs"),
        co_nlocals=2,
        co_cellvars=(),
    )
    return function, original


def _idle() -> None:
    return None


_IDLE: Final = _idle.__code__


def _set_name(frame: Frame, method: Any, value: Any, cls: Any, key: str) -> Routine:
    """``__set_name__``; before 3.12 its error is wrapped, since then it has a note."""
    try:
        yield from bound_call(frame, method, value, (cls, key))
        return
    except BaseException as problem:
        error = problem
    text = f"Error calling __set_name__ on '{type(value).__name__}' instance {key!r} in '{cls.__name__}'"
    if SET_NAME_WRAPS:
        wrapped = RuntimeError(text)
        wrapped.__context__ = error
        raise wrapped from error
    error.add_note(text)
    raise error


@replaces_directly(type)
def type_(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) == 1 and not kwargs:
        policy = frame.policy
        if policy is not None and type(args[0]) in policy.special_types:
            return native(frame, type, args, None)
        frame.stack.append(type(args[0]))
        return None
    return start(frame, _type_call(args, kwargs or {}))


def _type_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Routine:
    return (yield type.__new__, (type, *args), kwargs)


@replaces_directly(type.__dict__["__call__"])
def type_call(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``type.__call__`` called by name, as ``super().__call__(…)`` in a metaclass."""
    if not args or type not in mro_of(type(args[0])):
        return native(frame, type.__dict__["__call__"], args, kwargs)
    if args[0] is type:
        return type_(frame, args[1:], kwargs)
    return construct(frame, args[0], args[1:], kwargs)


def _register() -> None:
    from dynamo_lite.strict.machine.calls import CALLERS

    CALLERS[id(_RunBody)] = _run_body


_register()
