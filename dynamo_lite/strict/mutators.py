"""Which C functions and methods change an object that they are given, and which object that is."""

from __future__ import annotations

import array
import bisect
import heapq
import operator
import struct
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dynamo_lite.strict.machine.slots import MISSING, inherits

_ITEMS: Final = ("__setitem__", "__delitem__")
_SEQUENCE: Final = (
    *_ITEMS, "__iadd__", "__imul__", "__init__", "append", "extend", "insert", "remove", "pop", "clear", "reverse",
)  # fmt: skip
_MAPPING: Final = (*_ITEMS, "__ior__", "__init__", "update", "setdefault", "pop", "popitem", "clear")
_IN_PLACE: Final = (
    "__iadd__", "__iand__", "__ifloordiv__", "__ilshift__", "__imatmul__", "__imod__", "__imul__", "__ior__", "__ipow__",
    "__irshift__", "__isub__", "__itruediv__", "__ixor__",
)  # fmt: skip

# --- methods, by the C class that defines them

MUTATORS: Final[dict[type, frozenset[str]]] = {
    list: frozenset({*_SEQUENCE, "sort"}),
    dict: frozenset(_MAPPING),
    OrderedDict: frozenset({*_MAPPING, "move_to_end"}),
    set: frozenset(
        {
            "__init__", "__iand__", "__ior__", "__isub__", "__ixor__", "add", "update", "remove", "discard", "pop",
            "clear", "intersection_update", "difference_update", "symmetric_difference_update",
        }
    ),
    deque: frozenset({*_SEQUENCE, "appendleft", "extendleft", "popleft", "rotate"}),
    bytearray: frozenset(_SEQUENCE),
    array.array: frozenset(
        {*_SEQUENCE, "byteswap", "frombytes", "fromfile", "fromlist", "fromunicode"} - {"__init__", "clear"}
    ),
    memoryview: frozenset({"__setitem__"}),
    BaseException: frozenset({"add_note", "with_traceback", "__setstate__"}),
    np.ndarray: frozenset(
        {*_IN_PLACE, "__setitem__", "byteswap", "fill", "itemset", "partition", "put", "setfield", "sort"}
    ),
}  # fmt: skip

# --- functions: the position of the argument that they change

FUNCTIONS: Final[dict[Callable[..., Any], int]] = {
    **dict.fromkeys(
        (heapq.heapify, heapq.heappop, heapq.heappush, heapq.heappushpop, heapq.heapreplace), 0
    ),
    **{
        found: 0
        for name in ("_heapify_max", "_heappop_max", "_heapreplace_max")
        if (found := getattr(heapq, name, None)) is not None
    },
    **dict.fromkeys((bisect.insort, bisect.insort_left, bisect.insort_right), 0),
    **{
        getattr(operator, name): 0
        for name in (
            "setitem", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior",
            "ipow", "irshift", "isub", "itruediv", "ixor",
        )
    },
    struct.pack_into: 1,
}  # fmt: skip
# the same by name, where another module defines a Python function of that name beside it
BY_NAME: Final[dict[tuple[str, str], int]] = {
    ("_collections", "_count_elements"): 0,
    ("_struct", "pack_into"): 1,
}
_FUNCTION_NAMES: Final = frozenset(name for _, name in BY_NAME)
_NAMES: Final = frozenset().union(*MUTATORS.values())
_NUMPY_FIRST: Final = frozenset({"copyto", "put", "place", "putmask"})
_METHODS: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
)


def mutated(fn: Any, args: tuple[Any, ...]) -> Any:
    """The object whose content a call of C code will change, or MISSING."""
    if type(fn) not in _METHODS:
        return MISSING
    name = fn.__name__
    if name not in _NAMES and fn not in FUNCTIONS and name not in _FUNCTION_NAMES:
        return MISSING
    if type(fn) in (types.MethodDescriptorType, types.WrapperDescriptorType):
        owner = args[0] if args else MISSING
    else:
        owner = fn.__self__
        if owner is None or type(owner) is types.ModuleType:
            return _argument(fn, args)
    for cls, names in MUTATORS.items():
        if name in names and inherits(type(owner), cls):
            return owner
    if name == "pack_into" and type(owner) is struct.Struct and args:
        return args[0]
    return MISSING


def _argument(fn: Any, args: tuple[Any, ...]) -> Any:
    position = FUNCTIONS.get(fn)
    if position is None:
        position = BY_NAME.get((fn.__module__ or "", fn.__name__))
    return args[position] if position is not None and len(args) > position else MISSING


def changed_by_numpy(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arrays that a function of NumPy writes: ``out``, and the first argument of those that are named for it."""
    if issubclass(type(fn), type):
        return []
    plain = type(fn) in _METHODS and fn.__name__ not in _NUMPY_FIRST and not kwargs
    if plain and type(getattr(fn, "__self__", None)) is not np.ufunc:
        return []
    out = kwargs.get("out")
    found = [each for each in (out if type(out) is tuple else (out,)) if each is not None]
    if type(fn) is np.ufunc:
        found += [each for each in args[fn.nin :] if each is not None]
    elif getattr(fn, "__name__", "") in _NUMPY_FIRST or type(getattr(fn, "__self__", None)) is np.ufunc:
        found += args[
            :1
        ]  # also ``ufunc.at``; the others of a ufunc's methods read it, and saving does no harm
    return [each for each in found if isinstance(each, np.ndarray)]
