"""Making classes: ``__build_class__``, ``type.__new__``, ``type`` and ``type.__call__``."""

from __future__ import annotations

import builtins
import types
from opcode import opmap
from types import CellType, FunctionType
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces, replaces_directly
from dynamo_lite.strict.decode.versions import SET_NAME_WRAPS
from dynamo_lite.strict.machine.calls import CALLERS, Kwargs, native
from dynamo_lite.strict.machine.code import code_for
from dynamo_lite.strict.machine.construction import construct
from dynamo_lite.strict.machine.frame import NULL, Frame, cell_value, new_frame
from dynamo_lite.strict.machine.routine import Routine, start
from dynamo_lite.strict.machine.slots import (
    MISSING,
    classes_changed,
    dict_of,
    inherits,
    lookup,
    mro_of,
    slot,
    type_name,
)
from dynamo_lite.strict.machine.special import bound_call
from dynamo_lite.strict.machine.view import FrameView, user_frame


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
        raise TypeError(f"{shown}.__prepare__() must return a mapping, not {type_name(type(namespace))}")
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
        if inherits(winner, kind):
            continue
        if inherits(kind, winner):
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
    if frame.policy is not None:
        frame.policy.made(cls)
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
    free = len(original.co_freevars)
    function.__code__ = original.replace(
        # who looks at the frame's variables expects its free ones in place
        co_code=bytes((opmap["COPY_FREE_VARS"], free) if free else ()) + _IDLE.co_code,
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
    text = f"Error calling __set_name__ on '{type_name(type(value))}' instance {key!r} in '{type_name(cls)}'"
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
        if policy is not None and id(type(args[0])) in policy.special_ids:
            return native(frame, type, args, None)
        kind = type(args[0])
        frame.stack.append(types.FrameType if kind is FrameView else kind)
        return None
    if len(args) != 3:
        raise TypeError("type() takes 1 or 3 arguments")
    return start(frame, _type_call(args, kwargs or {}))


def _type_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Routine:
    return (yield type.__new__, (type, *args), kwargs)


@replaces_directly(type.__dict__["__call__"])
def type_call(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``type.__call__`` called by name, as ``super().__call__(…)`` in a metaclass."""
    if not args or not inherits(type(args[0]), type):
        return native(frame, type.__dict__["__call__"], args, kwargs)
    if args[0] is type:
        return type_(frame, args[1:], kwargs)
    return construct(frame, args[0], args[1:], kwargs)


CALLERS[id(_RunBody)] = _run_body
