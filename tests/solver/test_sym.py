"""Symbolic numbers: Python's arithmetic, when a plain value is demanded, and the functions that add no guard."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest

from solver import expr as E
from solver.dims import Dim
from solver.errors import ConstraintViolationError
from solver.shape_env import ShapeEnv
from solver.sym import (
    SymBool,
    SymFloat,
    SymInt,
    statically_known,
    sym_and,
    sym_ceil,
    sym_float,
    sym_floor,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_or,
    sym_round,
    sym_sqrt,
    sym_trunc,
)
from tests.solver.environments import dims, guards, refusal


@pytest.mark.parametrize("value", [0, 1, 7, -5])
def test_every_operator_agrees_with_python(value: int) -> None:
    env = ShapeEnv()
    n = env.input_int("n", value, Dim.DYNAMIC)
    assert isinstance(n, SymInt)
    operations: list[Any] = [
        lambda x: x + 3, lambda x: 3 - x, lambda x: x * x, lambda x: x // 3, lambda x: x % -3, lambda x: -x,
        lambda x: abs(x), lambda x: ~x, lambda x: x << 2, lambda x: x >> 1, lambda x: x & 7, lambda x: x | 8,
        lambda x: x ^ 5, lambda x: x**2, lambda x: 2 ** abs(x), lambda x: x / 4, lambda x: x * 0.3, lambda x: 0.5 - x,
        lambda x: round(x), lambda x: round(x / 3), lambda x: divmod(x, 4)[1], lambda x: (x > 2) + 1, lambda x: 7 // (x + 9),
        lambda x: x.bit_length(), lambda x: -(x / 7), lambda x: (x / 7) % 2, lambda x: True + x, lambda x: pow(x, 2, 5),
    ]  # fmt: skip
    for operation in operations:
        ours, theirs = operation(n), operation(value)
        plain = ours if isinstance(ours, int | float) else ours.hint
        assert plain == theirs and type(plain) is type(theirs)


def test_results_that_are_constants_are_plain() -> None:
    _, (a,) = dims((4, Dim("a")))
    assert type(a - a) is int
    assert type(a * 0) is int
    assert type((8 * a) % 4) is int


def test_statically_known_never_records() -> None:
    env, (a,) = dims((4, Dim("a", min=2)))
    assert statically_known(a >= 2) is True
    assert statically_known(a == 1) is False
    assert statically_known(a == 4) is None
    assert env.guards == []


def test_max_and_at_least() -> None:
    env, (a, b) = dims((4, Dim("a", min=2)), (5, Dim("b")))
    assert repr(sym_max(a, b)) == "max(a, b)"
    assert sym_max(a, 1) is not None and repr(sym_max(a, 1)) == "a"
    assert repr(b.at_least(1)) == "max(b, 1)"
    assert repr(a.at_least(1)) == "a"
    assert env.guards == []


def test_row_24_demanding_a_plain_value_adds_the_guard_that_it_is_this_one() -> None:
    actions: list[Any] = [int, str, hash, float, "{}".format, lambda n: {8: "a"}[n], range]
    for action in actions:
        env, (n,) = dims((8, Dim("n")))
        action(n)
        assert guards(env) == ["n == 8"], action
        assert refusal(env).report.guards[0].verdict == "refuted"


def test_repr_shows_the_expression_and_adds_no_guard() -> None:
    env, (n,) = dims((8, Dim("n")))
    assert repr(2 * n + 1) == "2*n + 1"
    assert env.guards == []


def test_row_33_rounding_is_exact_integer_arithmetic_where_doubles_are() -> None:
    env, (n,) = dims((10, Dim("n", max=1000)))
    cases: list[tuple[Any, Any]] = [
        (sym_ceil(n / 3), lambda k: -(-k // 3)),
        (sym_round(n / 2), lambda k: round(k / 2)),
        (sym_int(0.5 * n), lambda k: int(0.5 * k)),
        (sym_round(n / 7), lambda k: round(k / 7)),
        (round(n / 4), lambda k: round(k / 4)),
    ]
    for made, expected in cases:
        assert isinstance(made, SymInt)
        assert not any(
            isinstance(part, E.FloatExpr) for m in made.expr.terms for a in m.atoms for part in a.args
        )
        for k in range(1001):
            assert E.evaluate(made.expr, {"n": k}) == expected(k), (made, k)
    assert env.guards == []
    int(0.5 * n)
    assert [str(g) for g in env.guards] == ["int(0.5*n) == 5"]


def test_row_33_without_a_bound_the_double_stays() -> None:
    _, (n,) = dims((10, Dim("n")))
    made = sym_ceil(n / 3)
    assert isinstance(made, SymInt)
    huge = 3 * 2**60 + 1
    assert E.evaluate(made.expr, {"n": huge}) == math.ceil(huge / 3)


@pytest.mark.parametrize("value", [0, 1, 6, 9, 10])
def test_functions_agree_with_python_and_add_no_guard(value: int) -> None:
    env, (n,) = dims((value, Dim("n", max=1000)))
    pairs: list[tuple[Any, Any]] = [
        (sym_max(n, 4), max(value, 4)),
        (sym_min(n, 4, 2 * n), min(value, 4, 2 * value)),
        (sym_max(n, 2.5), max(value, 2.5)),
        (sym_ite(n > 3, n, 7), value if value > 3 else 7),
        (sym_ite(n > 3, n > 5, n == 0), value > 5 if value > 3 else value == 0),
        (sym_not(n > 3), not value > 3),
        (sym_and(n > 3, n < 8, True), 3 < value < 8),
        (sym_or(n < 3, n > 8), value < 3 or value > 8),
        (sym_float(n), float(value)),
        (sym_sqrt(n), math.sqrt(value)),
        (sym_int(n * 0.7), int(value * 0.7)),
        (sym_trunc(n / 4), math.trunc(value / 4)),
        (sym_floor(n / 4), math.floor(value / 4)),
        (sym_ceil(n / 4), math.ceil(value / 4)),
        (sym_round(n / 4), round(value / 4)),
    ]
    for ours, theirs in pairs:
        plain = ours.hint if isinstance(ours, SymInt | SymFloat | SymBool) else ours
        assert plain == theirs and type(plain) is type(theirs)
    assert env.guards == []


def test_functions_of_plain_numbers_are_plain() -> None:
    assert sym_max(3, 4) == 4 and sym_ite(True, 1, 2) == 1 and sym_round(2.5) == 2 and sym_int(-2.5) == -2
    assert sym_not(False) is True and sym_and(True, True) is True and sym_sqrt(4) == 2.0
    with pytest.raises(OverflowError):
        sym_int(math.inf)


def test_copies_are_the_same_and_pickling_is_refused() -> None:
    _, (n,) = dims((4, Dim("n")))
    assert copy.deepcopy([n])[0] is n and copy.copy(n) is n
    with pytest.raises(TypeError, match="symbolic"):
        pickle.dumps(n)


def test_comparison_with_what_is_no_number() -> None:
    env, (n,) = dims((4, Dim("n")))
    assert (n == "4") is False and (n != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        _ = n < "4"
    with pytest.raises(TypeError):
        _ = n + "4"
    assert env.guards == []


def test_the_environment_chooses_the_class() -> None:
    class Mine(SymInt):
        __slots__ = ()

    class Env(ShapeEnv):
        int_type = Mine

    env = Env()
    n = env.input_dim("x.shape[0]", 4, Dim("n"))
    made: list[Any] = [n, n + 1, 2 * n, n // 3, -n, n * n, sym_max(n, 3), round(n / 3)]
    assert all(type(x) is Mine for x in made)


def test_a_square_root_of_what_may_be_negative_is_guarded() -> None:
    env, (n,) = dims((9, Dim("n")))
    sym_sqrt(n - 4)
    assert guards(env) == ["n >= 4"]
    assert isinstance(refusal(env), ConstraintViolationError)
