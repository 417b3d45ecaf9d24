"""Iteration: ``iter``, ``next``, unpacking, and collecting what an iterable gives."""

from __future__ import annotations

import operator
import sys
from operator import getitem
from types import GeneratorType
from typing import Any, Final

from dynamo_lite.strict.machine.behind import suspended
from dynamo_lite.strict.machine.current import current_machine
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.generators import resume_for
from dynamo_lite.strict.machine.routine import Request, Routine, call, start
from dynamo_lite.strict.machine.run import execute
from dynamo_lite.strict.machine.slots import MISSING, TypeSet, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call, special_call


class _End:
    __slots__ = ()


END: Final = _End()
_PLAIN: Final = TypeSet((list, tuple, dict, range, str, set, zip, enumerate, GeneratorType)).ids


def iterates_in_python(frame: Frame, obj: Any) -> bool:
    """Whether iterating over the object runs interpreted code of its class."""
    kind = type(obj)
    if slot(frame, kind, "__iter__") is not None:
        return True
    return lookup(kind, "__iter__") is MISSING and slot(frame, kind, "__getitem__") is not None


def get_iter_of(frame: Frame, obj: Any) -> Frame | None:
    """``iter(obj)``: pushes the iterator, or returns the frame that will."""
    kind = type(obj)
    policy = frame.policy
    if id(kind) in _PLAIN:
        frame.stack.append(iter(obj) if policy is None or kind is not dict else policy.operate(iter, obj))
        return None
    if policy is not None and id(kind) in policy.special_ids:
        frame.stack.append(policy.iterate(obj))
        return None
    if not iterates_in_python(frame, obj):
        frame.stack.append(iter(obj) if policy is None else policy.operate(iter, obj))
        return None
    return start(frame, get_iterator(frame, obj))


def get_iterator(frame: Frame, obj: Any) -> Routine:
    """``iter(obj)`` step by step."""
    kind = type(obj)
    if frame.policy is not None and id(kind) in frame.policy.special_ids:
        return frame.policy.iterate(obj)
    method = slot(frame, kind, "__iter__")
    if method is None:
        if lookup(kind, "__iter__") is MISSING and slot(frame, kind, "__getitem__") is not None:
            return sequence_iterator(frame, obj)
        return iter(obj)
    iterator = yield from bound_call(frame, method, obj, ())
    if lookup(type(iterator), "__next__") is MISSING:
        raise TypeError(f"iter() returned non-iterator of type '{type_name(type(iterator))}'")
    return iterator


class SequenceProxy:
    """What CPython's iterator over ``__getitem__`` holds in place of the object, so that its items come interpreted.

    ``obj`` becomes END when the items are used up.
    """

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __getitem__(self, position: int) -> Any:
        if self.obj is END:
            raise IndexError(position)
        return execute(current_machine(), getitem, (self.obj, position), None)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (self.obj,)


class SizedSequenceProxy(SequenceProxy):
    """The same for an object with a length, which the iterator's length hint uses."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0 if self.obj is END else execute(current_machine(), len, (self.obj,), None)


def _itself(obj: Any) -> Any:
    return obj


SEQUENCE_ITERATOR: Final = type(iter(SequenceProxy(END)))


def sequence_iterator(frame: Frame, obj: Any) -> Any:
    """``iter(obj)`` of an object that only has an interpreted ``__getitem__``."""
    sized = lookup(type(obj), "__len__") is not MISSING
    return iter(SizedSequenceProxy(obj) if sized else SequenceProxy(obj))


def next_of_sequence(frame: Frame, iterator: Any) -> Routine:
    """One step of CPython's iterator over ``__getitem__``, the method interpreted; END at its end."""
    state = iterator.__reduce__()
    proxy = state[1][0]
    if len(state) != 3 or not isinstance(proxy, SequenceProxy):
        return next(iterator, END)
    position = state[2]
    try:
        value = yield special_call(lookup(type(proxy.obj), "__getitem__"), proxy.obj, (position,))
    except (IndexError, StopIteration):
        value = END
    if value is END:
        proxy.obj = END
        return next(iterator, END)
    iterator.__setstate__(position + 1)
    return value


