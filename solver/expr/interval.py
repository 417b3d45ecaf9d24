"""Sound bounds of integer expressions, from bounds of the symbols. ``None`` is no bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import groupby
from typing import TypeAlias

from solver.expr.nodes import Atom, BoolExpr, IntExpr

Interval: TypeAlias = tuple[int | None, int | None]
Ranges: TypeAlias = Mapping[str, Interval]
Known: TypeAlias = dict[Atom, Interval]
ALL: Interval = (None, None)


def interval(p: IntExpr, ranges: Ranges, known: Known | None = None) -> Interval:
    """Bounds of ``p`` over every assignment within ``ranges`` at which ``p`` has a value.

    ``known`` keeps the bounds of atoms, because a size may be built of the same part many times over.
    """
    if known is None:
        known = {}
    low: int | None = p.const
    high: int | None = p.const
    for mono, coef in p.terms.items():
        if coef == 0:
            continue
        atoms = mono.atoms
        if len(atoms) > 1:
            a, b = product_interval([(x, atom_interval(x, ranges, known)) for x in atoms])
        elif atoms[0].op == "symbol":
            a, b = ranges.get(atoms[0].name, ALL)
        else:
            a, b = atom_interval(atoms[0], ranges, known)
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


def decide(condition: BoolExpr, ranges: Ranges, known: Known | None = None) -> bool | None:
    """Whether bounds alone settle a condition, where it has a value."""
    if known is None:
        known = {}
    op = condition.op
    if op in (">=", "==", "!="):
        low, high = interval(condition.poly, ranges, known)
        if op == ">=":
            return True if low is not None and low >= 0 else False if high is not None and high < 0 else None
        if low == high == 0:
            return op == "=="
        outside = (low is not None and low > 0) or (high is not None and high < 0)
        return (op == "!=") if outside else None
    if op == "in":
        low, high = interval(condition.poly, ranges, known)
        inside = [v for v in condition.values if (low is None or v >= low) and (high is None or v <= high)]
        if not inside:
            return False
        return True if low is not None and high is not None and len(inside) == high - low + 1 else None
    if op in ("and", "or"):
        verdicts = [decide(part, ranges, known) for part in condition.parts]
        if (op == "or") in verdicts:
            return op == "or"
        return None if None in verdicts else op == "and"
    if op == "if":
        test, yes, no = (decide(part, ranges, known) for part in condition.parts)
        return yes if test is True or yes is no else no if test is False else None
    if op == "not" and condition.parts[0].op == "in":
        inner = decide(condition.parts[0], ranges, known)
        return None if inner is None else not inner
    return {"true": True, "false": False}.get(op)


def _scaled(bounds: Interval, k: int) -> Interval:
    low = None if bounds[0] is None else bounds[0] * k
    high = None if bounds[1] is None else bounds[1] * k
    return (low, high) if k > 0 else (high, low)


def product_interval(factors: list[tuple[object, Interval]]) -> Interval:
    """Bounds of a product, from those of its factors; equal factors stand together and are one power."""
    result: Interval | None = None
    for _, group in groupby(factors, key=lambda factor: factor[0]):
        bounds = [interval for _, interval in group]
        part = bounds[0] if len(bounds) == 1 else _raised(bounds[0], len(bounds))
        result = part if result is None else _times(result, part)
    return (1, 1) if result is None else result


def _raised(x: Interval, exponent: int) -> Interval:
    low, high = x
    if exponent % 2:
        return _scaled_power(low, exponent), _scaled_power(high, exponent)
    if low is not None and low >= 0:
        return low**exponent, _scaled_power(high, exponent)
    if high is not None and high <= 0:
        return high**exponent, _scaled_power(low, exponent)
    return 0, None if low is None or high is None else max(low**exponent, high**exponent)


def _scaled_power(bound: int | None, exponent: int) -> int | None:
    return None if bound is None else bound**exponent


def _times(x: Interval, y: Interval) -> Interval:
    (a, b), (c, d) = x, y
    if a is not None and c is not None and a >= 0 and c >= 0:
        return a * c, None if b is None or d is None else b * d
    corners = [_corner(p, q) for p in _ends(x) for q in _ends(y)]
    low, high = min(corners), max(corners)
    return None if isinstance(low, float) else low, None if isinstance(high, float) else high


def _ends(x: Interval) -> tuple[int | float, int | float]:
    return -math.inf if x[0] is None else x[0], math.inf if x[1] is None else x[1]


def _corner(p: int | float, q: int | float) -> int | float:
    """The product of two ends; an end that is no number times 0 is 0, and what is left of it is never multiplied."""
    if isinstance(p, int) and isinstance(q, int):
        return p * q
    if p == 0 or q == 0:
        return 0
    return math.inf if (p > 0) == (q > 0) else -math.inf


def atom_interval(a: Atom, ranges: Ranges, known: Known) -> Interval:
    """Bounds of one atom."""
    if a.op == "symbol":
        return ranges.get(a.name, ALL)
    found = known.get(a)
    if found is None:
        found = known[a] = _compound(a, ranges, known)
    return found


def _compound(a: Atom, ranges: Ranges, known: Known) -> Interval:
    op = a.op
    if op in ("int", "floor", "ceil", "round"):
        return ALL
    parts = [interval(x, ranges, known) for x in a.args if isinstance(x, IntExpr)]
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
        return _branches(a, parts, ranges, known)
    return _power(parts[0], parts[1])


def _branches(a: Atom, parts: list[Interval], ranges: Ranges, known: Known) -> Interval:
    test = a.args[0]
    verdict = decide(test, ranges, known) if isinstance(test, BoolExpr) else None
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
