"""The prover against brute force on random problems.

``pytest -m long tests/solver/test_prove_fuzz.py`` is the long run: about 120 million evaluations by CPython.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.solver.prove_fuzz import advice_mistakes, mistakes


def test_verdicts_agree_with_brute_force() -> None:
    totals: Counter[str] = Counter()
    for seed in range(250):
        found, counts = mistakes(seed)
        assert not found
        totals += counts
    assert totals["proved"] > 50 and totals["refuted"] > 200 and totals["unsatisfiable"] > 50
    assert totals["unknown"] <= 12 and totals["evaluations"] > 100_000


def test_advice_agrees_with_brute_force() -> None:
    totals: Counter[str] = Counter()
    for seed in range(50):
        found, counts = advice_mistakes(seed)
        assert not found
        totals += counts
    assert totals["suggestions"] > 50 and totals["weakest"] > 40
    assert totals["follows"] > 5 and totals["fixes"] > 2


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 31_000, 3000))
def test_verdicts_agree_with_brute_force_at_length(first: int) -> None:
    totals: Counter[str] = Counter()
    for seed in range(first, first + 3000):
        found, counts = mistakes(seed)
        assert not found
        totals += counts
    assert totals["evaluations"] > 9_000_000


@pytest.mark.long
def test_advice_agrees_with_brute_force_at_length() -> None:
    for seed in range(1000, 5_000):
        assert not advice_mistakes(seed)[0]
