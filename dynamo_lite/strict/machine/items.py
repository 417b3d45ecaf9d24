"""Items and containment: subscripts, slices, ``in``; and formatting."""

from __future__ import annotations

import operator
from types import GenericAlias
from typing import Any, Final

from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.operators import answers, compare_protocol, compares_in_python
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import MISSING, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call
from dynamo_lite.strict.machine.stores import dropped
from dynamo_lite.strict.machine.truth import index, truth

# By identity: the hash of a class, and what it is equal to, may be code of its metaclass.
_PLAIN_KEYS: Final = frozenset(map(id, (int, str, bool, float, bytes, type(None))))
_SEQUENCES: Final = frozenset(map(id, (list, tuple, str, bytes, bytearray, range)))


def special_key(frame: Frame, key: Any) -> bool:
    """Whether a key is, or holds at its first level, a value of a special type."""
    special = frame.policy.special_ids  # type: ignore[union-attr]
    kind = type(key)
    if id(kind) in special:
        return True
    if kind is tuple:
        return any(special_key(frame, part) for part in key)
    if kind is slice:
        return (
            id(type(key.start)) in special or id(type(key.stop)) in special or id(type(key.step)) in special
        )
    return False


def get_item(frame: Frame, obj: Any, key: Any) -> Frame | None:
    """``obj[key]``: pushes the value, or returns the frame that will."""
    policy = frame.policy
    kind = type(obj)
    if policy is not None and id(kind) in policy.special_ids:
        frame.stack.append(policy.subscript(obj, key))
        return None
    method = slot(frame, kind, "__getitem__")
    if method is not None:
        return start(frame, bound_call(frame, method, obj, (key,)))
    if issubclass(kind, type) and lookup(kind, "__getitem__") is MISSING:
        return _class_item(frame, obj, key)
    if (
        issubclass(kind, dict)
        and lookup(kind, "__missing__") is not MISSING
        and lookup(kind, "__getitem__") is dict.__getitem__
    ):
        return start(frame, _missing(frame, obj, key))
    if key_needs_routine(frame, kind, key):
        return start(frame, _with_index(frame, obj, key))
    if policy is None:
        value = obj[key]
    elif special_key(frame, key):
        value = policy.subscript(obj, key)
    elif id(kind) in _SEQUENCES:
        value = policy.load_item(obj, key, obj[key])
    else:
        value = policy.load_item(obj, key, policy.operate(operator.getitem, obj, key))
    frame.stack.append(value)
    return None


def key_needs_routine(frame: Frame, kind: type, key: Any) -> bool:
    """Whether C would call an interpreted ``__index__`` of the key, or of a slice's parts."""
    of = type(key)
    if id(of) in _PLAIN_KEYS or id(kind) not in _SEQUENCES:
        return False
    if of is slice:
        return any(
            slot(frame, type(part), "__index__") is not None for part in (key.start, key.stop, key.step)
        )
    return slot(frame, of, "__index__") is not None


