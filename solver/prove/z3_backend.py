"""z3 for what the fast path leaves: fresh context, resource limit and fixed seed, so that a run repeats.

The limit counts z3's steps, not time, so a slow or busy machine gives the same verdicts. A step costs more in a long
nonlinear question and where numbers are long, and z3 does not count that: such questions get fewer steps, or the
older of z3's arithmetic solvers, whose numbers stay short. ``NET_MS`` is there for what nobody has thought of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import lcm
from time import perf_counter
from typing import Any, Final

from solver.expr import BoolExpr, Value, not_
from solver.prove.context import Context
from solver.prove.normal import TooLarge
from solver.smt2 import Encoder, script

NET_MS: Final = 120_000
_LONG: Final = 8_000  # characters; a longer nonlinear question gets fewer steps
_MAX_DIVISOR_BITS: Final = 192  # of the least common multiple of all divisors
_OLDER_SOLVER: Final = 2
OUT_OF_TIME: Final = f"z3 was stopped after {NET_MS // 1000} s of time: another run or machine may decide it"
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
    return _run(text, encoder.open, _options(context, encoder, len(text), resources))


def _options(context: Context, encoder: Encoder, length: int, resources: int) -> dict[str, int]:
    long_numbers = lcm(*_divisors(context, encoder)).bit_length() > _MAX_DIVISOR_BITS
    if length > _LONG and (encoder.nonlinear or long_numbers):
        resources = resources * _LONG // length
    options = {"rlimit": resources, "random_seed": 0, "timeout": NET_MS}
    return options | {"smt.arith.solver": _OLDER_SOLVER} if long_numbers else options


def _divisors(context: Context, encoder: Encoder) -> Iterator[int]:
    for index in encoder.atoms:
        atom = context.algebra.atoms[index]
        if atom.kind == "floor" and atom.args[1].is_constant():
            yield atom.args[1].constant


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


def _run(text: str, open_terms: list[str], options: Mapping[str, int]) -> Answer:
    import z3

    z3_context = z3.Context()
    solver = z3.Solver(ctx=z3_context)
    solver.set("unsat_core", True)
    for name, value in options.items():
        solver.set(name, value)
    solver.from_string(text.partition("(check-sat)")[0])
    start = perf_counter()
    status = str(solver.check())
    outlived = (perf_counter() - start) * 1000 >= NET_MS
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


def _values(z3: Any, model: Any) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for declared in model.decls():
        value = model[declared]
        if declared.arity() == 0:
            if z3.is_int_value(value):
                found[declared.name()] = value.as_long()
            elif z3.is_true(value) or z3.is_false(value):
                found[declared.name()] = z3.is_true(value)
    return found
