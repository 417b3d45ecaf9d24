"""Rebuilding expressions: substitution, and the condition under which an expression has a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, overload

from solver.expr import boolean, floating, integer
from solver.expr.nodes import (
    TRUE,
    Atom,
    BoolExpr,
    Expr,
    FloatExpr,
    IntExpr,
    Number,
    Sort,
    constant,
)
from solver.expr.symbols import free_symbols

Replacement = Expr | int | float | bool


def rebuild_from_text(text: str, sorts: Mapping[str, Sort]) -> Expr:
    """Unpickles an expression."""
    from solver.parse import parse

    return parse(text, sorts)


@overload
def substitute(node: IntExpr, mapping: Mapping[str, Replacement]) -> IntExpr: ...
@overload
def substitute(node: BoolExpr, mapping: Mapping[str, Replacement]) -> BoolExpr: ...
@overload
def substitute(node: FloatExpr, mapping: Mapping[str, Replacement]) -> FloatExpr: ...
def substitute(node: Expr, mapping: Mapping[str, Replacement]) -> Expr:
    """The expression with symbols replaced, all at once, in normal form again."""
    return _Substitution(mapping).run(node)


class _Substitution:
    def __init__(self, mapping: Mapping[str, Replacement]) -> None:
        self.mapping = mapping
        self.names = frozenset(mapping)
        self.done: dict[Expr | Atom, Expr] = {}

    def run(self, node: Expr) -> Expr:
        if self.names.isdisjoint(free_symbols(node)):
            return node
        found = self.done.get(node)
        if found is None:
            if isinstance(node, IntExpr):
                found = self.integer(node)
            else:
                found = self.boolean(node) if isinstance(node, BoolExpr) else self.floating(node)
            self.done[node] = found
        return found

    def integer(self, p: IntExpr) -> IntExpr:
        total = constant(p.const)
        for mono, coef in p.terms.items():
            product = constant(coef)
            for a in mono.atoms:
                product = product * self.atom(a)
            total = total + product
        return total

    def atom(self, a: Atom) -> IntExpr:
        found = self.done.get(a)
        if found is None:
            found = self.done[a] = self.symbol(a.name, a.expr) if a.op == "symbol" else self.compound(a)
        return cast(IntExpr, found)

    def symbol(self, name: str, default: Expr) -> Expr:
        value = self.mapping.get(name, default)
        if isinstance(value, bool):
            return boolean.truth(value)
        return value if not isinstance(value, int | float) else floating.number(value)

    def compound(self, a: Atom) -> IntExpr:
        return make_int(a.op, [self.run(x) for x in a.args])

    def boolean(self, node: BoolExpr) -> Expr:
        if node.op == "symbol":
            return self.symbol(node.name, node)
        return make_bool(node.op, [self.run(x) for x in node.args], node.values)

    def floating(self, node: FloatExpr) -> Expr:
        if node.op == "symbol":
            return self.symbol(node.name, node)
        return make_float(node.op, [self.run(x) for x in node.args])


def make_int(op: str, args: list[Expr]) -> IntExpr:
    """The atom ``op(args)`` in normal form; the operators of :class:`Atom`."""
    if op == "if":
        return integer.int_if(cast(BoolExpr, args[0]), cast(IntExpr, args[1]), cast(IntExpr, args[2]))
    if op in integer.ROUNDINGS:
        return integer.from_float(op, cast(Number, args[0]))
    numbers = cast(list[IntExpr], args)
    if op in ("max", "min"):
        return integer.int_max(*numbers) if op == "max" else integer.int_min(*numbers)
    if op == "abs":
        return integer.int_abs(numbers[0])
    make = {"//": integer.floordiv, "%": integer.mod, "**": integer.power}[op]
    return make(numbers[0], numbers[1])


def make_bool(op: str, args: list[Expr], values: tuple[int, ...] = ()) -> BoolExpr:
    """The condition ``op(args)`` in normal form; the operators of :class:`BoolExpr`."""
    if op in (">=", "==", "!="):
        make = {">=": boolean.nonnegative, "==": boolean.zero, "!=": boolean.nonzero}[op]
        return make(cast(IntExpr, args[0]))
    if op == "in":
        return boolean.member(cast(IntExpr, args[0]), values)
    if op in ("f<", "f<=", "f=="):
        compare = {"f<": boolean.lt, "f<=": boolean.le, "f==": boolean.eq}[op]
        return compare(cast(Number, args[0]), cast(Number, args[1]))
    parts = cast(list[BoolExpr], args)
    if op == "not":
        return boolean.not_(parts[0])
    if op == "if":
        return boolean.bool_if(*parts)
    if op in ("true", "false"):
        return boolean.truth(op == "true")
    return boolean.and_(*parts) if op == "and" else boolean.or_(*parts)


def make_float(op: str, args: list[Expr]) -> Expr:
    """The float ``op(args)``; the operators of :class:`FloatExpr`."""
    if op == "if":
        return floating.float_if(cast(BoolExpr, args[0]), cast(Number, args[1]), cast(Number, args[2]))
    numbers = cast(list[Number], args)
    if len(numbers) == 1:
        return floating.unary(op, numbers[0])
    return floating.binary(op, numbers[0], numbers[1])


def defined(node: Expr) -> BoolExpr:
    """A condition that never raises, true where no divisor that is evaluated is zero (short circuits count).

    It speaks of integer division and exponents only; a float expression may overflow besides.
    """
    return _Definedness().run(node)


class _Definedness:
    def __init__(self) -> None:
        self.done: dict[Expr | Atom, BoolExpr] = {}

    def run(self, node: Expr) -> BoolExpr:
        if node.total:
            return TRUE
        found = self.done.get(node)
        if found is None:
            if isinstance(node, IntExpr):
                found = boolean.and_(*[self.atom(a) for m in node.sorted_terms() for a in m[0].atoms])
            else:
                found = self.compound(node.op, node.args)
            self.done[node] = found
        return found

    def atom(self, a: Atom) -> BoolExpr:
        if a.total:
            return TRUE
        found = self.done.get(a)
        if found is None:
            found = self.done[a] = self.compound(a.op, a.args)
        return found

    def compound(self, op: str, args: tuple[Expr, ...]) -> BoolExpr:
        if op in ("and", "or"):
            known = TRUE
            for part in reversed(args):
                test = cast(BoolExpr, part)
                goes_on = test if op == "and" else boolean.not_(test)
                rest = known if known is TRUE else boolean.or_(boolean.not_(goes_on), known)
                known = boolean.and_(self.run(part), rest)
            return known
        if op == "if":
            test = cast(BoolExpr, args[0])
            return boolean.and_(self.run(test), boolean.bool_if(test, self.run(args[1]), self.run(args[2])))
        inner = boolean.and_(*[self.run(x) for x in args])
        divisor = args[-1]
        if op in ("//", "%", "/"):
            return boolean.and_(inner, boolean.ne(cast(Number, divisor), 0))
        if op == "**" and isinstance(args[0], IntExpr) and isinstance(divisor, IntExpr):
            return boolean.and_(inner, boolean.ge(divisor, 0))
        return inner
