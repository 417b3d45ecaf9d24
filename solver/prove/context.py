"""What is known while a guard is proved: the specification in solved form, and conditions assumed on the way.

Equalities become substitutions (``h == 32*k``; ``a % 8 == 0`` by ``a = 8*a'``), inequalities ranges or linear facts,
disjunctions cases. A context is built once for each group of symbols that the specification ties together; proving
under an assumption works on a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Final

from solver.expr.boolean import nonnegative, not_, zero
from solver.expr.integer import mod
from solver.expr.nodes import FALSE, TRUE, BoolExpr, FloatExpr, IntExpr
from solver.prove.compare import settle_float
from solver.prove.normal import Normalizer, TooLarge
from solver.prove.poly import Algebra, Mono, Poly, const
from solver.prove.solve import Equation, solve_for

Premise = tuple[BoolExpr, int]
MAX_CASES: Final = 4
_MAX_NESTED_ASSUMPTIONS: Final = 4
_MAX_PASSES: Final = 24


class Context(Normalizer):
    """Premises in solved form. ``contradiction`` is the mask of premises that cannot hold together, or None."""

    def __init__(self, algebra: Algebra) -> None:
        super().__init__(algebra)
        self.premises: list[Premise] = []
        self.cases: list[Premise] = []
        self.contradiction: int | None = None
        self.depth = 0

    def bare(self) -> Context:
        """A context with the substitutions and nothing else, so that no premise simplifies itself away."""
        other = Context(self.algebra)
        other.substitution = self.substitution
        return other

    def literal(self, expr: IntExpr) -> Poly:
        """An expression as it stands, with nothing settled or cancelled but what holds everywhere."""
        return self.poly(expr)

    # -- premises ------------------------------------------------------------------------------------------------

    def assume(self, premises: Iterable[Premise]) -> Context:
        """This context with more premises."""
        copy = Context(self.algebra)
        copy.substitution = dict(self.substitution)
        copy.rewrites = list(self.rewrites)
        copy.low, copy.high = dict(self.low), dict(self.high)
        copy.nonnegative, copy.distinct = list(self.nonnegative), list(self.distinct)
        copy.excluded = {atom: dict(values) for atom, values in self.excluded.items()}
        copy.premises, copy.cases = list(self.premises), list(self.cases)
        copy.contradiction = self.contradiction
        copy.depth = self.depth + 1
        copy.fuel = self.fuel
        copy.add(premises)
        return copy

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

    # -- decisions -----------------------------------------------------------------------------------------------

    def proves(self, goal: BoolExpr) -> bool:
        """True if ``goal`` was proved, given that it is defined. ``mask`` then tells which premises it rests on."""
        if self.contradiction is not None:
            self.mask |= self.contradiction
            return True
        saved = self.mask
        rule = getattr(self, _RULES[goal.op])
        if rule(goal):
            return True
        self.mask = saved
        return False

    def _prove_true(self, goal: BoolExpr) -> bool:
        return True

    def _prove_nothing(self, goal: BoolExpr) -> bool:
        return False

    def _prove_nonnegative(self, goal: BoolExpr) -> bool:
        poly = self.poly(goal.poly)
        bound = self.lower(poly)
        if bound is not None and bound >= 0:
            return True
        return self._by_span(goal) or self.at_least_zero(poly)

    def _prove_zero(self, goal: BoolExpr) -> bool:
        return self.is_zero(self.poly(goal.poly))

    def _prove_nonzero(self, goal: BoolExpr) -> bool:
        return self.never_zero(self.poly(goal.poly)) or self._by_span(goal)

    def _by_span(self, goal: BoolExpr) -> bool:
        """A comparison settled by the bounds of the expression as it is written, part by part."""
        saved = self.mask
        low, high = self.span(goal.poly)
        if low is not None and low >= (0 if goal.op == ">=" else 1):
            return True
        if goal.op == "!=" and high is not None and high < 0:
            return True
        self.mask = saved
        return False

    def _prove_member(self, goal: BoolExpr) -> bool:
        poly = self.poly(goal.poly)
        low, high = self.lower(poly), self.upper(poly)
        if low is None or high is None:
            return False
        values = set(goal.values)
        if high - low > len(values) + 64:
            return False
        return all(v in values or self.never_zero(poly - const(v)) for v in range(low, high + 1))

    def _prove_all(self, goal: BoolExpr) -> bool:
        return all(self.proves(part) for part in goal.parts)

    def _prove_some(self, goal: BoolExpr) -> bool:
        if any(self.proves(part) for part in goal.parts):
            return True
        if self.depth >= _MAX_NESTED_ASSUMPTIONS:
            return False
        for chosen in range(len(goal.parts) - 1, -1, -1):
            others = [(not_(part), 0) for i, part in enumerate(goal.parts) if i != chosen]
            if self._proves_under(others, goal.parts[chosen]):
                return True
        return False

    def _prove_choice(self, goal: BoolExpr) -> bool:
        condition, yes, no = goal.parts
        known = self.settle(condition)
        if known is not None:
            return self.proves(yes if known else no)
        if self.depth >= _MAX_NESTED_ASSUMPTIONS:
            return False
        return self._proves_under([(condition, 0)], yes) and self._proves_under([(not_(condition), 0)], no)

    def _prove_negation(self, goal: BoolExpr) -> bool:
        inner = goal.parts[0]
        if inner.op == "in":
            poly = self.poly(inner.poly)
            return all(self.never_zero(poly - const(v)) for v in inner.values)
        if inner.op in ("f<", "f<=", "f=="):
            return settle_float(inner, self) is False
        return False

    def _prove_float(self, goal: BoolExpr) -> bool:
        return settle_float(goal, self) is True

    def _proves_under(self, premises: list[Premise], goal: BoolExpr) -> bool:
        inner = self.assume(premises)
        if inner.proves(goal):
            self.mask |= inner.mask
            return True
        return False

    def settle(self, condition: BoolExpr) -> bool | None:
        if self.depth >= _MAX_NESTED_ASSUMPTIONS:
            return None
        self.depth += 1  # conditions inside conditions end somewhere
        try:
            if self.proves(condition):
                return True
            return False if self.proves(not_(condition)) else None
        finally:
            self.depth -= 1

    def split(self) -> list[Context]:
        """The cases of the first disjunction among the premises; empty where there is none."""
        if not self.cases:
            return []
        premise, source = self.cases[0]
        rest = [case for case in self.premises if case[0] is not premise]
        found = []
        for branch in _branches(premise):
            case = Context(self.algebra)
            case.fuel = self.fuel
            case.depth = self.depth
            case.add([*((part, source) for part in branch), *rest])
            found.append(case)
        return found


_RULES: Final[dict[str, str]] = {
    "true": "_prove_true",
    "false": "_prove_nothing",
    "symbol": "_prove_nothing",
    ">=": "_prove_nonnegative",
    "==": "_prove_zero",
    "!=": "_prove_nonzero",
    "in": "_prove_member",
    "and": "_prove_all",
    "or": "_prove_some",
    "if": "_prove_choice",
    "not": "_prove_negation",
    "f<": "_prove_float",
    "f<=": "_prove_float",
    "f==": "_prove_float",
}


def _branches(premise: BoolExpr) -> list[list[BoolExpr]]:
    if premise.op == "in":
        return [[_equals(premise.poly, value)] for value in premise.values]
    if premise.op == "if":
        condition, yes, no = premise.parts
        return [[condition, yes], [not_(condition), no]]
    found: list[list[BoolExpr]] = []
    for i, part in enumerate(premise.parts):
        found.append([*(not_(earlier) for earlier in premise.parts[:i]), part])
    return found


def _equals(poly: IntExpr, value: int) -> BoolExpr:
    return zero(poly - value)


def _congruent(poly: IntExpr, modulus: int, residue: int) -> BoolExpr:
    return zero(mod(poly - residue, modulus))


def _differs(poly: IntExpr, value: int) -> BoolExpr:
    return not_(_equals(poly, value))


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


__all__ = ["Context", "FloatExpr", "Premise"]
