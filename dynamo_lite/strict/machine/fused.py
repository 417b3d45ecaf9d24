"""Handlers of superinstructions, made for their arguments when the code is bound (see ``decode.fuse``).

Names say where operands come from: ``f`` a local slot, ``c`` a constant, ``x`` the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dynamo_lite.strict.machine import attribute_loads, functions, names
from dynamo_lite.strict.machine.attributes import get_attr
from dynamo_lite.strict.machine.descriptors import NATIVE_PLAN
from dynamo_lite.strict.machine.frame import NULL, Frame
from dynamo_lite.strict.machine.items import get_item
from dynamo_lite.strict.machine.iteration import (
    END,
    LIST_ITERATOR,
    NATIVE_ITERATORS,
    RANGE_ITERATOR,
    for_iter,
)
from dynamo_lite.strict.machine.slots import INFOS
from dynamo_lite.strict.machine.truth import pop_jump_if_false, pop_jump_if_true

Handler = Callable[[Frame, list[Any], Any], "Frame | None"]
Maker = Callable[[Any], Handler]


def need(frame: Frame, stack: list[Any], *positions: int) -> None:
    """Raises for the first unbound slot."""
    for position in positions:
        if stack[position] is NULL:
            raise names.unbound_local(frame, position)


def load_ff(arg: tuple[int, int]) -> Handler:
    first, second = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        a = stack[first]
        b = stack[second]
        if a is NULL or b is NULL:
            need(frame, stack, first, second)
        stack.append(a)
        stack.append(b)

    return handler


def load_fc(arg: tuple[int, Any]) -> Handler:
    first, constant = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        a = stack[first]
        if a is NULL:
            need(frame, stack, first)
        stack.append(a)
        stack.append(constant)

    return handler


def store_load(arg: tuple[int, int]) -> Handler:
    target, source = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        stack[target] = stack[-1]
        value = stack[source]
        if value is NULL:
            stack.pop()
            need(frame, stack, source)
        stack[-1] = value

    return handler


def store_jump(arg: tuple[int, int]) -> Handler:
    slot, target = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        stack[slot] = stack.pop()
        frame.it.__setstate__(target)

    return handler


def pop_jump(arg: tuple[None, int]) -> Handler:
    target = arg[1]

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        frame.it.__setstate__(target)
        stack.pop()

    return handler


def load_null_f(arg: tuple[None, int]) -> Handler:
    slot = arg[1]

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        value = stack[slot]
        if value is NULL:
            need(frame, stack, slot)
        stack.append(NULL)
        stack.append(value)

    return handler


def load_null_deref(arg: tuple[None, int]) -> Handler:
    slot = arg[1]

    def handler(frame: Frame, stack: list[Any], _: Any) -> None:
        stack.append(NULL)
        names.load_deref(frame, stack, slot)

    return handler


def return_f(arg: tuple[int, None]) -> Handler:
    slot = arg[0]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        value = stack[slot]
        if value is NULL:
            need(frame, stack, slot)
        return functions.return_const(frame, stack, value)

    return handler


def return_c(arg: tuple[Any, None]) -> Handler:
    constant = arg[0]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        return functions.return_const(frame, stack, constant)

    return handler


def load_f_attr(arg: tuple[int, str]) -> Handler:
    slot, name = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        obj = stack[slot]
        info = INFOS.get(id(type(obj)))
        if info is not None and info.plans.get(name) is NATIVE_PLAN and frame.policy is None:
            stack.append(getattr(obj, name))
            return None
        if obj is NULL:
            need(frame, stack, slot)
        return get_attr(frame, obj, name)

    return handler


def _load_then(load: Handler) -> Maker:
    """A slot's value, then an instruction that takes it from the stack."""

    def maker(arg: tuple[int, str]) -> Handler:
        slot, name = arg

        def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
            obj = stack[slot]
            if obj is NULL:
                need(frame, stack, slot)
            stack.append(obj)
            return load(frame, stack, name)

        return handler

    return maker


load_f_method_below: Final = _load_then(attribute_loads.load_method_below)
load_f_method_above: Final = _load_then(attribute_loads.load_method_above)


def _jump_by_truth(jump: Handler) -> Maker:
    """``to_bool`` and the jump on what it gives."""

    def maker(arg: tuple[None, int]) -> Handler:
        target = arg[1]

        def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
            return jump(frame, stack, target)

        return handler

    return maker


bool_jump_false: Final = _jump_by_truth(pop_jump_if_false)
bool_jump_true: Final = _jump_by_truth(pop_jump_if_true)


def for_iter_store(arg: tuple[int, int, int]) -> Handler:
    target, slot, tail = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        iterator = stack[-1]
        kind = type(iterator)
        if kind is LIST_ITERATOR or kind is RANGE_ITERATOR or id(kind) in NATIVE_ITERATORS:
            item = next(iterator, END)
            if item is END:
                stack.pop()
                frame.it.__setstate__(target)
            else:
                stack[slot] = item
            return None
        frame.it.__setstate__(tail)
        return for_iter(frame, stack, target)

    return handler


def subscr_ff(arg: tuple[int, int, None]) -> Handler:
    first, second, _arg = arg

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        obj = stack[first]
        key = stack[second]
        kind = type(obj)
        if (((kind is list or kind is str) and type(key) is int) or (kind is dict and type(key) is str)) and (
            frame.policy is None
        ):
            stack.append(obj[key])
            return None
        need(frame, stack, first, second)
        return get_item(frame, obj, key)

    return handler


def subscr_fc(arg: tuple[int, Any, None]) -> Handler:
    first, key, _arg = arg
    number, text = type(key) is int, type(key) is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        obj = stack[first]
        kind = type(obj)
        if ((number and (kind is list or kind is tuple)) or (text and kind is dict)) and frame.policy is None:
            stack.append(obj[key])
            return None
        need(frame, stack, first)
        return get_item(frame, obj, key)

    return handler


def subscr_xf(arg: tuple[int, None]) -> Handler:
    second = arg[0]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        obj = stack[-1]
        key = stack[second]
        kind = type(obj)
        if (((kind is list or kind is str) and type(key) is int) or (kind is dict and type(key) is str)) and (
            frame.policy is None
        ):
            stack[-1] = obj[key]
            return None
        need(frame, stack, second)
        return get_item(frame, stack.pop(), key)

    return handler


def subscr_xc(arg: tuple[Any, None]) -> Handler:
    key = arg[0]
    number, text = type(key) is int, type(key) is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        obj = stack[-1]
        kind = type(obj)
        if ((number and (kind is list or kind is tuple)) or (text and kind is dict)) and frame.policy is None:
            stack[-1] = obj[key]
            return None
        return get_item(frame, stack.pop(), key)

    return handler
