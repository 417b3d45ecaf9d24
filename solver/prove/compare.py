"""Comparisons in which a float takes part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.expr.nodes import BoolExpr, Expr, IntExpr
from solver.prove.floats import Exact, exact_value, float_range
from solver.prove.poly import ONE

if TYPE_CHECKING:
    from solver.prove.normal import Normalizer


def settle_float(comparison: BoolExpr, context: Normalizer) -> bool | None:
    """Whether ``f<``, ``f<=`` or ``f==`` holds always (True), never (False), or that is not known here."""
    left, right = comparison.args
    first, second = _side(left, context), _side(right, context)
    if first is not None and second is not None:
        return _settle_exact(comparison.op, first, second, context)
    return _settle_ranges(comparison.op, left, right, context)


def _side(value: Expr, context: Normalizer) -> Exact | None:
    if isinstance(value, IntExpr):  # Python compares an int with a float exactly, however large
        return context.poly(value), 1
    return exact_value(value, context)


def _settle_exact(op: str, left: Exact, right: Exact, context: Normalizer) -> bool | None:
    distance = right[0].scale(left[1]) - left[0].scale(right[1])
    if op == "f==":
        if context.is_zero(distance):
            return True
        return False if context.never_zero(distance) else None
    strict = op == "f<"
    if context.at_least_zero(distance - ONE if strict else distance):
        return True
    if context.at_least_zero(-distance if strict else -distance - ONE):
        return False
    return None


def _settle_ranges(op: str, left: Expr, right: Expr, context: Normalizer) -> bool | None:
    (a, b), (c, d) = float_range(left, context), float_range(right, context)
    if op == "f==":
        return False if b < c or d < a else None
    if (b < c) if op == "f<" else (b <= c):
        return True
    if (a >= d) if op == "f<" else (a > d):
        return False
    return None
