"""Rounding a float to an integer: exact integer arithmetic where doubles are exact, IEEE otherwise.

``floor(n/3)`` of doubles is ``n//3`` as long as ``n`` stays below 2**53: the quotient is rounded by less than its
distance to the next integer. Beyond that it is not, so the rewriting asks for bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver import expr as E

if TYPE_CHECKING:
    from solver.shape_env import ShapeEnv

_EXACT: Final = 1 << 52


def rounded(env: ShapeEnv, how: str, value: E.Number) -> E.IntExpr:
    """``int``, ``floor``, ``ceil`` or ``round`` of a number."""
    if isinstance(value, E.IntExpr):
        return value
    ratio = _ratio(value)
    if ratio is not None:
        p, d = ratio
        low, high = env.bounds(p)
        if low is not None and high is not None and low > -_EXACT and high < _EXACT:
            exact = _rational(how, p, d, low, high)
            if exact is not None:
                return exact
    return E.from_float(how, value)


def _ratio(value: E.FloatExpr) -> tuple[E.IntExpr, int] | None:
    """``(p, d)`` where the double is the quotient of integers, correctly rounded, if ``p`` is small."""
    args = value.args
    if value.op == "float" and isinstance(args[0], E.IntExpr):
        return args[0], 1
    if value.op == "/" and isinstance(args[0], E.IntExpr) and isinstance(args[1], E.IntExpr):
        divisor = args[1]
        return (args[0], divisor.const) if divisor.is_const and divisor.const > 0 else None
    if value.op == "*":
        for literal, p in (args, args[::-1]):
            if isinstance(literal, E.FloatExpr) and literal.is_const and isinstance(p, E.IntExpr):
                return _scaled(p, literal.value)
    return None


def _scaled(p: E.IntExpr, factor: float) -> tuple[E.IntExpr, int] | None:
    """``p * factor``: the bounds of ``p * numerator`` tell whether the product is exact."""
    if factor != factor or abs(factor) > _EXACT:
        return None
    numerator, denominator = factor.as_integer_ratio()
    return (p * numerator, denominator) if denominator < _EXACT else None


def _rational(how: str, p: E.IntExpr, d: int, low: int, high: int) -> E.IntExpr | None:
    floor, ceil = E.floordiv(p, d), -E.floordiv(-p, d)
    if how == "floor":
        return floor
    if how == "ceil":
        return ceil
    if how == "int":
        if low >= 0:
            return floor
        return ceil if high <= 0 else E.int_if(E.nonnegative(p), floor, ceil)
    nearest = E.floordiv(p * 2 + d, 2 * d)
    if d % 2:
        return nearest  # no ties
    tie = E.zero(E.mod(p * 2 + d, 2 * d))
    odd = E.zero(E.mod(nearest, 2) - 1)
    return E.int_if(E.and_(tie, odd), nearest - 1, nearest)
