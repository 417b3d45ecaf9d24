"""Sound bounds of integer expressions, from bounds of the symbols. ``None`` is no bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from solver.expr.nodes import Atom, BoolExpr, IntExpr

Interval: TypeAlias = tuple[int | None, int | None]
Ranges: TypeAlias = Mapping[str, Interval]
ALL: Interval = (None, None)


def interval(p: IntExpr, ranges: Ranges) -> Interval:
    """Bounds of ``p`` over every assignment within ``ranges`` at which ``p`` has a value."""
    low: int | None = p.const
    high: int | None = p.const
    for mono, coef in p.terms.items():
        if coef == 0:
            continue
        atoms = mono.atoms
        if len(atoms) > 1:
            a, b = _product([atom_interval(x, ranges) for x in atoms], atoms)
        elif atoms[0].op == "symbol":
            a, b = ranges.get(atoms[0].name, ALL)
        else:
            a, b = atom_interval(atoms[0], ranges)
        if coef < 0:
            a, b = b, a
        if a is not None:
            a *= coef
        if b is not None:
            b *= coef
        low = None if low is None or a is None else low + a
        high = None if high is None or b is None else high + b
        if low is None and high is None:
            return ALL
    return low, high


def decide(condition: BoolExpr, ranges: Ranges) -> bool | None:
    """Whether bounds alone settle a condition, where it has a value."""
    op = condition.op
    if op in (">=", "==", "!="):
        low, high = interval(condition.poly, ranges)
        if op == ">=":
            return True if low is not None and low >= 0 else False if high is not None and high < 0 else None
        if low == high == 0:
            return op == "=="
        outside = (low is not None and low > 0) or (high is not None and high < 0)
        return (op == "!=") if outside else None
    if op == "in":
        low, high = interval(condition.poly, ranges)
        inside = [v for v in condition.values if (low is None or v >= low) and (high is None or v <= high)]
        if not inside:
            return False
        return True if low is not None and high is not None and len(inside) == high - low + 1 else None
    if op in ("and", "or"):
        verdicts = [decide(part, ranges) for part in condition.parts]
        if (op == "or") in verdicts:
            return op == "or"
        return None if None in verdicts else op == "and"
    if op == "if":
        test, yes, no = (decide(part, ranges) for part in condition.parts)
        return yes if test is True or yes is no else no if test is False else None
    if op == "not" and condition.parts[0].op == "in":
        inner = decide(condition.parts[0], ranges)
        return None if inner is None else not inner
    return {"true": True, "false": False}.get(op)


def _scaled(bounds: Interval, k: int) -> Interval:
    low = None if bounds[0] is None else bounds[0] * k
    high = None if bounds[1] is None else bounds[1] * k
    return (low, high) if k > 0 else (high, low)


def _product(bounds: list[Interval], atoms: tuple[Atom, ...]) -> Interval:
    result = bounds[0]
    for i in range(1, len(bounds)):
        result = _times(result, bounds[i])
    if (
        len(atoms) % 2 == 0
        and result[0] != 0
        and all(atoms[i] is atoms[i + 1] for i in range(0, len(atoms), 2))
    ):
        return max(result[0] or 0, 0), result[1]  # a square
    return result


def _times(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = x, y
    if a is not None and c is not None and a >= 0 and c >= 0:
        return a * c, None if b is None or d is None else b * d
    if (a == b == 0) or (c == d == 0):
        return 0, 0
    if a is None or b is None or c is None or d is None:
        return _times_open(x, y)
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)


def _times_open(x: Interval, y: Interval) -> Interval:
    """The product where a bound is missing: only the signs help."""
    sign = _sign(x) * _sign(y)
    if sign == 0:
        return ALL
    magnitude = _magnitude(x) * _magnitude(y)
    return (magnitude, None) if sign > 0 else (None, -magnitude)


def _sign(x: Interval) -> int:
    if x[0] is not None and x[0] >= 0:
        return 1
    return -1 if x[1] is not None and x[1] <= 0 else 0


def _magnitude(x: Interval) -> int:
    low, high = x
    return low if low is not None and low >= 0 else -(high or 0)


def atom_interval(a: Atom, ranges: Ranges) -> Interval:
    """Bounds of one atom."""
    op = a.op
    if op == "symbol":
        return ranges.get(a.name, ALL)
    if op in ("int", "floor", "ceil", "round"):
        return ALL
    parts = [interval(x, ranges) for x in a.args if isinstance(x, IntExpr)]
    if op == "//":
        return _quotient(parts[0], parts[1])
    if op == "%":
        return _remainder(parts[0], parts[1])
    if op == "max":
        return _largest([p[0] for p in parts]), _all_known(max, [p[1] for p in parts])
    if op == "min":
        return _all_known(min, [p[0] for p in parts]), _smallest([p[1] for p in parts])
    if op == "abs":
        low, high = parts[0]
        bound = None if low is None or high is None else max(-low, high)
        return max(low or 0, -high if high is not None else 0, 0), bound
    if op == "if":
        return _branches(a, parts, ranges)
    return _power(parts[0], parts[1])


def _branches(a: Atom, parts: list[Interval], ranges: Ranges) -> Interval:
    test = a.args[0]
    verdict = decide(test, ranges) if isinstance(test, BoolExpr) else None
    if verdict is not None:
        return parts[0] if verdict else parts[1]
    lows, highs = zip(*parts, strict=True)
    return _all_known(min, list(lows)), _all_known(max, list(highs))


def _largest(bounds: list[int | None]) -> int | None:
    known = [b for b in bounds if b is not None]
    return max(known) if known else None


def _smallest(bounds: list[int | None]) -> int | None:
    known = [b for b in bounds if b is not None]
    return min(known) if known else None


def _all_known(pick: object, bounds: list[int | None]) -> int | None:
    if None in bounds:
        return None
    known = [b for b in bounds if b is not None]
    return max(known) if pick is max else min(known)


def _quotient(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = x, y
    if d is not None and d < 0:
        return _quotient(_scaled(x, -1), _scaled(y, -1))
    if c is None or c < 0:
        return ALL
    c = max(c, 1)  # a zero divisor has no value
    if d is not None and d < c:
        return ALL
    low = None if a is None else (a // c if a < 0 else 0 if d is None else a // d)
    high = None if b is None else (b // c if b >= 0 else -1 if d is None else b // d)
    return low, high


def _remainder(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = x, y
    if c is not None and c >= 0:
        c = max(c, 1)
        if d is not None and d < c:
            return ALL  # the divisor is 0: no value
        if a is not None and b is not None and a >= 0 and b < c:
            return a, b
        tops = [
            t
            for t in (None if d is None else d - 1, b if a is not None and a >= 0 else None)
            if t is not None
        ]
        return 0, min(tops) if tops else None
    if d is not None and d <= 0:
        return None if c is None else min(c + 1, 0), 0
    return None if c is None else min(c + 1, 0), None if d is None else max(d - 1, 0)


def _power(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = x, y
    if a is None or a < 0 or c is None:
        return ALL
    c = max(c, 0)
    if b is None or d is None or b.bit_length() * d > 4096:
        return (1 if a >= 1 else 0), None
    return (a**c if a >= 1 else 0), max(b**d, 1)
