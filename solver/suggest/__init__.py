"""Changes of the specification that make refuted guards hold: the weakest that can be found, each proved."""

from __future__ import annotations

from solver.problem import Condition
from solver.prove.engine import Engine, Outcome
from solver.report import Report

__all__ = ["attach"]


def attach(engine: Engine, report: Report, pairs: list[tuple[Condition, Outcome]]) -> None:
    """Gives a report its suggestions, roots and fix, to be computed when asked for."""
