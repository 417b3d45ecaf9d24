"""How long an expression is when it is written out, told without writing it.

Parts are shared: after 100 rounds of ``n = n//2 + n % 3`` an expression has 200 parts, and its text 10**30 characters.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Final, TypeVar

from solver.expr.nodes import Atom, Expr, IntExpr
from solver.expr.symbols import children, free_symbols
from solver.trace_errors import EXPRESSION_TOO_LARGE

MAX_TEXT: Final = 100_000  # characters; what ``solver.parse`` reads back
MAX_LINE: Final = 500  # characters of one expression in what a person reads
_Part = Atom | Expr
_Found = TypeVar("_Found")


def text_length(node: Expr) -> int:
    """About how many characters the text of an expression has."""

    def length(part: _Part, inner: list[int]) -> int:
        if isinstance(part, IntExpr):
            atoms = iter(inner)
            terms = (sum(next(atoms) + 1 for _ in m.atoms) + _digits(c) for m, c in part.terms.items())
            return sum(terms) + _digits(part.const)
        return sum(inner) + 3 * len(inner) + len(getattr(part, "name", None) or part.op)

    return _folded(node, length)


def digest(node: Expr) -> str:
    """What tells an expression from others where its text is too long: made from its structure alone."""

    def hashed(part: _Part, inner: list[bytes]) -> bytes:
        if isinstance(part, IntExpr):
            found = iter(inner)
            terms = sorted(repr((c, [next(found) for _ in m.atoms])) for m, c in part.terms.items())
            whole = repr((part.const, terms))
        else:
            own = (getattr(part, "name", None), getattr(part, "value", None), getattr(part, "values", None))
            whole = repr((part.op, own, inner))
        return blake2b(whole.encode(), digest_size=8).digest()

    return _folded(node, hashed).hex()


def summary(node: Expr) -> str:
    """What stands in place of a text that is too long; the grammar does not read it."""
    names = ", ".join(sorted(free_symbols(node))[:4])
    return f"[... of {names} #{digest(node)}]"


def in_a_line(node: Expr) -> str:
    """The text of an expression among others that a person reads, or a summary where it is longer than anyone does."""
    return summary(node) if text_length(node) > MAX_LINE else str(node)


def written(node: Expr) -> str:
    """The whole text of an expression, for files. Raises EXPRESSION_TOO_LARGE for one that could not be read again."""
    if text_length(node) > MAX_TEXT:
        raise EXPRESSION_TOO_LARGE(limit=MAX_TEXT, what="characters when it is written out")
    return str(node)


def _folded(node: Expr, combine: Callable[[_Part, list[_Found]], _Found]) -> _Found:
    """``combine`` of a node and what it gave for the direct parts, each shared part once."""
    known: dict[int, _Found] = {}
    stack: list[tuple[_Part, bool]] = [(node, False)]
    while stack:
        part, ready = stack.pop()
        if id(part) in known:
            continue
        inner = list(part.args if isinstance(part, Atom) else children(part))
        if ready:
            known[id(part)] = combine(part, [known[id(i)] for i in inner])
        else:
            stack.append((part, True))
            stack.extend((i, False) for i in inner)
    return known[id(node)]


def _digits(value: int) -> int:
    return 0 if value in (0, 1) else value.bit_length() // 3 + 3
