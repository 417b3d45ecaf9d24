"""Suggestions on guards as models ask them, held against brute force: sufficient, weakest, short, and true as ``Dim``."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

import solver
from solver.dims import DerivedDim, Dim
from solver.report import Report, Suggestion, shared_dims

BOX = 40


def report_on(guards: list[str], **ranges: tuple[int, int | None]) -> Report:
    symbols = {
        name: {"kind": "input", "min": low, "max": high, "source": f"x.shape[{i}]"}
        for i, (name, (low, high)) in enumerate(ranges.items())
    }
    conditions = [{"id": f"G{i}", "expr": text} for i, text in enumerate(guards)]
    report = solver.verify({"format": "shapeproof/1", "name": "p", "symbols": symbols, "guards": conditions})
    assert isinstance(report, Report)
    return report


def true_at(text: str, point: dict[str, int]) -> bool:
    names = {"max": max, "min": min, "int": int, "float": float, "abs": abs}
    try:
        return bool(eval(text, {"__builtins__": {}, **names}, dict(point)))
    except ZeroDivisionError:
        return False


def box(ranges: dict[str, tuple[int, int | None]]) -> list[dict[str, int]]:
    spans = [
        range(low, (low + BOX if high is None else min(high, low + BOX)) + 1) for low, high in ranges.values()
    ]
    return [dict(zip(ranges, values, strict=True)) for values in product(*spans)]


def said_by_dims(suggestion: Suggestion, names: list[str], point: dict[str, int]) -> bool:
    """Whether ``Dim`` objects made from the suggested source admit a point."""
    declared, places = shared_dims(suggestion.dims)
    scope: dict[str, Any] = {"Dim": Dim}
    for name, source in declared.items():
        scope[name] = eval(source, scope)
    roots: dict[str, int] = {}
    for i, name in enumerate(names):
        if f"x.shape[{i}]" not in places:
            continue
        dim = eval(places[f"x.shape[{i}]"], scope)
        if isinstance(dim, int):
            if point[name] != dim:
                return False
            continue
        derived = dim if isinstance(dim, DerivedDim) else DerivedDim(dim, 1, 0)
        value, rest = divmod(point[name] - derived.offset, derived.scale)
        root = derived.root
        inside = value >= (root.min or 0) and (root.max is None or value <= root.max)
        if rest or not inside or roots.setdefault(root.__name__, value) != value:
            return False
    return True


SINGLE: list[tuple[str, dict[str, tuple[int, int | None]]]] = [
    ("a/4 > 1.0", {"a": (2, None)}),
    ("int(0.7*a) != 1", {"a": (2, None)}),
    ("int(a**0.5) == 4", {"a": (2, 64)}),
    ("a in {3, 6, 13}", {"a": (2, 100)}),
    ("a % b == 0", {"a": (2, None), "b": (2, None)}),
    ("a >= 0 and a <= b", {"a": (0, None), "b": (2, None)}),
    ("max(a, b) >= 2 and max(a, b) <= a + 2", {"a": (2, None), "b": (2, None)}),
    ("((a - 1)//2 + 1) % 4 == 0", {"a": (1, None)}),
    ("a*b % 4 == 0", {"a": (2, None), "b": (2, None)}),
    ("a == b + 1", {"a": (2, None), "b": (2, None)}),
    ("4*(a//4) == a and a//4 >= 2", {"a": (1, 64)}),
]


@pytest.mark.parametrize(("guard", "ranges"), SINGLE, ids=[guard for guard, _ in SINGLE])
def test_the_first_suggestion_is_the_weakest_and_its_dims_say_the_same(
    guard: str, ranges: dict[str, tuple[int, int | None]]
) -> None:
    suggestions = report_on([guard], **ranges).guards[0].suggestions
    assert suggestions and suggestions[0].weakest
    for point in box(ranges):
        assert true_at(suggestions[0].condition, point) == true_at(guard, point)
    for suggestion in suggestions:
        for point in box(ranges):
            says = true_at(suggestion.condition, point)
            assert not says or true_at(guard, point)
            if suggestion.dims:
                assert said_by_dims(suggestion, list(ranges), point) == says, (suggestion.dims, point)


@pytest.mark.parametrize(
    ("guard", "ranges", "condition"),
    [
        ("a/4 > 1.0", {"a": (2, None)}, "a >= 5"),
        ("int(0.7*a) != 1", {"a": (2, None)}, "a >= 3"),
        ("a in {3, 6, 13}", {"a": (2, 100)}, "a in {3, 6, 13}"),
        ("a % b == 0", {"a": (2, None), "b": (2, None)}, "a % b == 0"),
        ("a >= 0 and a <= b", {"a": (0, None), "b": (2, None)}, "b >= a"),
    ],
)
def test_suggestions_are_short(guard: str, ranges: dict[str, tuple[int, int | None]], condition: str) -> None:
    assert report_on([guard], **ranges).guards[0].suggestions[0].condition == condition


JOINT: list[tuple[list[str], dict[str, tuple[int, int | None]]]] = [
    # x.chunk(3), as PyTorch records it: right for 6 and from 8 on
    (
        [
            "((-1 + a + (2 + a)//3)//((2 + a)//3)) == 3",
            "a - 2*((2 + a)//3) >= 0",
            "(2 + a)//3 != 1",
            "a - 2*((2 + a)//3) != 1",
        ],
        {"a": (2, None)},
    ),
    # x.view(4, -1): 4 divides the product, and what stands for "not 1" and "not the same" in strides
    (
        ["(a*b) % 4 == 0", "a != 4", "a % 4 != 0", "a*b != 4", "(a*b)//4 != 1"],
        {"a": (2, None), "b": (2, None)},
    ),
    (["n != 1", "5*n >= 2", "n >= 0 and n <= a"], {"a": (2, None), "n": (0, None)}),
]


@pytest.mark.parametrize(("guards", "ranges"), JOINT, ids=["chunk", "view", "slice"])
def test_one_change_mends_all_and_is_no_narrower_than_they_are(
    guards: list[str], ranges: dict[str, tuple[int, int | None]]
) -> None:
    fix = report_on(guards, **ranges).fix
    assert fix is not None and fix.weakest and len(fix.condition) < 60
    for point in box(ranges):
        assert true_at(fix.condition, point) == all(true_at(guard, point) for guard in guards)


def test_roots_are_irredundant() -> None:
    """Each root fails somewhere where all other roots hold."""
    guards, ranges = JOINT[1]
    report = report_on(guards, **ranges)
    roots = [guard.expr for guard in report.roots]
    for root in roots:
        others = [other for other in roots if other != root]
        assert any(not true_at(root, p) and all(true_at(o, p) for o in others) for p in box(ranges))
    for guard in report.guards:
        assert guard in report.roots or guard.follows_from


def test_a_hidden_root_is_mended_where_the_user_sees_it() -> None:
    symbols = {
        "x": {"kind": "input", "min": 0, "source": "x.shape[0]"},
        "d": {"kind": "phantom", "min": 1, "max": 20},
    }
    spec = [{"id": "S", "expr": "x == 2*d + 1"}]
    data = {"format": "shapeproof/1", "name": "p", "symbols": symbols, "spec": spec}
    report = solver.verify({**data, "guards": [{"id": "G", "expr": "d >= 2"}]})
    assert isinstance(report, Report)
    assert report.guards[0].suggestions[0].dims == {"x.shape[0]": '2*Dim("d", min=2, max=20) + 1'}


def test_what_keeps_values_in_64_bits_is_short() -> None:
    data: dict[str, Any] = {
        "format": "shapeproof/1",
        "name": "p",
        "symbols": {
            name: {"kind": "input", "min": 1, "source": f"x.shape[{i}]"} for i, name in enumerate("abc")
        },
        "guards": [{"id": "G", "expr": "(a*b*c) % 1 == 0 and (3*a*b + 5*c) >= 1 and (a*b)//7 >= 0"}],
    }
    report = solver.verify(data, overflow=64)
    assert isinstance(report, Report)
    overflow = next(guard for guard in report.guards if guard.id == "overflow:a,b,c")
    condition = overflow.suggestions[0].condition
    assert overflow.suggestions[0].weakest and len(condition) < 80, condition
    for a, b, c in (
        (1, 1, 2**60),
        (1, 1, 2**61),
        (2**61, 1, 1),
        (2**62, 1, 1),
        (2**31, 2**30, 1),
        (2**40, 2**40, 1),
    ):
        fits = 3 * a * b + 5 * c <= 2**63 - 1
        assert true_at(condition, {"a": a, "b": b, "c": c}) == fits
