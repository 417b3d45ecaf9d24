"""What is known while a guard is proved, and the proof itself: goals taken apart, conditions assumed on the way.

A context is built once for each group of symbols that the specification ties together; proving under an assumption
works on a copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from solver.expr.boolean import not_
from solver.expr.nodes import BoolExpr, IntExpr
from solver.prove.compare import settle_float
from solver.prove.poly import Algebra, Poly, const
from solver.prove.premises import Premise, Premises, equals

MAX_CASES: Final = 4
_MAX_NESTED_ASSUMPTIONS: Final = 4


class Context(Premises):
    """Premises in solved form, and what follows from them."""

    def __init__(self, algebra: Algebra) -> None:
        super().__init__(algebra)
        self.depth = 0

    def bare(self) -> Context:
        """A context with the substitutions and nothing else, so that no premise simplifies itself away."""
        other = Context(self.algebra)
        other.substitution = self.substitution
        return other

    def literal(self, expr: IntExpr) -> Poly:
        """An expression as it stands, with nothing settled or cancelled but what holds everywhere."""
        return self.poly(expr)

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
        return [[equals(premise.poly, value)] for value in premise.values]
    if premise.op == "if":
        condition, yes, no = premise.parts
        return [[condition, yes], [not_(condition), no]]
    found: list[list[BoolExpr]] = []
    for i, part in enumerate(premise.parts):
        found.append([*(not_(earlier) for earlier in premise.parts[:i]), part])
    return found
