"""The instructions that load attributes, methods and attributes of ``super()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.strict.machine.attributes import get_attr
from dynamo_lite.strict.machine.descriptors import NATIVE_PLAN
from dynamo_lite.strict.machine.frame import NULL, Frame
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import INFOS


def load_attr(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    obj = stack[-1]
    info = INFOS.get(id(type(obj)))
    if info is not None and info.plans.get(name) is NATIVE_PLAN and frame.policy is None:
        stack[-1] = getattr(obj, name)
        return None
    return get_attr(frame, stack.pop(), name)


def load_method_below(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    obj = stack[-1]
    stack[-1] = NULL
    info = INFOS.get(id(type(obj)))
    if info is not None and info.plans.get(name) is NATIVE_PLAN and frame.policy is None:
        stack.append(getattr(obj, name))
        return None
    return get_attr(frame, obj, name)


def load_method_above(frame: Frame, stack: list[Any], name: str) -> Frame | None:
    obj = stack[-1]
    info = INFOS.get(id(type(obj)))
    if info is not None and info.plans.get(name) is NATIVE_PLAN and frame.policy is None:
        stack[-1] = getattr(obj, name)
        stack.append(NULL)
        return None
    following = get_attr(frame, stack.pop(), name)
    if following is None:
        stack.append(NULL)
        return None
    return _then_null(following, frame)


def _then_null(following: Frame, back: Frame) -> Frame:
    """The value is not there yet: NULL is pushed once it is."""
    bottom = following
    while bottom.back is not back:
        assert bottom.back is not None
        bottom = bottom.back
    bottom.deliver = _push_with_null(bottom.deliver)
    return following


def _push_with_null(deliver: Any) -> Callable[[Frame, Any], Frame | None]:
    def push(frame: Frame, value: Any) -> Frame | None:
        back = frame.back
        assert back is not None
        if deliver is None:
            back.stack.append(value)
        else:
            deliver(frame, value)
        back.stack.append(NULL)
        return back

    return push


def load_super_attr(frame: Frame, stack: list[Any], arg: tuple[str, bool]) -> Frame | None:
    obj = stack.pop()
    cls = stack.pop()
    made = stack.pop()
    name, two_arguments = arg
    if made is super:
        return get_attr(frame, super(cls, obj), name)
    return start(frame, _other_super(frame, made, (cls, obj) if two_arguments else (), name))


def _other_super(frame: Frame, made: Any, args: tuple[Any, ...], name: str) -> Routine:
    obj = yield made, args, None
    return (yield call(getattr, obj, name))


def load_super_method_below(frame: Frame, stack: list[Any], arg: tuple[str, bool]) -> Frame | None:
    made = stack[-3]
    stack[-3] = NULL
    stack.insert(-2, made)
    return load_super_attr(frame, stack, arg)


def load_super_method_above(frame: Frame, stack: list[Any], arg: tuple[str, bool]) -> Frame | None:
    following = load_super_attr(frame, stack, arg)
    if following is None:
        stack.append(NULL)
        return None
    return _then_null(following, frame)
