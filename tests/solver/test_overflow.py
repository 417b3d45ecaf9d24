"""64-bit overflow: what evaluating a guard as it is written computes, held against CPython doing the same steps."""

from __future__ import annotations

import ast
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

import solver
from solver.readers import load
from solver.report import Report
from tests.solver.prove_cases import NAMES, Writer

DATA = Path(__file__).parent.parent / "data"
BITS = 8  # small, so that brute force sees overflows
LIMIT = 1 << (BITS - 1)


class Steps:
    """Evaluates a condition as CPython does and keeps every integer on the way."""

    def __init__(self, point: dict[str, int]) -> None:
        self.point = point
        self.values: list[int] = []

    def run(self, node: Any) -> Any:
        value = getattr(self, type(node).__name__)(node)
        if isinstance(value, int) and not isinstance(value, bool):
            self.values.append(value)
        return value

    def Name(self, node: ast.Name) -> int:
        return self.point[node.id]

    def Constant(self, node: ast.Constant) -> Any:
        return node.value

    def BinOp(self, node: ast.BinOp) -> Any:
        return self.plain(ast.BinOp(self.held(node.left), node.op, self.held(node.right)))

    def UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self.plain(ast.UnaryOp(node.op, self.held(node.operand)))

    def Call(self, node: ast.Call) -> Any:
        return self.plain(ast.Call(node.func, [self.held(a) for a in node.args], []))

    def Set(self, node: ast.Set) -> Any:
        return {self.run(e) for e in node.elts}

    def Compare(self, node: ast.Compare) -> bool:
        left = self.run(node.left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            value = self.run(right)
            test = ast.Compare(ast.Name("x", ast.Load()), [op], [ast.Name("y", ast.Load())])
            if not self.plain(test, x=left, y=value):
                return False
            left = value
        return True

    def BoolOp(self, node: ast.BoolOp) -> bool:
        stop = isinstance(node.op, ast.Or)
        return stop if any(bool(self.run(part)) is stop for part in node.values) else not stop

    def IfExp(self, node: ast.IfExp) -> Any:
        return self.run(node.body if self.run(node.test) else node.orelse)

    def held(self, node: ast.expr) -> ast.expr:
        return ast.Constant(self.run(node))

    def plain(self, node: ast.expr, **names: Any) -> Any:
        """CPython's own operation on values."""
        scope = {"__builtins__": {}, "max": max, "min": min, "abs": abs, **names}
        return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "step", "eval"), scope)


def overflows(text: str, point: dict[str, int]) -> bool:
    steps = Steps(point)
    with suppress(ZeroDivisionError):  # what came before still was computed
        steps.run(ast.parse(text, mode="eval").body)
    return any(not -LIMIT <= value < LIMIT for value in steps.values)


def report_on(text: str, top: int) -> Report:
    symbols = {name: {"kind": "input", "min": -1, "max": top} for name in NAMES}
    data = {"format": "shapeproof/1", "symbols": symbols, "guards": [{"id": "G", "expr": text}]}
    report = solver.verify(data, overflow=BITS)
    assert isinstance(report, Report)
    return report


def check(seed: int) -> str:
    """The verdict on the overflow of a random guard; asserts that it agrees with CPython step by step."""
    random = Random(seed)
    writer = Writer(random, floats=False, flags=False, powers=False)
    text, top = writer.condition(2), random.choice((6, 12))
    guards = [g for g in report_on(text, top).guards if g.origin == "overflow"]
    found = next((g for g in guards if g.verdict != "proved"), guards[0] if guards else None)
    if found is None or found.verdict == "proved":
        for values in product(range(-1, top + 1, 1 if top < 9 else 2), repeat=3):
            point = dict(zip(NAMES, values, strict=True))
            assert not overflows_in_variables(text, point), (seed, text, point)
        return "none" if found is None else found.verdict
    if found.verdict == "refuted":
        point = {**dict.fromkeys(NAMES, -1), **{n: int(v) for n, v in (found.counterexample or {}).items()}}
        assert overflows(text, point), (seed, text, point)
    return found.verdict