def step(frame: Frame, iterator: Any) -> Routine:
    """The next item, or END."""
    kind = type(iterator)
    if kind is SEQUENCE_ITERATOR:
        return (yield from next_of_sequence(frame, iterator))
    if kind is GeneratorType:
        return (yield call(next, iterator, END))
    if slot(frame, kind, "__next__") is not None:
        try:
            return (yield call(next, iterator))
        except StopIteration:
            return END
    return next(iterator, END)


def asking(iterator: Any) -> Request | None:
    """What a routine asks for each item of a generator, as ``step`` does but made once; None for others."""
    return (next, (iterator, END), None) if type(iterator) is GeneratorType else None


def length_hint(frame: Frame, obj: Any) -> Routine:
    """Asks for the length as ``list`` does before it iterates: for its effects and errors alone (PyObject_LengthHint)."""
    kind = type(obj)
    for name in ("__len__", "__length_hint__"):
        if lookup(kind, name) is not MISSING:
            method = slot(frame, kind, name)
            if method is None:
                return
            try:
                hint = yield from bound_call(frame, method, obj, ())
                if name == "__len__":
                    hint = operator.index(hint)
            except TypeError:
                continue
            if hint is NotImplemented:
                return
            if not isinstance(hint, int):
                raise TypeError(f"__length_hint__ must be an integer, not {type_name(type(hint))}")
            if hint < 0:
                raise ValueError(f"{name}() should return >= 0")
            if hint > sys.maxsize:
                raise OverflowError("cannot fit 'int' into an index-sized integer")
            return


def collect(frame: Frame, obj: Any) -> Routine:
    """A list of what iterating gives."""
    if type(obj) is list or type(obj) is tuple:
        return list(obj)
    special = frame.policy is not None and id(type(obj)) in frame.policy.special_ids
    stepped = type(obj) is GeneratorType or type(obj) is SEQUENCE_ITERATOR
    if (
        not special
        and not stepped
        and not iterates_in_python(frame, obj)
        and slot(frame, type(obj), "__next__") is None
    ):
        return list(obj)
    iterator = yield from get_iterator(frame, obj)
    yield from length_hint(frame, obj)
    items: list[Any] = []
    ask = asking(iterator)
    while True:
        item = (yield ask) if ask is not None else (yield from step(frame, iterator))
        if item is END:
            return items
        items.append(item)


def fill(frame: Frame, target: set[Any], iterable: Any) -> Routine:
    """Adds what iterating gives to a set, each item before the next is asked for."""
    iterator = yield from get_iterator(frame, iterable)
    while (item := (yield from step(frame, iterator))) is not END:
        target.add(item)


def extend(frame: Frame, items: list[Any], iterable: Any) -> Routine:
    """``items += iterable``, item by item, as C does: what came before an exception stays."""
    iterator = yield from get_iterator(frame, iterable)
    yield from length_hint(frame, iterable)
    while True:
        item = yield from step(frame, iterator)
        if item is END:
            return items
        list.append(items, item)


# --- instructions


