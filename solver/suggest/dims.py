"""A strengthened specification said as ``Dim`` source, where ``Dim`` can say it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from solver.expr import BoolExpr, IntExpr, constant, eq, int_symbol
from solver.problem import SymbolDecl
from solver.prove.context import Context
from solver.prove.engine import SMALL_RESOURCES, Engine
from solver.prove.poly import Poly
from solver.prove.world import World


def dim_source(before: World, after: World, condition: BoolExpr, names: Iterable[str]) -> dict[str, str]:
    """For the source of each symbol: ``Dim`` source that says ``condition``; empty where ``Dim`` cannot.

    ``after`` is ``before`` with the condition. A condition that leaves more than substitutions and ranges behind (a
    sum, an exception, a disjunction) is none that ``Dim`` can say. What is found is proved to imply the condition.
    """
    symbols = before.problem.symbols
    wanted = set(names)
    named = [name for name in symbols if name in wanted]
    cone = frozenset(after.group_of(name) for name in named)
    new = after.context(cone)
    old = before.context(frozenset(before.group_of(name) for name in after.names(cone)))
    if new.contradiction is not None or _beyond_dims(new) > _beyond_dims(old):
        return {}
    group = _visible(after, cone, named)
    labels = _dim_names(new, list(dict.fromkeys((*named, *group))))
    if labels is None or any(symbols[name].kind == "unbacked" for name in group):
        return {}
    if not _implied(before, new, group, labels, condition):
        return {}
    return {symbols[name].source or name: _source(new, new.symbol(name), labels) for name in group}


def _visible(after: World, cone: frozenset[int], named: list[str]) -> list[str]:
    """The symbols that a user can give a ``Dim`` to: sizes made from a hidden root in place of the root."""
    symbols = after.problem.symbols
    context = after.context(cone)
    hidden = {name for name in named if symbols[name].kind == "phantom" and symbols[name].source is None}
    roots = {atom for name in hidden for atom in context.algebra.symbols(context.symbol(name))}
    tied = {
        name
        for name in after.names(cone)
        if symbols[name].kind == "input" and roots & context.algebra.symbols(context.symbol(name))
    }
    kept = set(named) - (hidden if tied else set())
    return [name for name in symbols if name in kept | tied]


def _implied(
    before: World, new: Context, group: list[str], labels: dict[int, str], condition: BoolExpr
) -> bool:
    """Whether ``Dim`` objects as they are going to be written imply the condition."""
    symbols = dict(before.problem.symbols)
    facts: list[tuple[str, BoolExpr]] = []
    roots: dict[int, IntExpr] = {}
    for atom in labels:
        name = f"dim!{atom}"
        low, high = new.low.get(atom), new.high.get(atom)
        symbols[name] = SymbolDecl("phantom", low and low[0], high and high[0])
        roots[atom] = int_symbol(name)
    for name in group:
        poly = new.symbol(name)
        value = sum((roots[mono[0]] * c for mono, c in poly.terms.items() if mono), constant(poly.constant))
        facts.append((name, eq(int_symbol(name), value)))
    world = World(replace(before.problem, symbols=symbols), facts)
    return Engine(world, SMALL_RESOURCES).decide_expr(condition).verdict == "proved"


def _beyond_dims(context: Context) -> int:
    """How many facts a context holds that ``Dim`` cannot say."""
    compound = [a for a in (*context.low, *context.high) if context.algebra.atoms[a].kind != "symbol"]
    return (
        len(context.nonnegative)
        + len(context.distinct)
        + len(context.cases)
        + len(context.rewrites)
        + len(set(compound))
    )


def _dim_names(context: Context, names: list[str]) -> dict[int, str] | None:
    """A name for each free parameter; None where a symbol is no ``k*d + r``."""
    labels: dict[int, str] = {}
    for name in names:
        poly = context.symbol(name)
        monos = [mono for mono in poly.terms if mono]
        if not monos:
            continue
        if len(monos) > 1 or len(monos[0]) > 1 or context.algebra.atoms[monos[0][0]].kind != "symbol":
            return None
        if poly.terms[monos[0]] < 1:
            return None
        plain = poly.terms[monos[0]] == 1 and not poly.constant
        if plain or monos[0][0] not in labels:
            labels[monos[0][0]] = name if plain else f"k_{name}"
    return labels


def _source(context: Context, poly: Poly, labels: dict[int, str]) -> str:
    monos = [mono for mono in poly.terms if mono]
    if not monos:
        return str(poly.constant)
    atom = monos[0][0]
    scale, offset = poly.terms[monos[0]], poly.constant
    low, high = context.low.get(atom), context.high.get(atom)
    arguments = [f'"{labels[atom]}"']
    if low is not None and low[0]:
        arguments.append(f"min={low[0]}")
    if high is not None and high[0] is not None:
        arguments.append(f"max={high[0]}")
    text = f"Dim({', '.join(arguments)})"
    if scale != 1:
        text = f"{scale}*{text}"
    if offset:
        text += f" + {offset}" if offset > 0 else f" - {-offset}"
    return text
