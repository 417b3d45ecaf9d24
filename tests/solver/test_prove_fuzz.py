"""The prover against brute force on random problems."""

from __future__ import annotations

import pytest

from tests.solver.prove_fuzz import advice_mistakes, mistakes


def test_verdicts_agree_with_brute_force() -> None:
    totals = {"proved": 0, "refuted": 0, "unknown": 0, "unsatisfiable": 0}
    for seed in range(250):
        found, counts = mistakes(seed)
        assert not found
        for key, number in counts.items():
            totals[key] += number
    assert totals["proved"] > 50 and totals["refuted"] > 200 and totals["unsatisfiable"] > 50
    assert totals["unknown"] <= 2


def test_advice_agrees_with_brute_force() -> None:
    totals = {"suggestions": 0, "weakest": 0, "follows": 0, "fixes": 0}
    for seed in range(50):
        found, counts = advice_mistakes(seed)
        assert not found
        for key, number in counts.items():
            totals[key] += number
    assert (
        totals["suggestions"] > 50
        and totals["weakest"] > 40
        and totals["follows"] > 5
        and totals["fixes"] > 2
    )


@pytest.mark.long
def test_verdicts_agree_with_brute_force_at_length() -> None:
    for seed in range(1000, 30_000):
        assert not mistakes(seed)[0]


@pytest.mark.long
def test_advice_agrees_with_brute_force_at_length() -> None:
    for seed in range(1000, 5_000):
        assert not advice_mistakes(seed)[0]
