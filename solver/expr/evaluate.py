"""Exact evaluation with Python's own meaning: short circuits, IEEE doubles, exceptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, overload

from solver.expr.floating import BINARY, UNARY, checked_pow
from solver.expr.nodes import Atom, BoolExpr, Expr, FloatExpr, IntExpr

Value = int | float | bool
Assignment = Mapping[str, Value]
_ROUND: Final[dict[str, Callable[[float], int]]] = {
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}


@overload
def evaluate(node: IntExpr, assignment: Assignment) -> int: ...
@overload
def evaluate(node: BoolExpr, assignment: Assignment) -> bool: ...
@overload
def evaluate(node: FloatExpr, assignment: Assignment) -> float: ...
def evaluate(node: Expr, assignment: Assignment) -> Value:
    """The value under an assignment of every symbol.

    Raises what Python raises (ZeroDivisionError, OverflowError, ValueError), KeyError for a symbol without a value.
    A float expression may give an int where Python does (``max(n, 2.5)``).
    """
    return _Evaluator(assignment).run(node)


class _Evaluator:
    """One evaluation; atoms are shared, so each is computed once."""

    __slots__ = ("assignment", "atoms")

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.atoms: dict[Atom, int] = {}

    def run(self, node: Expr) -> Value:
        if isinstance(node, IntExpr):
            return self.integer(node)
        return self.boolean(node) if isinstance(node, BoolExpr) else self.floating(node)

    def integer(self, p: IntExpr) -> int:
        total = p.const
        for mono, coef in p.terms.items():
            for a in mono.atoms:
                coef *= self.atom(a)
            total += coef
        return total

    def atom(self, a: Atom) -> int:
        if a.op == "symbol":
            return int(self.assignment[a.name])
        found = self.atoms.get(a)
        if found is None:
            found = self.atoms[a] = self.compute(a)
        return found

    def compute(self, a: Atom) -> int:
        op = a.op
        if op == "if":
            return int(self.choose(a.args))
        values = [self.run(x) for x in a.args]
        if op in _ROUND:
            return _ROUND[op](values[0])
        numbers = [int(v) for v in values]
        if op == "//":
            return numbers[0] // numbers[1]
        if op == "%":
            return numbers[0] % numbers[1]
        if op == "max":
            return max(numbers)
        if op == "min":
            return min(numbers)
        if op == "abs":
            return abs(numbers[0])
        if numbers[1] < 0:
            raise ValueError("a negative exponent in a power of integers")
        return int(checked_pow(numbers[0], numbers[1]))

    def choose(self, args: tuple[Expr, ...]) -> Value:
        return self.run(args[1] if self.run(args[0]) else args[2])

    def boolean(self, node: BoolExpr) -> bool:
        op = node.op
        if op == ">=":
            return self.integer(node.poly) >= 0
        if op == "==":
            return self.integer(node.poly) == 0
        if op == "!=":
            return self.integer(node.poly) != 0
        if op == "and":
            return all(self.run(part) for part in node.args)
        if op == "or":
            return any(self.run(part) for part in node.args)
        if op == "not":
            return not self.run(node.args[0])
        if op == "in":
            return self.integer(node.poly) in node.values
        if op == "if":
            return bool(self.choose(node.args))
        if op == "symbol":
            return bool(self.assignment[node.name])
        if op in ("true", "false"):
            return op == "true"
        left, right = self.run(node.args[0]), self.run(node.args[1])
        return left < right if op == "f<" else left <= right if op == "f<=" else left == right

    def floating(self, node: FloatExpr) -> float:
        op = node.op
        if op == "literal":
            return node.value
        if op == "symbol":
            return float(self.assignment[node.name])
        if op == "if":
            return self.choose(node.args)
        values = [self.run(x) for x in node.args]
        return UNARY[op](values[0]) if len(values) == 1 else BINARY[op](values[0], values[1])
