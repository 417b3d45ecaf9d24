"""Overflow as an obligation: no value that evaluating a guard computes may leave the machine's signed integers.

What is computed is the guard as it was written, step by step: in ``x*y - x*y + 1 >= 1`` the product is one of the
values, though it cancels. What short circuits skip is not computed, and a division by zero computes nothing: that it
does not happen is an obligation of its own.

Guards compute the same few values over and over, and what keeps a value small are bounds of the symbols in it. So each
value is one obligation wherever it is computed, those of the same symbols are one guard, and ``64*x`` stands for
``32*x`` too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from solver.expr import BoolExpr, FloatExpr, IntExpr, and_, constant, defined, free_symbols, ge, le, not_, or_
from solver.expr.nodes import TRUE, Atom, Expr, Monomial
from solver.parse import ExpressionError, Sorts, computation, parse_bool
from solver.problem import Condition, Problem
from solver.prove.engine import Engine
from solver.prove.world import World, goal_of

ORIGIN: Final = "overflow"
_MAX_NAMED: Final = 4
_FUEL: Final = 8

Computed = tuple[BoolExpr, IntExpr]


@dataclass(slots=True)
class _Group:
    """Values over the same symbols: what is demanded of each, and the guards that compute them."""

    demands: dict[BoolExpr, None] = field(default_factory=dict)
    guards: dict[str, None] = field(default_factory=dict)
    at: str | None = None


def with_overflow(problem: Problem, bits: int) -> Problem:
    """The problem with more guards: the values that its guards compute fit ``bits`` signed bits.

    There is one for each set of symbols that values are made of. It leaves out the values that the specification
    settles, unless it settles them all.
    """
    limit = 1 << (bits - 1)
    groups = _grouped(problem, limit)
    engine = Engine(World(problem))
    taken = {condition.id for condition in (*problem.spec, *problem.facts, *problem.guards)}
    added = []
    for names, group in groups.items():
        demands = _unsettled(engine, group.demands) or list(group.demands)
        shown = ", ".join(names)
        id = f"{ORIGIN}:{','.join(names)}"
        while id in taken:
            id += "'"
        text = f"every value computed from {shown} fits {bits} bits"
        note = f"computed in {_some(group.guards)}"
        added.append(Condition(id, and_(*demands), group.at, text, origin=ORIGIN, note=note))
    return replace(problem, guards=[*problem.guards, *added])


def _some(ids: Iterable[str]) -> str:
    every = list(ids)
    more = len(every) - _MAX_NAMED
    return ", ".join(every[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _unsettled(engine: Engine, demands: Iterable[BoolExpr]) -> list[BoolExpr]:
    left = []
    for demand in demands:
        context = engine.world.context(engine.world.cone(demand))
        if engine.fast_proof(context, goal_of(demand), cases=0, fuel=_FUEL) is None:
            left.append(demand)
    return left


def _grouped(problem: Problem, limit: int) -> dict[tuple[str, ...], _Group]:
    """The values that guards compute, by their symbols, in the order of the guards."""
    steps: dict[Computed, list[Condition]] = {}
    for guard in problem.guards:
        if guard.unsaid is not None:
            continue
        for step in computed(guard, problem.sorts):
            if not step[1].is_const and free_symbols(step[1]):
                steps.setdefault(step, []).append(guard)
    largest = _largest(value for condition, value in steps if condition is TRUE)
    order = {name: place for place, name in enumerate(problem.symbols)}
    groups: dict[tuple[str, ...], _Group] = {}
    for (condition, value), guards in steps.items():
        group = groups.setdefault(tuple(sorted(free_symbols(value), key=order.__getitem__)), _Group())
        group.at = group.at or guards[0].at
        group.guards.update((guard.id, None) for guard in guards)
        if not _covered(condition, value, largest):
            group.demands[_unless_skipped((condition, value), limit)] = None
    return {names: group for names, group in groups.items() if group.demands}


_Key = tuple[Monomial, bool]


def _key(value: IntExpr) -> tuple[_Key, int] | None:
    """``c*m`` as ``m`` with the sign of ``c``, and its size."""
    if value.const or len(value.terms) != 1:
        return None
    ((mono, coefficient),) = value.terms.items()
    return (mono, coefficient > 0), abs(coefficient)


def _largest(values: Iterable[IntExpr]) -> dict[_Key | IntExpr, int]:
    """The largest multiple of each product that is computed whatever happens; other values as they are."""
    found: dict[_Key | IntExpr, int] = {}
    for value in values:
        key, size = _key(value) or (value, 1)
        found[key] = max(found.get(key, 0), size)
    return found


def _covered(condition: BoolExpr, value: IntExpr, largest: dict[_Key | IntExpr, int]) -> bool:
    """Whether a value fits as soon as another one does that is computed in any case."""
    key, size = _key(value) or (value, 1)
    known = largest.get(key, 0)
    return size < known or (size == known and condition is not TRUE)


def _unless_skipped(step: Computed, limit: int) -> BoolExpr:
    condition, value = step
    fits = and_(ge(value, -limit), le(value, limit - 1))
    reached = and_(defined(condition), condition, defined(value))
    if reached is TRUE:
        return fits
    skipped = not_(reached)
    return or_(fits, skipped) if fits.total else or_(skipped, fits)


def computed(guard: Condition, sorts: Sorts) -> list[Computed]:
    """Every integer that evaluating a guard computes, with the condition under which it does.

    A guard whose text is not its expression in the grammar is computed in the order of its normal form.
    """
    try:
        if parse_bool(guard.text, sorts) is guard.expr:
            return computation(guard.text, sorts)
    except ExpressionError:
        pass
    return [(TRUE, value) for value in intermediate(guard.expr)]


def intermediate(expr: BoolExpr) -> list[IntExpr]:
    """Every integer that evaluating ``expr`` in order may compute: symbols, products term by term, partial sums."""
    found: dict[IntExpr, None] = {}
    seen: set[int] = set()
    stack: list[Atom | Expr] = [expr]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, IntExpr):
            _partial(part, found)
            stack.extend(atom for mono in part.terms for atom in mono.atoms)
        elif isinstance(part, Atom | BoolExpr | FloatExpr):
            stack.extend(part.args)
    return list(found)


def _partial(value: IntExpr, found: dict[IntExpr, None]) -> None:
    total = constant(0)
    for mono, coefficient in value.sorted_terms():
        product = constant(1)
        for atom in mono.atoms:
            product = product * atom.expr
            found[product] = None
        product = product * coefficient
        found[product] = None
        total = total + product
        found[total] = None
    found[total + value.const] = None
