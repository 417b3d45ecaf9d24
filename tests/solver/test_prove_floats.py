"""Verdicts on conditions with floats, held against CPython's own doubles; never decided in rationals."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest

from solver.problem import Problem
from solver.prove import prove

FAR = [2**k + d for k in (20, 31, 52, 53, 54, 60, 70) for d in (-1, 0, 1)]


def number(random: Random, depth: int) -> str:
    """A random float expression over ``x`` and ``y``."""
    if depth == 0:
        return random.choice(
            ("x", "y", "float(x)", random.choice(("0.5", "0.7", "2.0", "1.5", "0.1", "-0.25", "3.0")))
        )
    left, right = number(random, depth - 1), number(random, depth - 1)
    kind = random.randrange(6)
    if kind < 4:
        return f"({left} {'+-*/'[kind]} {right})"
    return f"{random.choice(('max', 'min'))}({left}, {right})" if kind == 4 else f"(-{left})"


def condition(random: Random) -> str:
    """A random comparison with a rounded or a bare float."""
    value = number(random, random.choice((1, 2)))
    how = random.choice(("int", "math.floor", "math.ceil", "round", ""))
    left = f"{how}({value} + 0.0)" if how else value
    return f"{left} {random.choice(('<', '<=', '>', '>=', '==', '!='))} {random.choice(('x', 'y', '3', 'x + y', '0.7', '2*x'))}"


def true(code: Any, x: int, y: int) -> bool:
    scope = {
        "__builtins__": {},
        "math": math,
        "max": max,
        "min": min,
        "int": int,
        "float": float,
        "round": round,
    }
    try:
        return bool(eval(code, scope | {"x": x, "y": y}))
    except (ZeroDivisionError, OverflowError, ValueError):
        return False


def check(seed: int) -> tuple[str | None, str]:
    """What is wrong with the verdict on the problem of a seed, if anything, and the verdict."""
    random = Random(seed)
    low = {name: random.choice((0, 1, 2, -3)) for name in "xy"}
    high = {name: random.choice((None, low[name] + 9, low[name] + 2000)) for name in "xy"}
    text = condition(random)
    symbols = {n: {"kind": "input", "min": low[n], "max": high[n]} for n in "xy"}
    data = {"format": "shapeproof/1", "symbols": symbols, "guards": [{"id": "G", "expr": text}]}
    (guard,) = prove(Problem.from_dict(data)).guards
    code = compile(text, "guard", "eval")
    if guard.verdict == "refuted":
        assert guard.counterexample is not None
        point = {**low, **guard.counterexample}
        wrong = true(code, int(point["x"]), int(point["y"]))
        return (f"{text} refuted at {point}, where it holds" if wrong else None), guard.verdict
    if guard.verdict == "proved":
        spans = {n: [*range(low[n], low[n] + 25), *FAR] for n in "xy"}
        spans = {n: [v for v in spans[n] if high[n] is None or v <= (high[n] or 0)] for n in "xy"}
        for x in spans["x"]:
            for y in spans["y"]:
                if not true(code, x, y):
                    return f"{text} proved by {guard.method}, yet false at {x=}, {y=}", guard.verdict
    elif guard.reason != "float":
        return f"{text} unknown for the reason {guard.reason!r}", guard.verdict
    return None, guard.verdict


def test_float_verdicts_agree_with_cpython() -> None:
    verdicts = []
    for seed in range(250):
        wrong, verdict = check(seed)
        assert wrong is None
        verdicts.append(verdict)
    assert verdicts.count("proved") > 20 and verdicts.count("refuted") > 80


@pytest.mark.long
def test_float_verdicts_agree_with_cpython_at_length() -> None:
    for seed in range(1000, 20_000):
        assert check(seed)[0] is None


@pytest.mark.parametrize(
    ("guard", "maximum", "verdict", "method"),
    [
        ("int(0.5*h) == h//2", 2**40, "proved", "normal form"),
        ("int(0.7*h) <= h", 1000, "proved", "enumeration"),
        ("int(0.7*90) == 63", None, "refuted", "sampling"),
        ("int(0.5*h) == h//2", None, "refuted", "sampling"),
        ("int(0.7*h) <= h", None, "unknown", "z3"),
    ],
)
def test_the_policy_on_floats(guard: str, maximum: int | None, verdict: str, method: str) -> None:
    symbols = {"h": {"kind": "input", "min": 1, "max": maximum}}
    data = {"format": "shapeproof/1", "symbols": symbols, "guards": [{"id": "G", "expr": guard}]}
    (found,) = prove(Problem.from_dict(data)).guards
    assert (found.verdict, found.method) == (verdict, method)
