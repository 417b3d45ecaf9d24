"""``any``, ``all``, ``sum``, ``reduce``, ``min`` and ``max``."""

from __future__ import annotations

import builtins
import functools
import operator
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.iteration import END, asking, get_iterator, step
from dynamo_lite.strict.machine.routine import Routine, call
from dynamo_lite.strict.machine.slots import TypeSet
from dynamo_lite.strict.machine.truth import truth


@replaces(builtins.any)
def any_(frame: Frame, iterable: Any, /) -> Routine:
    iterator = yield from get_iterator(frame, iterable)
    ask = asking(iterator)
    while (item := (yield ask) if ask is not None else (yield from step(frame, iterator))) is not END:
        if item is True or (item is not False and (yield from truth(frame, item))):
            return True
    return False


@replaces(builtins.all)
def all_(frame: Frame, iterable: Any, /) -> Routine:
    iterator = yield from get_iterator(frame, iterable)
    ask = asking(iterator)
    while (item := (yield ask) if ask is not None else (yield from step(frame, iterator))) is not END:
        if item is False or (item is not True and not (yield from truth(frame, item))):
            return False
    return True


_NUMBERS: Final = TypeSet((int, float, bool, complex))
_TEXTS: Final = TypeSet((str, bytes, bytearray))


@replaces(builtins.sum)
def sum_(frame: Frame, iterable: Any, /, start: Any = 0) -> Routine:
    if type(start) in _TEXTS:
        return sum(iterable, start)  # C refuses it
    iterator = yield from get_iterator(frame, iterable)
    plain: list[Any] = []
    total = start
    ask = asking(iterator)
    while (item := (yield ask) if ask is not None else (yield from step(frame, iterator))) is not END:
        if id(type(item)) in _NUMBERS.ids and id(type(start)) in _NUMBERS.ids:
            plain.append(item)
            continue
        if plain:
            total, plain = sum(plain, start), []
        start = None
        total = yield call(operator.add, total, item)
    return sum(plain, start) if plain else total


@replaces(functools.reduce)
def reduce_(frame: Frame, function: Any, iterable: Any, *initial: Any) -> Routine:
    if len(initial) > 1:
        return functools.reduce(function, iterable, *initial)
    try:
        iterator = yield from get_iterator(frame, iterable)
    except TypeError:
        iterator = None
    if iterator is None:
        raise TypeError("reduce() arg 2 must support iteration")
    if initial:
        total = initial[0]
    else:
        total = yield from step(frame, iterator)
        if total is END:
            raise TypeError("reduce() of empty iterable with no initial value")
    while (item := (yield from step(frame, iterator))) is not END:
        total = yield call(function, total, item)
    return total


def _extreme(name: str, symbol: str) -> Any:
    def routine(frame: Frame, *args: Any, key: Any = None, **rest: Any) -> Routine:
        if not args or set(rest) - {"default"}:
            return getattr(builtins, name)(*args, key=key, **rest)
        if len(args) > 1 and rest:
            raise TypeError(f"Cannot specify a default for {name}() with multiple positional arguments")
        iterator = iter(args) if len(args) > 1 else (yield from get_iterator(frame, args[0]))
        best = best_key = END
        while (item := (yield from step(frame, iterator))) is not END:
            item_key = item if key is None else (yield call(key, item))
            if best is END or (yield from truth(frame, (yield call(_COMPARE[symbol], item_key, best_key)))):
                best, best_key = item, item_key
        if best is END:
            if "default" in rest:
                return rest["default"]
            raise ValueError(f"{name}() {EMPTY_EXTREME}")
        return best

    return routine


_COMPARE: Final = {"<": operator.lt, ">": operator.gt}
try:
    min([])
except ValueError as _error:
    EMPTY_EXTREME: Final = str(_error).removeprefix("min() ")
replaces(builtins.min)(_extreme("min", "<"))
replaces(builtins.max)(_extreme("max", ">"))
