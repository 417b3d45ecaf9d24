"""Verdicts and advice on random problems, held against brute force: CPython's own ``eval`` of the conditions as written."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

from solver.problem import Problem
from solver.prove import prove
from tests.solver.prove_cases import FLAG, LARGE, NAMES, WINDOW, Case, make_case

Point = dict[str, int]
_SCOPE: dict[str, Any] = {
    "__builtins__": {},
    "max": max,
    "min": min,
    "abs": abs,
    "int": int,
    "round": round,
    "math": math,
}


def value(code: Any, point: Point) -> bool | None:
    """What CPython says of a condition; None where it raises."""
    try:
        return bool(eval(code, _SCOPE, point))
    except (ZeroDivisionError, OverflowError, ValueError):
        return None


def codes_of(case: Case) -> dict[str, Any]:
    """The conditions of a case, compiled by CPython."""
    return {c["id"]: compile(c["expr"], c["id"], "eval") for c in (*case.data["spec"], *case.data["guards"])}


def mistakes(seed: int) -> tuple[list[str], Counter[str]]:
    """Contradictions between the prover and brute force; how many guards got which verdict, and evaluations made."""
    case = make_case(seed)
    codes = codes_of(case)
    spec = [codes[c["id"]] for c in case.data["spec"]]
    counts: Counter[str] = Counter()
    points = window(case, spec, counts)
    report = prove(Problem.from_dict(case.data))
    if report.status == "spec_unsatisfiable":
        counts["unsatisfiable"] += 3
        return ([f"seed {seed}: unsatisfiable, yet {points[0]}"] if points else []), counts
    found = []
    for guard in report.guards:
        counts[guard.verdict] += 1
        counts[guard.method] += 1
        code = codes[guard.id]
        if guard.verdict == "proved":
            counts["evaluations"] += len(points)
            wrong = next((point for point in points if not value(code, point)), None)
            if wrong is not None:
                found.append(
                    f"seed {seed}: {guard.id} {guard.expr} proved by {guard.method}, false at {wrong}"
                )
        elif guard.verdict == "refuted":
            given = {name: int(v) for name, v in (guard.counterexample or {}).items()}
            if not refutes(case, spec, code, given):
                found.append(
                    f"seed {seed}: {guard.id} {guard.expr} refuted at {given}, which does not refute it"
                )
        elif case.bounded:
            found.append(f"seed {seed}: {guard.id} {guard.expr} unknown though finite")
    return found, counts


def refutes(case: Case, spec: list[Any], code: Any, given: Point) -> bool:
    """Whether a counterexample lies in the ranges, meets what the specification says of its symbols, and breaks the guard."""
    full = {**case.low, FLAG: 0, **given}
    for name, number in given.items():
        symbol = case.data["symbols"][name]
        low, high = symbol.get("min"), symbol.get("max")
        if (low is not None and number < low) or (high is not None and number > high):
            return False
    involved = [c for c in spec if set(c.co_names) & {*NAMES, FLAG} <= set(given)]
    return all(value(c, full) for c in involved) and not value(code, full)


def advice_mistakes(seed: int) -> tuple[list[str], Counter[str]]:
    """Suggestions, roots and the fix of a random problem held against brute force."""
    case = make_case(seed)
    report = prove(Problem.from_dict(case.data))
    codes = codes_of(case)
    counts: Counter[str] = Counter()
    points = window(case, [codes[c["id"]] for c in case.data["spec"]], counts)
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
                    text = f"{suggestion.condition} ({suggestion.weakest=}) at {point}"
                    found.append(f"seed {seed}: {guard.expr}: {text}")
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


def window(case: Case, spec: list[Any], counts: Counter[str]) -> list[Point]:
    """The assignments that meet the specification: all near the lower ends, and some that are far out."""
    near, far = [], []
    for name in NAMES:
        low, top = case.low[name], case.data["symbols"][name]["max"]
        near.append(range(low, (top if top is not None else low + WINDOW - 1) + 1))
        far.append([low, low + 5, *(v for v in LARGE if v > low and top is None)])
    flags = (0, 1) if FLAG in case.data["symbols"] else (0,)
    points: list[Point] = []
    for values in (*product(*near, flags), *(() if case.bounded else product(*far, flags))):
        point = dict(zip((*NAMES, FLAG), values, strict=True))
        counts["evaluations"] += len(spec)
        if all(value(code, point) for code in spec):
            points.append(point)
    return points
