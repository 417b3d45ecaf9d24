"""Constructors of integer expressions beyond ``+ - *``, each with the rewriting that always holds in Python.

Only divisors that are constants are simplified: ``a//a`` is not 1 where ``a`` is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import gcd
from typing import Final

from solver.expr.nodes import (
    FALSE,
    MAX_BITS,
    TRUE,
    Atom,
    BoolExpr,
    IntExpr,
    Monomial,
    Number,
    atom,
    constant,
    polynomial,
)
from solver.trace_errors import EXPRESSION_TOO_LARGE

Operand = IntExpr | int
_MAX_POWER: Final = 16
_MEMO_LIMIT: Final = 100_000
_MEMO: dict[tuple[str, IntExpr, IntExpr], IntExpr] = {}


def _remember(key: tuple[str, IntExpr, IntExpr], value: IntExpr) -> IntExpr:
    if len(_MEMO) > _MEMO_LIMIT:
        _MEMO.clear()
    _MEMO[key] = value
    return value


def lift(value: Operand) -> IntExpr:
    """An int as an expression."""
    return constant(value) if isinstance(value, int) else value


def int_symbol(name: str) -> IntExpr:
    """The integer symbol of that name."""
    return atom("symbol", (), name)


def leading(p: IntExpr) -> int:
    """The coefficient of the first monomial in the canonical order; 0 for a constant."""
    terms = p.terms
    if len(terms) == 1:
        return next(iter(terms.values()))
    first: Monomial | None = None
    for mono, coef in terms.items():
        if coef and (first is None or mono.order < first.order):
            first = mono
    return 0 if first is None else terms[first]


def content(p: IntExpr) -> int:
    """The greatest common divisor of the coefficients, the constant left out; 0 if all are 0."""
    return gcd(*p.terms.values())


def floordiv(a: Operand, b: Operand) -> IntExpr:
    """``a // b``; where ``b`` is 0 evaluating it raises ZeroDivisionError."""
    key = ("//", lift(a), lift(b))
    found = _MEMO.get(key)
    return _remember(key, _floordiv(*key[1:])) if found is None else found


def _floordiv(p: IntExpr, q: IntExpr) -> IntExpr:
    if not q.is_const or q.const == 0:
        return atom("//", (p, q), total=False)
    if q.const < 0:
        return _floordiv_const(-p, -q.const)
    return _floordiv_const(p, q.const)


