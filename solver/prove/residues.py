"""Case distinction by remainders: where a symbol is ``m*t + r``, floors of it by divisors of ``m`` are linear in ``t``."""

from __future__ import annotations

from math import lcm
from typing import Final

from solver.expr import BoolExpr, and_, eq, int_symbol, mod
from solver.expr.nodes import Atom, IntExpr
from solver.expr.symbols import children
from solver.prove.context import Context

MAX_CASES: Final = 96


def residue_cases(context: Context, goal: BoolExpr) -> list[BoolExpr] | None:
    """Conditions that together cover every assignment, one a case; None where there would be none or too many."""
    moduli: dict[str, int] = {}
    _divisions(goal, moduli)
    for premise, _ in context.premises:
        _divisions(premise, moduli)
    total = 1
    cases: list[BoolExpr] = [and_()]
    for name, modulus in sorted(moduli.items(), key=lambda item: (item[1], item[0])):
        total *= modulus
        if total > MAX_CASES:
            return None
        remainder = mod(int_symbol(name), modulus)
        cases = [and_(case, eq(remainder, r)) for case in cases for r in range(modulus)]
    return cases if total > 1 else None


def _divisions(expr: BoolExpr, moduli: dict[str, int]) -> None:
    """For each symbol the least common multiple of the numbers that something with it is divided by."""
    stack: list[tuple[object, int]] = [(expr, 1)]
    seen: set[tuple[int, int]] = set()
    while stack:
        part, factor = stack.pop()
        if (id(part), factor) in seen or factor > MAX_CASES:
            continue
        seen.add((id(part), factor))
        if isinstance(part, Atom) and part.op == "symbol":
            if factor > 1:
                moduli[part.name] = lcm(moduli.get(part.name, 1), factor)
            continue
        inner = factor
        if isinstance(part, Atom) and part.op in ("//", "%"):
            divisor = part.args[1]
            if isinstance(divisor, IntExpr) and divisor.is_const and divisor.const:
                inner = factor * abs(divisor.const) if part.op == "//" else lcm(factor, abs(divisor.const))
        arguments = children(part) if isinstance(part, IntExpr) else getattr(part, "args", ())
        stack.extend((argument, inner) for argument in arguments)
