"""A second opinion: the obligations as SMT-LIB 2, decided by cvc5 on its own.

A question is asked with several settings of its nonlinear reasoning, and once more remainder by remainder
(``h = 6*q + 0``, ``6*q + 1``, ...) where a guard divides a polynomial of one symbol by numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import lcm
from typing import Any, Final

from solver.expr import FALSE, free_symbols
from solver.problem import Condition, Problem
from solver.prove.engine import has_float
from solver.prove.world import World
from solver.readers.errors import NO_CHECKER
from solver.report import Report
from solver.smt2 import obligation
from solver.suggest.observe import constant_divisors

TIMEOUT_MS: Final = 1_000
CHECKERS: Final = ("cvc5",)
SPECIFICATION: Final = "the specification"

_MEANS: Final = {"unsat": "proved", "sat": "refuted"}
_SETTINGS: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {
        "nl-ext-tf-tplanes": "true",
        "nl-ext-rewrite": "true",
        "nl-ext-split-zero": "true",
        "nl-ext-tplanes": "true",
    },
    {"nl-rlv": "always"},
)
_MAX_REMAINDERS: Final = 12


def cross_check_report(problem: Problem, report: Report, name: str) -> None:
    """Fills ``report.cross_check``: for each guard what the other solver says, ``open`` where it gave up.

    Of a specification without solution it says whether that is so: ``spec_unsatisfiable``, or ``satisfiable``.
    """
    if name not in CHECKERS:
        raise NO_CHECKER(name=name, what=f"known: {', '.join(CHECKERS)}")
    try:
        import cvc5
    except ImportError:
        raise NO_CHECKER(name=name, what="it is not installed") from None
    world = World(problem)
    if report.status == "spec_unsatisfiable":
        report.cross_check = {SPECIFICATION: _specification(cvc5, world)}
        return
    report.cross_check = {guard.id: _guard(cvc5, world, guard) for guard in problem.guards}


def _specification(cvc5: Any, world: World) -> str:
    """Groups of symbols do not influence each other: one without solution is enough."""
    answers = []
    for group in world.groups():
        members = [f for f in (*world.problem.spec, *world.problem.facts) if world.cone(f.expr) <= group]
        if any(has_float(member.expr) for member in members):
            answers.append("open")
            continue
        goal = Condition(SPECIFICATION, FALSE)
        answers.append(_decide(cvc5, obligation(world, goal, "unknown", cone=group)))
    if "proved" in answers:
        return "spec_unsatisfiable"
    return "open" if "open" in answers else "satisfiable"


def _guard(cvc5: Any, world: World, guard: Condition) -> str:
    if guard.unsaid is not None or has_float(guard.expr):
        return "open"
    text = obligation(world, guard, "unknown")
    answer = _decide(cvc5, text)
    if answer == "open":
        cases = [_decide(cvc5, case) for case in _by_remainder(text, guard)]
        if cases and "refuted" in cases:
            return "refuted"
        if cases and set(cases) == {"proved"}:
            return "proved"
    return answer


def _by_remainder(text: str, guard: Condition) -> Iterator[str]:
    """The question for each remainder of the one symbol that a guard speaks of: together they are the question."""
    names = free_symbols(guard.expr)
    modulus = lcm(*constant_divisors(guard.expr))
    if len(names) != 1 or not 1 < modulus <= _MAX_REMAINDERS:
        return
    name = min(names)
    declared = f"(declare-const |{name}| Int)"
    for rest in range(modulus):
        split = f"(declare-const |{name}!q| Int)\n(define-fun |{name}| () Int (+ (* {modulus} |{name}!q|) {rest}))"
        yield text.replace(declared, split)


def disagreements(report: Report) -> list[str]:
    """Guards on which the two solvers differ; the specification, where they differ on that."""
    if report.cross_check is None:
        return []
    if report.status == "spec_unsatisfiable":
        return [SPECIFICATION] if report.cross_check.get(SPECIFICATION) == "satisfiable" else []
    return [
        guard.id
        for guard in report.guards
        if report.cross_check.get(guard.id, "open") != "open"
        and guard.verdict != "unknown"
        and report.cross_check[guard.id] != guard.verdict
    ]


def _decide(cvc5: Any, text: str) -> str:
    for settings in _SETTINGS:
        answer = _MEANS.get(_ask(cvc5, text, settings))
        if answer is not None:
            return answer
    return "open"


def _ask(cvc5: Any, text: str, settings: Mapping[str, str]) -> str:
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(TIMEOUT_MS))
    for option, value in settings.items():
        solver.setOption(option, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols = parser.getSymbolManager()
    answer = ""
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return answer.strip()
        output = command.invoke(solver, symbols)
        if command.getCommandName() == "check-sat":
            answer = str(output)