def _floordiv_const(p: IntExpr, d: int) -> IntExpr:
    """``p // d`` for ``d > 0``: what ``d`` divides moves out, common factors go, nested floors merge."""
    if d == 1:
        return p
    if p.is_const:
        return constant(p.const // d)
    outside, inside = _split(p, d)
    if inside.is_const:
        return outside
    common = gcd(content(inside), d)
    if common > 1:
        inside, d = _divided(inside, common), d // common
        if d == 1:
            return outside + inside
    if leading(inside) < 0:
        return outside - _floor_atom(-inside + (d - 1), d)  # floor(x/d) is -ceil(-x/d)
    return outside + _floor_atom(inside, d)


def _floor_atom(p: IntExpr, d: int) -> IntExpr:
    """``p // d`` where nothing moves out; ``(q//c + k)//d`` is ``(q + k*c)//(c*d)``."""
    if len(p.terms) == 1:
        inner = p.base.atom
        if inner is not None and inner.op == "//":
            dividend, divisor = _int_args(inner)
            if divisor.is_const and divisor.const > 0:
                return _floordiv_const(dividend + p.const * divisor.const, divisor.const * d)
    return atom("//", (p, constant(d)), total=p.total)


def _int_args(a: Atom) -> tuple[IntExpr, IntExpr]:
    first, second = a.args
    assert isinstance(first, IntExpr) and isinstance(second, IntExpr)
    return first, second


def _split(p: IntExpr, d: int) -> tuple[IntExpr, IntExpr]:
    """``p == d*outside + inside``: remainders keep the sign of their coefficient, the constant's is in ``[0, d)``."""
    out: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for mono, coef in p.terms.items():
        quotient = coef // d if coef >= 0 else -(-coef // d)
        remainder = coef - quotient * d
        if quotient or not coef:
            out[mono] = quotient
        if remainder:
            rest[mono] = remainder
    return polynomial(p.const // d, out), polynomial(p.const % d, rest)


def _divided(p: IntExpr, k: int) -> IntExpr:
    """``p // k`` where ``k`` divides every coefficient but perhaps the constant."""
    return polynomial(p.const // k, {m: c // k for m, c in p.terms.items()})


def mod(a: Operand, b: Operand) -> IntExpr:
    """``a % b``, with the sign of ``b`` as in Python; where ``b`` is 0 evaluating it raises ZeroDivisionError."""
    key = ("%", lift(a), lift(b))
    found = _MEMO.get(key)
    return _remember(key, _mod(*key[1:])) if found is None else found


def _mod(p: IntExpr, q: IntExpr) -> IntExpr:
    if not q.is_const or q.const == 0:
        return atom("%", (p, q), total=False)
    if q.const < 0:
        return -_mod_const(-p, -q.const)
    return _mod_const(p, q.const)


def _mod_const(p: IntExpr, d: int) -> IntExpr:
    """``p % d`` for ``d > 0``: multiples of ``d`` go, an inner ``q % e`` loses its ``%``, common factors move out."""
    if p.is_const:
        return constant(p.const % d)
    inside = _split(p, d)[1]
    # What may raise stays, with coefficient 0, where its multiple goes.
    witness = polynomial(0, {m: 0 for m in p.terms if m not in inside.terms})
    opened = _open_mods(inside, d)
    if opened is not inside:
        return witness + _mod_const(opened, d)
    if inside.is_const:
        return witness + inside
    common = gcd(content(inside), d)
    if common > 1:
        smaller = _mod_const(_divided(inside, common), d // common)
        return witness + smaller * common + inside.const % common
    return witness + atom("%", (inside, constant(d)), total=inside.total)


def _open_mods(p: IntExpr, d: int) -> IntExpr:
    """``c*(q % e)`` becomes ``c*q`` where ``d`` divides ``c*e``: the two differ by a multiple of ``d``."""
    for mono, coef in p.terms.items():
        if coef and len(mono.atoms) == 1 and mono.atoms[0].op == "%":
            dividend, divisor = _int_args(mono.atoms[0])
            if divisor.is_const and divisor.const and coef * divisor.const % d == 0:
                rest = {m: c for m, c in p.terms.items() if m is not mono}
                return _open_mods(polynomial(p.const, rest) + dividend * coef, d)
    return p


def power(a: Operand, b: Operand) -> IntExpr:
    """``a ** b`` among integers: undefined (ValueError) where ``b`` is negative."""
    p, q = lift(a), lift(b)
    if q.is_const and q.const >= 0:
        if p.is_const:
            if abs(p.const).bit_length() * q.const > MAX_BITS:
                raise EXPRESSION_TOO_LARGE(limit=MAX_BITS, what="bits")
            return constant(p.const**q.const)
        if q.const * len(p.terms) <= _MAX_POWER:
            result = constant(1) + p * 0
            for _ in range(q.const):
                result = result * p
            return result
        return atom("**", (p, q), total=p.total)
    return atom("**", (p, q), total=False)


def _extremum(op: str, operands: Sequence[Operand], sign: int) -> IntExpr:
    """``max`` (sign 1) or ``min`` (sign -1): flat, without repetition, without what another operand exceeds by a constant."""
    flat: list[IntExpr] = []
    for operand in operands:
        p = lift(operand)
        inner = p.atom
        for q in inner.args if inner is not None and inner.op == op else (p,):
            assert isinstance(q, IntExpr)
            _join(flat, q, sign)
    if len(flat) == 1:
        return flat[0]
    flat.sort(key=lambda p: (p.is_const, p.order))
    return atom(op, tuple(flat), total=all(p.total for p in flat))


def _join(kept: list[IntExpr], p: IntExpr, sign: int) -> None:
    for i, q in enumerate(kept):
        if p is q:
            return
        if p.terms is q.terms or p.terms == q.terms:
            if (p.const - q.const) * sign > 0:
                kept[i] = p
            return
    kept.append(p)


def int_max(*operands: Operand) -> IntExpr:
    """The largest of one or more integers."""
    return _extremum("max", operands, 1)


def int_min(*operands: Operand) -> IntExpr:
    """The smallest of one or more integers."""
    return _extremum("min", operands, -1)


def int_abs(a: Operand) -> IntExpr:
    """``abs(a)``, with the common factor outside and the leading coefficient positive."""
    p = lift(a)
    if p.is_const:
        return constant(abs(p.const))
    common = gcd(content(p), p.const)
    if common == 0:
        return p
    if leading(p) < 0:
        p = -p
    if common > 1:
        p = polynomial(p.const // common, {m: c // common for m, c in p.terms.items()})
    inner = p.atom
    if inner is not None and (inner.op == "abs" or (inner.op == "%" and _positive(_int_args(inner)[1]))):
        return p * common
    return atom("abs", (p,), total=p.total) * common


def _positive(p: IntExpr) -> bool:
    return p.is_const and p.const > 0


def int_if(condition: BoolExpr, a: Operand, b: Operand) -> IntExpr:
    """``a if condition else b``."""
    p, q = lift(a), lift(b)
    if condition is TRUE:
        return p
    if condition is FALSE:
        return q
    if p is q and condition.total:
        return p
    return atom("if", (condition, p, q), total=condition.total and p.total and q.total)


ROUNDINGS: Final = ("int", "floor", "ceil", "round")


def from_float(how: str, value: Number) -> IntExpr:
    """``int``, ``math.floor``, ``math.ceil`` or ``round`` (to even) of a number; ``math.trunc`` is ``int``."""
    if isinstance(value, IntExpr):
        return value
    if value.is_const and math.isfinite(value.value):
        return constant(_ROUND[how](value.value))
    return atom(how, (value,), total=False)


_ROUND: Final[dict[str, Callable[[float], int]]] = {
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
