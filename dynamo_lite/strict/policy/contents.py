"""Containers that C may read whole: what they held at export, and whether they hold the same now.

Items are compared by identity, or as equal plain values of one type; no code of the program is asked.
"""

from __future__ import annotations

import array
import gc
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from dynamo_lite.strict.machine.slots import MISSING, TypeSet, inherits, mro_of

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


_READERS: Final[dict[type, Callable[[Any], Iterable[Any]]]] = {
    list: list.__iter__,
    tuple: tuple.__iter__,
    OrderedDict: lambda value: [*OrderedDict.keys(value), *OrderedDict.values(value)],
    dict: _pairs,
    set: set.__iter__,
    frozenset: frozenset.__iter__,
    deque: deque.__iter__,
    bytearray: _raw,
    array.array: _raw,
    np.ndarray: _numbers,
    np.generic: _numbers,
    **dict.fromkeys((type({}.keys()), type({}.values()), type({}.items())), iter),
    MappingProxyType: lambda value: contents(gc.get_referents(value)[0]),
    ContextVar: lambda value: (value.get(MISSING),),
}
_SETS: Final = (set, frozenset)


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


def is_changed(value: Any, before: tuple[Any, ...]) -> bool:
    """Whether a container holds something else than ``before``, which :func:`contents` gave."""
    now = contents(value)
    if len(now) != len(before):
        return True
    if all(map(operator.is_, now, before)):
        return False
    if any(inherits(type(value), cls) for cls in _SETS):
        if all(type(item) in PLAIN for item in (*now, *before)):
            return {(type(item), item) for item in now} != {(type(item), item) for item in before}
        return set(map(id, now)) != set(map(id, before))
    return not all(map(_same, now, before))


def _same(now: Any, before: Any) -> bool:
    if type(now) is tuple and type(before) is tuple:  # the items of a mapping's view are made anew
        return len(now) == len(before) and all(map(_same, now, before))
    return now is before or (type(now) is type(before) and type(now) in PLAIN and now == before)
