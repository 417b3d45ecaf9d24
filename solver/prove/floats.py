"""Floats in integer conditions: exact where they are dyadic fractions, bounded by IEEE arithmetic itself elsewhere.

Rounding to nearest is monotone, so evaluating ``+ - * /`` at the ends of ranges with Python's own floats gives bounds
that hold for every value between. Nothing is ever computed with rationals in place of floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from solver.expr.nodes import Expr, FloatExpr, IntExpr
from solver.prove.poly import Poly, const

if TYPE_CHECKING:
    from solver.prove.normal import Normalizer

Exact = tuple[Poly, int]
FloatRange = tuple[float, float]
_EXACT_LIMIT: Final = 2**53
_MAX_DENOMINATOR: Final = 2**40
ANYTHING: Final[FloatRange] = (-math.inf, math.inf)


def exact_value(value: Expr, context: Normalizer) -> Exact | None:
    """``(n, d)`` when the float is always exactly ``n/d``, with ``d`` a power of two; else None."""
    if isinstance(value, IntExpr):
        return _small(context.poly(value), 1, context)
    if not isinstance(value, FloatExpr):
        return None
    if value.op == "literal":
        return _literal(value.value)
    if value.op not in ("float", "neg", "+", "-", "*", "/"):
        return None
    parts = [exact_value(part, context) for part in value.args]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return _combined(value.op, known, context)


def _literal(value: float) -> Exact | None:
    if not math.isfinite(value):
        return None
    numerator, denominator = value.as_integer_ratio()
    return (const(numerator), denominator) if denominator <= _MAX_DENOMINATOR else None


def _combined(op: str, parts: list[Exact], context: Normalizer) -> Exact | None:
    a, d = parts[0]
    if op == "float":
        return parts[0]
    if op == "neg":
        return -a, d
    b, e = parts[1]
    if op == "*":
        return _small(a * b, d * e, context)
    if op == "/":
        if not b.is_constant() or b.constant < 1 or b.constant & (b.constant - 1):
            return None
        return _small(a.scale(e), d * b.constant, context)
    common = max(d, e)
    left, right = a.scale(common // d), b.scale(common // e)
    return _small(left + right if op == "+" else left - right, common, context)


def _small(numerator: Poly, denominator: int, context: Normalizer) -> Exact | None:
    """The fraction itself, if every value it takes is a double."""
    low, high = context.lower(numerator), context.upper(numerator)
    if low is None or high is None or max(-low, high) > _EXACT_LIMIT or denominator > _MAX_DENOMINATOR:
        return None
    return numerator, denominator


def float_range(value: Expr, context: Normalizer) -> FloatRange:
    """Bounds that hold for every value the expression takes."""
    if isinstance(value, IntExpr):
        poly = context.poly(value)
        return _to_float(context.lower(poly), -math.inf), _to_float(context.upper(poly), math.inf)
    if not isinstance(value, FloatExpr):
        return ANYTHING
    if value.op == "literal":
        return value.value, value.value
    rule = _RULES.get(value.op)
    if rule is None:
        return ANYTHING
    result = rule([float_range(part, context) for part in value.args])
    return ANYTHING if math.isnan(result[0]) or math.isnan(result[1]) else result


def _to_float(bound: int | None, missing: float) -> float:
    if bound is None:
        return missing
    try:
        return float(bound)
    except OverflowError:
        return math.inf if bound > 0 else -math.inf


def _corners(combine: Callable[[float, float], float]) -> Callable[[list[FloatRange]], FloatRange]:
    def rule(parts: list[FloatRange]) -> FloatRange:
        (a, b), (c, d) = parts
        if any(map(math.isinf, (a, b, c, d))):
            return _open_corners(combine, (a, b), (c, d))
        values = [combine(x, y) for x in (a, b) for y in (c, d)]
        return min(values), max(values)

    return rule


def _open_corners(
    combine: Callable[[float, float], float], left: FloatRange, right: FloatRange
) -> FloatRange:
    """Ranges without end: a corner ``0 * inf`` counts as 0, its limit inside the range."""
    values = []
    for x in left:
        for y in right:
            value = combine(x, y)
            if math.isnan(value):
                if combine is not _multiply:
                    return ANYTHING
                value = 0.0
            values.append(value)
    return min(values), max(values)


def _add(x: float, y: float) -> float:
    return x + y


def _subtract(x: float, y: float) -> float:
    return x - y


def _multiply(x: float, y: float) -> float:
    return x * y


def _divide(parts: list[FloatRange]) -> FloatRange:
    (a, b), (c, d) = parts
    if c <= 0.0 <= d:
        return ANYTHING
    values = [x / y for x in (a, b) for y in (c, d)]
    return ANYTHING if any(map(math.isnan, values)) else (min(values), max(values))


_RULES: Final[dict[str, Callable[[list[FloatRange]], FloatRange]]] = {
    "float": lambda parts: parts[0],
    "neg": lambda parts: (-parts[0][1], -parts[0][0]),
    "+": _corners(_add),
    "-": _corners(_subtract),
    "*": _corners(_multiply),
    "/": _divide,
    "max": lambda parts: (max(p[0] for p in parts), max(p[1] for p in parts)),
    "min": lambda parts: (min(p[0] for p in parts), min(p[1] for p in parts)),
}


def integer_range(how: str, bounds: FloatRange) -> tuple[int | None, int | None]:
    """Bounds of ``int``, ``floor``, ``ceil`` or ``round`` of a float within ``bounds``."""
    convert = _CONVERSIONS[how]
    low, high = bounds
    return (None if math.isinf(low) else convert(low)), (None if math.isinf(high) else convert(high))


_CONVERSIONS: Final[dict[str, Callable[[float], int]]] = {
    "int": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
