"""The problem format: reading, writing, refusing."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from solver.errors import InputError
from solver.parse import parse_bool
from solver.problem import Condition, Problem, SymbolDecl

RESNET: dict[str, Any] = {
    "format": "shapeproof/1",
    "name": "resnet",
    "symbols": {
        "b": {"kind": "input", "min": 1, "max": 64},
        "h": {"kind": "input", "min": 0, "max": None, "source": "x.shape[2]", "hint": 320},
        "k": {"kind": "phantom", "min": 1, "max": None},
        "u0": {"kind": "unbacked", "min": 0, "max": None},
    },
    "spec": [{"id": "S1", "expr": "h == 32*k"}],
    "facts": [{"id": "F1", "expr": "u0 <= b"}],
    "guards": [
        {
            "id": "G1",
            "expr": "(h//4) % 8 == 0",
            "at": "model.py:41",
            "expect": "proved",
            "expect_fix": "h % 32 == 0",
        }
    ],
}


def test_a_problem_is_read_and_written() -> None:
    problem = Problem.from_dict(copy.deepcopy(RESNET))
    assert problem.symbols["h"] == SymbolDecl("input", 0, None, "x.shape[2]", 320)
    assert problem.ranges["b"] == (1, 64)
    guard = problem.guards[0]
    assert (guard.expr, guard.at, guard.expect) == (parse_bool("(h//4) % 8 == 0"), "model.py:41", "proved")
    assert guard.text == "(h//4) % 8 == 0"
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again.to_dict() == problem.to_dict()
    assert all(a.expr is b.expr for a, b in zip(again.guards, problem.guards, strict=True))
    assert again.guards[0].expect_fix is parse_bool("h % 32 == 0")


def broken(*path: str | int, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(RESNET)
    inner: Any = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([], "$"),
        ({}, "$.format"),
        (broken("format", value="shapeproof/2"), "$.format"),
        (broken("format", value=1), "$.format"),
        (broken("guards", 0, "expr", value="(h//4) % q == 0"), "$.guards[0].expr"),
        (broken("guards", 0, "expr", value="h + 1"), "$.guards[0].expr"),
        (broken("guards", 0, "expr", value="exec(h) == 1"), "$.guards[0].expr"),
        (broken("guards", 0, "expr", value=7), "$.guards[0].expr"),
        (broken("guards", 0, "id", value="S1"), "$.guards[0].id"),
        (broken("guards", 0, "id", value=""), "$.guards[0]"),
        (broken("guards", 0, "expect", value="yes"), "$.guards[0].expect"),
        (broken("guards", 0, "extra", value=1), "$.guards[0]"),
        (broken("guards", 0, "expect_fix", value="zz > 1"), "$.guards[0].expect_fix"),
        (broken("guards", value={}), "$.guards"),
        (broken("spec", value=[3]), "$.spec[0]"),
        (broken("symbols", value=[]), "$.symbols"),
        (broken("symbols", "b", "kind", value="output"), "$.symbols.b.kind"),
        (broken("symbols", "b", "min", value="1"), "$.symbols.b.min"),
        (broken("symbols", "b", "min", value=True), "$.symbols.b.min"),
        (broken("symbols", "b", "max", value=1.5), "$.symbols.b.max"),
        (broken("symbols", "b", "max", value=1 << 300), "$.symbols.b.max"),
        (broken("symbols", "b c", value={"kind": "input"}), "$.symbols.b c"),
        (broken("symbols", "b", value={}), "$.symbols.b"),
        (broken("guardz", value=[]), "$"),
        (broken("name", value=3), "$.name"),
        (broken("expect", value="maybe"), "$.expect"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(data: Any, place: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.from_dict(data)
    assert caught.value.message.startswith(f"{place}: ")
    assert "\n" not in caught.value.message


def test_the_line_for_people() -> None:
    problem = Problem.from_line("b:1..64, h=32*k |- (h//4) % 8 == 0")
    assert problem.symbols == {
        "b": SymbolDecl("input", 1, 64),
        "h": SymbolDecl("input", 0),
        "k": SymbolDecl("phantom", 0),
    }
    assert [c.expr for c in problem.spec] == [parse_bool("h == 32*k")]
    assert [c.expr for c in problem.guards] == [parse_bool("(h//4) % 8 == 0")]
    again = Problem.from_line(problem.to_line())
    assert [c.expr for c in again.guards] == [c.expr for c in problem.guards]
    open_ended = Problem.from_line("a:2.., b:..5, max(a, b) > 1, a in {2, 3} |- a > 1, b < 9")
    assert open_ended.ranges == {"a": (2, None), "b": (None, 5)}
    assert len(open_ended.spec) == 2 and len(open_ended.guards) == 2


@pytest.mark.parametrize("line", ["a > 1", "a:1..2 |- b +", "if:1..2 |- a > 1", "a |- b > 1", "x = |- y > 1"])
def test_bad_lines(line: str) -> None:
    with pytest.raises(InputError):
        Problem.from_line(line)


def test_a_condition_shows_its_own_text_by_default() -> None:
    assert Condition("G1", parse_bool("a < b")).text == "b > a"
