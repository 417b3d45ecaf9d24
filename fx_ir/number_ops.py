"""Functions on plain numbers that may be targets of nodes: size arithmetic, conditions on sizes, and ``getitem``.

One table: the function, the name that files and PyTorch use, and how a call is written in Python. The executor writes
calls inline with it, the printer shows them so, the archive looks names up in it.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class NumberOp:
    """``template`` is a ``str.format`` pattern over the written arguments."""

    function: Callable[..., Any]
    name: str
    template: str


def sym_not(value: Any) -> Any:
    """``not value`` as a function that nodes can name."""
    return not value


def sym_ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then if condition else otherwise``, both already computed."""
    return then if condition else otherwise


def sym_sum(values: Any) -> Any:
    """The sum of several sizes."""
    return builtins.sum(values)


def _binary(function: Callable[..., Any], sign: str) -> NumberOp:
    return NumberOp(function, f"operator.{function.__name__}", f"({{}} {sign} {{}})")


def _call(function: Callable[..., Any], name: str, arity: int = 1) -> NumberOp:
    return NumberOp(function, name, f"{name}({', '.join(['{}'] * arity)})")


_TABLE: Final = (
    _binary(operator.add, "+"),
    _binary(operator.sub, "-"),
    _binary(operator.mul, "*"),
    _binary(operator.floordiv, "//"),
    _binary(operator.truediv, "/"),
    _binary(operator.mod, "%"),
    _binary(operator.pow, "**"),
    _binary(operator.lt, "<"),
    _binary(operator.le, "<="),
    _binary(operator.gt, ">"),
    _binary(operator.ge, ">="),
    _binary(operator.eq, "=="),
    _binary(operator.ne, "!="),
    _binary(operator.and_, "&"),
    _binary(operator.or_, "|"),
    _binary(operator.xor, "^"),
    _binary(operator.lshift, "<<"),
    _binary(operator.rshift, ">>"),
    NumberOp(operator.neg, "operator.neg", "(-{})"),
    NumberOp(operator.pos, "operator.pos", "(+{})"),
    NumberOp(operator.not_, "operator.not_", "(not {})"),
    NumberOp(operator.getitem, "operator.getitem", "{}[{}]"),
    NumberOp(sym_not, "sym_not", "(not {})"),
    NumberOp(sym_ite, "sym_ite", "({1} if {0} else {2})"),
    NumberOp(sym_sum, "sym_sum", "sum({})"),
    _call(builtins.max, "max", 2),
    _call(builtins.min, "min", 2),
    _call(builtins.abs, "abs"),
    _call(builtins.int, "int"),
    _call(builtins.float, "float"),
    _call(builtins.bool, "bool"),
    NumberOp(builtins.round, "round", "round({})"),
    _call(math.floor, "math.floor"),
    _call(math.ceil, "math.ceil"),
    _call(math.trunc, "math.trunc"),
    _call(math.sqrt, "math.sqrt"),
)

NUMBER_OPS: Final[dict[Callable[..., Any], NumberOp]] = {op.function: op for op in _TABLE}
BY_NAME: Final[dict[str, NumberOp]] = {op.name: op for op in _TABLE}
