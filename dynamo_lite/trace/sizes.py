"""Size arithmetic in the graph: nodes made from expressions, each expression once a graph.

A symbol is defined by a size of an input (``sym_size.int(x, 0)``), by an integer input, or by the operator that made an
unbacked number. Since nodes are made from normal forms, the order in which Python computed them leaves no trace.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fx_ir.node import Node
from fx_ir.number_ops import sym_ite, sym_not
from solver.expr import (
    Atom,
    BoolExpr,
    Expr,
    FloatExpr,
    IntExpr,
    Monomial,
    and_,
    binary,
    eq,
    int_max,
    int_min,
    or_,
)

if TYPE_CHECKING:
    from dynamo_lite.trace.level import Level

Operand = Node | int | float | bool

_INT_ATOMS: Final[dict[str, Callable[..., Any]]] = {
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "abs": builtins.abs,
    "if": sym_ite,
    "int": builtins.int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": builtins.round,
    "trunc": math.trunc,
    "max": builtins.max,
    "min": builtins.min,
}
_JOINS: Final[dict[str, Callable[[Any, Any], Expr]]] = {
    "max": int_max,
    "min": int_min,
    "and": and_,
    "or": or_,
}
_COMPARISONS: Final = {">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_FLOAT_COMPARISONS: Final = {"f<": operator.lt, "f<=": operator.le, "f==": operator.eq}
_FLOATS: Final[dict[str, Callable[..., Any]]] = {
    "float": builtins.float,
    "neg": operator.neg,
    "abs": builtins.abs,
    "sqrt": math.sqrt,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "max": builtins.max,
    "min": builtins.min,
    "if": sym_ite,
}


class SizeNodes:
    """Makes the nodes of one graph (level)."""

    __slots__ = ("_level", "_made", "_sizes")

    def __init__(self, level: Level) -> None:
        self._level = level
        self._made: dict[Expr, Operand] = {}
        self._sizes: dict[tuple[Node, int], Node] = {}

    def known_size(self, node: Node, dim: int) -> Node | None:
        """The node that reads that size, if there is one already."""
        return self._sizes.get((node, dim))

    def remember_size(self, node: Node, dim: int, size: Node) -> None:
        """Says that ``size`` reads size ``dim`` of ``node``."""
        self._sizes[node, dim] = size

    def of(self, expr: Expr) -> Operand:
        """The node (or constant) that holds the value of ``expr``."""
        found = self._made.get(expr)
        if found is None:
            if isinstance(expr, IntExpr):
                found = self._int(expr)
            elif isinstance(expr, BoolExpr):
                found = self._bool(expr)
            else:
                found = self._float(expr)
            self._made[expr] = found
        return found

    def define(self, expr: Expr, node: Node) -> None:
        """Says that ``node`` holds the value of ``expr``."""
        self._made[expr] = node

    def _call(self, function: Callable[..., Any], *args: Operand, value: Expr) -> Operand:
        return self._level.number(function, args, value)

    def _int(self, expr: IntExpr) -> Operand:
        if expr.is_const:
            return expr.const
        single = expr.atom
        if single is not None:
            return self._atom(single)
        terms = expr.sorted_terms()
        total: Operand | None = None
        so_far = expr * 0
        for mono, coef in terms:
            if coef > 0:
                term, so_far = self._term(mono, coef), so_far + _scaled(mono, coef)
                total = term if total is None else self._call(operator.add, total, term, value=so_far)
        if expr.const > 0 or total is None:
            so_far = so_far + expr.const
            total = expr.const if total is None else self._call(operator.add, total, expr.const, value=so_far)
        elif expr.const < 0:
            so_far = so_far + expr.const
            total = self._call(operator.sub, total, -expr.const, value=so_far)
        for mono, coef in terms:
            if coef < 0:
                so_far = so_far + _scaled(mono, coef)
                total = self._call(operator.sub, total, self._term(mono, -coef), value=so_far)
        return total

    def _term(self, mono: Monomial, coef: int) -> Operand:
        product = self._product(mono)
        return product if coef == 1 else self._call(operator.mul, product, coef, value=_scaled(mono, coef))

    def _product(self, mono: Monomial) -> Operand:
        product = self.of(mono.atoms[0].expr)
        so_far = mono.atoms[0].expr
        for atom in mono.atoms[1:]:
            so_far = so_far * atom.expr
            known = self._made.get(so_far)
            if known is None:
                known = self._made[so_far] = self._call(
                    operator.mul, product, self.of(atom.expr), value=so_far
                )
            product = known
        return product

    def _atom(self, atom: Atom) -> Operand:
        if atom.op == "symbol":
            return self._level.symbol(atom.name, atom.expr)
        function = _INT_ATOMS[atom.op]
        if atom.op in _JOINS:
            return self._fold(function, atom.args, _JOINS[atom.op])
        return self._call(function, *[self.of(arg) for arg in atom.args], value=atom.expr)

    def _fold(
        self, function: Callable[..., Any], args: Sequence[Expr], join: Callable[[Any, Any], Expr]
    ) -> Operand:
        result, so_far = self.of(args[0]), args[0]
        for arg in args[1:]:
            so_far = join(so_far, arg)
            result = self._call(function, result, self.of(arg), value=so_far)
        return result

    def _bool(self, expr: BoolExpr) -> Operand:
        op = expr.op
        if op in ("true", "false"):
            return op == "true"
        if op == "symbol":
            return self._level.symbol(expr.name, expr)
        if op in _COMPARISONS:
            left, right = self._sides(expr.poly)
            return self._call(_COMPARISONS[op], left, right, value=expr)
        if op == "in":
            return self._fold(operator.or_, [eq(expr.poly, member) for member in expr.values], or_)
        if op in ("and", "or"):
            return self._fold(operator.and_ if op == "and" else operator.or_, expr.args, _JOINS[op])
        args = [self.of(arg) for arg in expr.args]
        if op in _FLOAT_COMPARISONS:
            return self._call(_FLOAT_COMPARISONS[op], *args, value=expr)
        if op == "not":
            return self._call(sym_not, *args, value=expr)
        return self._call(sym_ite, *args, value=expr)

    def _sides(self, poly: IntExpr) -> tuple[Operand, Operand]:
        """``poly`` as ``left - right`` without negative coefficients, so that conditions read as written."""
        zero = poly * 0
        left, right = zero, zero
        for mono, coef in poly.terms.items():
            if coef > 0:
                left = left + _scaled(mono, coef)
            else:
                right = right + _scaled(mono, -coef)
        if poly.const > 0:
            left = left + poly.const
        else:
            right = right + -poly.const
        return self.of(left), self.of(right)

    def _float(self, expr: FloatExpr) -> Operand:
        if expr.op == "literal":
            return expr.value
        if expr.op == "symbol":
            return self._level.symbol(expr.name, expr)
        if expr.op in ("max", "min"):
            return self._fold(_FLOATS[expr.op], expr.args, partial(binary, expr.op))
        args = [self.of(arg) for arg in expr.args]
        return self._call(_FLOATS[expr.op], *args, value=expr)


def _scaled(mono: Monomial, coef: int) -> IntExpr:
    product: IntExpr | None = None
    for atom in mono.atoms:
        product = atom.expr if product is None else product * atom.expr
    assert product is not None
    return product * coef