def plain_key(frame: Frame, key: Any) -> Routine:
    """The key with interpreted ``__index__`` methods applied, a slice's step first, as C asks."""
    if type(key) is not slice:
        return (yield from index(frame, key))
    step = yield from _slice_part(frame, key.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    first = yield from _slice_part(frame, key.start)
    return slice(first, (yield from _slice_part(frame, key.stop)), step)


def _slice_part(frame: Frame, part: Any) -> Routine:
    if part is None:
        return None
    if lookup(type(part), "__index__") is MISSING:
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return (yield from index(frame, part))


def _with_index(frame: Frame, obj: Any, key: Any) -> Routine:
    return obj[(yield from plain_key(frame, key))]


def _missing(frame: Frame, obj: Any, key: Any) -> Routine:
    """A dict subclass with an interpreted ``__missing__``."""
    found = dict.get(obj, key, MISSING)  # one look-up: a second one would ask the key again
    if found is not MISSING:
        return found if frame.policy is None else frame.policy.load_item(obj, key, found)
    return (yield from bound_call(frame, lookup(type(obj), "__missing__"), obj, (key,)))


def _class_item(frame: Frame, cls: Any, key: Any) -> Frame | None:
    """``cls[key]``: ``__class_getitem__``."""
    if cls is type:
        frame.stack.append(GenericAlias(type, key))
        return None
    if lookup(cls, "__class_getitem__") is MISSING and slot(frame, type(cls), "__getattr__") is None:
        frame.stack.append(cls[key])
        return None
    return start(frame, _class_getitem(frame, cls, key))


def _class_getitem(frame: Frame, cls: Any, key: Any) -> Routine:
    method = yield call(getattr, cls, "__class_getitem__")
    if method is None:
        raise TypeError(f"type '{type_name(cls)}' is not subscriptable")
    return (yield call(method, key))


def binary_subscr(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    key = stack.pop()
    obj = stack[-1]
    kind = type(obj)
    if frame.policy is None and ((kind is list and type(key) is int) or (kind is dict and type(key) is str)):
        stack[-1] = obj[key]
        return None
    stack.pop()
    return get_item(frame, obj, key)


def binary_slice(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    stop = stack.pop()
    first = stack.pop()
    return get_item(frame, stack.pop(), slice(first, stop))


def set_item(frame: Frame, obj: Any, key: Any, value: Any) -> Frame | None:
    """``obj[key] = value``; leaves nothing on the stack."""
    kind = type(obj)
    policy = frame.policy
    if policy is not None and id(kind) in policy.special_ids:
        policy.call_native(_setitem, (obj, key, value), {}, frame)
        return None
    method = slot(frame, kind, "__setitem__")
    if method is not None:
        return start(frame, bound_call(frame, method, obj, (key, value)), dropped)
    if policy is not None:
        policy.before_write("item", obj, key)
    if key_needs_routine(frame, kind, key):
        return start(frame, _set_with_index(frame, obj, key, value), dropped)
    if kind is list and type(key) is slice and slot(frame, type(value), "__iter__") is not None:
        return start(frame, _set_slice(frame, obj, key, value), dropped)
    if policy is None:
        obj[key] = value
    elif special_key(frame, key):
        policy.call_native(_setitem, (obj, key, value), {}, frame)
    else:
        policy.operate(_setitem, obj, key, value)
    return None


def _setitem(obj: Any, key: Any, value: Any) -> None:
    obj[key] = value


def _set_with_index(frame: Frame, obj: Any, key: Any, value: Any) -> Routine:
    key = yield from plain_key(frame, key)
    if type(obj) is list and type(key) is slice:
        yield from _set_slice(frame, obj, key, value)
    else:
        obj[key] = value


def _set_slice(frame: Frame, obj: Any, key: Any, value: Any) -> Routine:
    from dynamo_lite.strict.machine.iteration import collect

    obj[key] = (yield from collect(frame, value)) if slot(frame, type(value), "__iter__") else value


def store_subscr(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    key = stack.pop()
    obj = stack.pop()
    value = stack.pop()
    kind = type(obj)
    if frame.policy is None and ((kind is list and type(key) is int) or (kind is dict and type(key) is str)):
        obj[key] = value
        return None
    return set_item(frame, obj, key, value)


def store_slice(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    stop = stack.pop()
    first = stack.pop()
    obj = stack.pop()
    return set_item(frame, obj, slice(first, stop), stack.pop())


def delete_item(frame: Frame, obj: Any, key: Any) -> Frame | None:
    """``del obj[key]``; leaves nothing on the stack."""
    kind = type(obj)
    method = slot(frame, kind, "__delitem__")
    if method is not None:
        return start(frame, bound_call(frame, method, obj, (key,)), dropped)
    if frame.policy is not None:
        frame.policy.before_write("item", obj, key)
    if key_needs_routine(frame, kind, key):
        return start(frame, _delete_with_index(frame, obj, key), dropped)
    if frame.policy is None:
        del obj[key]
    else:
        frame.policy.operate(operator.delitem, obj, key)
    return None


def _delete_with_index(frame: Frame, obj: Any, key: Any) -> Routine:
    del obj[(yield from plain_key(frame, key))]


def delete_subscr(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    key = stack.pop()
    return delete_item(frame, stack.pop(), key)


# --- containment


def contains_value(frame: Frame, container: Any, value: Any) -> Frame | None:
    """``value in container``: pushes the bool, or returns the frame that will."""
    policy = frame.policy
    kind = type(container)
    special = policy is not None and id(type(value)) in policy.special_ids
    if policy is not None and (id(kind) in policy.special_ids or (special and not _asks(frame, container))):
        frame.stack.append(policy.contains(container, value))
        return None
    routine = contains_routine(frame, container, value)
    if routine is None:
        frame.stack.append(
            value in container if policy is None else policy.operate(operator.contains, container, value)
        )
        return None
    return start(frame, routine)


def _asks(frame: Frame, container: Any) -> bool:
    """Whether code of the program decides whether a container holds a special value: its own, or that of its items."""
    from dynamo_lite.strict.machine.iteration import iterates_in_python

    kind = type(container)
    if slot(frame, kind, "__contains__") is not None:
        return True
    if lookup(kind, "__contains__") is MISSING:
        return iterates_in_python(frame, container)
    return (kind is list or kind is tuple) and any(answers(frame, each, "__eq__") for each in container)


def contains_routine(frame: Frame, container: Any, value: Any) -> Routine | None:
    """How containment is decided where interpreted code takes part; None where C does all."""
    kind = type(container)
    if slot(frame, kind, "__contains__") is not None:
        return _contains(frame, container, value)
    if lookup(kind, "__contains__") is MISSING:
        from dynamo_lite.strict.machine.iteration import iterates_in_python

        if iterates_in_python(frame, container):
            return _contains_by_iteration(frame, container, value)
        return None
    if kind is not list and kind is not tuple:
        return None
    kinds = {id(type(each)): type(each) for each in (value, *container)}
    if any(compares_in_python(frame, each, "__eq__") for each in kinds.values()):
        return _contains_in_sequence(frame, container, value)
    return None


def _contains(frame: Frame, container: Any, value: Any) -> Routine:
    method = lookup(type(container), "__contains__")
    result = yield from bound_call(frame, method, container, (value,))
    return (yield from truth(frame, result))


def equal(frame: Frame, left: Any, right: Any) -> Routine:
    """``left is right or left == right`` as containers compare."""
    if left is right:
        return True
    if compares_in_python(frame, type(left), "__eq__") or compares_in_python(frame, type(right), "__eq__"):
        result = yield from compare_protocol(frame, "==", left, right)
        return (yield from truth(frame, result))
    policy = frame.policy
    if policy is not None and (id(type(left)) in policy.special_ids or id(type(right)) in policy.special_ids):
        return (yield from truth(frame, policy.compare("==", left, right)))
    return left == right


def _contains_in_sequence(frame: Frame, container: Any, value: Any) -> Routine:
    position = 0
    while position < len(container):
        if (yield from equal(frame, container[position], value)):
            return True
        position += 1
    return False


def _contains_by_iteration(frame: Frame, container: Any, value: Any) -> Routine:
    from dynamo_lite.strict.machine.iteration import END, get_iterator, step

    iterator = yield from get_iterator(frame, container)
    while True:
        item = yield from step(frame, iterator)
        if item is END:
            return False
        if (yield from equal(frame, item, value)):
            return True


def contains(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    container = stack.pop()
    return contains_value(frame, container, stack.pop())


def not_contains(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    container = stack.pop()
    following = contains_value(frame, container, stack.pop())
    if following is None:
        stack[-1] = not stack[-1]
        return None
    following_bottom = following
    while following_bottom.back is not frame:
        assert following_bottom.back is not None
        following_bottom = following_bottom.back
    following_bottom.deliver = _deliver_not
    return following


def _deliver_not(routine: Frame, value: bool) -> Frame | None:
    assert routine.back is not None
    routine.back.stack.append(not value)
    return routine.back
