"""Constructors of conditions. Equal comparisons of integers become one object, whatever way they were written.

``p >= 0`` is divided by the common factor of its coefficients, ``p == 0`` also has its sign fixed; ``and`` and
``or`` keep their order, because it decides what is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from solver.expr.integer import Operand, content, leading, lift, mod
from solver.expr.nodes import (
    FALSE,
    TRUE,
    Atom,
    BoolExpr,
    IntExpr,
    Number,
    bool_node,
    constant,
    polynomial,
)


def truth(value: bool) -> BoolExpr:
    """A bool as an expression."""
    return TRUE if value else FALSE


def bool_symbol(name: str) -> BoolExpr:
    """The boolean symbol of that name."""
    return bool_node("symbol", (), name)


def nonnegative(p: IntExpr) -> BoolExpr:
    """``p >= 0``."""
    if p.is_const:
        return truth(p.const >= 0)
    p = _as_remainder(p)
    common = content(p)
    if common > 1:
        p = polynomial(p.const // common, {m: c // common for m, c in p.terms.items()})
    remainder = _remainder(p)
    if remainder is not None and p.total:
        return _bounded(p, remainder[1])
    return bool_node(">=", (p,))


def _bounded(p: IntExpr, d: int) -> BoolExpr:
    """``m + c >= 0`` or ``c - m >= 0`` where ``m`` is a remainder in ``[0, d)``: at the ends it is an equality."""
    sign = next(iter(p.terms.values()))
    m = p.base * sign
    bound = -p.const * sign  # m >= bound, or m <= bound
    if bound <= 0 if sign > 0 else bound >= d - 1:
        return TRUE
    if bound >= d if sign > 0 else bound < 0:
        return FALSE
    if bound == (d - 1 if sign > 0 else 0):
        return zero(m - bound)
    if bound == (1 if sign > 0 else d - 2):
        return nonzero(m - (0 if sign > 0 else d - 1))
    return bool_node(">=", (p,))


def zero(p: IntExpr) -> BoolExpr:
    """``p == 0``."""
    return _equality(p, True)


def nonzero(p: IntExpr) -> BoolExpr:
    """``p != 0``."""
    return _equality(p, False)


def _equality(p: IntExpr, equal: bool) -> BoolExpr:
    if p.is_const:
        return truth((p.const == 0) is equal)
    p = _as_remainder(p)
    common = content(p)
    if common > 1:
        if p.const % common:
            if p.total:
                return truth(not equal)
            common = 1
        p = polynomial(p.const // common, {m: c // common for m, c in p.terms.items()})
    if leading(p) < 0:
        p = -p
    remainder = _remainder(p)
    if remainder is not None:
        q, d = remainder
        if not 0 <= -p.const < d:
            return truth(not equal) if p.total else bool_node("==" if equal else "!=", (p,))
        p, equal = _residue(q, d, -p.const, equal)
    return bool_node("==" if equal else "!=", (p,))


def _as_remainder(p: IntExpr) -> IntExpr:
    """``t*q - t*d*(q//d) + r`` as ``t*(q % d) + r``."""
    for mono, coef in p.terms.items():
        a = mono.atoms[0]
        if len(mono.atoms) != 1 or a.op != "//" or not coef:
            continue
        q, divisor = _int_args(a)
        d = divisor.const
        if not divisor.is_const or d <= 0 or coef % d:
            continue
        times = -coef // d
        rest = p - a.expr * coef - q * times
        if rest.is_const:
            return mod(q, d) * times + rest
    return p


def _remainder(p: IntExpr) -> tuple[IntExpr, int] | None:
    """``(q, d)`` where ``p`` is ``q % d`` or ``-(q % d)`` plus a constant, ``d > 0`` constant."""
    if len(p.terms) != 1:
        return None
    ((mono, coef),) = p.terms.items()
    if abs(coef) != 1 or len(mono.atoms) != 1 or mono.atoms[0].op != "%":
        return None
    q, divisor = _int_args(mono.atoms[0])
    return (q, divisor.const) if divisor.is_const and divisor.const > 0 else None


def _residue(q: IntExpr, d: int, r: int, equal: bool) -> tuple[IntExpr, bool]:
    """``q % d == r`` with the constant of ``q`` moved to ``r`` and its sign fixed; modulo 2 there is no ``!=``."""
    sign = -1 if leading(q) < 0 else 1
    r = (r - q.const) * sign % d
    if d == 2 and not equal:
        r, equal = 1 - r, True
    return mod(q.base * sign, d) - r, equal


def _int_args(a: Atom) -> tuple[IntExpr, IntExpr]:
    first, second = a.args
    assert isinstance(first, IntExpr) and isinstance(second, IntExpr)
    return first, second


def _as_number(value: Number | int | float) -> Number:
    if isinstance(value, int):
        return constant(value)
    if isinstance(value, float):
        from solver.expr.floating import literal

        return literal(value)
    return value


def _compare(op: str, a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a op b`` for ``<= < == !=``; by Python's rules where a float takes part."""
    if a.__class__ in _INTEGERS and b.__class__ in _INTEGERS:
        key = (op, a, b)
        found = _COMPARED.get(key)
        if found is None:
            if len(_COMPARED) > _MEMO_LIMIT:
                _COMPARED.clear()
            found = _COMPARED[key] = _compare_ints(op, lift(a), lift(b))  # type: ignore[arg-type]
        return found
    x, y = _as_number(a), _as_number(b)
    if isinstance(x, IntExpr) and isinstance(y, IntExpr):
        return _compare_ints(op, x, y)
    if op == "!=":
        return not_(_compare("==", x, y))
    if x.is_const and y.is_const:
        p, q = _const_value(x), _const_value(y)
        return truth(p <= q if op == "<=" else p < q if op == "<" else p == q)
    return bool_node(f"f{op}", (x, y))


_MEMO_LIMIT: Final = 100_000
_INTEGERS: Final = frozenset({IntExpr, int})
_COMPARED: dict[tuple[str, object, object], BoolExpr] = {}


def _compare_ints(op: str, x: IntExpr, y: IntExpr) -> BoolExpr:
    if op in ("==", "!="):
        return _equality(x - y, op == "==")
    return nonnegative(y - x - (op == "<"))


def _const_value(x: Number) -> int | float:
    return x.const if isinstance(x, IntExpr) else x.value


def le(a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a <= b``."""
    return _compare("<=", a, b)


def lt(a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a < b``."""
    return _compare("<", a, b)


def ge(a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a >= b``."""
    return _compare("<=", b, a)


def gt(a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a > b``."""
    return _compare("<", b, a)


def eq(a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a == b``."""
    return _compare("==", a, b)


def ne(a: Number | int | float, b: Number | int | float) -> BoolExpr:
    """``a != b``."""
    return _compare("!=", a, b)


_DUALS: Final = {"and": "or", "or": "and"}


_NEGATIONS: Final[dict[BoolExpr, BoolExpr]] = {}
_NEGATION_LIMIT: Final = 100_000


def not_(condition: BoolExpr) -> BoolExpr:
    """``not condition``, pushed down to the comparisons (a float comparison keeps its ``not``: nan)."""
    found = _NEGATIONS.get(condition)
    if found is None:
        if len(_NEGATIONS) > _NEGATION_LIMIT:
            _NEGATIONS.clear()
        found = _NEGATIONS[condition] = _negated(condition)  # without the memo, time doubles with each level
    return found


def _negated(condition: BoolExpr) -> BoolExpr:
    op = condition.op
    if op == ">=":
        return nonnegative(-condition.poly - 1)
    if op in ("==", "!="):
        return _equality(condition.poly, op == "!=")
    if op in ("true", "false"):
        return truth(op == "false")
    if op in _DUALS:
        return _join(_DUALS[op], [not_(part) for part in condition.parts])
    if op == "not":
        return condition.parts[0]
    if op == "if":
        test, yes, no = condition.parts
        return bool_if(test, not_(yes), not_(no))
    return bool_node("not", (condition,))


def _join(op: str, conditions: Iterable[BoolExpr]) -> BoolExpr:
    """``and``/``or``: flat; what is settled when its turn comes goes."""
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    kept: dict[BoolExpr, None] = {}
    for condition in conditions:
        for part in condition.parts if condition.op == op else (condition,):
            if part is neutral or part in kept:
                continue
            if part is absorbing or not_(part) in kept:
                # Nothing after this is evaluated; before it only what may raise counts.
                if all(k.total for k in kept):
                    return absorbing
                kept[absorbing] = None
                return bool_node(op, tuple(kept))
            kept[part] = None
    if not kept:
        return neutral
    return next(iter(kept)) if len(kept) == 1 else bool_node(op, tuple(kept))


def and_(*conditions: BoolExpr) -> BoolExpr:
    """``a and b and …``, evaluated in order."""
    return _join("and", conditions)


def or_(*conditions: BoolExpr) -> BoolExpr:
    """``a or b or …``, evaluated in order."""
    return _join("or", conditions)


def bool_if(condition: BoolExpr, a: BoolExpr, b: BoolExpr) -> BoolExpr:
    """``a if condition else b``."""
    if condition is TRUE:
        return a
    if condition is FALSE:
        return b
    if a is b and condition.total:
        return a
    if a is TRUE and b is FALSE:
        return condition
    if a is FALSE and b is TRUE:
        return not_(condition)
    return bool_node("if", (condition, a, b))


def iff(a: BoolExpr, b: BoolExpr) -> BoolExpr:
    """``a == b`` among conditions."""
    return bool_if(a, b, not_(b))


def member(p: Operand, values: Iterable[Operand]) -> BoolExpr:
    """``p in {…}``; a set of constants becomes one node, others a disjunction of equalities in the order given."""
    q = lift(p)
    elements = [lift(v) for v in values]
    if q.is_const or not all(v.is_const for v in elements):
        return or_(*[zero(q - v) for v in elements])
    if not elements:
        return FALSE if q.total else and_(zero(q * 0), FALSE)
    base = q.base
    numbers = {v.const - q.const for v in elements}
    common = content(base)
    if common > 1 and (q.total or any(n % common == 0 for n in numbers)):
        numbers = {n // common for n in numbers if n % common == 0}
        base = polynomial(0, {m: c // common for m, c in base.terms.items()})
    if leading(base) < 0:
        base, numbers = -base, {-n for n in numbers}
    if not numbers:
        return FALSE
    if len(numbers) == 1:
        return zero(base - numbers.pop())
    return bool_node("in", (base,), values=tuple(sorted(numbers)))


def divides(d: int, p: Operand) -> BoolExpr:
    """``p % d == 0`` for ``d > 0``."""
    return zero(mod(p, d))
