"""Each method of proof on a goal that needs it, and what holds of all of them."""

from __future__ import annotations

import json
import zipfile
from itertools import product
from pathlib import Path

import pytest

import solver
from solver.errors import InputError
from solver.problem import Problem
from solver.prove import prove
from solver.prove.poly import Algebra, Poly, const, divide_exactly
from solver.prove.signs import Signs
from solver.readers import load
from solver.report import Report


def line(text: str) -> Report:
    return prove(Problem.from_line(text))


@pytest.mark.parametrize(
    ("text", "verdict", "method"),
    [
        ("b:1..64, h=32*k |- (h//4) % 8 == 0", "proved", "normal form"),
        ("a:0.. |- a*a != 2", "proved", "z3"),
        ("a:0.., b:0.. |- a*a + b*b >= 2*a*b", "proved", "z3"),
        ("a:0.. |- (a//2)*2 + a % 2 == a", "proved", "normal form"),
        ("a:0..9, b:0..9 |- a**b != 7", "refuted", "sampling"),
        ("h:0.. |- h != 987654321", "refuted", "sampling"),
        ("a:1.., b:1.. |- a*a + 3*b != 1000003", "refuted", "z3"),
    ],
)
def test_methods(text: str, verdict: str, method: str) -> None:
    (guard,) = line(text).guards
    assert guard.verdict == verdict
    assert guard.method == method


def test_disjunctions_of_the_specification_are_cases() -> None:
    report = line("s:0.., s in {4, 8} |- s % 4 == 0, s >= 4, s != 6")
    assert report.status == "proved"
    assert all(guard.used == ["S1"] for guard in report.guards[:1])


def test_a_contradiction_that_only_z3_sees_is_reported() -> None:
    report = line("a:0.., a*a == 2 |- a >= 0")
    assert report.status == "spec_unsatisfiable"
    assert "S1" in report.conflict


def test_short_circuits_protect_divisions() -> None:
    assert line("a:0.., b:0.. |- b == 0 or (a*b) // b == a").status == "proved"
    assert line("a:0.., b:0.. |- (a*b) // b == a or b == 0").guards[0].reason == "it divides by zero"
    assert line("a:0.., b:0.. |- ((a//b if b != 0 else 0) >= 0)").status == "proved"


def test_a_specification_that_divides_by_zero_is_not_met() -> None:
    assert line("a:0.., b:0.., a // b >= 0 |- b != 0").status == "proved"


def test_verdicts_repeat() -> None:
    text = "a:1.., b:1.. |- a*b != 1000003, a*a != 2*b*b + 1, (a*b) % 8 == 0"
    first, second = line(text), line(text)
    assert [(g.verdict, g.counterexample) for g in first.guards] == [
        (g.verdict, g.counterexample) for g in second.guards
    ]


def test_groups_of_symbols_do_not_influence_each_other() -> None:
    report = line("a:2.., b:3.., c:0.., c == 2*b |- a >= 2, c >= 6")
    assert [guard.used for guard in report.guards] == [["a >= 2"], ["b >= 3", "S1"]]


def test_roots_are_irredundant_and_the_rest_follows() -> None:
    report = line("h:4.. |- h % 4 == 0, h % 8 == 0, h % 2 == 0, h >= 16, h != 5")
    assert {guard.id for guard in report.roots} == {"G2", "G4"}
    follows = {guard.id: guard.follows_from for guard in report.guards if guard.follows_from}
    assert follows == {"G1": ["G2"], "G3": ["G2"], "G5": ["G2"]} or set(follows) == {"G1", "G3", "G5"}
    assert report.fix is not None and report.fix.dims == {"h": '8*Dim("k_h", min=2)'}


def test_the_obligations_of_an_archive_of_ours_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.dlp"
    problem = Problem.from_line("b:2.. |- b >= 2")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("shapeproof.json", json.dumps(problem.to_dict()))
    report = solver.verify(path)
    assert isinstance(report, Report) and report.status == "proved"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("graph.json", "{}")
    with pytest.raises(InputError, match="shapeproof"):
        load(path)


def polynomial(algebra: Algebra, text: str) -> Poly:
    """A sum of products of the letters ``a b c`` with signs, such as ``2ab - c + 3``."""
    total = Poly({})
    for part in text.replace("- ", "+ -").split("+"):
        term = const(-1 if part.strip().startswith("-") else 1)
        digits = "".join(ch for ch in part if ch.isdigit())
        term = term.scale(int(digits or "1"))
        for letter in part:
            if letter.isalpha():
                term = term * algebra.symbol(letter)
        total = total + term
    return total


def test_exact_division_of_polynomials() -> None:
    algebra = Algebra()
    whole, part = polynomial(algebra, "2ab + 2bc - 2b"), polynomial(algebra, "a + c - 1")
    assert divide_exactly(whole, part) == polynomial(algebra, "2b")
    assert divide_exactly(whole + const(1), part) is None


@pytest.mark.parametrize(
    ("text", "modulus"), [("aa + a", 8), ("aaa - a", 6), ("3a + 2b + 1", 5), ("ab + c", 4)]
)
def test_residues_are_those_of_brute_force(text: str, modulus: int) -> None:
    algebra = Algebra()
    poly = polynomial(algebra, text)
    atoms = sorted(poly.atoms())
    brute = {
        algebra.value(poly, dict(zip(atoms, values, strict=True))) % modulus
        for values in product(range(-modulus, 2 * modulus), repeat=len(atoms))
    }
    assert Signs(algebra).residues(poly, modulus) == brute
