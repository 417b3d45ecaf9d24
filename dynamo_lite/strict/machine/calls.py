"""Calling: the one function through which every call of every kind goes, and the binding of arguments."""

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

from dynamo_lite.strict.machine.binding import bind_arguments, bind_by_plan
from dynamo_lite.strict.machine.code import PLAIN, TRACED, prepare
from dynamo_lite.strict.machine.frame import NULL, Frame, new_frame
from dynamo_lite.strict.machine.routine import INVOKE, Routine, call, start
from dynamo_lite.strict.machine.slots import INFOS, dict_of, info_of, lookup, mro_of, slot

_new_object: Final = object.__new__
Kwargs = dict[str, Any] | None
Caller = Callable[[Frame, Any, tuple[Any, ...], Kwargs], "Frame | None"]
Replacement = Callable[[Frame, tuple[Any, ...], Kwargs], "Frame | None"]

# How objects of a type are called, by the type's identity (a metaclass may define __hash__).
CALLERS: Final[dict[int, Caller]] = {}
# C functions and descriptors that the machine does itself; and methods of builtin objects by (id(type), name).
REPLACEMENTS: Final[dict[Any, Replacement]] = {}
METHODS: Final[dict[tuple[int, str], Replacement]] = {}
METHOD_NAMES: Final[set[str]] = set()
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
        return call_class(frame, fn, args, kwargs)
    method = lookup(kind, "__call__")
    if type(method) is FunctionType:
        return enter(frame, method, (fn, *args), kwargs)
    if slot(frame, kind, "__call__") is None:
        return native(frame, fn, args, kwargs)
    return start(frame, _call_object(frame, method, fn, args, kwargs))


INVOKE.append(invoke)


