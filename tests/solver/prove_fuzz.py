"""Random problems whose truth is found by brute force, to hold the prover's verdicts against."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from solver.problem import Problem
from solver.prove import prove

NAMES = ("a", "b", "c")
WINDOW = 14


@dataclass(frozen=True)
class Case:
    """A random problem and the window in which it is checked."""

    data: dict[str, Any]
    low: dict[str, int]
    bounded: bool


def number(random: Random, depth: int) -> str:
    """A random integer expression."""
    if depth == 0 or random.random() < 0.25:
        return random.choice(NAMES) if random.random() < 0.7 else str(random.randint(-9, 12))
    x, y = number(random, depth - 1), number(random, depth - 1)
    kind = random.randrange(12)
    if kind < 4:
        return f"({x} {random.choice('+-*')} {y})"
    if kind < 7:
        return f"({x} {random.choice(('//', '%'))} {random.choice((2, 3, 4, 6, 8, -3))})"
    if kind == 7:
        return f"({x} {random.choice(('//', '%'))} {y})"
    if kind == 8:
        return f"{random.choice(('max', 'min'))}({x}, {y})"
    if kind == 9:
        return f"abs({x})"
    if kind == 10:
        return f"({x} if {condition(random, 0)} else {y})"
    return f"(-{x})"


def condition(random: Random, depth: int) -> str:
    """A random condition."""
    if depth and random.random() < 0.4:
        x, y = condition(random, depth - 1), condition(random, depth - 1)
        return random.choice((f"({x} and {y})", f"({x} or {y})", f"(not {x})", f"({x} if {y} else {x})"))
    x, y = number(random, 2), number(random, 2 if random.random() < 0.4 else 0)
    if random.random() < 0.25:
        return f"({x} % {random.choice((2, 3, 4, 8))} == {random.randint(0, 3)})"
    if random.random() < 0.08:
        return f"({x} in {{1, 2, 5}})"
    return f"({x} {random.choice(('==', '!=', '<', '<=', '>', '>='))} {y})"


def make_case(seed: int) -> Case:
    """The problem of a seed; three quarters of the symbols have no upper bound."""
    random = Random(seed)
    symbols: dict[str, Any] = {}
    low: dict[str, int] = {}
    bounded = random.random() < 0.3
    for name in NAMES:
        low[name] = random.choice((-3, 0, 0, 1, 1, 2, 4))
        high = low[name] + random.randint(0, WINDOW - 1) if bounded else None
        symbols[name] = {"kind": "input", "min": low[name], "max": high}
    spec = [{"id": f"S{i}", "expr": condition(random, 1)} for i in range(random.choice((0, 0, 1, 2)))]
    if random.random() < 0.3:
        other = random.choice((f"{random.randint(2, 8)}*b", "b + 1", "b", "b*c"))
        spec.append({"id": "E", "expr": f"a == {other}"})
    guards = [{"id": f"G{i}", "expr": condition(random, 1)} for i in range(3)]
    data = {
        "format": "shapeproof/1",
        "name": f"seed {seed}",
        "symbols": symbols,
        "spec": spec,
        "guards": guards,
    }
    return Case(data, low, bounded)


def value(code: Any, point: dict[str, int]) -> bool | None:
    """What CPython says of a condition; None where it raises."""
    try:
        return bool(eval(code, {"__builtins__": {}, "max": max, "min": min, "abs": abs}, dict(point)))
    except ZeroDivisionError:
        return None


def mistakes(seed: int) -> tuple[list[str], dict[str, int]]:
    """Contradictions between the prover and brute force, and how many guards got which verdict."""
    case = make_case(seed)
    codes = {c["id"]: compile(c["expr"], c["id"], "eval") for c in (*case.data["spec"], *case.data["guards"])}
    spec = [codes[c["id"]] for c in case.data["spec"]]
    points = _window(case, spec)
    report = prove(Problem.from_dict(case.data))
    counts = {"proved": 0, "refuted": 0, "unknown": 0, "unsatisfiable": 0}
    if report.status == "spec_unsatisfiable":
        counts["unsatisfiable"] = 3
        return ([f"seed {seed}: unsatisfiable, yet {points[0]}"] if points else []), counts
    found = []
    for guard in report.guards:
        counts[guard.verdict] += 1
        if guard.verdict == "proved":
            wrong = next((point for point in points if not value(codes[guard.id], point)), None)
            if wrong is not None:
                found.append(
                    f"seed {seed}: {guard.id} {guard.expr} proved by {guard.method}, yet false at {wrong}"
                )
        elif guard.verdict == "refuted":
            point = {name: int(v) for name, v in (guard.counterexample or {}).items()}
            full = {**case.low, **point}
            outside = [n for n, v in point.items() if not _inside(case.data["symbols"][n], v)]
            involved = [c for c in spec if set(c.co_names) & set(NAMES) <= set(point)]
            if outside or not all(value(c, full) for c in involved) or value(codes[guard.id], full):
                found.append(
                    f"seed {seed}: {guard.id} {guard.expr} refuted at {point}, which does not refute it"
                )
        elif case.bounded:
            found.append(f"seed {seed}: {guard.id} unknown though finite")
    return found, counts


def _inside(symbol: dict[str, Any], number: int) -> bool:
    return bool(symbol["min"] <= number and (symbol["max"] is None or number <= symbol["max"]))


def advice_mistakes(seed: int) -> tuple[list[str], dict[str, int]]:
    """Suggestions, roots and the fix of a random problem held against brute force."""
    case = make_case(seed)
    report = prove(Problem.from_dict(case.data))
    codes = {c["id"]: compile(c["expr"], c["id"], "eval") for c in (*case.data["spec"], *case.data["guards"])}
    points = _window(case, [codes[c["id"]] for c in case.data["spec"]])
    counts = {"suggestions": 0, "weakest": 0, "follows": 0, "fixes": 0}
    found: list[str] = []
    refuted = [guard for guard in report.guards if guard.verdict == "refuted"]
    for guard in refuted:
        for suggestion in guard.suggestions:
            counts["suggestions"] += 1
            counts["weakest"] += suggestion.weakest
            code = compile(suggestion.condition, "suggestion", "eval")
            for point in points:
                says, true = value(code, point), value(codes[guard.id], point)
                if (says and not true) or (suggestion.weakest and true and not says):
                    found.append(
                        f"seed {seed}: {guard.expr}: {suggestion.condition} ({suggestion.weakest=}) at {point}"
                    )
                    break
        if guard.follows_from:
            counts["follows"] += 1
            if any(
                all(value(codes[r], p) for r in guard.follows_from) and not value(codes[guard.id], p)
                for p in points
            ):
                found.append(f"seed {seed}: {guard.id} does not follow from {guard.follows_from}")
        elif guard not in report.roots:
            found.append(f"seed {seed}: {guard.id} is neither a root nor follows from any")
    if report.fix is not None:
        counts["fixes"] += 1
        code = compile(report.fix.condition, "fix", "eval")
        if any(value(code, p) and not all(value(codes[g.id], p) for g in report.guards) for p in points):
            found.append(f"seed {seed}: the fix {report.fix.condition} does not mend every guard")
    return found, counts


def _window(case: Case, spec: list[Any]) -> list[dict[str, int]]:
    """The assignments of the window that meet the specification."""
    spans = []
    for name in NAMES:
        top = case.data["symbols"][name]["max"]
        spans.append(range(case.low[name], (top if top is not None else case.low[name] + WINDOW - 1) + 1))
    points = [dict(zip(NAMES, values, strict=True)) for values in product(*spans)]
    return [point for point in points if all(value(code, point) for code in spec)]
