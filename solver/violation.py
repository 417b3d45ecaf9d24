"""The errors of the shape environment, put into words: the user's names, sizes that break it, a proved way out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from solver import expr as E
from solver.errors import ExportError
from solver.expr import BoolExpr, Expr
from solver.records import Guard, SymbolInfo
from solver.trace_errors import (
    CHECK_FAILED,
    DATA_DEPENDENT_SIZE,
    DATA_DEPENDENT_VALUE,
    DIM_COLLAPSED,
    FACTS_CONFLICT,
    GUARDS_NOT_IMPLIED,
)

if TYPE_CHECKING:
    from solver.report import GuardReport, Report
    from solver.shape_env import ShapeEnv

_NAME: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_SHOWN: Final = 3


def phrase(expr: Expr, names: Callable[[str], str]) -> str:
    """The text of an expression with its symbols called as the user calls them; ``x >= 1`` reads ``x > 0``."""
    symbols = E.free_symbols(expr)
    text = str(expr)
    if isinstance(expr, BoolExpr) and expr.op == ">=" and text.endswith(" >= 1"):
        text = text[: -len(" >= 1")] + " > 0"
    return _NAME.sub(lambda m: names(m[0]) if m[0] in symbols else m[0], text)


def data_dependent(env: ShapeEnv, condition: BoolExpr, kind: str) -> ExportError:
    """An undecided condition on data."""
    if kind == "divisor":
        shown = f"whether a divisor is zero ({env.phrase(E.not_(condition))})"
    else:
        shown = env.phrase(condition)
    return DATA_DEPENDENT_SIZE(
        location=env.here(),
        condition=shown,
        sources=_data_sources(env, condition),
        origin=f", asked by {env.origin}" if env.origin else "",
        check=env.phrase(condition),
        otherwise=env.phrase(E.not_(condition)),
    )


def value_needed(env: ShapeEnv, expr: Expr) -> ExportError:
    """A plain value is demanded of data."""
    return DATA_DEPENDENT_VALUE(
        location=env.here(),
        value=env.phrase(expr),
        sources=_data_sources(env, expr),
        origin=f", asked by {env.origin}" if env.origin else "",
    )


def _data_sources(env: ShapeEnv, expr: Expr) -> str:
    parts: list[str] = []
    for name in sorted(E.free_symbols(expr)):
        info = env.symbols[name]
        if info.role == "unbacked":
            made = "" if info.location is None else f" made at {info.location}"
            parts.append(f"{env.phrase_symbol(name)}{made}")
    return ", ".join(parts)


def conflict(env: ShapeEnv, expr: BoolExpr, message: str | None) -> ExportError:
    """A check that contradicts what is known; names the lines of both."""
    what = f"the check {env.phrase(expr)}" if expr is not E.FALSE else "the check"
    if message:
        what += f" ({message})"
    related = [c for c in _stated(env) if expr is E.FALSE or E.free_symbols(c[0]) & E.free_symbols(expr)]
    others = [f"{env.phrase(c)}{where}" for c, where in related[-_SHOWN:]]
    if not others:
        others = [f"{n} from {lo} to {hi}" for n, (lo, hi) in _ranges(env, E.free_symbols(expr))] or [
            "arithmetic itself"
        ]
    return FACTS_CONFLICT(location=env.here(), what=what, others=" and ".join(others))


def _stated(env: ShapeEnv) -> list[tuple[BoolExpr, str]]:
    facts = [*env.facts, *(f for scope in env.scopes for f in scope)]
    stated = [(f.expr, f.location) for f in facts]
    stated += [(g.expr, g.location) for g in env.guards] + [(a.expr, a.location) for a in env.assumptions]
    return [(c, "" if at is None else f" (at {at})") for c, at in stated]


def _ranges(env: ShapeEnv, names: Iterable[str]) -> list[tuple[str, tuple[object, object]]]:
    found: list[tuple[str, tuple[object, object]]] = []
    for name in sorted(names):
        low, high = env.knowledge.ranges.get(name, (None, None))
        found.append(
            (env.phrase_symbol(name), ("-infinity" if low is None else low, "any" if high is None else high))
        )
    return found


def check_failed(env: ShapeEnv, expr: BoolExpr, message: str | None) -> ExportError:
    """A check that the example breaks."""
    values = ", ".join(f"{env.phrase_symbol(n)} = {env.hints[n]}" for n in sorted(E.free_symbols(expr)))
    text = f" for the example ({values})" + (f": {message}" if message else "")
    return CHECK_FAILED(location=env.here(), check=env.phrase(expr), message=text)


def collapsed(env: ShapeEnv, info: SymbolInfo, value: int, guard: Guard | None) -> ExportError:
    """A DYNAMIC dimension that can have one value only."""
    needed = f"{info.source} == {value}" if guard is None else env.phrase(guard.expr)
    location = None if guard is None else guard.location
    return DIM_COLLAPSED(location=location, source=info.source, value=value, guard=needed)


def unproved(env: ShapeEnv, report: Report) -> ExportError:
    """The specification does not imply the guards: what breaks them, and the proved change that mends them."""
    guards = {g.id: g for g in env.guards}
    if report.status == "spec_unsatisfiable":
        what = "no input meets the specification and the checks: " + ", ".join(report.conflict)
        error = GUARDS_NOT_IMPLIED(what=what, fix="correct the checks or the assumptions")
    else:
        bad = report.roots or [g for g in report.guards if g.verdict != "proved"]
        lines = [_sentence(env, g, guards[g.id]) for g in bad[:_SHOWN]]
        if len(bad) > _SHOWN:
            lines.append(f"and {len(bad) - _SHOWN} more")
        error = GUARDS_NOT_IMPLIED(
            location=guards[bad[0].id].location,
            what="; ".join(lines),
            fix=_way_out(report, bad[0]) + _keep_dynamic(guards[bad[0].id]),
        )
    error.report = report  # type: ignore[attr-defined]
    return error


def _sentence(env: ShapeEnv, found: GuardReport, guard: Guard) -> str:
    from solver.shape_env import shapes

    why = f" ({guard.origin})" if guard.origin else ""
    text = f"the program needs {env.phrase(guard.expr)}{why}"
    if found.verdict == "unknown":
        return f"{text}, and it could not be decided whether the specification implies that: {found.reason}"
    text += ", which the specification does not imply"
    if found.counterexample is not None:
        sizes = shapes(env, found.counterexample) or found.counterexample
        text += ": it fails at " + ", ".join(f"{source} = {size}" for source, size in sizes.items())
    return text


def _keep_dynamic(guard: Guard) -> str:
    """What else helps where Python took the plain value of a size, as ``range`` does."""
    if guard.kind != "specialize":
        return ""
    return "; to keep the size dynamic do not ask for its plain value (write a loop over it with map or scan)"


def _way_out(report: Report, first: GuardReport) -> str:
    from solver.report import shared_dims

    fix = report.fix or next(iter(first.suggestions), None)
    if fix is None:
        return "state the condition as an assumption: ShapesSpec(..., assumptions=[...]), or remove it from the program"
    declared, places = shared_dims(fix.dims)
    dims = ", ".join(f"{name}: {text}" for name, text in places.items())
    if dims:
        where = "".join(f" with {name} = {text}" for name, text in declared.items())
        return f"use {dims}{where}; proved to suffice ({fix.words})"
    assumption = fix.assumption or fix.condition
    return f"{fix.words}; proved to suffice, as ShapesSpec(..., assumptions=[{assumption!r}])"
