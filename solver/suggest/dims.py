"""A strengthened specification said as ``Dim`` source, where ``Dim`` can say it."""

from __future__ import annotations

from collections.abc import Iterable

from solver.prove.context import Context
from solver.prove.poly import Poly
from solver.prove.world import World


def dim_source(before: World, after: World, names: Iterable[str]) -> dict[str, str]:
    """For the source of each symbol: ``Dim`` source that says what ``after`` knows of it; empty where ``Dim`` cannot.

    ``after`` is ``before`` with the suggested condition. A condition that leaves more than substitutions and ranges
    behind (a sum, an exception, a disjunction) is none that ``Dim`` can say.
    """
    wanted = list(names)
    group = [name for name in before.problem.symbols if name in wanted]
    cone = frozenset(after.group_of(name) for name in group)
    new = after.context(cone)
    old = before.context(frozenset(before.group_of(name) for name in after.names(cone)))
    if new.contradiction is not None or _beyond_dims(new) > _beyond_dims(old):
        return {}
    labels = _dim_names(new, group)
    if labels is None:
        return {}
    found: dict[str, str] = {}
    for name in group:
        symbol = before.problem.symbols[name]
        if symbol.kind == "unbacked":
            return {}
        found[symbol.source or name] = _source(new, new.symbol(name), labels)
    return found


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