def native(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Calls what is not interpreted, by the policy where there is one."""
    policy = frame.policy
    if policy is None:
        frame.stack.append(fn(*args) if kwargs is None else fn(*args, **kwargs))
    else:
        frame.stack.append(policy.call_native(fn, args, kwargs or {}, frame))
    return None


def _call_object(frame: Frame, method: Any, obj: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Routine:
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


def enter(frame: Frame, fn: FunctionType, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Calls a Python function: a new frame, unless its code is opaque."""
    code = (PLAIN if frame.policy is None else TRACED).get(id(fn.__code__)) or prepare(
        fn.__code__, frame.policy
    )
    if code.opaque:
        return native(frame, fn, args, kwargs)
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
    return native(frame, fn, args, kwargs)


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


def call_class(frame: Frame, cls: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A class: the metaclass's ``__call__``, which is ``type.__call__`` unless someone defined another."""
    method = slot(frame, type(cls), "__call__")
    if method is not None:
        if type(method) is FunctionType:
            return enter(frame, method, (cls, *args), kwargs)
        return start(frame, _call_object(frame, method, cls, args, kwargs))
    if type(cls) is not type and lookup(type(cls), "__call__") is not _TYPE_CALL:
        return native(frame, cls, args, kwargs)  # some other C callable
    return construct(frame, cls, args, kwargs)


_TYPE_CALL: Final[Any] = type.__dict__["__call__"]


def construct(frame: Frame, cls: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``type.__call__``: ``__new__``, then ``__init__`` if it gave an instance."""
    constructor = CONSTRUCTORS.get(id(cls))
    if constructor is not None:
        return constructor(frame, args, kwargs)
    new = slot(frame, cls, "__new__")
    init = slot(frame, cls, "__init__")
    if new is None:
        maker = lookup(cls, "__new__")
        if type(maker) is staticmethod:
            maker = maker.__func__
        if maker not in REPLACEMENTS:
            if init is None:
                return native(frame, cls, args, kwargs)
            native(frame, maker, (cls, *args), kwargs)
            obj = frame.stack.pop()
            if cls not in mro_of(type(obj)):
                frame.stack.append(obj)
                return None
            return initialise(frame, cls, obj, args, kwargs)
    return start(frame, _construct(frame, cls, args, kwargs))


def initialise(frame: Frame, cls: Any, obj: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Runs an interpreted ``__init__``; the object is the call's result."""
    init = lookup(type(obj), "__init__")
    if type(init) is FunctionType:
        following = enter(frame, init, (obj, *args), kwargs)
        if following is not None:
            following.deliver = _initialised
            following.extra = obj
            return following
        frame.stack[-1] = obj
        return None
    return start(frame, _initialise(frame, init, obj, args, kwargs))


def _initialised(frame: Frame, result: Any) -> Frame:
    """The end of an ``__init__`` frame."""
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    back = frame.back
    assert back is not None
    back.stack.append(frame.extra)
    return back


def _initialise(frame: Frame, init: Any, obj: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Routine:
    bound = yield from bind(frame, init, obj, type(obj))
    result = yield bound, args, kwargs
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    return obj


def _construct(frame: Frame, cls: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Routine:
    """Construction where ``__new__`` is not plain C code."""
    new = lookup(cls, "__new__")
    maker = yield from bind(frame, new, None, cls)
    obj = yield maker, (cls, *args), kwargs
    if cls in mro_of(type(obj)):
        init = lookup(type(obj), "__init__")
        if type(init) is FunctionType:
            result = yield init, (obj, *args), kwargs
        else:
            bound = yield from bind(frame, init, obj, type(obj))
            result = yield bound, args, kwargs
        if result is not None:
            raise TypeError(f"__init__() should return None, not '{type(result).__name__}'")
    return obj


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
    (type, call_class),
):
    CALLERS[id(_type)] = _caller


# --- instructions


def _maker(frame: Frame, cls: Any) -> Any:
    """The ``__init__`` of a class that is made by ``object.__new__`` and initialised by a function; else None."""
    init = lookup(cls, "__init__")
    if (
        type(init) is FunctionType
        and lookup(cls, "__new__") is object.__new__
        and id(cls) not in CONSTRUCTORS
        and slot(frame, cls, "__init__") is not None
    ):
        return init
    return False


def _call(frame: Frame, stack: list[Any], fn: Any, args: list[Any]) -> Frame | None:
    """A call with positional arguments; functions and methods with plain parameters go the short way."""
    kind = type(fn)
    if kind is MethodType:
        args.insert(0, fn.__self__)
        fn = fn.__func__
        kind = type(fn)
    if kind is FunctionType:
        code = (PLAIN if frame.policy is None else TRACED).get(id(fn.__code__))
        if code is not None and code.simple and len(args) == code.argcount and not code.opaque:
            args += code.padding
            made = new_frame(code, args, fn.__globals__, frame)
            made.function = fn
            return made
    elif kind is type and frame.policy is None:
        info = INFOS.get(id(fn)) or info_of(fn)
        init = info.maker
        if init is None:
            init = info.maker = _maker(frame, fn)
        if init is not False:
            obj = _new_object(fn)
            made_or_none = enter(frame, init, (obj, *args), None)
            if made_or_none is not None:
                made_or_none.deliver = _initialised
                made_or_none.extra = obj
                return made_or_none
            stack[-1] = obj
            return None
    elif (
        kind is BuiltinFunctionType
        and frame.policy is None
        and fn not in REPLACEMENTS
        and fn.__name__ not in METHOD_NAMES
    ):
        stack.append(fn(*args))
        return None
    return invoke(frame, fn, tuple(args), None)


def call_null_below(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    first = len(stack) - count
    fn = stack[first - 2]
    if fn is NULL:
        fn = stack[first - 1]
        args = stack[first:]
    else:
        args = stack[first - 1 :]
    del stack[first - 2 :]
    return _call(frame, stack, fn, args)


def call_null_above(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    first = len(stack) - count
    fn = stack[first - 2]
    args = stack[first:] if stack[first - 1] is NULL else stack[first - 1 :]
    del stack[first - 2 :]
    return _call(frame, stack, fn, args)


def _call_kw(frame: Frame, stack: list[Any], count: int, names: tuple[str, ...], above: bool) -> Frame | None:
    size = len(stack)
    first = size - count
    if above:
        fn, own = stack[first - 2], stack[first - 1]
    else:
        fn, own = stack[first - 2], stack[first - 1]
        if fn is NULL:
            fn, own = own, NULL
    split = size - len(names)
    args = stack[first:split] if own is NULL else [own, *stack[first:split]]
    values = stack[split:]
    del stack[first - 2 :]
    if type(fn) is MethodType:
        args.insert(0, fn.__self__)
        fn = fn.__func__
    if type(fn) is FunctionType:
        code = (PLAIN if frame.policy is None else TRACED).get(id(fn.__code__))
        if code is not None and code.planned:
            slots = bind_by_plan(code, fn, args, names, values)
            if slots is not None:
                made = new_frame(code, slots, fn.__globals__, frame)
                made.function = fn
                return made
    return invoke(frame, fn, tuple(args), dict(zip(names, values, strict=True)))


def call_kw_null_below(frame: Frame, stack: list[Any], arg: tuple[int, tuple[str, ...]]) -> Frame | None:
    return _call_kw(frame, stack, arg[0], arg[1], False)


def call_kw_null_above(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    return _call_kw(frame, stack, count, stack.pop(), True)


def _call_ex(frame: Frame, fn: Any, args: Any, kwargs: Any) -> Frame | None:
    if type(args) is tuple and (kwargs is None or type(kwargs) is dict):
        return invoke(frame, fn, args, dict(kwargs) if kwargs else None)
    return start(frame, _expand(frame, fn, args, kwargs))


def _expand(frame: Frame, fn: Any, args: Any, kwargs: Any) -> Routine:
    """``f(*args, **kwargs)`` where they are not a tuple and a dict yet."""
    from dynamo_lite.strict.machine.iteration import collect

    if type(args) is not tuple:
        iterator = lookup(type(args), "__iter__")
        from dynamo_lite.strict.machine.slots import MISSING

        if iterator is MISSING and lookup(type(args), "__getitem__") is MISSING:
            raise TypeError(f"{describe(fn)} argument after * must be an iterable, not {type(args).__name__}")
        args = tuple((yield from collect(frame, args)))
    if kwargs is not None and type(kwargs) is not dict:
        from dynamo_lite.strict.machine.build import merge_mapping

        merged: dict[Any, Any] = {}
        yield from merge_mapping(frame, merged, kwargs, fn)
        kwargs = merged
    return (yield fn, args, kwargs or None)


def describe(fn: Any) -> str:
    """How CPython names a callable in an error message."""
    name = getattr(fn, "__qualname__", None) if type(fn) in _NAMED else None
    if name is None:
        return f"{type(fn).__name__} object" if type(fn) not in _NAMED else str(fn)
    module = getattr(fn, "__module__", None)
    if module is not None and module != "builtins":
        return f"{module}.{name}()"
    return f"{name}()"


_NAMED: Final = frozenset({FunctionType, BuiltinFunctionType, MethodDescriptorType, MethodType, type})


def call_ex_null_below(frame: Frame, stack: list[Any], has_kwargs: bool) -> Frame | None:
    kwargs = stack.pop() if has_kwargs else None
    args = stack.pop()
    fn = stack.pop()
    below = stack.pop()
    if below is not NULL:
        args = (fn, *args)
        fn = below
    return _call_ex(frame, fn, args, kwargs)


def call_ex_null_above(frame: Frame, stack: list[Any], has_kwargs: bool) -> Frame | None:
    kwargs = stack.pop() if has_kwargs else None
    args = stack.pop()
    stack.pop()
    return _call_ex(frame, stack.pop(), args, kwargs)
