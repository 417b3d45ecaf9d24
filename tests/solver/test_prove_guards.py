"""The 81 problems of ``tests/data/guards.json``: verdicts, counterexamples, facts used, and fixes no narrower than needed."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from solver.problem import Problem
from solver.prove import prove
from solver.report import Report

DATA = Path(__file__).parent.parent / "data"
CASES: list[dict[str, Any]] = json.loads((DATA / "guards.json").read_text())
BY_NAME = {case["name"]: case for case in CASES}
REFUTED = [case["name"] for case in CASES for guard in case["guards"] if guard.get("expect") == "refuted"]
FIXABLE = [case["name"] for case in CASES for guard in case["guards"] if "expect_fix" in guard]
NEEDED = {
    "lin_sum": ["a >= 2", "b >= 2"],
    "lin_transitive_unbacked": ["S1", "S2"],
    "derived_8k": ["S1"],
    "mod32_imp_mod8_of_div4": ["S1"],
    "prod_mod8_from_2x4": ["S1", "S2"],
    "binom": [],
    "cube_mod6": [],
    "floor_comp": [],
    "ab_div_a": ["a >= 1"],
    "heads_view": ["S1"],
    "vit_tokens": ["S1", "S2"],
    "slice_length": ["F1"],
    "cache_slice": ["n <= 10"],
}


def report_on(name: str) -> Report:
    return prove(Problem.from_dict(BY_NAME[name]))


def python(text: str, point: dict[str, Any]) -> bool:
    """What CPython itself says; False where it divides by zero."""
    try:
        return bool(
            eval(text, {"__builtins__": {}, "max": max, "min": min, "abs": abs, "int": int}, dict(point))
        )
    except ZeroDivisionError:
        return False


def within(case: dict[str, Any], point: dict[str, Any]) -> bool:
    for name, symbol in case["symbols"].items():
        low, high = symbol["min"], symbol["max"]
        if (low is not None and point[name] < low) or (high is not None and point[name] > high):
            return False
    return all(python(fact["expr"], point) for fact in (*case.get("spec", []), *case.get("facts", [])))


def window(case: dict[str, Any]) -> list[dict[str, int]]:
    """Assignments that meet the specification: near the lower ends of ranges, and the constants of the file."""
    spans = []
    width = {1: 1400, 2: 40, 3: 12}.get(len(case["symbols"]), 5)
    for symbol in case["symbols"].values():
        low = symbol["min"] if symbol["min"] is not None else -8
        far = [2**31 - 2, 2**31 - 1, 2**31, 2**40] if len(case["symbols"]) == 1 else []
        spans.append([*range(low, low + width), *far])
    names = list(case["symbols"])
    points = [dict(zip(names, values, strict=True)) for values in product(*spans)]
    return [point for point in points if within(case, point)]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_verdicts_are_as_expected_and_none_is_unknown(case: dict[str, Any]) -> None:
    report = prove(Problem.from_dict(case))
    assert report.counts()["unknown"] == 0
    assert report.status == case.get("expect", report.status)
    for guard, given in zip(report.guards, case["guards"], strict=True):
        assert guard.verdict == given.get("expect", guard.verdict)
        assert guard.method in ("normal form", "sampling", "enumeration", "residues", "z3", "vacuous")


@pytest.mark.parametrize("name", REFUTED)
def test_counterexamples_refute_in_cpython(name: str) -> None:
    case = BY_NAME[name]
    for guard in report_on(name).guards:
        if guard.verdict == "refuted":
            assert guard.counterexample is not None
            assert within(case, guard.counterexample)
            assert not python(guard.expr, guard.counterexample)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_used_facts_are_those_that_matter(name: str) -> None:
    assert sorted(report_on(name).guards[0].used) == NEEDED[name]


@pytest.mark.parametrize("name", REFUTED)
def test_suggestions_suffice_and_reach_the_weakest(name: str) -> None:
    case = BY_NAME[name]
    points = window(case)
    assert points
    for guard, given in zip(report_on(name).guards, case["guards"], strict=True):
        for suggestion in guard.suggestions:
            for point in points:
                if python(suggestion.condition, point):
                    assert python(guard.expr, point), (suggestion.condition, point)
                elif suggestion.weakest:
                    assert not python(guard.expr, point), (suggestion.condition, point)
        if "expect_fix" in given:
            assert any(
                all(
                    python(suggestion.condition, point)
                    for point in points
                    if python(given["expect_fix"], point)
                )
                for suggestion in guard.suggestions
            )


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("tiles_of_100", '100*Dim("k_b", min=1)'),
        ("swin_4stage_refute", '224*Dim("k_h", min=1)'),
        ("negated_mod", '4*Dim("k_s") + 3'),
        ("half_is_four", 'Dim("L", min=8, max=9)'),
        ("cache_128", 'Dim("s", max=128)'),
        ("batch_at_max", "128"),
        ("linear_bound", 'Dim("b", min=7)'),
    ],
)
def test_fixes_are_said_as_dim_source(name: str, source: str) -> None:
    assert list(report_on(name).guards[0].suggestions[0].dims.values()) == [source]


def test_what_dim_cannot_say_is_an_assumption() -> None:
    suggestion = report_on("pad_to_32").guards[0].suggestions[0]
    assert not suggestion.dims
    assert suggestion.assumption == "h % 32 != 0"


def test_equality_is_one_dim() -> None:
    assert set(report_on("equal_lengths").guards[0].suggestions[0].dims.values()) == {'Dim("y")'}
    assert report_on("one_longer").guards[0].suggestions[0].kind == "equality"


def test_an_unsatisfiable_specification_names_the_contradiction() -> None:
    report = report_on("spec_unsat")
    assert report.status == "spec_unsatisfiable"
    assert report.conflict == ["S1", "S2"]


def test_a_zero_divisor_refutes() -> None:
    guard = report_on("division_by_zero").guards[0]
    assert guard.reason == "it divides by zero"
    assert guard.counterexample is not None and guard.counterexample["b"] == 0


def test_fast_verdicts_load_neither_z3_nor_sympy() -> None:
    code = (
        "import json, sys; from solver.problem import Problem; from solver.prove import prove\n"
        "for case in json.load(open(sys.argv[1])): prove(Problem.from_dict(case))\n"
        "assert not {'z3', 'sympy', 'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(DATA / "guards.json")], check=True, timeout=60)
