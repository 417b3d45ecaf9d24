"""A large problem: the guards of Swin and of ``guards.json``, renamed over fresh symbols."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from solver.expr import BoolExpr, IntExpr, int_symbol, substitute
from solver.problem import Condition, Problem, SymbolDecl
from solver.readers import load

DATA = Path(__file__).parent.parent / "data"


def renamed(expr: BoolExpr, suffix: str, names: list[str]) -> BoolExpr:
    mapping: dict[str, IntExpr] = {name: int_symbol(f"{name}{suffix}") for name in names}
    return substitute(expr, mapping)


def add(target: Problem, problem: Problem, suffix: str, limit: int) -> None:
    """Adds a copy of ``problem`` over fresh symbols, at most ``limit`` guards of it."""
    names = list(problem.symbols)
    for name, symbol in problem.symbols.items():
        target.symbols[f"{name}{suffix}"] = SymbolDecl(symbol.kind, symbol.min, symbol.max)
    for kind in ("spec", "facts", "guards"):
        found: list[Condition] = getattr(problem, kind)
        for condition in found[:limit]:
            expr = renamed(condition.expr, suffix, names)
            getattr(target, kind).append(Condition(f"{condition.id}{suffix}", expr))


def large(guards: int, symbols: int) -> Problem:
    """A problem with about so many guards and symbols: copies of Swin, and the satisfiable ones of ``guards.json``."""
    target = Problem("large")
    swin = load(DATA / "swin.pt2")[0][0]
    cases: list[dict[str, Any]] = json.loads((DATA / "guards.json").read_text())
    small = [Problem.from_dict(case) for case in cases if case["name"] != "spec_unsat"]
    copy = 0
    while len(target.guards) < guards - 500:
        add(target, swin, f"_{copy}", 509)
        copy += 1
    for problem in small:
        if len(target.symbols) + len(problem.symbols) > symbols or len(target.guards) >= guards:
            break
        add(target, problem, "_" + re.sub(r"\W", "_", problem.name), 509)
    while len(target.guards) < guards:
        add(target, swin, f"_{copy}", guards - len(target.guards))
        copy += 1
    return target
