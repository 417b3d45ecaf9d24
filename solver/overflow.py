"""Overflow as an obligation: no value that evaluating a guard computes may leave the machine's signed integers.

What is computed is the guard as it was written, step by step: in ``x*y - x*y + 1 >= 1`` the product is one of the
values, though it cancels. What short circuits skip is not computed, and a division by zero computes nothing: that it
does not happen is an obligation of its own.
"""

from __future__ import annotations

from dataclasses import replace

from solver.expr import BoolExpr, FloatExpr, IntExpr, and_, constant, defined, free_symbols, ge, le, not_, or_
from solver.expr.nodes import TRUE, Atom, Expr
from solver.parse import ExpressionError, Sorts, computation, parse_bool
from solver.problem import Condition, Problem

Computed = tuple[BoolExpr, IntExpr]


def with_overflow(problem: Problem, bits: int) -> Problem:
    """The problem with one more guard for each guard that computes: its intermediate values fit ``bits`` signed bits."""
    limit = 1 << (bits - 1)
    guards = list(problem.guards)
    for guard in problem.guards:
        steps = [step for step in computed(guard, problem.sorts) if _may_grow(step[1])]
        if steps:
            fits = and_(*(_unless_skipped(step, limit) for step in steps))
            text = f"every value computed in {guard.id} fits {bits} bits"
            guards.append(Condition(f"overflow:{guard.id}", fits, guard.at, text, origin="overflow"))
    return replace(problem, guards=guards)


def _may_grow(value: IntExpr) -> bool:
    return not value.is_const and bool(free_symbols(value))


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
