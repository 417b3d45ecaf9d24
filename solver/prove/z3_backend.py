"""z3 for what the fast path leaves: fresh context, resource limit and fixed seed, so that a run repeats."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from solver.expr import BoolExpr, Value, not_
from solver.prove.context import Context
from solver.prove.normal import TooLarge
from solver.smt2 import Encoder, script

WALL_MS: Final = (
    10_000  # a last resort: z3 does not count all of its work, so a few goals outlive the resource limit
)
_SMALL_WALL_MS: Final = 2_000
_SMALL: Final = 1_000_000
OUT_OF_TIME: Final = "z3 gave up within its time limit, another run or machine may decide it"
OUT_OF_RESOURCES: Final = "z3 gave up within its resource limit"


@dataclass(slots=True)
class Answer:
    """``status`` is ``unsat`` (``core``: mask of the premises used), ``sat`` (``values`` of symbols) or ``unknown``."""

    status: str
    core: int = 0
    values: dict[str, Value] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    reason: str = ""


def ask(context: Context, goal: BoolExpr, resources: int) -> Answer:
    """Whether the premises of ``context`` leave room for ``goal`` to fail."""
    text, encoder = encode(context, goal)
    return _run(text, encoder.open, resources)


def encode(context: Context, goal: BoolExpr) -> tuple[str, Encoder]:
    """The question in SMT-LIB: premises after substitution, the goal in normal form where that is not too large."""
    bare = context.bare()
    encoder = Encoder(context.algebra, bare.poly)
    premises: list[tuple[str, str]] = []
    for i, (expr, mask) in enumerate(dict.fromkeys(context.premises)):
        bare.mask = 0
        term = encoder.condition(expr)
        premises.append((f"p{mask | bare.mask}_{i}", term))
    mark = context.mask
    try:
        encoder.leaf = context.poly
        refutation = encoder.condition(not_(goal))
    except TooLarge:
        encoder.leaf = bare.literal
        refutation = encoder.condition(not_(goal))
    simplified = context.mask
    context.mask = mark
    # What the normal form of the goal rests on is part of the core whatever z3 says.
    return script(encoder, premises, refutation, ask=f"; rests on {simplified}"), encoder


def _run(text: str, open_terms: list[str], resources: int) -> Answer:
    import z3

    wall = WALL_MS if resources >= _SMALL else _SMALL_WALL_MS
    z3_context = z3.Context()
    solver = z3.Solver(ctx=z3_context)
    for name, value in (
        ("rlimit", resources),
        ("random_seed", 0),
        ("timeout", wall),
        ("unsat_core", True),
    ):
        solver.set(name, value)
    solver.from_string(text.partition("(check-sat)")[0])
    start = perf_counter()
    status = str(solver.check())
    outlived = (perf_counter() - start) * 1000 >= wall
    rests_on = int(text.rpartition("; rests on ")[2] or 0)
    if status == "unsat":
        core = rests_on
        for name in solver.unsat_core():
            match = re.match(r"\|?p(\d+)_", str(name))
            core |= int(match[1]) if match else 0
        return Answer("unsat", core)
    if status == "sat":
        return Answer("sat", values=_values(z3, solver.model()), open=open_terms)
    return Answer("unknown", open=open_terms, reason=_reason(str(solver.reason_unknown()), outlived))


def _reason(given: str, outlived: bool) -> str:
    if outlived:
        return OUT_OF_TIME
    return OUT_OF_RESOURCES if any(word in given for word in ("resource", "timeout", "canceled")) else given


def _values(z3: object, model: object) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for declared in model.decls():  # type: ignore[attr-defined]
        value = model[declared]  # type: ignore[index]
        if declared.arity() == 0:
            text = str(value)
            if re.fullmatch(r"-?\d+", text):
                found[declared.name()] = int(text)
            elif text in ("True", "False"):
                found[declared.name()] = text == "True"
    return found
