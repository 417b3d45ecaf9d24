"""A condition said with less: parts that follow from the others go, parts on one number become one range or congruence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from solver.expr import BoolExpr, IntExpr, and_, free_symbols
from solver.expr.symbols import children
from solver.problem import Problem
from solver.prove.engine import SMALL_RESOURCES, Engine
from solver.prove.world import World, goal_of

Pattern = Callable[[str, Sequence[BoolExpr]], BoolExpr | None]
_MAX_PARTS: Final = 40
_LABEL: Final = "part"


def simplified(problem: Problem, parts: Sequence[BoolExpr], pattern: Pattern) -> BoolExpr:
    """What is equivalent to all of ``parts`` together where the specification holds, with fewer and shorter ones.

    ``pattern`` finds the simplest condition on one symbol that is equivalent to some parts, or None.
    """
    flat = list(dict.fromkeys(conjunct for part in parts for conjunct in conjuncts(goal_of(part))))
    if len(flat) > _MAX_PARTS:
        return and_(*flat)
    return and_(*_merged(problem, _needed(problem, flat), pattern))


def conjuncts(expr: BoolExpr) -> Iterator[BoolExpr]:
    """The parts of nested conjunctions."""
    if expr.op == "and":
        for part in expr.parts:
            yield from conjuncts(part)
    else:
        yield expr


def _needed(problem: Problem, parts: list[BoolExpr]) -> list[BoolExpr]:
    """``parts`` without those that the specification and the other parts imply, the longest tried first.

    What gives another part a value (a divisor that is not 0) has to be implied without that part.
    """
    kept = list(parts)
    for part in sorted(parts, key=written_size, reverse=True):
        others = [other for other in kept if other is not part]
        premises = [other for other in others if part not in conjuncts(goal_of(other))]
        if implies(problem, premises, part, thorough=len(parts) > 1):
            kept = others
    return kept


def implies(problem: Problem, premises: Sequence[BoolExpr], goal: BoolExpr, *, thorough: bool) -> bool:
    """Whether the specification and ``premises`` imply ``goal``; by the fast path alone unless ``thorough``."""
    world = World(problem, [(_LABEL, premise) for premise in premises])
    engine = Engine(world, SMALL_RESOURCES)
    goal = goal_of(goal)
    if engine.fast_proof(world.context(world.cone(goal)), goal) is not None:
        return True
    return thorough and engine.decide_expr(goal).verdict == "proved"


def _merged(problem: Problem, parts: list[BoolExpr], pattern: Pattern) -> list[BoolExpr]:
    """Parts that speak of one number alone, said as a single pattern of it where that is no longer."""
    found: list[BoolExpr] = []
    alone: dict[str, list[BoolExpr]] = {}
    for part in parts:
        names = free_symbols(part)
        name = min(names, default="")
        if len(names) == 1 and problem.symbols[name].sort == "int":
            alone.setdefault(name, []).append(part)
        else:
            found.append(part)
    for name, own in alone.items():
        one = pattern(name, own)
        shorter = one is not None and written_size(one) <= written_size(and_(*own))
        found += [one] if one is not None and shorter else own
    return found


def written_size(expr: BoolExpr) -> int:
    """How many nodes an expression has when it is written out, shared parts as often as they occur."""
    sizes: dict[int, int] = {}

    def size(part: object) -> int:
        known = sizes.get(id(part))
        if known is None:
            arguments = children(part) if isinstance(part, IntExpr) else getattr(part, "args", ())
            known = sizes[id(part)] = 1 + sum(size(argument) for argument in arguments)
        return known

    return size(expr)
