"""Containers that C may read whole: what they held at export, and whether they hold the same now.

Items are compared by identity, or as equal plain values of one type; no code of the program is asked.
"""

from __future__ import annotations

import array
import decimal
import gc
import operator
import re
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import Context, ContextVar
from datetime import date, datetime, time, timedelta, timezone
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from dynamo_lite.strict.machine.slots import MISSING, TypeSet, inherits, mro_of
from dynamo_lite.trace.states import arithmetic
from fx_ir.plain import same_plain

PLAIN: Final = TypeSet((int, float, complex, bool, str, bytes, type(None)))


def _pairs(value: Any) -> Iterable[Any]:
    return [*dict.keys(value), *dict.values(value)]


def _raw(value: Any) -> Iterable[Any]:
    """The bytes of a buffer, and their type."""
    view = memoryview(value)
    return view.format, view.tobytes()


def _numbers(value: Any) -> Iterable[Any]:
    """What an array of NumPy's is and holds; objects in it by identity."""
    held = tuple(value.flat) if value.dtype.hasobject else value.tobytes()
    return value.dtype.str, value.shape, value.strides, held


def _memory(value: memoryview) -> Iterable[Any]:
    return value.format, value.shape, value.strides, value.tobytes()


def _bounds(value: Any) -> Iterable[Any]:
    return value.start, value.stop, value.step


_OF_VALUES: Final[dict[type, Callable[[Any], Iterable[Any]]]] = {
    **dict.fromkeys((range, slice), _bounds),
    **dict.fromkeys((date, datetime, time, timedelta), lambda value: value.__reduce__()[1]),
    timezone: lambda value: value.__getinitargs__(),
    decimal.Decimal: decimal.Decimal.as_tuple,
    re.Pattern: lambda value: (value.pattern, value.flags),
    struct.Struct: lambda value: (value.format,),
    **dict.fromkeys(
        (operator.attrgetter, operator.itemgetter, operator.methodcaller), lambda value: value.__reduce__()[1]
    ),
}
VALUES: Final = TypeSet(_OF_VALUES)
"""Types of C's whose instances never change; they are told apart by what they were made of."""
_READERS: Final[dict[type, Callable[[Any], Iterable[Any]]]] = {
    **_OF_VALUES,
    list: list.__iter__,
    tuple: tuple.__iter__,
    OrderedDict: lambda value: [*OrderedDict.keys(value), *OrderedDict.values(value)],
    defaultdict: lambda value: [*_pairs(value), value.default_factory],
    dict: _pairs,
    set: set.__iter__,
    frozenset: frozenset.__iter__,
    deque: lambda value: [*deque.__iter__(value), value.maxlen],
    bytearray: _raw,
    array.array: _raw,
    np.ndarray: _numbers,
    np.generic: _numbers,
    **dict.fromkeys((type({}.keys()), type({}.values()), type({}.items())), iter),
    MappingProxyType: lambda value: contents(gc.get_referents(value)[0]),
    ContextVar: lambda value: (value.get(MISSING),),
    Context: lambda value: [*value.keys(), *value.values()],
    decimal.Context: arithmetic,
    memoryview: _memory,
}
_BY_KEY: Final = TypeSet((OrderedDict, defaultdict, Counter, MappingProxyType))
_HOLDERS: Final[tuple[type, ...]] = (
    dict, list, tuple, set, frozenset, deque, MappingProxyType, ContextVar, Context, type({}.keys()), type({}.values()),
    type({}.items()),
)  # fmt: skip


def is_container(value: Any) -> bool:
    """Whether :func:`contents` reads the object."""
    return any(cls in _READERS for cls in mro_of(type(value)))


def contents(value: Any) -> tuple[Any, ...]:
    """What a container holds: the items, a mapping's keys and then its values, the bytes of a buffer."""
    for cls in mro_of(type(value)):
        reader = _READERS.get(cls)
        if reader is not None:
            return tuple(reader(value))
    return ()


def holds_objects(value: Any) -> bool:
    """Whether what a container holds are objects of the program's, and no description of itself."""
    return any(inherits(type(value), cls) for cls in _HOLDERS)


def places(value: Any) -> Iterator[tuple[Any, Any]] | None:
    """The subscripts of a container and what lies there; None where it is not known to have any."""
    if type(value) is deque:
        return iter(enumerate(value))
    return iter(value.items()) if type(value) in _BY_KEY else None


def is_frozen(value: Any) -> bool:
    """Whether a value, and all that it holds, can never change."""
    if type(value) is tuple:
        return all(map(is_frozen, value))
    return type(value) in PLAIN or (type(value) in VALUES and all(map(is_frozen, contents(value))))


def is_changed(value: Any, before: tuple[Any, ...]) -> bool:
    """Whether a container holds something else than ``before``, which :func:`contents` gave, or in another order."""
    now = contents(value)
    if len(now) != len(before):
        return True
    return not all(map(operator.is_, now, before)) and not all(map(_same, now, before))


def _same(now: Any, before: Any) -> bool:
    if type(now) is tuple and type(before) is tuple:  # the items of a mapping's view are made anew
        return len(now) == len(before) and all(map(_same, now, before))
    if now is before:
        return True
    cls = type(now)
    if cls is not type(before):
        return False
    if cls in VALUES:
        return all(map(_same, contents(now), contents(before)))
    return cls in PLAIN and same_plain(now, before)
