"""Which C functions cannot be undone or differ from run to run: strict mode refuses them, non-strict mode notes them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from dynamo_lite.strict.machine.slots import TypeSet, dict_of, mro_of
from dynamo_lite.strict.machine.slots import name_of as name_of_class
from dynamo_lite.strict.policy import modules, tables
from dynamo_lite.strict.policy.ambient import asked_by
from fx_ir.provenance import EffectKind

LOCKS: Final = TypeSet((type(threading.Lock()), type(threading.RLock())))
LOCK_ANSWERS: Final[dict[str, Any]] = {"__enter__": True, "__exit__": None, "acquire": True, "release": None}
"""What a free lock answers. A lock keeps threads apart and changes no result, so a trace neither takes nor releases it."""


_DESCRIPTORS: Final = (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType)


def is_lock_method(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a C function enters or leaves a lock as ``with`` does; with a timeout or without blocking it may fail."""
    if type(fn.__self__) not in LOCKS or fn.__name__ not in LOCK_ANSWERS:
        return False
    return fn.__name__ == "__exit__" or not (args or kwargs)


def module_of(fn: Any) -> str:
    """The module of a C function or class, or of the C class that defines a method; that of an instance's class otherwise."""
    kind = type(fn)
    if kind is BuiltinFunctionType:
        owner = fn.__self__
        if owner is None or type(owner) is ModuleType:
            return fn.__module__ or ""
        if fn.__module__ is not None and not issubclass(type(owner), type):
            return str(fn.__module__)
        return _defining(owner if issubclass(type(owner), type) else type(owner), fn.__name__)
    if kind in _DESCRIPTORS or kind is MethodWrapperType:
        return _module(fn.__objclass__)
    if issubclass(kind, type):
        return _defining(fn, "__new__")
    return _defining(kind, "__call__")


def _module(cls: type) -> str:
    return str(type.__getattribute__(cls, "__module__"))


def _defining(cls: type, name: str) -> str:
    """The module of the class in the MRO that has the attribute from C; ``super`` passes over those in Python."""
    for base in mro_of(cls):
        found = dict_of(base).get(name)
        if found is not None and type(found) not in _PYTHON:
            return _module(base)
    return _module(cls)


_PYTHON: Final = (FunctionType, staticmethod, classmethod, property)


def name_of(fn: Any) -> str:
    """``time.perf_counter``: the name in tables and messages."""
    return _known(fn).name


@dataclass(frozen=True, slots=True)
class _Known:
    """What is said of a C function or class, whatever it is called with; ``held`` keeps the key of its record alive."""

    name: str
    refusal: modules.Reason | None
    asked: str | None
    held: Any


_KNOWN: Final[dict[Any, _Known]] = {}
modules.ON_CHANGE.append(_KNOWN.clear)


def _known(fn: Any) -> _Known:
    """Functions of modules and methods of C's own types are looked at once."""
    kind = type(fn)
    held: Any = fn
    key: Any = None
    if kind is BuiltinFunctionType:
        owner = fn.__self__
        if owner is None or type(owner) is ModuleType or fn.__module__ is not None:
            key = id(fn)
        elif not _flags(type(owner)) & _HEAP and not issubclass(type(owner), type):
            held, key = type(owner), (id(type(owner)), fn.__name__)
    elif kind in _DESCRIPTORS and not _flags(fn.__objclass__) & _HEAP:
        key = id(fn)
    found = _KNOWN.get(key) if key is not None else None
    if found is None:
        name = f"{module_of(fn)}.{_own_name(fn)}"
        found = _Known(name, _refusal(fn), asked_by(name), held)
        if key is not None:
            _KNOWN[key] = found
    return found


_flags: Final = type.__dict__["__flags__"].__get__
_HEAP: Final = 1 << 9


def bound_to(fn: Any) -> Any:
    """The object or module that a C function or method belongs to; None for all else, which is asked nothing."""
    return fn.__self__ if type(fn) is BuiltinFunctionType or type(fn) is MethodWrapperType else None


def _own_name(fn: Any) -> str:
    if issubclass(type(fn), type):  # a metaclass may have a ``__name__`` of its own
        return str(name_of_class(fn))
    name = getattr(fn, "__name__", None)
    return name if type(name) is str else type(fn).__name__


def refusal(fn: Any) -> modules.Reason | None:
    """``(what it does, what to do instead)`` for C code that strict mode does not call; None for what it calls."""
    return _known(fn).refusal


def asked(fn: Any) -> str | None:
    """What C code asks of the process around it, in the words of ``policy.ambient``."""
    return _known(fn).asked


def _refusal(fn: Any) -> modules.Reason | None:
    owner = bound_to(fn)
    name = _own_name(fn)
    if type(owner) is type and name in tables.CLOCK_METHODS and owner.__module__ == "datetime":
        return modules.CLOCK
    return modules.classify(module_of(fn), name)


def reason(fn: Any) -> modules.Reason | None:
    """The same for what is known to be impure: unknown code is not."""
    found = refusal(fn)
    return None if found is modules.UNKNOWN else found


def module_reason(module: str) -> modules.Reason | None:
    """The same for everything in a module, or in a package that holds it."""
    while module:
        found = modules.REFUSED_MODULES.get(module)
        if found is not None:
            return found
        module = module.rpartition(".")[0]
    return None


def kind_of(why: tuple[str, str]) -> EffectKind:
    """The ledger's word for what a function does."""
    if "random" in why[0] or "identifier" in why[0]:
        return "random"
    return "clock" if "clock" in why[0] else "other"
