"""What C code reads of an outside object where no read is seen: its state, for a copy, a listing, a format or a pickle."""

from __future__ import annotations

import _pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

from dynamo_lite.strict.machine.slots import dict_of, inherits, lookup, mro_of
from dynamo_lite.strict.policy.contents import PLAIN, is_container

Load = Callable[[Any, str, Any], Any]
"""Tells that an attribute of an object was read: the object, the name, the value."""

_OF_OWNER: Final = frozenset({"__reduce_ex__", "__reduce__", "__getstate__", "__dir__", "__sizeof__"})
"""Special methods, which mean one thing in every class of C's."""
_READS_DEEP: Final = (str.format, str.format_map, _pickle.dumps, _pickle.Pickler.dump)
"""Functions and methods that read their arguments through and through."""
_DEEP: Final = {fn.__name__: fn for fn in _READS_DEEP}
_PLACES: Final = (MemberDescriptorType, GetSetDescriptorType)
_NO_STATE: Final = (type, ModuleType, FunctionType, BuiltinFunctionType)
_NO_DICT: Final = object()


def look(load: Load, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Tells ``load`` what a C function or method reads of objects that it is bound to or given."""
    kind = type(fn)
    if kind is BuiltinFunctionType or kind is MethodWrapperType:
        owner = fn.__self__
    elif (kind is WrapperDescriptorType or kind is MethodDescriptorType) and args:
        owner, *args = args
    else:
        return
    name = fn.__name__
    if name in _OF_OWNER:
        _state(load, owner)
    elif fn is dir and args:
        _state(load, args[0])
    elif name == "__get__" and type(owner) in _PLACES and args and args[0] is not None:
        _place(load, args[0], owner)
    elif name in _DEEP and (fn is _DEEP[name] or _method(fn) is _DEEP[name]):
        _deep(load, [*args, *kwargs.values()])


def _method(fn: Any) -> Any:
    """The descriptor that a bound C method was made from."""
    return lookup(type(fn.__self__), fn.__name__) if type(fn) is BuiltinFunctionType else None


def tell(load: Load, tellers: Mapping[int, Any], values: Iterable[Any]) -> None:
    """Tells ``load`` what C reads of outside objects of its own classes among the values, or in containers among them."""
    for value in values:
        if id(value) in tellers:
            _state(load, value)
        elif is_container(value):
            for each in tellers.values():
                _state(load, each)


def _place(load: Load, obj: Any, descriptor: Any) -> None:
    try:
        value = type(descriptor).__get__(descriptor, obj, type(obj))
    except AttributeError:
        return
    load(obj, descriptor.__name__, value)


def _state(load: Load, obj: Any) -> None:
    """The dictionary and the slots of an object. Asks no code of the program's."""
    if inherits(type(obj), type):
        return
    own = _own(obj)
    if own is not _NO_DICT:
        load(obj, "__dict__", own)
    if inherits(type(obj), BaseException):
        load(obj, "args", BaseException.args.__get__(obj))  # type: ignore[attr-defined]
    for cls in mro_of(type(obj)):
        for value in dict_of(cls).values():
            if type(value) is MemberDescriptorType:
                _place(load, obj, value)


def _own(obj: Any) -> Any:
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return _NO_DICT


def _deep(load: Load, waiting: list[Any]) -> None:
    """The state of objects, of what they hold, and so on."""
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen or id(type(value)) in PLAIN.ids or inherits(type(value), _NO_STATE[0]):
            continue
        if type(value) in _NO_STATE:
            continue
        seen.add(id(value))
        _state(load, value)
        waiting += _held(value)


def _held(value: Any) -> Iterator[Any]:
    own = _own(value)
    if type(own) is dict:
        yield from own.values()
    if type(value) is dict:
        yield from value.values()
    elif type(value) in (list, tuple, set, frozenset):
        yield from value
