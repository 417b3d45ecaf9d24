"""Constructors of float expressions. Only literals are folded, by Python itself."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final

from solver.expr.nodes import FALSE, TRUE, BoolExpr, FloatExpr, IntExpr, Number, constant, float_node

Operand = Number | int | float
UNDEFINED: Final = (ArithmeticError, ValueError)
"""What evaluating an expression may raise: there it has no value."""


def literal(value: float) -> FloatExpr:
    """A float as an expression."""
    return float_node("literal", value=value)


def float_symbol(name: str) -> FloatExpr:
    """The float symbol of that name."""
    return float_node("symbol", name=name)


def number(value: Operand) -> Number:
    """An int or a float as an expression."""
    if isinstance(value, float):
        return literal(value)
    return constant(value) if isinstance(value, int) else value


def checked_pow(a: float, b: float) -> float:
    """``a ** b`` among numbers; ValueError where Python gives a complex number, OverflowError for absurd sizes."""
    if isinstance(a, int) and isinstance(b, int) and a.bit_length() * b > 1 << 16:
        raise OverflowError("a power with more than 65536 bits")
    result: float | complex = a**b
    if isinstance(result, complex):
        raise ValueError("a fractional power of a negative number")
    return result


BINARY: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": checked_pow,
    "max": max,
    "min": min,
}
UNARY: Final[dict[str, Callable[[float], float]]] = {
    "float": float,
    "neg": operator.neg,
    "abs": abs,
    "sqrt": math.sqrt,
}


def _value(x: Number) -> float:
    return x.const if isinstance(x, IntExpr) else x.value


def unary(op: str, a: Operand) -> FloatExpr:
    """One of ``float``, ``neg``, ``abs``, ``sqrt`` of a number."""
    x = number(a)
    if op == "float" and isinstance(x, FloatExpr) and x.real:
        return x
    if x.is_const:
        try:
            return literal(UNARY[op](_value(x)))
        except UNDEFINED:
            pass  # it raises where it is evaluated, not here
    return float_node(op, (x,))


def binary(op: str, a: Operand, b: Operand) -> FloatExpr:
    """``+ - * / // % ** max min`` of two numbers whose result is a float in Python (``/`` of integers included)."""
    x, y = number(a), number(b)
    if x.is_const and y.is_const:
        try:
            result = BINARY[op](_value(x), _value(y))
        except UNDEFINED:
            pass
        else:
            if isinstance(result, float):
                return literal(result)
    return float_node(op, (x, y))


def float_if(condition: BoolExpr, a: Operand, b: Operand) -> Number:
    """``a if condition else b`` where one of the two is a float."""
    x, y = number(a), number(b)
    if condition is TRUE:
        return x
    if condition is FALSE:
        return y
    return float_node("if", (condition, x, y))
