"""Calling: the one function through which every call of every kind goes; callers by the type of what is called."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import Any, Final
from weakref import WeakKeyDictionary

from dynamo_lite.strict.machine.binding import bind_arguments
from dynamo_lite.strict.machine.code import PLAIN, TRACED, prepare
from dynamo_lite.strict.machine.frame import Frame, new_frame
from dynamo_lite.strict.machine.policy import CONSTANT_MARK
from dynamo_lite.strict.machine.routine import INVOKE, Routine, call, start
from dynamo_lite.strict.machine.slots import dict_of, lookup, mro_of, slot

Kwargs = dict[str, Any] | None
Caller = Callable[[Frame, Any, tuple[Any, ...], Kwargs], "Frame | None"]
Replacement = Callable[[Frame, tuple[Any, ...], Kwargs], "Frame | None"]

STANDS_FOR: Final[WeakKeyDictionary[FunctionType, Callable[..., Any]]] = WeakKeyDictionary()
"""Decorated forwards and their originals: met while tracing, the original is part of the program that is being captured."""
# How objects of a type are called, by the type's identity (a metaclass may define __hash__).
CALLERS: Final[dict[int, Caller]] = {}
# C functions and descriptors that the machine does itself; and methods of builtin objects by (id(type), name).
REPLACEMENTS: Final[dict[Any, Replacement]] = {}
METHODS: Final[dict[tuple[int, str], Replacement]] = {}
METHOD_NAMES: Final[set[str]] = set()
# slots of C types by their name, whatever the type
WRAPPERS: Final[dict[str, Callable[[Frame, Any, tuple[Any, ...], Kwargs], Frame | None]]] = {}
# classes whose construction the machine does itself, by identity
CONSTRUCTORS: Final[dict[int, Replacement]] = {}


def invoke(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Calls ``fn`` on top of ``frame``.

    The result is pushed on the frame's stack at once (None is returned), or when the returned frame has run.
    """
    kind = type(fn)
    if kind is FunctionType:
        return enter(frame, fn, args, kwargs)
    caller = CALLERS.get(id(kind))
    if caller is not None:
        return caller(frame, fn, args, kwargs)
    if issubclass(kind, type):
        return CALLERS[id(type)](frame, fn, args, kwargs)
    method = lookup(kind, "__call__")
    if type(method) is FunctionType:
        return enter(frame, method, (fn, *args), kwargs)
    if slot(frame, kind, "__call__") is None:
        return native(frame, fn, args, kwargs)
    return start(frame, call_object(frame, method, fn, args, kwargs))


INVOKE.append(invoke)


def native(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Calls what is not interpreted, by the policy where there is one."""
    policy = frame.policy
    if policy is None:
        frame.stack.append(fn(*args) if kwargs is None else fn(*args, **kwargs))
    else:
        frame.stack.append(policy.call_native(fn, args, kwargs or {}, frame))
    return None


def call_object(frame: Frame, method: Any, obj: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Routine:
    """An object whose class has a ``__call__`` that is neither a function nor C code."""
    bound = yield from bind(frame, method, obj, type(obj))
    return (yield bound, args, kwargs)


def bind(frame: Frame, attribute: Any, obj: Any, owner: type) -> Routine:
    """``attribute.__get__(obj, owner)`` as C code looks up a special method."""
    getter = lookup(type(attribute), "__get__")
    if slot(frame, type(attribute), "__get__") is not None:
        return (yield call(getter, attribute, obj, owner))
    if hasattr(type(attribute), "__get__"):
        return type(attribute).__get__(attribute, obj, owner)
    return attribute


def meet(frame: Frame, fn: FunctionType) -> None:
    """Tells the policy of a function that is called for the first time."""
    frame.machine.entered.add(id(fn))
    frame.policy.entered(fn)  # type: ignore[union-attr]


def enter(frame: Frame, fn: FunctionType, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Calls a Python function: a new frame, unless its code is opaque."""
    if frame.policy is not None and id(fn) not in frame.machine.entered:
        meet(frame, fn)
    code = (PLAIN if frame.policy is None else TRACED).get(id(fn.__code__)) or prepare(
        fn.__code__, frame.policy
    )
    if code.opaque or (frame.policy is not None and getattr(fn, CONSTANT_MARK, False)):
        original = None if frame.policy is None else STANDS_FOR.get(fn)
        return native(frame, fn, args, kwargs) if original is None else invoke(frame, original, args, kwargs)
    if code.simple and kwargs is None and len(args) == code.argcount:
        stack = [*args, *code.padding]
    else:
        stack = bind_arguments(code, fn, args, kwargs)
    made = new_frame(code, stack, fn.__globals__, frame)
    made.function = fn
    if not code.flags & 1:
        made.locals = fn.__globals__
    return made


# --- callers by type


def call_method(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A bound method: its function with the object in front."""
    return invoke(frame, fn.__func__, (fn.__self__, *args), kwargs)


def call_builtin(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A C function, or the C method of an object."""
    replacement = REPLACEMENTS.get(fn)
    if replacement is not None:
        return replacement(frame, args, kwargs)
    if fn.__name__ in METHOD_NAMES:
        owner = fn.__self__
        method = METHODS.get((id(type(owner)), fn.__name__))
        if method is None and owner is not None:
            method = _inherited(type(owner), fn.__name__)
        if method is not None:
            return method(frame, (owner, *args), kwargs)
    return native(frame, fn, args, kwargs)


def _inherited(cls: type, name: str) -> Replacement | None:
    for base in mro_of(cls):
        found = METHODS.get((id(base), name))
        if found is not None:
            return found
    return None


def call_descriptor(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A method or slot of a C type, not bound."""
    replacement = REPLACEMENTS.get(fn)
    if replacement is not None:
        return replacement(frame, args, kwargs)
    if fn.__name__ in METHOD_NAMES:
        method = METHODS.get((id(fn.__objclass__), fn.__name__))
        if method is not None:
            return method(frame, args, kwargs)
    wrapper = WRAPPERS.get(fn.__name__)
    return native(frame, fn, args, kwargs) if wrapper is None else wrapper(frame, fn, args, kwargs)


def call_slot_wrapper(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A bound C slot (``super().__setattr__``): the slot itself with the object in front."""
    descriptor = dict_of(fn.__objclass__)[fn.__name__]
    return call_descriptor(frame, descriptor, (fn.__self__, *args), kwargs)


def call_partial(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """functools.partial."""
    merged = {**fn.keywords, **kwargs} if kwargs else dict(fn.keywords)
    return invoke(frame, fn.func, (*fn.args, *args), merged or None)


def call_staticmethod(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A staticmethod object called as such."""
    return invoke(frame, fn.__func__, args, kwargs)


def describe(fn: Any) -> Routine:
    """How CPython names a callable in an error message (_PyObject_FunctionStr)."""
    name = yield call(getattr, fn, "__qualname__", None)
    if name is None:
        return (yield call(str, fn))
    module = yield call(getattr, fn, "__module__", None)
    return f"{name}()" if module is None or module == "builtins" else f"{module}.{name}()"


for _type, _caller in (
    (FunctionType, enter),
    (MethodType, call_method),
    (BuiltinFunctionType, call_builtin),
    (type(re.compile("").sub), call_builtin),  # methods that are told their defining class
    (MethodDescriptorType, call_descriptor),
    (ClassMethodDescriptorType, call_descriptor),
    (WrapperDescriptorType, call_descriptor),
    (MethodWrapperType, call_slot_wrapper),
    (functools.partial, call_partial),
    (staticmethod, call_staticmethod),
):
    CALLERS[id(_type)] = _caller
