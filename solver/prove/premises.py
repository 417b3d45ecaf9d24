"""The specification in solved form: what each premise says, taken in as substitutions, ranges, facts and cases.

Equalities become substitutions (``h == 32*k``; ``a % 8 == 0`` by ``a = 8*a'``), inequalities ranges or linear facts,
disjunctions cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Final

from solver.expr.boolean import nonnegative, not_, zero
from solver.expr.integer import mod
from solver.expr.nodes import FALSE, TRUE, BoolExpr, IntExpr
from solver.prove.normal import Normalizer, TooLarge
from solver.prove.poly import Algebra, Mono, Poly, const
from solver.prove.solve import Equation, solve_for

Premise = tuple[BoolExpr, int]
_MAX_PASSES: Final = 24


class Premises(Normalizer):
    """Premises taken in. ``contradiction`` is the mask of premises that cannot hold together, or None."""

    def __init__(self, algebra: Algebra) -> None:
        super().__init__(algebra)
        self.premises: list[Premise] = []
        self.cases: list[Premise] = []
        self.contradiction: int | None = None

    def add(self, premises: Iterable[Premise]) -> None:
        """Takes premises in; where one gives a substitution, everything is expressed anew."""
        todo = list(premises)
        self.premises.extend(todo)
        for _ in range(_MAX_PASSES):
            solved = False
            for premise in todo:
                try:
                    solved |= self._take(*premise)
                except TooLarge:
                    continue  # left to z3, which gets every premise
                if self.contradiction is not None:
                    return
            if not solved:
                return
            todo = self._restart()

    def _restart(self) -> list[Premise]:
        """After a new substitution: facts are taken from the premises again."""
        self.low, self.high = {}, {}
        self.nonnegative, self.distinct, self.rewrites, self.cases = [], [], [], []
        self.excluded = {}
        self.forget()
        return self.premises

    def _take(self, premise: BoolExpr, source: int) -> bool:
        """Takes one premise in; True if it gave a substitution, so that all must be expressed anew."""
        op = premise.op
        if premise is TRUE:
            return False
        if premise is FALSE:
            self.contradiction = source
        elif op == "and":
            given = [self._take(part, source) for part in premise.parts]
            return any(given)
        elif op in (">=", "==", "!="):
            outer, self.mask = self.mask, source
            poly = self.poly(premise.poly)
            mask = self.mask
            self.mask = outer
            if op == "==":
                return self._take_zero(poly, mask)
            if op == ">=":
                self._take_nonnegative(poly, mask)
            else:
                self._take_distinct(poly, mask)
        else:
            return self._take_other(premise, source)
        return False

    def _take_other(self, premise: BoolExpr, source: int) -> bool:
        if premise.op == "in":
            poly, values = premise.poly, premise.values
            self._take(_at_least(poly, values[0]), source)
            self._take(_at_most(poly, values[-1]), source)
            self.cases.append((premise, source))
            step = gcd(*(value - values[0] for value in values))
            return step > 1 and self._take(_congruent(poly, step, values[0]), source)
        if premise.op == "not" and premise.parts and premise.parts[0].op == "in":
            inner = premise.parts[0]
            for value in inner.values:
                self._take(_differs(inner.poly, value), source)
        elif premise.op in ("or", "if"):
            self.cases.append((premise, source))
        return False

    def _take_zero(self, poly: Poly, mask: int) -> bool:
        if poly.is_constant():
            if poly.constant:
                self.contradiction = mask
            return False
        found = solve_for(self.algebra, poly)
        if found is FALSE:
            self.contradiction = mask
            return False
        if isinstance(found, Equation):
            self._substitute(found, mask)
            return True
        self._take_nonnegative(poly, mask)
        self._take_nonnegative(-poly, mask)
        self._take_product(poly, mask)
        self._take_divisibility(poly, mask)
        return False

    def _substitute(self, equation: Equation, mask: int) -> None:
        self.forget()
        for symbol, value in equation.values.items():
            self.substitution[symbol] = (value, mask)
        for symbol, (value, old) in list(self.substitution.items()):
            replaced = value
            for target in equation.values:
                if target in replaced.atoms():
                    replaced = _replace(replaced, target, equation.values[target])
            if replaced is not value:
                self.substitution[symbol] = (replaced, old | mask)

    def _take_product(self, poly: Poly, mask: int) -> None:
        """``n*d == 768``: the product is written as the other side wherever it occurs."""
        for mono in sorted(poly.terms, key=lambda m: (-len(m), m)):
            if len(mono) > 1 and abs(poly.terms[mono]) == 1:
                rest = poly - Poly({mono: poly.terms[mono]})
                if not any(set(mono) <= set(other) for other in rest.terms):
                    value = rest.scale(-poly.terms[mono])
                    if (mono, value, mask) not in self.rewrites:
                        self.rewrites.append((mono, value, mask))
                        self.forget()
                    return

    def _take_divisibility(self, poly: Poly, mask: int) -> None:
        """``n % d == 0`` with ``n >= 1`` and ``d >= 1`` gives ``n >= d``."""
        for index in poly.atoms():
            atom = self.algebra.atoms[index]
            if atom.kind != "floor":
                continue
            dividend, divisor = atom.args
            sign = 1 if poly == dividend - divisor * self.algebra.poly(index) else -1
            if sign < 0 and -poly != dividend - divisor * self.algebra.poly(index):
                continue
            outer, self.mask = self.mask, mask
            if self.at_least_zero(dividend - const(1)) and self.at_least_zero(divisor - const(1)):
                self._take_nonnegative(dividend - divisor, self.mask)
            self.mask = outer

    def _take_nonnegative(self, poly: Poly, mask: int) -> None:
        if poly.is_constant():
            if poly.constant < 0:
                self.contradiction = mask
            return
        atoms = [mono for mono in poly.terms if mono]
        if len(atoms) == 1 and len(atoms[0]) == 1:
            self._take_range(atoms[0], poly, mask)
            return
        outer, self.mask = self.mask, 0
        high = self.upper(poly)
        if high is not None and high < 0:
            self.contradiction = mask | self.mask
        self.mask = outer
        if (poly, mask) not in self.nonnegative:
            self.nonnegative.append((poly, mask))
            self.forget()

    def _take_range(self, mono: Mono, poly: Poly, mask: int) -> None:
        """``c*a + k >= 0`` bounds the atom ``a``."""
        coefficient, atom = poly.terms[mono], mono[0]
        if coefficient > 0:
            bound = -(poly.constant // coefficient)
            known = self.low.get(atom)
            if known is None or known[0] is None or bound > known[0]:
                self.low[atom] = (bound, mask)
        else:
            bound = poly.constant // -coefficient
            known = self.high.get(atom)
            if known is None or known[0] is None or bound < known[0]:
                self.high[atom] = (bound, mask)
        self.forget()
        self._check_range(atom)
        self._open_range(atom, bound, coefficient > 0, mask)

    def _open_range(self, index: int, bound: int, below: bool, mask: int) -> None:
        """A bound of a compound atom is one of its parts: ``min(p, q) >= k`` of both, ``p // d <= k`` of ``p``."""
        atom = self.algebra.atoms[index]
        if atom.kind == ("min" if below else "max"):
            for part in atom.args:
                self._take_nonnegative(part.shift(-bound) if below else (-part).shift(bound), mask)
        elif atom.kind == "floor" and atom.args[1].is_constant() and atom.args[1].constant > 0:
            dividend, d = atom.args[0], atom.args[1].constant
            self._take_nonnegative(
                dividend.shift(-d * bound) if below else (-dividend).shift(d * bound + d - 1), mask
            )

    def _check_range(self, atom: int) -> None:
        outer, self.mask = self.mask, 0
        low, high = self.atom_bound(atom, True), self.atom_bound(atom, False)
        if low is not None and high is not None and low > high:
            self.contradiction = self.mask
        self.mask = outer
        if atom in self.excluded:
            self._shave(atom)

    def _take_distinct(self, poly: Poly, mask: int) -> None:
        if poly.is_constant():
            if not poly.constant:
                self.contradiction = mask
            return
        self.distinct.append((poly, mask))
        self._exclude(poly, mask)
        outer, self.mask = self.mask, mask
        if self.at_least_zero(poly, 1):
            self._take_nonnegative(poly - const(1), self.mask)
        elif self.at_least_zero(-poly, 1):
            self._take_nonnegative(-poly - const(1), self.mask)
        self.mask = outer

    def _exclude(self, poly: Poly, mask: int) -> None:
        """``a != k``, by atom and value: what stands at the end of a range shortens it."""
        atoms = [mono for mono in poly.terms if mono]
        if len(atoms) != 1 or len(atoms[0]) != 1 or poly.constant % poly.terms[atoms[0]]:
            return
        atom, value = atoms[0][0], -(poly.constant // poly.terms[atoms[0]])
        self.excluded.setdefault(atom, {}).setdefault(value, mask)
        self._shave(atom)

    def _shave(self, atom: int) -> None:
        """Moves the ends of a range past excluded values, however many in a row, in one step."""
        gone = self.excluded[atom]
        for ends, step in ((self.low, 1), (self.high, -1)):
            value, mask = ends.get(atom, (None, 0))
            if value is None or value not in gone:
                continue
            while value in gone:
                mask |= gone[value]
                value += step
            self._take_range((atom,), Poly({(atom,): step}).shift(-step * value), mask)


def equals(poly: IntExpr, value: int) -> BoolExpr:
    """``poly == value``."""
    return zero(poly - value)


def _congruent(poly: IntExpr, modulus: int, residue: int) -> BoolExpr:
    return zero(mod(poly - residue, modulus))


def _differs(poly: IntExpr, value: int) -> BoolExpr:
    return not_(equals(poly, value))


def _at_least(poly: IntExpr, value: int) -> BoolExpr:
    return nonnegative(poly - value)


def _at_most(poly: IntExpr, value: int) -> BoolExpr:
    return nonnegative(value - poly)


def _replace(poly: Poly, symbol: int, value: Poly) -> Poly:
    """``poly`` with ``value`` for a symbol that occurs in no compound atom."""
    result = Poly({})
    for mono, coefficient in poly.terms.items():
        product = const(coefficient)
        for atom in mono:
            product = product * (value if atom == symbol else Poly({(atom,): 1}))
        result = result + product
    return result
