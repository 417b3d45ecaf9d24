"""C functions that iterate over their arguments: objects that iterate in Python get a stand-in, whose steps run interpreted.

So a generator function that is an object's ``__iter__`` is never begun natively, whether C iterates at once (``deque``, ``math.fsum``) or
later (``zip``, ``itertools.chain``).
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces, replaces_directly, replaces_method_directly
from dynamo_lite.strict.machine.calls import Kwargs, Replacement, native
from dynamo_lite.strict.machine.current import current_machine
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.iteration import SizedSequenceProxy, iterates_in_python
from dynamo_lite.strict.machine.routine import Routine
from dynamo_lite.strict.machine.run import execute
from dynamo_lite.strict.machine.slots import MISSING, inherits, lookup, slot
from dynamo_lite.strict.machine.special import special_call


class Iterable:
    """An iterable that C iterates over: asking it for an iterator, and each step of that, runs interpreted."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __iter__(self) -> Any:
        machine = current_machine()
        iterator = execute(machine, iter, (self.obj,), None)
        return iterator if slot(machine.frame, type(iterator), "__next__") is None else Steps(iterator)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (self.obj,)


class Steps:
    """An iterator whose ``__next__`` runs interpreted."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return execute(current_machine(), next, (self.obj,), None)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (self.obj,)


def _itself(obj: Any) -> Any:
    return obj


def _iterable(obj: Any) -> Any:
    """The object, or what stands for it where iterating over it runs interpreted code."""
    return Iterable(obj) if iterates_in_python(current_machine().frame, obj) else obj


def items_too(frame: Frame, obj: Any) -> Any:
    """Something that gives the same items as ``obj``, with stand-ins for those that C is going to iterate over."""
    if lookup(type(obj), "__iter__") is MISSING and not iterates_in_python(frame, obj):
        return obj  # C says what is wrong with it
    return map(_iterable, _iterable(obj))


# which arguments are iterated over
NONE: Final = slice(0, 0)
ALL: Final = slice(None)
FIRST: Final = slice(0, 1)
SECOND: Final = slice(1, 2)
OTHERS: Final = slice(1, None)


def with_iterables(
    frame: Frame, args: tuple[Any, ...], kwargs: Kwargs, where: slice
) -> tuple[tuple[Any, ...], Kwargs]:
    """The arguments with stand-ins for those that are iterated over in Python."""
    if any(iterates_in_python(frame, each) for each in args[where]):
        changed = list(args)
        changed[where] = map(_iterable, args[where])
        args = tuple(changed)
    if kwargs and "iterable" in kwargs and where is not NONE:
        kwargs = {**kwargs, "iterable": _iterable(kwargs["iterable"])}
    return args, kwargs


def _iterating(fn: Any, where: slice) -> Replacement:
    def replacement(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        args, kwargs = with_iterables(frame, args, kwargs, where)
        return native(frame, fn, args, kwargs)

    return replacement


_fn: Any
for _fn in (zip, itertools.chain, itertools.product, itertools.zip_longest, itertools.compress):
    replaces_directly(_fn)(_iterating(_fn, ALL))
for _fn in (
    enumerate, itertools.islice, itertools.cycle, itertools.pairwise, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement, itertools.tee, deque, math.fsum, math.prod,
    dict.fromkeys,
):  # fmt: skip
    replaces_directly(_fn)(_iterating(_fn, FIRST))
if (_batched := getattr(itertools, "batched", None)) is not None:
    replaces_directly(_batched)(_iterating(_batched, FIRST))
for _name in ("extend", "extendleft"):
    replaces_method_directly(deque, _name)(_iterating(deque.__dict__[_name], OTHERS))


@replaces_directly(itertools.chain.from_iterable)
def chain_from_iterable(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) == 1:
        args = (items_too(frame, args[0]),)
    return native(frame, itertools.chain.from_iterable, args, kwargs)


# --- sets


def _of_set(fn: Any) -> Replacement:
    """A method of sets, which iterates over its arguments unless they are sets: those it reads directly."""
    standing = _iterating(fn, OTHERS)

    def replacement(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        stepped = [type(each) for each in args[1:] if iterates_in_python(frame, each)]
        direct = any(inherits(kind, set) or inherits(kind, frozenset) for kind in stepped)
        return native(frame, fn, args, kwargs) if direct else standing(frame, args, kwargs)

    return replacement


_SET_METHODS: Final = (
    "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint", "update",
    "intersection_update", "difference_update", "symmetric_difference_update",
)  # fmt: skip
for _name in _SET_METHODS:
    for _cls in (set, frozenset):
        if _name in _cls.__dict__:
            replaces_method_directly(_cls, _name)(_of_set(_cls.__dict__[_name]))


# --- reversed


def _reverses_in_python(frame: Frame, *args: Any, **kwargs: Any) -> bool:
    kind = type(args[0]) if len(args) == 1 and not kwargs else type(None)
    if lookup(kind, "__reversed__") is not MISSING:
        return slot(frame, kind, "__reversed__") is not None
    return slot(frame, kind, "__getitem__") is not None and lookup(kind, "__len__") is not MISSING


@replaces(reversed, needed=_reverses_in_python)
def reversed_(frame: Frame, obj: Any, /) -> Routine:
    method = slot(frame, type(obj), "__reversed__")
    if method is not None:
        return (yield special_call(method, obj, ()))
    return reversed(SizedSequenceProxy(obj))
