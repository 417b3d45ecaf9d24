"""Sorting: C's own algorithm over stand-ins whose ``<`` is interpreted."""

from __future__ import annotations

import builtins
import sys
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces
from dynamo_lite.strict.machine.calls import CALLERS
from dynamo_lite.strict.machine.current import current_machine
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.iteration import collect
from dynamo_lite.strict.machine.operators import compare_protocol, compares_in_python
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.run import execute
from dynamo_lite.strict.machine.truth import index, truth


def _takes(value: Any) -> bool:
    try:
        [].sort(reverse=value)
    except TypeError:
        return False
    return True


# reverse= takes integers only (later: whatever has a truth)
_REVERSE_BY_INDEX: Final = not _takes("")


def sort_items(frame: Frame, items: list[Any], key: Any, reverse: Any) -> Routine:
    """Sorts in place. C does it, with stand-ins where comparing is interpreted: then ``<`` is asked in C's own order."""
    if _REVERSE_BY_INDEX:
        reverse = yield from index(frame, reverse)
    backwards = yield from truth(frame, reverse)
    keys, modified = items, False
    if key is not None:
        taken, keys = list(items), []
        items.clear()
        try:
            for item in taken:
                keys.append((yield call(key, item)))
        finally:
            modified = sys.getsizeof(items) != _EMPTY
            items[:] = taken
    interpreted = any(
        compares_in_python(frame, type(each), "__lt__") or compares_in_python(frame, type(each), "__gt__")
        for each in keys
    )
    if key is None and not interpreted:
        items.sort(reverse=backwards)
    else:
        # C takes the keys in order, and drops them before it looks whether the list was changed
        waiting = [_Ordered(each) for each in keys] if interpreted else keys
        del keys
        waiting.reverse()
        items.sort(key=lambda item: waiting.pop(), reverse=backwards)
    if modified:
        raise ValueError("list modified during sort")


# a list that was never appended to; one that was keeps room
_EMPTY: Final = sys.getsizeof([])


class _Ordered:
    """A sort key that C compares: ``<`` of the program's objects, interpreted in a run of its own."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Ordered) -> bool:
        return execute(current_machine(), _LESS, (self.key, other.key), None)  # type: ignore[no-any-return]


class _Less:
    """Stands for ``bool(left < right)``."""

    __slots__ = ()


_LESS: Final = _Less()


def _less(frame: Frame, left: Any, right: Any) -> Routine:
    return (yield from truth(frame, (yield from compare_protocol(frame, "<", left, right))))


def _call_less(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Any) -> Frame | None:
    return start(frame, _less(frame, *args))


CALLERS[id(_Less)] = _call_less


@replaces(builtins.sorted)
def sorted_(frame: Frame, iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Routine:
    items = yield from collect(frame, iterable)
    yield from sort_items(frame, items, key, reverse)
    return items
