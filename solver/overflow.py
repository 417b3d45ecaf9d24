"""Overflow as an obligation: no value computed inside a guard may leave the machine's signed integers."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from solver.expr import BoolExpr, FloatExpr, IntExpr, and_, constant, free_symbols, ge, le
from solver.expr.nodes import Atom, Expr
from solver.problem import Condition, Problem

_MAX_VALUES: Final = 400


def with_overflow(problem: Problem, bits: int) -> Problem:
    """The problem with one more guard for each guard that computes: its intermediate values fit ``bits`` signed bits."""
    limit = 1 << (bits - 1)
    guards = list(problem.guards)
    for guard in problem.guards:
        values = [value for value in intermediate(guard.expr) if _may_grow(value)]
        if values:
            fits = and_(*(and_(ge(v, -limit), le(v, limit - 1)) for v in values[:_MAX_VALUES]))
            text = f"every value computed in {guard.id} fits {bits} bits"
            guards.append(Condition(f"overflow:{guard.id}", fits, guard.at, text, origin="overflow"))
    return replace(problem, guards=guards)


def _may_grow(value: IntExpr) -> bool:
    return not value.is_const and bool(free_symbols(value))


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
