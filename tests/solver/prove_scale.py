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
    for kind, most in (("spec", None), ("facts", None), ("guards", limit)):
        found: list[Condition] = getattr(problem, kind)
        for condition in found[:most]:
            expr = renamed(condition.expr, suffix, names)
            getattr(target, kind).append(Condition(f"{condition.id}{suffix}", expr))


def large(guards: int, symbols: int) -> Problem:
    """So many guards over so many symbols: copies of Swin for the guards, of ``guards.json`` for the other symbols."""
    target = Problem("large")
    swin = load(DATA / "swin.pt2")[0][0]
    cases: list[dict[str, Any]] = json.loads((DATA / "guards.json").read_text())
    small = [Problem.from_dict(case) for case in cases if case["name"] != "spec_unsat"]
    copies = -(-guards // len(swin.guards))
    room = symbols - copies * len(swin.symbols)
    turn = 0
    while room:
        problem = small[turn % len(small)]
        if len(problem.symbols) <= room:
            add(target, problem, f"_{re.sub(r'[^A-Za-z0-9]', '_', problem.name)}_{turn}", len(problem.guards))
            room -= len(problem.symbols)
        turn += 1
    rest = guards - len(target.guards)
    for copy in range(copies):
        count = rest * (copy + 1) // copies - rest * copy // copies
        add(target, swin, f"_{copy}", count)
    return target
