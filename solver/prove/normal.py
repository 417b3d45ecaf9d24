"""Normal form of integer expressions where the specification holds.

Symbols are replaced by what the specification says they are, ``p % d`` becomes ``p - d*floor(p/d)``, floors are
split, merged and cancelled, ``max``, ``min`` and conditional values are settled where bounds settle them. A divisor is
taken as nonzero: that it is, is an obligation of its own, proved apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd
from typing import Final

from solver.expr import free_symbols
from solver.expr.interval import Interval, interval
from solver.expr.nodes import Atom as ExprAtom
from solver.expr.nodes import BoolExpr, Expr, FloatExpr, IntExpr
from solver.prove.floats import exact_value, float_range, integer_range
from solver.prove.poly import (
    ONE,
    UNIT,
    ZERO,
    Algebra,
    Mono,
    Poly,
    common_factor,
    const,
    divide_exactly,
    divides,
)
from solver.prove.signs import Signs, tightened

Known = tuple[Poly, int]
_MAX_TERMS: Final = 3000
_MAX_EXPONENT: Final = 64


class TooLarge(Exception):
    """A normal form outgrew what is worth handling; the guard goes to z3 as it stands."""


class Normalizer(Signs):
    """Expressions to polynomials. ``substitution`` and ``rewrites`` come from equalities of the specification."""

    def __init__(self, algebra: Algebra) -> None:
        super().__init__(algebra)
        self.substitution: dict[int, Known] = {}
        self.rewrites: list[tuple[Mono, Poly, int]] = []
        self._normal: dict[IntExpr, Known] = {}
        self._atoms: dict[ExprAtom, Known] = {}

    def forget(self) -> None:
        super().forget()
        self._normal.clear()
        self._atoms.clear()

    def settle(self, condition: BoolExpr) -> bool | None:
        """Whether a condition holds, where that is easily known; a later layer knows more."""
        return None

    def poly(self, expr: IntExpr) -> Poly:
        """The normal form of an expression."""
        found = self._normal.get(expr)
        if found is None:
            outer, self.mask = self.mask, 0
            found = (self._sum(expr), self.mask)
            self._normal[expr] = found
            self.mask = outer
        self.mask |= found[1]
        return found[0]

    def _sum(self, expr: IntExpr) -> Poly:
        total = const(expr.const)
        for mono, coefficient in expr.terms.items():
            if not coefficient:
                continue
            product = const(coefficient)
            for atom in mono.atoms:
                product = product * self._atom(atom)
                if len(product.terms) > _MAX_TERMS:
                    raise TooLarge
            total = total + product
        return self.rewritten(total)

    def rewritten(self, poly: Poly) -> Poly:
        """Applies the equalities between products, such as ``n*d == 768``."""
        for lead, value, mask in self.rewrites:
            for _ in range(16):
                found = next(((m, rest) for m in poly.terms if (rest := divides(lead, m)) is not None), None)
                if found is None:
                    break
                mono, rest = found
                coefficient = poly.terms[mono]
                poly = poly + (value.scale(coefficient) * Poly({rest: 1})) - Poly({mono: coefficient})
                self.mask |= mask
        return poly

    def _atom(self, atom: ExprAtom) -> Poly:
        found = self._atoms.get(atom)
        if found is None:
            outer, self.mask = self.mask, 0
            found = (self._compound(atom), self.mask)
            self._atoms[atom] = found
            self.mask = outer
        self.mask |= found[1]
        return found[0]

    def symbol(self, name: str) -> Poly:
        """A symbol, or what an equality of the specification puts in its place."""
        return self.resolved(self.algebra.symbol_index(name))

    def resolved(self, index: int) -> Poly:
        known = self.substitution.get(index)
        if known is None:
            return self.algebra.poly(index)
        self.mask |= known[1]
        return known[0]

    def _compound(self, atom: ExprAtom) -> Poly:
        op = atom.op
        if op == "symbol":
            return self.symbol(atom.name)
        if op == "//":
            return self.floordiv(self._int(atom.args[0]), self._int(atom.args[1]))
        if op == "%":
            dividend, divisor = self._int(atom.args[0]), self._int(atom.args[1])
            return dividend - divisor * self.floordiv(dividend, divisor)
        if op in ("max", "min"):
            return self.extremum(op, [self._int(arg) for arg in atom.args])
        if op == "abs":
            inner = self._int(atom.args[0])
            return self.extremum("max", [inner, -inner])
        if op == "if":
            return self._choice(atom)
        if op in ("int", "floor", "ceil", "round"):
            return self._rounded(atom)
        return self._power(atom)

    def span(self, expr: IntExpr) -> Interval:
        """Bounds of an expression as it is written: what it is made of need not be normal, nor small."""
        return interval(expr, _Spans(self))

    def _power(self, atom: ExprAtom) -> Poly:
        """A power with a constant exponent is a product."""
        base, exponent = self._int(atom.args[0]), self._int(atom.args[1])
        if not exponent.is_constant() or not 0 <= exponent.constant <= _MAX_EXPONENT:
            return self._opaque(atom)
        product = ONE
        for _ in range(exponent.constant):
            product = product * base
            if len(product.terms) > _MAX_TERMS:
                raise TooLarge
        return product

    def _int(self, part: Expr) -> Poly:
        assert isinstance(part, IntExpr)
        return self.poly(part)

    def _opaque(self, atom: ExprAtom) -> Poly:
        symbols = [self.algebra.symbol_index(name) for name in sorted(free_symbols(atom.expr))]
        return self.algebra.atom("opaque", atom, over=(), symbols=symbols)

    def _choice(self, atom: ExprAtom) -> Poly:
        condition, yes, no = atom.args
        assert isinstance(condition, BoolExpr)
        known = self.settle(condition)
        if known is not None:
            return self._int(yes if known else no)
        first, second = self._int(yes), self._int(no)
        if first == second:
            return first
        kind = None if condition.op != ">=" else _extremum_of(self.poly(condition.poly), first - second)
        if kind is not None:
            return self.extremum(kind, [first, second])
        symbols = [self.algebra.symbol_index(name) for name in sorted(free_symbols(condition))]
        return self.algebra.atom("choice", condition, first, second, over=(first, second), symbols=symbols)

    # -- division ------------------------------------------------------------------------------------------------

    def floordiv(self, dividend: Poly, divisor: Poly) -> Poly:
        """``dividend // divisor`` where ``divisor`` is not 0."""
        if divisor.is_constant():
            value = divisor.constant
            if value == 0:
                return self.algebra.atom("undefined", dividend, over=(dividend,))
            if value < 0:
                dividend, value = -dividend, -value
            return dividend if value == 1 else self._by_number(dividend, value)
        return self._by_poly(dividend, divisor)

    def _by_number(self, dividend: Poly, d: int) -> Poly:
        outside, inside = _balanced(dividend, d)
        common = gcd(inside.content(), d)
        if common > 1:
            inside = Poly({m: c // common for m, c in inside.terms.items() if c // common})
            d //= common
        if inside.is_constant() or d == 1:
            return outside + (inside if d == 1 else const(inside.constant // d))
        merged = self._merged(inside, const(d))
        if merged is not None:
            return outside + merged
        low, high = self.lower(inside), self.upper(inside)
        if low is not None and high is not None and low // d == high // d:
            return outside + const(low // d)
        if (
            inside.terms[max(m for m in inside.terms if m)] < 0
        ):  # one sign for each floor: floor(-x/d) = -floor((x+d-1)/d)
            return outside - self._by_number((-inside).shift(d - 1), d)
        return outside + self.algebra.atom("floor", inside, const(d), over=(inside,))

    def _merged(self, inside: Poly, divisor: Poly) -> Poly | None:
        """``(floor(x/e) + r) // d`` is ``(x + e*r) // (e*d)`` for ``d > 0``; only where one floor can be meant."""
        floors = [
            mono[0]
            for mono, coefficient in inside.terms.items()
            if len(mono) == 1 and coefficient == 1 and self.algebra.atoms[mono[0]].kind == "floor"
        ]
        if len(floors) != 1 or not self._positive(divisor):
            return None
        dividend, inner = self.algebra.atoms[floors[0]].args
        rest = inside - self.algebra.poly(floors[0])
        return self.floordiv(dividend + inner * rest, inner * divisor)

    def _by_poly(self, dividend: Poly, divisor: Poly) -> Poly:
        if not dividend:
            return ZERO
        dividend, divisor = _reduced(dividend, divisor)
        if divisor.is_constant():
            return self.floordiv(dividend, divisor)
        exact = divide_exactly(dividend, divisor)
        if exact is not None:
            return exact
        outside, inside = _long_division(dividend, divisor)
        if not inside:
            return outside
        if outside:
            return outside + self._by_poly(inside, divisor)
        merged = self._merged(inside, divisor)
        if merged is not None:
            return merged
        if self._positive(divisor):
            saved = self.mask
            if self.surely(inside) and self.surely(divisor - inside - ONE):
                return ZERO
            self.mask = saved
            if self.surely(-inside - ONE) and self.surely(divisor + inside):
                return const(-1)
            self.mask = saved
        return self.algebra.atom("floor", inside, divisor, over=(inside, divisor))

    # -- max and min ---------------------------------------------------------------------------------------------

    def extremum(self, kind: str, parts: list[Poly]) -> Poly:
        """``max`` or ``min`` without the operands that another one always covers."""
        kept: list[Poly] = []
        for part in parts:
            if not any(self._covers(kind, other, part) for other in kept):
                kept = [other for other in kept if not self._covers(kind, part, other)]
                kept.append(part)
        if len(kept) == 1:
            return kept[0]
        kept.sort(key=lambda p: sorted(p.terms.items()))
        return self.algebra.atom(kind, *kept, over=kept)

    def _covers(self, kind: str, left: Poly, right: Poly) -> bool:
        return self.surely(left - right if kind == "max" else right - left)

    # -- floats --------------------------------------------------------------------------------------------------

    def _rounded(self, atom: ExprAtom) -> Poly:
        """``int``, ``floor``, ``ceil`` or ``round`` of a float: exact where the float is a dyadic fraction, else opaque."""
        value = atom.args[0]
        assert isinstance(value, FloatExpr)
        exact = exact_value(value, self)
        if exact is None:
            return self._opaque(atom)
        numerator, denominator = exact
        if denominator == 1:
            return numerator
        down = self.floordiv(numerator, const(denominator))
        up = -self.floordiv(-numerator, const(denominator))
        if atom.op == "floor":
            return down
        if atom.op == "ceil":
            return up
        if atom.op == "int" and self.surely(numerator):
            return down
        if atom.op == "int" and self.surely(-numerator):
            return up
        return self._opaque(atom)

    def opaque_bound(self, index: int, below: bool) -> int | None:
        atom = self.algebra.atoms[index].args[0]
        if not isinstance(atom, ExprAtom) or not atom.args:
            return None
        value = atom.args[0]
        if atom.op == "**" or not isinstance(value, FloatExpr):
            return None
        found = integer_range(atom.op, float_range(value, self))
        return found[0] if below else found[1]


class _Spans(Mapping[str, Interval]):
    """Bounds of the symbols of a specification, found when they are asked for."""

    def __init__(self, context: Normalizer) -> None:
        self.context = context

    def __getitem__(self, name: str) -> Interval:
        poly = self.context.symbol(name)
        return self.context.lower(poly), self.context.upper(poly)

    def __iter__(self) -> Iterator[str]:
        return iter(self.context.algebra.names())

    def __len__(self) -> int:
        return len(self.context.algebra.names())


def _extremum_of(condition: Poly, difference: Poly) -> str | None:
    """``a if a >= b else b`` is ``max(a, b)``, with ``>`` too; ``condition >= 0`` is asked, ``difference`` is ``a - b``."""
    for kind, sign in (("max", 1), ("min", -1)):
        over = difference.scale(sign)
        if tightened(condition) in (tightened(over), tightened(over.shift(-1))):
            return kind
    return None


def _balanced(poly: Poly, d: int) -> tuple[Poly, Poly]:
    """``poly == d*outside + inside`` with coefficients of ``inside`` in ``(-d/2, d/2]`` and its constant in ``[0, d)``."""
    outside: dict[Mono, int] = {}
    inside: dict[Mono, int] = {}
    for mono, coefficient in poly.terms.items():
        quotient, rest = divmod(coefficient, d)
        if mono and 2 * rest > d:
            quotient, rest = quotient + 1, rest - d
        if quotient:
            outside[mono] = quotient
        if rest:
            inside[mono] = rest
    return Poly(outside), Poly(inside)


def _reduced(dividend: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """Cancels what both share: a number and a product of atoms; the quotient of two integers stays the same."""
    monos = [*dividend.terms, *divisor.terms]
    shared = common_factor(monos)
    numbers = gcd(*dividend.terms.values(), *divisor.terms.values())
    if not shared and numbers == 1:
        return dividend, divisor
    return _cancelled(dividend, shared, numbers), _cancelled(divisor, shared, numbers)


def _cancelled(poly: Poly, shared: Mono, number: int) -> Poly:
    result: dict[Mono, int] = {}
    for mono, coefficient in poly.terms.items():
        rest = divides(shared, mono)
        assert rest is not None
        result[rest] = coefficient // number
    return Poly(result)


def _long_division(dividend: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """``dividend == divisor*outside + inside``: multiples of the divisor's leading term are moved out."""
    lead = max(divisor.terms, key=lambda m: (len(m), m))
    number = divisor.terms[lead]
    outside: dict[Mono, int] = {}
    for mono, coefficient in dividend.terms.items():
        rest = divides(lead, mono)
        if rest is not None and mono != UNIT:
            quotient = (
                coefficient // number if (coefficient < 0) == (number < 0) else -(-coefficient // number)
            )
            if quotient:
                outside[rest] = quotient
    moved = Poly(outside)
    inside = dividend - divisor * moved
    if len(inside.terms) > len(dividend.terms):
        return ZERO, dividend
    return moved, inside
