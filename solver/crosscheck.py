"""A second opinion: the obligations as SMT-LIB 2, decided by cvc5 on its own."""

from __future__ import annotations

from typing import Any, Final

from solver.problem import Condition, Problem
from solver.prove.engine import has_float
from solver.prove.world import World
from solver.readers.errors import NO_CHECKER
from solver.report import Report
from solver.smt2 import obligation

TIMEOUT_MS: Final = 3_000
CHECKERS: Final = ("cvc5",)

_MEANS: Final = {"unsat": "proved", "sat": "refuted"}


def cross_check_report(problem: Problem, report: Report, name: str) -> None:
    """Fills ``report.cross_check``: for each guard what the other solver says, ``open`` where it gave up."""
    if name not in CHECKERS:
        raise NO_CHECKER(name=name, what=f"known: {', '.join(CHECKERS)}")
    try:
        import cvc5
    except ImportError:
        raise NO_CHECKER(name=name, what="it is not installed") from None
    world = World(problem)
    found: dict[str, str] = {}
    if report.status == "spec_unsatisfiable":
        report.cross_check = found
        return
    for guard in problem.guards:
        found[guard.id] = "open" if has_float(guard.expr) else _decide(cvc5, world, guard)
    report.cross_check = found


def disagreements(report: Report) -> list[str]:
    """Guards on which the two solvers differ."""
    if report.cross_check is None:
        return []
    return [
        guard.id
        for guard in report.guards
        if report.cross_check.get(guard.id, "open") != "open"
        and guard.verdict != "unknown"
        and report.cross_check[guard.id] != guard.verdict
    ]


def _decide(cvc5: Any, world: World, guard: Condition) -> str:
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(TIMEOUT_MS))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, obligation(world, guard, "unknown"), guard.id)
    symbols = parser.getSymbolManager()
    answer = ""
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return _MEANS.get(answer.strip(), "open")
        output = command.invoke(solver, symbols)
        if command.getCommandName() == "check-sat":
            answer = str(output)
