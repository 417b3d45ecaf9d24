"""``str(expr)``: the grammar of shapeproof expressions, which ``solver.parse`` reads back to the same object.

A text that would be longer than it reads is replaced by a summary that it refuses.
"""

from __future__ import annotations

import math
from functools import lru_cache

from solver.expr.length import MAX_TEXT, summary, text_length
from solver.expr.nodes import Atom, BoolExpr, Expr, FloatExpr, IntExpr, Monomial

# Binding strengths of the grammar.
_IF, _OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _POWER, _ATOM = range(10)
_CALLS = {"floor": "math.floor", "ceil": "math.ceil", "sqrt": "math.sqrt"}
_FLOAT_LEVELS = {
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "//": _PRODUCT,
    "%": _PRODUCT,
    "**": _POWER,
}


def text_of(node: Expr) -> str:
    """The expression as text, or a summary where that is too long."""
    return summary(node) if text_length(node) > MAX_TEXT else _render(node)[0]


def _render(node: Expr) -> tuple[str, int]:
    if isinstance(node, IntExpr):
        return _integer(node.const, node.sorted_terms())
    return _boolean(node) if isinstance(node, BoolExpr) else _floating(node)


def _at(node: Expr, level: int) -> str:
    text, own = _render(node)
    return text if own >= level else f"({text})"


def _integer(const: int, terms: list[tuple[Monomial, int]]) -> tuple[str, int]:
    if not terms:
        return str(const), _ATOM if const >= 0 else _UNARY
    ordered = (
        [t for t in terms if t[1] > 0] + [t for t in terms if t[1] < 0] + [t for t in terms if t[1] == 0]
    )
    pieces: list[str] = []
    if const > 0 and ordered[0][1] <= 0:
        pieces.append(str(const))
        const = 0
    whole = len(ordered) == 1 and not pieces and not const
    for mono, coef in ordered:
        first = not pieces
        lone = _IF if whole and coef == 1 else _UNARY if first and coef < 0 else _PRODUCT
        text = _term(mono, abs(coef), lone)
        sign = ("-" if first else " - ") if coef < 0 else ("" if first else " + ")
        pieces.append(sign + text)
    if const:
        pieces.append(f" - {-const}" if const < 0 else f" + {const}")
    if len(pieces) > 1:
        return "".join(pieces), _SUM
    mono, coef = ordered[0]
    if coef == 1 and len(mono.atoms) == 1:
        return pieces[0], _atom(mono.atoms[0])[1]
    return pieces[0], _PRODUCT


def _term(mono: Monomial, coef: int, lone: int) -> str:
    """``coef * mono``; ``lone`` is how strongly an atom must bind that stands alone."""
    factors = [] if coef == 1 else [str(coef)]
    atoms = mono.atoms
    needed = lone if coef == 1 and len(atoms) == 1 else _UNARY
    i = 0
    while i < len(atoms):
        repeat = atoms.count(atoms[i])
        text, level = _atom(atoms[i])
        if repeat > 1:
            factors.append(f"{text if level == _ATOM else f'({text})'}**{repeat}")
        else:
            factors.append(text if level >= needed else f"({text})")
        i += repeat
    return "*".join(factors)


@lru_cache(maxsize=4096)  # asked for more than once a level: without it, time doubles with depth
def _atom(a: Atom) -> tuple[str, int]:
    if a.op == "symbol":
        return a.name, _ATOM
    if a.op in ("//", "%"):
        left, right = a.args
        spaced = " % " if a.op == "%" else "//"
        return f"{_at(left, _UNARY)}{spaced}{_at(right, _UNARY)}", _PRODUCT
    return _common(a.op, a.args)


def _common(op: str, args: tuple[Expr, ...]) -> tuple[str, int]:
    """What integers and floats print alike."""
    if op == "if":
        test, yes, no = args
        return f"{_at(yes, _OR)} if {_at(test, _OR)} else {_at(no, _IF)}", _IF
    if op == "**":
        return f"{_at(args[0], _ATOM)}**{_at(args[1], _UNARY)}", _POWER
    inner = ", ".join(_at(x, _IF) for x in args)
    return f"{_CALLS.get(op, op)}({inner})", _ATOM


def _boolean(node: BoolExpr) -> tuple[str, int]:
    op = node.op
    if op in ("true", "false"):
        return op.capitalize(), _ATOM
    if op == "symbol":
        return node.name, _ATOM
    if op in (">=", "==", "!="):
        return _comparison(node.poly, op), _COMPARE
    if op == "in":
        return f"{_at(node.args[0], _SUM)} in {{{', '.join(map(str, node.values))}}}", _COMPARE
    if op in ("f<", "f<=", "f=="):
        return f"{_at(node.args[0], _SUM)} {op[1:]} {_at(node.args[1], _SUM)}", _COMPARE
    if op == "not":
        return f"not {_at(node.args[0], _NOT)}", _NOT
    if op in ("and", "or"):
        level = _AND if op == "and" else _OR
        return f" {op} ".join(_at(a, level + 1) for a in node.args), level
    return _common(op, node.args)


def _comparison(p: IntExpr, op: str) -> str:
    """``p op 0`` with every term on the side where it is positive."""
    terms = p.sorted_terms()
    left = [(m, c) for m, c in terms if c >= 0]
    right = [(m, -c) for m, c in terms if c < 0]
    const = p.const
    if not left:
        left, right, const = right, [], -const
        op = {">=": "<="}.get(op, op)
    if op == ">=" and right and const == -1:
        op, const = ">", 0
    keep = const if const > 0 and right else 0
    text = _integer(keep, left)
    other = _integer(keep - const, right)
    return f"{_wrap(text)} {op} {_wrap(other)}"


def _wrap(rendered: tuple[str, int]) -> str:
    text, level = rendered
    return text if level >= _SUM else f"({text})"


def _floating(node: FloatExpr) -> tuple[str, int]:
    op, args = node.op, node.args
    if op == "literal":
        return _literal(node.value)
    if op == "symbol":
        return node.name, _ATOM
    if op == "neg":
        return f"-{_at(args[0], _POWER)}", _UNARY
    if op == "**":
        return f"{_at(args[0], _ATOM)}**{_at(args[1], _UNARY)}", _POWER
    level = _FLOAT_LEVELS.get(op)
    if level is not None:
        spaced = f" {op} " if op in "+-%" else op
        return f"{_at(args[0], level)}{spaced}{_at(args[1], level + 1)}", level
    return _common(op, args)


def _literal(value: float) -> tuple[str, int]:
    if math.isnan(value):
        return "1e999 - 1e999", _SUM
    if math.isinf(value):
        return ("1e999", _ATOM) if value > 0 else ("-1e999", _UNARY)
    return repr(value), _ATOM if math.copysign(1.0, value) > 0 else _UNARY
