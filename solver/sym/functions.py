"""Functions of symbolic and plain numbers that decide nothing: no guard, except for divisors and definedness."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, overload

from solver import expr as E
from solver.sym.methods import NumberLike
from solver.sym.numbers import SymBool, SymFloat, SymInt, SymNumber
from solver.sym.operands import number_of
from solver.sym.rounding import rounded

if TYPE_CHECKING:
    from solver.shape_env import ShapeEnv

BoolLike = bool | SymBool


def env_of(*values: object) -> ShapeEnv | None:
    """The environment of the first symbolic number among ``values``."""
    for value in values:
        if issubclass(type(value), SymNumber):
            return value.env  # type: ignore[attr-defined, no-any-return]
    return None


def _number(value: object) -> E.Number:
    number = number_of(value)
    if number is None:
        raise TypeError(f"a number is needed, not {type(value).__name__}")
    return E.number(number)


def _condition(value: object) -> E.BoolExpr:
    if issubclass(type(value), SymBool):
        return value.expr  # type: ignore[attr-defined, no-any-return]
    if type(value) is bool:
        return E.truth(bool(value))
    number = number_of(value)
    if number is None:
        raise TypeError(f"a condition is needed, not {type(value).__name__}")
    return E.ne(number, 0)


def _extremum(op: str, values: tuple[Any, ...]) -> Any:
    env = env_of(*values)
    if env is None:
        return max(values) if op == "max" else min(values)
    result = _number(values[0])
    for value in values[1:]:
        result = _pair(env, op, result, _number(value))
    return env.wrap(result)


def _pair(env: ShapeEnv, op: str, x: E.Number, y: E.Number) -> E.Number:
    if isinstance(x, E.IntExpr) and isinstance(y, E.IntExpr):
        first = env.known(E.ge(x, y))
        if first is not None:
            return x if first is (op == "max") else y
        return E.int_max(x, y) if op == "max" else E.int_min(x, y)
    return E.binary(op, x, y)


@overload
def sym_max(*values: int | SymInt) -> int | SymInt: ...
@overload
def sym_max(*values: NumberLike) -> int | float | SymInt | SymFloat: ...
def sym_max(*values: NumberLike) -> Any:
    """The largest of one or more numbers."""
    return _extremum("max", values)


@overload
def sym_min(*values: int | SymInt) -> int | SymInt: ...
@overload
def sym_min(*values: NumberLike) -> int | float | SymInt | SymFloat: ...
def sym_min(*values: NumberLike) -> Any:
    """The smallest of one or more numbers."""
    return _extremum("min", values)


def sym_ite(condition: BoolLike, a: Any, b: Any) -> Any:
    """``a if condition else b``, both already computed."""
    env = env_of(condition, a, b)
    if not issubclass(type(condition), SymBool):
        return a if condition else b
    assert env is not None
    known = env.known(condition.expr)  # type: ignore[union-attr]
    if known is not None:
        return a if known else b
    if all(issubclass(type(x), bool | SymBool) for x in (a, b)):
        return env.wrap(E.bool_if(_condition(condition), _condition(a), _condition(b)))
    x, y = _number(a), _number(b)
    if isinstance(x, E.IntExpr) and isinstance(y, E.IntExpr):
        return env.wrap(E.int_if(_condition(condition), x, y))
    return env.wrap(E.float_if(_condition(condition), x, y))


def sym_not(condition: BoolLike) -> BoolLike:
    """``not condition``."""
    if issubclass(type(condition), SymBool):
        return condition.env.wrap_bool(E.not_(condition.expr))  # type: ignore[union-attr]
    return not condition


def _connective(op: str, conditions: tuple[BoolLike, ...]) -> BoolLike:
    env = env_of(*conditions)
    if env is None:
        return all(conditions) if op == "and" else any(conditions)
    parts = [_condition(c) for c in conditions]
    return env.wrap_bool(E.and_(*parts) if op == "and" else E.or_(*parts))


def sym_and(*conditions: BoolLike) -> BoolLike:
    """The conjunction, all operands already computed."""
    return _connective("and", conditions)


def sym_or(*conditions: BoolLike) -> BoolLike:
    """The disjunction, all operands already computed."""
    return _connective("or", conditions)


def sym_sqrt(x: NumberLike) -> float | SymFloat:
    """``math.sqrt(x)``; a negative operand is refused as ``math.sqrt`` does."""
    env = env_of(x)
    if env is None:
        return math.sqrt(x)
    number = _number(x)
    if not env.evaluate(E.ge(number, 0)):
        raise ValueError("math domain error")
    return env.wrap_float(E.unary("sqrt", number))


def sym_float(x: NumberLike) -> float | SymFloat:
    """``float(x)``."""
    env = env_of(x)
    return float(x) if env is None else env.wrap_float(E.unary("float", _number(x)))


_OF_PYTHON: Final[dict[str, Callable[[Any], int]]] = {
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}


def _round_with(how: str, x: Any) -> int | SymInt:
    env = env_of(x)
    if not isinstance(x, int | float | SymNumber):
        return _OF_PYTHON[how](x)
    if env is None:
        return E.from_float(how, E.number(x)).const if math.isfinite(x) else int(x)  # type: ignore[arg-type]
    return env.wrap_int(rounded(env, how, _number(x)))


def sym_int(x: NumberLike) -> int | SymInt:
    """``int(x)``: towards zero."""
    return _round_with("int", x)


def sym_trunc(x: NumberLike) -> int | SymInt:
    """``math.trunc(x)``."""
    return _round_with("int", x)


def sym_floor(x: NumberLike) -> int | SymInt:
    """``math.floor(x)``."""
    return _round_with("floor", x)


def sym_ceil(x: NumberLike) -> int | SymInt:
    """``math.ceil(x)``."""
    return _round_with("ceil", x)


def sym_round(x: NumberLike) -> int | SymInt:
    """``round(x)``: to the nearest, ties to even."""
    return _round_with("round", x)


def statically_known(condition: object) -> bool | None:
    """True or False where what is known settles the condition, else None. Records nothing."""
    kind = type(condition)
    if issubclass(kind, SymBool):
        return condition.env.known(condition.expr)  # type: ignore[attr-defined, no-any-return]
    return bool(condition)
