"""The methods of symbolic numbers, made from tables of operators, and their types.

The types stand for bound methods: a class annotates an attribute with them and assigns what a function here makes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Union, overload

from solver import expr as E
from solver.sym.operands import arithmetic, number_of

if TYPE_CHECKING:
    from solver.sym.numbers import SymBool, SymFloat, SymInt

IntLike = Union[int, "SymInt", "SymBool"]
FloatLike = Union[float, "SymFloat"]
NumberLike = Union[float, "SymInt", "SymFloat", "SymBool"]


class IntArithmetic(Protocol):
    """An operator of an int: ints give an int, floats a float."""

    @overload
    def __call__(self, other: IntLike, /) -> int | SymInt: ...
    @overload
    def __call__(self, other: FloatLike, /) -> float | SymFloat: ...


class FloatArithmetic(Protocol):
    """An operator whose result is a float."""

    def __call__(self, other: NumberLike, /) -> float | SymFloat: ...


class Comparison(Protocol):
    """A comparison with a number."""

    def __call__(self, other: NumberLike, /) -> bool | SymBool: ...


def binary(op: str, reflected: bool = False) -> Any:
    """A binary operator, or its reflection."""

    def method(self: SymInt | SymFloat | SymBool, other: object) -> Any:
        y = number_of(other)
        if y is None:
            return NotImplemented
        x = number_of(self)
        assert x is not None
        return self.env.wrap(arithmetic(self.env, op, y, x) if reflected else arithmetic(self.env, op, x, y))

    return method


def polynomial(op: Callable[[E.IntExpr, E.IntExpr | int], E.IntExpr], text: str) -> Any:
    """The hot operators: ``+ - *`` of a symbolic int."""

    def method(self: SymInt, other: object) -> Any:
        kind = type(other)
        if kind is int:
            return self.env.wrap(op(self.expr, other))  # type: ignore[arg-type]
        if kind is type(self):
            return self.env.wrap(op(self.expr, other.expr))  # type: ignore[attr-defined]
        return slow(self, other)

    slow = binary(text)
    return method


def comparison(make: Callable[[E.Number | int | float, E.Number | int | float], E.BoolExpr]) -> Any:
    """A comparison."""

    def compared(self: SymInt | SymFloat | SymBool, other: object) -> Any:
        y = number_of(other)
        if y is None:
            return NotImplemented
        x = number_of(self)
        assert x is not None
        return self.env.wrap(make(x, y))

    return compared


def int_comparison(make: Callable[[E.Number | int | float, E.Number | int | float], E.BoolExpr]) -> Any:
    """The hot comparisons: of a symbolic int with an int or another."""

    def compared(self: SymInt, other: object) -> Any:
        kind = type(other)
        if kind is int:
            made = make(self.expr, other)  # type: ignore[arg-type]
        elif kind is type(self):
            made = make(self.expr, other.expr)  # type: ignore[attr-defined]
        else:
            return slow(self, other)
        if made is E.TRUE or made is E.FALSE:
            return made is E.TRUE
        return self.env.bool_type(self.env, made)

    slow = comparison(make)
    return compared


def division(reflected: bool = False) -> Any:
    """``divmod``, or its reflection."""

    def method(self: SymInt | SymFloat | SymBool, other: object) -> Any:
        y, x = number_of(other), number_of(self)
        if y is None or x is None:
            return NotImplemented
        if reflected:
            x, y = y, x
        wrap, env = self.env.wrap, self.env
        return wrap(arithmetic(env, "//", x, y)), wrap(arithmetic(env, "%", x, y))

    return method


def specialising(name: str) -> Any:
    """An operation of the plain value."""
    function: Callable[..., Any] = getattr(operator, name, None) or getattr(int, name)

    def method(self: SymInt | SymFloat | SymBool, *args: object) -> Any:
        return function(self.specialize(), *args)

    return method
