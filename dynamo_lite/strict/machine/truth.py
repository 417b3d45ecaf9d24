"""Truth, length and index of values; jumps on truth; identity."""

from __future__ import annotations

import operator
import warnings
from typing import Any, Final

from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import MISSING, lookup, slot, type_name
from dynamo_lite.strict.machine.special import bound_call


def truth_now(frame: Frame, value: Any) -> bool | None:
    """``bool(value)`` where no interpreted code is needed for it, else None."""
    kind = type(value)
    if frame.policy is not None and id(kind) in frame.policy.special_ids:
        return frame.policy.truth(value)
    if slot(frame, kind, "__bool__") is not None:
        return None
    if lookup(kind, "__bool__") is MISSING and slot(frame, kind, "__len__") is not None:
        return None
    return bool(value)


def truth(frame: Frame, value: Any) -> Routine:
    """``bool(value)`` by ``__bool__`` or ``__len__``."""
    if value is True or value is False:
        return value
    now = truth_now(frame, value)
    if now is not None:
        return now
    method = lookup(type(value), "__bool__")
    if method is not MISSING:
        result = yield from bound_call(frame, method, value, ())
        if result is not True and result is not False:
            raise TypeError(f"__bool__ should return bool, returned {type_name(type(result))}")
        return result
    return (yield from length(frame, value)) != 0


def length(frame: Frame, value: Any) -> Routine:
    """``len(value)``."""
    method = slot(frame, type(value), "__len__")
    if method is None:
        return (yield call(_native_len, value))
    result = yield from bound_call(frame, method, value, ())
    return len(_Length((yield from index(frame, result))))


class _Length:
    """Has C judge what a ``__len__`` returned: whether it is negative, or too large."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __len__(self) -> int:
        return self.value


def _native_len(value: Any) -> int:
    return len(value)


def index(frame: Frame, value: Any) -> Routine:
    """``operator.index(value)``."""
    if isinstance(value, int) or slot(frame, type(value), "__index__") is None:
        return operator.index(value)
    result = yield from bound_call(frame, lookup(type(value), "__index__"), value, ())
    if type(result) is int:
        return result
    text = f"__index__ returned non-int (type {type_name(type(result))})"
    if not issubclass(type(result), int):
        raise TypeError(text)
    yield call(warnings.warn, f"{text}.  {_SUBCLASS_OF_INT}", DeprecationWarning)
    return operator.index(result)


_SUBCLASS_OF_INT: Final = (
    "The ability to return an instance of a strict subclass of int is deprecated, "
    "and may be removed in a future version of Python."
)


def _truth_first(frame: Frame, value: Any) -> Frame | None:
    """The truth of a popped value by a routine, after which the instruction is run again on it."""
    return start(frame, truth(frame, value), _deliver_again)


def _deliver_again(routine: Frame, value: bool) -> Frame | None:
    back = routine.back
    assert back is not None
    back.stack.append(value)
    back.it.__setstate__(back.index())
    return back


def unary_not(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    value = stack.pop()
    if value is True or value is False:
        stack.append(not value)
        return None
    now = truth_now(frame, value)
    if now is None:
        return _truth_first(frame, value)
    stack.append(not now)
    return None


def to_bool(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    value = stack.pop()
    now = value if value is True or value is False else truth_now(frame, value)
    if now is None:
        return start(frame, truth(frame, value))
    stack.append(now)
    return None


def pop_jump_if_false(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    value = stack.pop()
    if value is True:
        return None
    if value is False:
        frame.it.__setstate__(target)
        return None
    now = truth_now(frame, value)
    if now is None:
        return _truth_first(frame, value)
    if not now:
        frame.it.__setstate__(target)
    return None


def pop_jump_if_true(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    value = stack.pop()
    if value is False:
        return None
    if value is True:
        frame.it.__setstate__(target)
        return None
    now = truth_now(frame, value)
    if now is None:
        return _truth_first(frame, value)
    if now:
        frame.it.__setstate__(target)
    return None


def _jump_or_pop(frame: Frame, stack: list[Any], target: int, when: bool) -> Frame | None:
    value = stack[-1]
    now = value if value is True or value is False else truth_now(frame, value)
    if now is None:
        return start(frame, truth(frame, value), _deliver_jump_or_pop, (target, when))
    if now is when:
        frame.it.__setstate__(target)
    else:
        stack.pop()
    return None


def _deliver_jump_or_pop(routine: Frame, value: bool) -> Frame | None:
    back = routine.back
    assert back is not None
    target, when = routine.function
    if value is when:
        back.it.__setstate__(target)
    else:
        back.stack.pop()
    return back


def jump_if_false_or_pop(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    return _jump_or_pop(frame, stack, target, False)


def jump_if_true_or_pop(frame: Frame, stack: list[Any], target: int) -> Frame | None:
    return _jump_or_pop(frame, stack, target, True)


def pop_jump_if_none(frame: Frame, stack: list[Any], target: int) -> None:
    if stack.pop() is None:
        frame.it.__setstate__(target)


def pop_jump_if_not_none(frame: Frame, stack: list[Any], target: int) -> None:
    if stack.pop() is not None:
        frame.it.__setstate__(target)


def _identical(frame: Frame, left: Any, right: Any) -> bool:
    policy = frame.policy
    if policy is not None and id(type(left)) in policy.special_ids:
        return policy.identical(left, right)
    if policy is not None and id(type(right)) in policy.special_ids:
        return policy.identical(right, left)
    return left is right


def is_op(frame: Frame, stack: list[Any], arg: None) -> None:
    right = stack.pop()
    stack[-1] = _identical(frame, stack[-1], right)


def is_not(frame: Frame, stack: list[Any], arg: None) -> None:
    right = stack.pop()
    stack[-1] = not _identical(frame, stack[-1], right)