def overflows_in_variables(text: str, point: dict[str, int]) -> bool:
    """Overflows, those of written constants aside: these are the writer's."""
    return overflows(text, point) and max(map(abs, numbers(text)), default=0) < LIMIT


def numbers(text: str) -> list[int]:
    return [
        n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant) and type(n.value) is int
    ]


def test_overflow_verdicts_agree_with_cpython_step_by_step() -> None:
    verdicts = [check(seed) for seed in range(40)]
    assert verdicts.count("proved") > 20 and verdicts.count("refuted") > 3 and "unknown" not in verdicts


@pytest.mark.long
def test_overflow_verdicts_agree_with_cpython_at_length() -> None:
    for seed in range(1000, 8_000):
        check(seed)


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        (
            "x:1..100000000, y:1..1000000000000 |- x*y - x*y + 1 >= 1",
            "refuted",
        ),  # it cancels, and is computed
        ("x:1..1000, y:1..1000 |- x*y - x*y + 1 >= 1", "proved"),
        ("x:0..100, y:0..9 |- y < 10 or x**11 >= 0", "proved"),  # never evaluated
        ("x:0..9000000, y:0..9 |- y < 9 or x**3 >= 0", "refuted"),
        ("x:0..100, y:0..9 |- (x//y)*5 >= 0", "proved"),  # the zero divisor is G1's own obligation
        ("x:0..10000000 |- (x*x*x if x < 1000 else x) >= 0", "proved"),
    ],
)
def test_overflow_is_of_what_is_written_and_reached(line: str, verdict: str) -> None:
    report = solver.verify(line, overflow=64)
    assert isinstance(report, Report)
    assert ("refuted" in {g.verdict for g in report.guards if g.origin == "overflow"}) == (
        verdict == "refuted"
    )


def test_every_value_counts_however_many() -> None:
    text = " + ".join("x*x" for _ in range(1000))
    for top, verdict in ((2**26, "proved"), (2**27, "refuted")):  # only the last sums leave 64 bits
        report = solver.verify(f"x:0..{top} |- {text} >= 0", overflow=64)
        assert isinstance(report, Report)
        assert report.guards[1].verdict == verdict


def test_values_are_grouped_by_their_symbols_and_the_largest_stands_for_all() -> None:
    guards = ", ".join(f"{n}*a*b >= 0, {n}*a >= 0, a + b + {n} >= 0" for n in range(1, 200))
    report = solver.verify(f"a:1.., b:1.. |- {guards}", overflow=64)
    assert isinstance(report, Report)
    added = [g.id for g in report.guards if g.origin == "overflow"]
    assert added == ["overflow:a", "overflow:b", "overflow:a,b"]
    assert "overflow:a,b" in [g.id for g in report.roots]
    fix = report.fix
    assert fix is not None
    assert true_at(fix.condition, {"a": 1 << 20, "b": 1 << 20})
    assert not true_at(fix.condition, {"a": 1 << 29, "b": 1 << 29})  # 199 * 2**58 needs more than 64 bits


def true_at(condition: str, point: dict[str, int]) -> bool:
    return bool(eval(condition, {"__builtins__": {}, **point}))


def test_one_upper_bound_a_symbol_mends_a_whole_program() -> None:
    report = solver.verify(DATA / "swin.pt2", overflow=64)
    assert isinstance(report, Report)
    assert report.counts()["unknown"] == 0 and len(report.roots) < 20
    fix = report.fix
    assert fix is not None
    archive = load(DATA / "swin.pt2")[0][0]
    fixed = {*fix.condition.split(" and ")}
    assert {"s99 <= 1048576", "s100 <= 1048576", "s4 <= 1048576", "s4 % 32 == 0"} <= fixed
    steps = [ast.parse(guard.text, mode="eval").body for guard in archive.guards]
    for corner in product((2, 1 << 20), (64, 1 << 20), (64, (1 << 20) - 32)):
        at = Steps(dict(zip(("s99", "s100", "s4"), corner, strict=True)))
        for step in steps:
            at.run(step)
        assert max(map(abs, at.values)) < 2**63
