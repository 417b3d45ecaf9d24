"""Handlers of superinstructions that end in an operator (see ``machine.fused``)."""

from __future__ import annotations

from typing import Any, Final

from dynamo_lite.strict.decode.instructions import BINARY_OPERATORS, COMPARE_OPERATORS
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.fused import Handler, Maker, need
from dynamo_lite.strict.machine.operators import NATIVE_BINARY, NATIVE_COMPARE, binary, compare_values


def binary_ff(arg: tuple[int, int, int]) -> Handler:
    first, second, index = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        right = stack[second]
        kind = type(left)
        if (kind is int or kind is float) and kind is type(right):
            stack.append(native(left, right))
            return None
        need(frame, stack, first, second)
        return binary(frame, symbol, left, right)

    return handler


def binary_fc(arg: tuple[int, Any, int]) -> Handler:
    first, right, index = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        if quick and type(left) is wanted:
            stack.append(native(left, right))
            return None
        need(frame, stack, first)
        return binary(frame, symbol, left, right)

    return handler


def binary_xf(arg: tuple[int, int]) -> Handler:
    second, index = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[-1]
        right = stack[second]
        kind = type(left)
        if (kind is int or kind is float) and kind is type(right):
            stack[-1] = native(left, right)
            return None
        need(frame, stack, second)
        return binary(frame, symbol, stack.pop(), right)

    return handler


def binary_xc(arg: tuple[Any, int]) -> Handler:
    right, index = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[-1]
        if quick and type(left) is wanted:
            stack[-1] = native(left, right)
            return None
        return binary(frame, symbol, stack.pop(), right)

    return handler


def binary_ff_store(arg: tuple[int, int, int, int, int]) -> Handler:
    first, second, index, target, tail = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        right = stack[second]
        kind = type(left)
        if (kind is int or kind is float) and kind is type(right):
            stack[target] = native(left, right)
            return None
        need(frame, stack, first, second)
        frame.it.__setstate__(tail)
        return binary(frame, symbol, left, right)

    return handler


def binary_fc_store(arg: tuple[int, Any, int, int, int]) -> Handler:
    first, right, index, target, tail = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        if quick and type(left) is wanted:
            stack[target] = native(left, right)
            return None
        need(frame, stack, first)
        frame.it.__setstate__(tail)
        return binary(frame, symbol, left, right)

    return handler


def binary_xf_store(arg: tuple[int, int, int, int]) -> Handler:
    second, index, target, tail = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack.pop()
        right = stack[second]
        kind = type(left)
        if (kind is int or kind is float) and kind is type(right):
            stack[target] = native(left, right)
            return None
        need(frame, stack, second)
        frame.it.__setstate__(tail)
        return binary(frame, symbol, left, right)

    return handler


def binary_store(arg: tuple[int, int, int]) -> Handler:
    index, target, tail = arg
    symbol = BINARY_OPERATORS[index]
    native = NATIVE_BINARY[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        right = stack.pop()
        left = stack.pop()
        kind = type(left)
        if (kind is int or kind is float) and kind is type(right):
            stack[target] = native(left, right)
            return None
        frame.it.__setstate__(tail)
        return binary(frame, symbol, left, right)

    return handler


def compare_ff(arg: tuple[int, int, int]) -> Handler:
    first, second, index = arg
    symbol = COMPARE_OPERATORS[index]
    native = NATIVE_COMPARE[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        right = stack[second]
        kind = type(left)
        if (kind is int or kind is float or kind is str) and kind is type(right):
            stack.append(native(left, right))
            return None
        need(frame, stack, first, second)
        return compare_values(frame, symbol, left, right)

    return handler


def compare_fc(arg: tuple[int, Any, int]) -> Handler:
    first, right, index = arg
    symbol = COMPARE_OPERATORS[index]
    native = NATIVE_COMPARE[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        if quick and type(left) is wanted:
            stack.append(native(left, right))
            return None
        need(frame, stack, first)
        return compare_values(frame, symbol, left, right)

    return handler


def compare_xc(arg: tuple[Any, int]) -> Handler:
    right, index = arg
    symbol = COMPARE_OPERATORS[index]
    native = NATIVE_COMPARE[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[-1]
        if quick and type(left) is wanted:
            stack[-1] = native(left, right)
            return None
        return compare_values(frame, symbol, stack.pop(), right)

    return handler


def compare_ff_jump_false(arg: tuple[int, int, int, int, int]) -> Handler:
    first, second, index, target, tail = arg
    symbol = COMPARE_OPERATORS[index]
    native = NATIVE_COMPARE[symbol]

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        right = stack[second]
        kind = type(left)
        if (kind is int or kind is float or kind is str) and kind is type(right):
            if not native(left, right):
                frame.it.__setstate__(target)
            return None
        need(frame, stack, first, second)
        frame.it.__setstate__(tail)
        return compare_values(frame, symbol, left, right)

    return handler


def compare_fc_jump_false(arg: tuple[int, Any, int, int, int]) -> Handler:
    first, right, index, target, tail = arg
    symbol = COMPARE_OPERATORS[index]
    native = NATIVE_COMPARE[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack[first]
        if quick and type(left) is wanted:
            if not native(left, right):
                frame.it.__setstate__(target)
            return None
        need(frame, stack, first)
        frame.it.__setstate__(tail)
        return compare_values(frame, symbol, left, right)

    return handler


def compare_xc_jump_false(arg: tuple[Any, int, int, int]) -> Handler:
    right, index, target, tail = arg
    symbol = COMPARE_OPERATORS[index]
    native = NATIVE_COMPARE[symbol]
    wanted = type(right)
    quick = wanted is int or wanted is float or wanted is str

    def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
        left = stack.pop()
        if quick and type(left) is wanted:
            if not native(left, right):
                frame.it.__setstate__(target)
            return None
        frame.it.__setstate__(tail)
        return compare_values(frame, symbol, left, right)

    return handler


def _compare_jump(when: bool) -> Maker:
    def maker(arg: tuple[int, int, int]) -> Handler:
        index, target, tail = arg
        symbol = COMPARE_OPERATORS[index]
        native = NATIVE_COMPARE[symbol]

        def handler(frame: Frame, stack: list[Any], _: Any) -> Frame | None:
            right = stack.pop()
            left = stack.pop()
            kind = type(left)
            if (kind is int or kind is float or kind is str) and kind is type(right):
                if native(left, right) is when:
                    frame.it.__setstate__(target)
                return None
            frame.it.__setstate__(tail)
            return compare_values(frame, symbol, left, right)

        return handler

    return maker


compare_jump_false: Final = _compare_jump(False)


compare_jump_true: Final = _compare_jump(True)
