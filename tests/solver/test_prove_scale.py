"""Large problems: time grows about linearly with the guards, and nothing is decided from an earlier problem."""

from __future__ import annotations

from time import process_time

from solver.prove import prove
from tests.solver.prove_scale import large

SECONDS = 20


def seconds(guards: int, symbols: int) -> float:
    problem = large(guards, symbols)
    assert len(problem.guards) == guards and len(problem.symbols) == symbols
    start = process_time()
    report = prove(problem)
    assert report.counts()["unknown"] == 0
    return process_time() - start


def test_five_thousand_guards_over_two_hundred_symbols() -> None:
    quarter = seconds(1250, 50)
    whole = seconds(5000, 200)
    assert whole < SECONDS
    assert whole < 8 * quarter + 1  # four times as many guards