def get_iter(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    obj = stack[-1]
    if id(type(obj)) in _PLAIN and (type(obj) is not dict or frame.policy is None):
        stack[-1] = iter(obj)
        return None
    return get_iter_of(frame, stack.pop())


def for_iter(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    iterator = stack[-1]
    kind = type(iterator)
    if kind is LIST_ITERATOR or kind is RANGE_ITERATOR:
        pass
    elif kind is GeneratorType:
        inner = suspended(iterator)
        if inner is not None:
            return resume_for(frame, iterator, inner, target)
    elif id(kind) not in NATIVE_ITERATORS:
        method = slot(frame, kind, "__next__")
        if method is not None:
            return start(frame, _next_or_end(frame, method, iterator), _deliver_next, target)
        if kind is SEQUENCE_ITERATOR:
            return start(frame, step(frame, iterator), _deliver_next, target)
        if frame.policy is not None:
            _for_watched(frame, stack, target)
            return None
    item = next(iterator, END)
    if item is END:
        stack.pop()
        frame.it.__setstate__(target)
    else:
        stack.append(item)
    return None


def _for_watched(frame: Frame, stack: list[Any], target: int) -> None:
    """A step of an iterator of C code that may hold objects of the program: ``zip``, ``chain``."""
    assert frame.policy is not None
    item = frame.policy.operate(next, stack[-1], END)
    if item is END:
        stack.pop()
        frame.it.__setstate__(target)
    else:
        stack.append(item)


LIST_ITERATOR: Final[type] = type(iter([]))
RANGE_ITERATOR: Final[type] = type(iter(range(0)))
NATIVE_ITERATORS: Final = TypeSet(
    map(
        type,
        (
            iter([]),
            iter(()),
            iter({}),
            iter(range(0)),
            iter(""),
            iter({}.items()),
            iter({}.values()),
            iter(set()),
        ),
    )
).ids


def _next_or_end(frame: Frame, method: Any, iterator: Any) -> Routine:
    try:
        return (yield special_call(method, iterator, ()))
    except StopIteration:
        return END


def _deliver_next(routine: Frame, item: Any) -> Frame | None:
    back = routine.back
    assert back is not None
    if item is END:
        back.stack.pop()
        back.it.__setstate__(routine.function)
    else:
        back.stack.append(item)
    return back


def unpack_sequence(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    value = stack[-1]
    kind = type(value)
    if (kind is tuple or kind is list) and len(value) == count:
        stack.pop()
        stack.extend(value[::-1])
        return None
    stack.pop()
    if (
        issubclass(kind, tuple)
        and lookup(kind, "__iter__") is tuple.__iter__
        and tuple.__len__(value) == count
    ):
        stack.extend(tuple.__getitem__(value, _BACKWARDS))
        return None
    return start(frame, unpack(frame, value, count, -1), _deliver_unpacked)


_BACKWARDS: Final = slice(None, None, -1)


def unpack_ex(frame: Frame, stack: list[Any], counts: tuple[int, int]) -> Frame | None:
    return start(frame, unpack(frame, stack.pop(), *counts), _deliver_unpacked)


def _deliver_unpacked(routine: Frame, items: list[Any]) -> Frame | None:
    back = routine.back
    assert back is not None
    back.stack.extend(reversed(items))
    return back


def unpack(frame: Frame, value: Any, before: int, after: int) -> Routine:
    """The items for a target list; ``after`` is -1 where nothing is starred."""
    kind = type(value)
    if (
        (frame.policy is None or id(kind) not in frame.policy.special_ids)
        and lookup(kind, "__iter__") is MISSING
        and lookup(kind, "__getitem__") is MISSING
    ):
        raise TypeError(f"cannot unpack non-iterable {type_name(kind)} object")
    iterator = yield from get_iterator(frame, value)
    items: list[Any] = []
    while len(items) < before:
        item = yield from step(frame, iterator)
        if item is END:
            if after < 0:
                raise ValueError(f"not enough values to unpack (expected {before}, got {len(items)})")
            raise ValueError(
                f"not enough values to unpack (expected at least {before + after}, got {len(items)})"
            )
        items.append(item)
    if after < 0:
        if (yield from step(frame, iterator)) is not END:
            raise ValueError(f"too many values to unpack (expected {before})")
        return items
    rest = yield from collect(frame, iterator)
    if len(rest) < after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {before + len(rest)})"
        )
    split = len(rest) - after
    return [*items, rest[:split], *rest[split:]]
