"""CPython's own tests, interpreted, fail only where the table says so; and the table holds nothing that passes."""

from __future__ import annotations

import pytest

from tests.cpython.known import REASONS, TESTS, UNSTEADY, known_failures
from tests.cpython.run import MODULES, Outcome, exists, run_apart

_QUICK_SECONDS = 0.1


def _failures(native: Outcome, interpreted: Outcome, quick: bool) -> tuple[dict[str, str], set[str]]:
    """What passes natively and fails interpreted; and all that was compared."""
    compared = {
        test
        for test, what in native.results.items()
        if what == "ok" and not (quick and native.seconds.get(test.split("[")[0], 0.0) > _QUICK_SECONDS)
    }
    results = interpreted.results
    return {
        test: results.get(test, "did not run") for test in compared if results.get(test) != "ok"
    }, compared


def _check(module: str, quick: bool) -> None:
    native = run_apart(module, False)
    assert not native.crashed, native.crashed
    slow = [test for test, seconds in native.seconds.items() if quick and seconds > _QUICK_SECONDS]
    interpreted = run_apart(module, True, skip=tuple(slow))
    failed, compared = _failures(native, interpreted, quick)
    known = known_failures(module)
    steady = {test for test, reason in known.items() if reason not in UNSTEADY}
    unexpected = {test: what for test, what in failed.items() if test not in known}
    assert unexpected == {}, f"{len(compared) - len(failed)} of {len(compared)} pass"
    repaired = (steady & compared) - set(failed)
    assert repaired == set(), "these pass now: take them out of the table"


_HERE = [each for each in MODULES if exists(each)]


@pytest.mark.parametrize("module", _HERE)
def test_module(module: str) -> None:
    """What takes under a tenth of a second natively."""
    _check(module, quick=True)


@pytest.mark.long
@pytest.mark.parametrize("module", _HERE)
def test_whole_module(module: str) -> None:
    _check(module, quick=False)


def test_every_reason_is_given_and_used() -> None:
    used = {reason for module in MODULES for reason in known_failures(module).values()}
    assert used <= set(REASONS)
    assert {test["reason"] for test in TESTS.values()} == set(REASONS)
    assert all(text.endswith(".") for text in REASONS.values())
