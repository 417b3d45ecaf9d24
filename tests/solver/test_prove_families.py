"""Problems of every kind and any size end soon: with the verdict that mathematics gives, or an honest unknown."""

from __future__ import annotations

from time import process_time

import pytest

from solver.problem import Problem
from solver.prove import prove
from solver.prove.z3_backend import OUT_OF_TIME
from tests.solver.prove_families import FAMILIES

SECONDS = 6  # of processor time, several times what the slowest takes
LINES = [(name, n) for name, (_, sizes, _) in FAMILIES.items() for n in sizes]


@pytest.mark.parametrize(("name", "n"), LINES)
def test_families_end_soon_with_the_right_verdict(name: str, n: int) -> None:
    verdict, _, make = FAMILIES[name]
    start = process_time()
    report = prove(Problem.from_line(make(n)))
    assert process_time() - start < SECONDS
    assert all(guard.reason != OUT_OF_TIME for guard in report.guards)
    if verdict != "open":
        assert report.status == verdict, [(g.id, g.verdict, g.method, g.reason) for g in report.guards]


def test_verdicts_repeat_where_z3_gives_up() -> None:
    for name in ("factors", "fermat", "irrational"):
        _, sizes, make = FAMILIES[name]
        line = make(sizes[0])
        first, second = (prove(Problem.from_line(line)).guards[0] for _ in range(2))
        assert (first.verdict, first.reason) == (second.verdict, second.reason)
        assert first.reason != OUT_OF_TIME
