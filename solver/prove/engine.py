"""One guard through the methods, cheapest first, each of which can only give a true answer.

``normal form`` (substitution, polynomials, bounds, residues, cases) proves; ``sampling`` refutes by an exact
counterexample; ``enumeration`` decides what has few enough assignments; ``z3`` decides the rest on the simplified goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Final

from solver.expr import BoolExpr, FloatExpr, Value, free_symbols
from solver.expr.symbols import children
from solver.problem import Condition
from solver.prove.context import MAX_CASES, Context
from solver.prove.normal import TooLarge
from solver.prove.points import Point, Sampler
from solver.prove.residues import residue_cases
from solver.prove.signs import FUEL
from solver.prove.world import World, goal_of

MAX_ENUMERATION: Final = 20_000
RESOURCES: Final = 2_000_000
SMALL_RESOURCES: Final = 100_000


@dataclass(slots=True)
class Outcome:
    """``mask``: premises that a proof rests on, not yet minimal."""

    verdict: str
    method: str
    mask: int = 0
    point: Point | None = None
    reason: str | None = None


class Engine:
    """Decides guards against one world."""

    def __init__(self, world: World, resources: int = RESOURCES) -> None:
        self.world = world
        self.resources = resources
        self._samplers: dict[frozenset[int], Sampler] = {}
        self._conflicts: dict[frozenset[int], tuple[int | None, bool]] = {}

    def sampler(self, cone: frozenset[int]) -> Sampler:
        found = self._samplers.get(cone)
        if found is None:
            found = self._samplers[cone] = Sampler(self.world, cone)
        return found

    # -- the specification ---------------------------------------------------------------------------------------

    def conflict(self) -> int | None:
        """The mask of premises that contradict each other, or None."""
        for cone in self.world.groups():
            mask, _ = self.satisfiable(cone)
            if mask is not None:
                return mask
        return None

    def undecided(self) -> bool:
        """Whether it stayed open if the specification has a solution, once :meth:`conflict` found no conflict."""
        return not all(self.satisfiable(cone)[1] for cone in self.world.groups())

    def satisfiable(self, cone: frozenset[int]) -> tuple[int | None, bool]:
        """``(mask of a conflict or None, whether an assignment is known)`` for the premises of a cone."""
        found = self._conflicts.get(cone)
        if found is None:
            found = self._conflicts[cone] = self._satisfiable(cone)
        return found

    def _satisfiable(self, cone: frozenset[int]) -> tuple[int | None, bool]:
        context = self.world.context(cone)
        if context.contradiction is not None:
            return self._minimal_conflict(cone, context.contradiction), False
        if next(iter(self.sampler(cone)), None) is not None:
            return None, True
        if not context.premises:
            return None, True
        from solver.expr import FALSE
        from solver.prove.z3_backend import ask

        context.mask = 0
        answer = ask(context, FALSE, self.resources)
        if answer.status == "unsat":
            return self._minimal_conflict(cone, answer.core), False
        if answer.status == "sat" and self._admit(cone, answer.values) is not None:
            return None, True
        return None, False

    def _minimal_conflict(self, cone: frozenset[int], mask: int) -> int:
        """Drops premises that the conflict does not need."""
        everything = sum(1 << bit for bit in self.world.bits(cone))
        for bit in range(mask.bit_length()):
            if mask >> bit & 1:
                smaller = mask & ~(1 << bit)
                if self.world.context(cone, everything & ~smaller).contradiction is not None:
                    mask = smaller
        return mask

    # -- guards --------------------------------------------------------------------------------------------------

    def decide(self, guard: Condition) -> Outcome:
        """The verdict on one guard."""
        if guard.unsaid is not None:
            return Outcome("unknown", "normal form", reason=guard.unsaid)
        try:
            return self.decide_expr(guard.expr)
        except RecursionError:
            return Outcome("unknown", "normal form", reason="the condition is nested too deeply")

    def decide_expr(self, expr: BoolExpr) -> Outcome:
        goal = goal_of(expr)
        cone = self.world.cone(expr)
        context = self.world.context(cone)
        proof = self.fast_proof(context, goal)
        if proof is not None:
            return Outcome("proved", "normal form", proof)
        refuted = self._by_sampling(cone, expr)
        if refuted is not None:
            return refuted
        return (
            self._by_residues(cone, context, goal)
            or self._by_enumeration(cone, expr)
            or self._by_z3(cone, context, expr, goal)
        )

    def fast_proof(
        self, context: Context, goal: BoolExpr, cases: int = MAX_CASES, fuel: int = FUEL
    ) -> int | None:
        """The mask of what a proof by normal form rests on, or None. ``fuel`` limits the search."""
        context.fuel = fuel
        context.mask = 0
        try:
            if context.contradiction is not None:
                return context.contradiction
            if context.proves(goal):
                return context.mask
        except (TooLarge, RecursionError):
            return None
        return self._by_cases(context, goal, cases) if cases else None

    def _by_cases(self, context: Context, goal: BoolExpr, cases: int) -> int | None:
        branches = context.split()
        if not branches or len(branches) > 8:
            return None
        mask = 0
        for branch in branches:
            proof = self.fast_proof(branch, goal, cases - 1)
            if proof is None:
                return None
            mask |= proof
        return mask

    def _by_sampling(self, cone: frozenset[int], expr: BoolExpr) -> Outcome | None:
        sampler = self.sampler(cone)
        for point in chain(sampler, sampler.near([expr])):
            why = point.problem_with(expr)
            if why is not None:
                smallest = sampler.shrink(point, expr)
                return Outcome("refuted", "sampling", point=smallest, reason=smallest.problem_with(expr))
        return None

    def _by_enumeration(self, cone: frozenset[int], expr: BoolExpr) -> Outcome | None:
        """All assignments, where ranges allow only few; exact for floats too."""
        names = self.world.names(cone)
        sampler = self.sampler(cone)
        spans: list[Sequence[int]] = []
        total = 1
        for name in names:
            span = self._span(sampler, name)
            if span is None:
                return None
            spans.append(span)
            total *= len(span)
            if total > MAX_ENUMERATION:
                return None
        for values in product(*spans):
            assignment: dict[str, Value] = dict(zip(names, values, strict=True))
            point = sampler.admit(assignment)
            if point is not None and (why := point.problem_with(expr)) is not None:
                return Outcome("refuted", "enumeration", point=point, reason=why)
        return Outcome("proved", "enumeration", sum(1 << bit for bit in self.world.bits(cone)))

    def _span(self, sampler: Sampler, name: str) -> Sequence[int] | None:
        """All values that a symbol may have, if they are few; from what the premises say, not its declaration alone."""
        symbol = self.world.problem.symbols[name]
        if symbol.sort != "int":
            return range(2) if symbol.sort == "bool" else None
        poly = sampler.context.symbol(name)
        if poly.is_constant():
            return (poly.constant,)
        atom = sampler.parameter_of(name)
        low, high = (symbol.min, symbol.max) if atom is None else sampler.limits(atom)
        if low is None or high is None or high - low >= MAX_ENUMERATION:
            return None
        if atom is None:
            return range(low, high + 1)
        value = sampler.context.algebra.value
        return [value(poly, {atom: parameter}) for parameter in range(low, high + 1)]

    def _by_residues(self, cone: frozenset[int], context: Context, goal: BoolExpr) -> Outcome | None:
        """Proof for each remainder of a symbol by what divisions of it divide by: there floors are linear."""
        found = residue_cases(context, goal)
        if found is None:
            return None
        mask = 0
        for case in found:
            proof = self.fast_proof(context.assume([(case, 0)]), goal)
            if proof is None:
                return None
            mask |= proof
        return Outcome("proved", "residues", mask)

    def _by_z3(self, cone: frozenset[int], context: Context, expr: BoolExpr, goal: BoolExpr) -> Outcome:
        from solver.prove.z3_backend import ask

        context.fuel = FUEL
        context.mask = 0
        answer = ask(context, goal, self.resources)
        if answer.status == "unsat":
            return Outcome("proved", "z3", answer.core)
        if answer.status == "sat":
            point = self._admit(cone, answer.values)
            if point is not None and (why := point.problem_with(expr)) is not None:
                smallest = self.sampler(cone).shrink(point, expr)
                return Outcome("refuted", "z3", point=smallest, reason=smallest.problem_with(expr) or why)
        return Outcome("unknown", "z3", reason=_reason(expr, answer.reason))

    def _admit(self, cone: frozenset[int], values: dict[str, Value]) -> Point | None:
        """A model of z3 as a point, checked exactly."""
        sampler = self.sampler(cone)
        context = sampler.context
        algebra = context.algebra
        free = {
            atom: int(values.get(algebra.name(atom), self._default(context, atom))) for atom in sampler.free
        }
        return sampler.make(free)

    def _default(self, context: Context, atom: int) -> int:
        low = context.low.get(atom)
        return low[0] if low is not None and low[0] is not None else 0


def _reason(expr: BoolExpr, given: str) -> str:
    if has_float(expr):
        return "float"
    return given or "z3 found no model that could be confirmed"


def has_float(expr: BoolExpr) -> bool:
    """Whether a float takes part in a condition."""
    stack: list[object] = [expr]
    seen: set[int] = set()
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, FloatExpr):
            return True
        stack.extend(getattr(part, "args", ()) if not hasattr(part, "terms") else children(part))  # type: ignore[arg-type]
    return False


__all__ = ["Engine", "Outcome", "free_symbols", "has_float"]
