"""Changes of the specification that make refuted guards hold: the weakest that can be found, each proved."""

from __future__ import annotations

from solver.problem import Condition
from solver.prove.engine import Engine, Outcome
from solver.report import GuardReport, Report, Suggestion

__all__ = ["attach"]


def attach(engine: Engine, report: Report, pairs: list[tuple[Condition, Outcome]]) -> None:
    """Gives a report its suggestions, roots and fix, to be computed when asked for."""
    for (guard, outcome), described in zip(pairs, report.guards, strict=True):
        if outcome.verdict == "refuted":
            _attach_suggestions(engine, guard, described)


def _attach_suggestions(engine: Engine, guard: Condition, report: GuardReport) -> None:
    def find() -> list[Suggestion]:
        from solver.suggest.guard import Advisor

        return Advisor(engine, [guard.expr]).suggestions()

    report._suggestions = find
