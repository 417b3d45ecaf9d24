"""The proof: ``prove(problem)`` decides every guard of a problem. Nothing else in the project decides guards."""

from __future__ import annotations

from time import perf_counter
from typing import Final

from solver.problem import Condition, Problem
from solver.prove.engine import Engine, Outcome
from solver.prove.shapes import input_shapes, sizes
from solver.prove.used import minimal
from solver.prove.world import World
from solver.report import GuardReport, Report

__all__ = ["prove"]

UNDECIDED: Final = (
    "whether any input meets the specification could not be decided; if none does, every guard holds"
)


def prove(problem: Problem) -> Report:
    """Decides whether the specification of ``problem`` implies each of its guards.

    Verdicts are certain: ``proved`` guards hold for every assignment that meets the specification, ``refuted`` ones
    carry such an assignment at which they fail, ``unknown`` ones say why. What costs more than the verdict (the
    minimal facts used, suggestions, roots) is computed when first asked for.
    """
    start = perf_counter()
    world = World(problem)
    engine = Engine(world)
    conflict = engine.conflict()
    if conflict is not None:
        guards = [_vacuous(guard) for guard in problem.guards]
        report = Report(problem.name, "spec_unsatisfiable", guards, conflict=world.labels(conflict))
    else:
        outcomes = [engine.decide(guard) for guard in problem.guards]
        pairs = list(zip(problem.guards, outcomes, strict=True))
        guards = [_guard(engine, guard, outcome) for guard, outcome in pairs]
        report = Report(problem.name, _status(outcomes), guards)
        if engine.undecided():
            report.notes.append(UNDECIDED)
        if report.status != "proved":
            from solver.suggest import attach

            attach(engine, report, pairs)
    report.seconds = perf_counter() - start
    _expectations(problem, report)
    return report


def _status(outcomes: list[Outcome]) -> str:
    verdicts = {outcome.verdict for outcome in outcomes}
    return "refuted" if "refuted" in verdicts else "unknown" if "unknown" in verdicts else "proved"


def _vacuous(guard: Condition) -> GuardReport:
    reason = "no input meets the specification"
    return _described(guard, GuardReport(guard.id, guard.text, guard.at, "proved", "vacuous", reason=reason))


def _guard(engine: Engine, guard: Condition, outcome: Outcome) -> GuardReport:
    report = GuardReport(
        guard.id, guard.text, guard.at, outcome.verdict, outcome.method, reason=outcome.reason
    )
    if outcome.verdict == "proved":
        report._used = lambda: engine.world.labels(minimal(engine, guard, outcome))
    if outcome.point is not None:
        report.counterexample = dict(outcome.point.assignment)
        report.shapes = sizes(engine, report.counterexample)
        report.inputs = input_shapes(engine, report.counterexample)
    return _described(guard, report)


def _described(guard: Condition, report: GuardReport) -> GuardReport:
    report.origin, report.note, report.expect = guard.origin, guard.note, guard.expect
    return report


def _expectations(problem: Problem, report: Report) -> None:
    report.expect = problem.expect
    if problem.expect is not None:
        report.expect_holds = problem.expect == report.status
    for guard in report.guards:
        if guard.expect is not None:
            guard.expect_holds = guard.expect == guard.verdict and report.status != "spec_unsatisfiable"
