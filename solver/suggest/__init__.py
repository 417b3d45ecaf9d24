"""Changes of the specification that make refuted guards hold: the weakest that can be found, each proved."""

from __future__ import annotations

from functools import cache
from typing import Final

from solver.problem import Condition
from solver.prove.engine import Engine, Outcome
from solver.report import GuardReport, Report, Suggestion

__all__ = ["MAX_ADVISED", "attach"]

MAX_ADVISED: Final = 60


def attach(engine: Engine, report: Report, pairs: list[tuple[Condition, Outcome]]) -> None:
    """Gives a report its suggestions, roots and fix, to be computed when asked for."""
    refuted = [guard for guard, outcome in pairs if outcome.verdict == "refuted"]
    described = {guard.id: guard for guard in report.guards}
    if not refuted:
        return

    @cache
    def structure() -> Structure:
        return Structure(engine, refuted)

    report._roots = lambda: [described[id] for id in structure().roots]
    report._fix = lambda: structure().fix(engine) if len(refuted) > 1 else None
    for guard in refuted:
        _attach(engine, guard, described[guard.id], structure)


class Structure:
    """How the refuted guards of a report depend on each other."""

    def __init__(self, engine: Engine, refuted: list[Condition]) -> None:
        from solver.suggest.roots import clusters

        self.clusters = clusters(engine, refuted)
        order = {guard.id: (len(guard.text), i) for i, guard in enumerate(refuted)}
        self.roots = sorted((id for cluster in self.clusters for id in cluster.roots), key=order.__getitem__)
        self.follows = {id: roots for cluster in self.clusters for id, roots in cluster.follows.items()}

    def fix(self, engine: Engine) -> Suggestion | None:
        from solver.suggest.roots import joint_fix

        return joint_fix(engine, self.clusters)


def _attach(engine: Engine, guard: Condition, report: GuardReport, structure: object) -> None:
    assert callable(structure)

    def suggestions() -> list[Suggestion]:
        from solver.suggest.guard import Advisor

        if guard.id not in structure().roots[:MAX_ADVISED]:
            return []  # what mends the guards that it follows from mends it
        try:
            return Advisor(engine, [guard.expr]).suggestions()
        except RecursionError:  # nested too deeply to be written out
            return []

    report._suggestions = suggestions
    report._follows = lambda: structure().follows.get(guard.id, [])
