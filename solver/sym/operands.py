"""What an operand of symbolic arithmetic is as an expression, and the operators over such operands."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from solver import expr as E

if TYPE_CHECKING:
    from solver.shape_env import ShapeEnv

Operand = E.Number | int | float


_KINDS: Final[dict[type, str]] = {int: "plain", float: "plain", bool: "integral"}


def number_of(value: object) -> Operand | None:
    """The number that ``value`` is, or None where it is no number. Only the type is looked at."""
    kind = type(value)
    how = _KINDS.get(kind) or _kind(kind)
    if how == "plain":
        return value  # type: ignore[return-value]
    if how == "symbolic":
        return value.expr  # type: ignore[attr-defined, no-any-return]
    if how == "condition":
        return E.int_if(value.expr, 1, 0)  # type: ignore[attr-defined]
    if how == "integral":
        return operator.index(value)  # type: ignore[arg-type]
    return float(value) if how == "real" else None  # type: ignore[arg-type]


def _kind(kind: type) -> str:
    from solver.sym.numbers import SymBool, SymFloat, SymInt

    for base, how in ((SymInt, "symbolic"), (SymFloat, "symbolic"), (SymBool, "condition")):
        if issubclass(kind, base):
            return _KINDS.setdefault(kind, how)
    if issubclass(kind, numbers.Integral):  # NumPy's integers
        return "integral"
    return "real" if issubclass(kind, float) else "none"


_INT_OPS: Final[dict[str, Callable[[E.IntExpr, E.IntExpr], E.IntExpr]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": E.floordiv,
    "%": E.mod,
}


def arithmetic(env: ShapeEnv, op: str, x: Operand, y: Operand) -> E.Number:
    """``x op y`` with Python's result type; a divisor that may be 0 becomes a guard, or raises as Python does."""
    if op == "**":
        return _power(env, x, y)
    if op in ("/", "//", "%"):
        require_nonzero(env, y)
    make = _INT_OPS.get(op)
    if make is not None and isinstance(x, int | E.IntExpr) and isinstance(y, int | E.IntExpr):
        return make(E.lift(x), E.lift(y))
    return E.binary(op, x, y)


def require_nonzero(env: ShapeEnv, divisor: Operand) -> None:
    """Raises ZeroDivisionError where the divisor is 0; records that it is not where it might be.

    A float that depends on data has no other way out than Python's own error: it is asserted at run time.
    """
    if isinstance(divisor, E.FloatExpr) and env.asserting is not None:
        condition = E.ne(divisor, 0)
        if env.known(condition) is None and env.hint(condition) is None:
            env.asserting(env.wrap(condition), "float division by zero")
            return
    if not env.evaluate(E.ne(divisor, 0), "divisor"):
        raise ZeroDivisionError("division or modulo by zero")


def _power(env: ShapeEnv, x: Operand, y: Operand) -> E.Number:
    if isinstance(x, int | E.IntExpr) and isinstance(y, int | E.IntExpr):
        if env.evaluate(E.ge(y, 0)):
            return E.power(x, y)
        require_nonzero(env, x)
    return E.binary("**", x, y)
