"""The symbols that occur in an expression."""

from __future__ import annotations

from collections.abc import Iterable

from solver.expr.nodes import Atom, BoolExpr, Expr, IntExpr, Sort


def children(node: Expr) -> Iterable[Atom | Expr]:
    """The direct parts of a node, atoms in place of polynomials' terms."""
    if isinstance(node, IntExpr):
        return [a for m in node.terms for a in m.atoms]
    return node.args


def symbol_sorts(node: Expr) -> frozenset[tuple[str, Sort]]:
    """Every symbol of the expression with its sort."""
    seen: set[int] = set()
    found: set[tuple[str, Sort]] = set()
    stack: list[Atom | Expr] = [node]
    while stack:
        part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Atom):
            if part.op == "symbol":
                found.add((part.name, "int"))
            stack.extend(part.args)
        else:
            if not isinstance(part, IntExpr) and part.op == "symbol":
                found.add((part.name, "bool" if isinstance(part, BoolExpr) else "float"))
            stack.extend(children(part))
    return frozenset(found)


def free_symbols(node: Expr) -> frozenset[str]:
    """Names of the symbols that occur, including under a coefficient of 0."""
    known = node._symbols
    if known is None:
        known = node._symbols = frozenset(name for name, _ in symbol_sorts(node))
    return known
