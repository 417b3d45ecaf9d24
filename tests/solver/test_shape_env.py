"""The shape environment: what becomes a guard, what is settled in silence, what is refused, and what is proved."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from solver import expr as E
from solver.dims import Dim
from solver.errors import (
    ConstraintViolationError,
    DataDependentError,
    InputError,
    Location,
)
from solver.parse import parse_bool
from solver.shape_env import ShapeEnv
from solver.sym import SymInt
from tests.solver.environments import Lines, counterexample, dims, guards, refusal

# Backed conditions (M15, M19, M21-M26)


@pytest.mark.parametrize(
    ("ask", "low", "bad"),
    [
        (lambda b: b == 1, 1, {1}),
        (lambda b: b < 2, 1, {1}),
        (lambda b: b > 1, 1, {1}),
        (lambda b: b == 0, 0, {0}),
    ],
)
def test_row_1_the_promise_covers_zero_and_one(ask: Any, low: int, bad: set[int]) -> None:
    env, (b,) = dims((4, Dim("b", min=low, max=64)))
    bool(ask(b))
    assert len(env.guards) == 1
    error = refusal(env)
    assert counterexample(error)["b"] in bad
    assert f"min={low + 1}" in error.hint
    env, (b,) = dims((4, Dim("b", min=2, max=64)))
    bool(ask(b))
    assert env.guards == []
    assert env.prove().status == "proved"


def test_row_2_a_product_of_two_dims_is_refused_with_sizes_that_break_it() -> None:
    env, (a, b) = dims((8, Dim("a")), (8, Dim("b")))
    assert bool(a * b >= 20) is True
    found = counterexample(refusal(env))
    assert found["a"] * found["b"] < 20
    env, (a, b) = dims((8, Dim("a", min=4)), (8, Dim("b", min=5)))
    bool(a * b >= 20)
    assert env.prove().status == "proved"


def test_row_4_a_reshape_asks_for_divisibility_once() -> None:
    env, (a, b) = dims((8, Dim("a")), (6, Dim("b")))
    assert bool((a * b) % 8 == 0)
    assert bool((a * b) // 8 * 8 == a * b)
    assert bool(8 * ((a * b) // 8) == b * a)
    assert guards(env) == ["(a*b) % 8 == 0"]
    found = counterexample(refusal(env))
    assert found["a"] * found["b"] % 8


def test_row_16_a_check_that_cannot_hold_names_both_lines() -> None:
    lines = Lines()
    env, (six,) = dims((6, None), locate=lines)
    lines.at(10)
    u = env.unbacked("u")
    lines.at(11)
    env.check(u > 1)
    lines.at(12)
    with pytest.raises(ConstraintViolationError) as caught:
        env.check(u * six == 5)
    assert caught.value.location is not None and caught.value.location.line == 12
    assert "model.py:11" in str(caught.value)
    lines.at(13)
    with pytest.raises(ConstraintViolationError, match=r"u <= 0.*u > 1|u > 1|u >= 2") as caught:
        env.check(u <= 0)
    assert "model.py:11" in str(caught.value)


def test_rows_22_and_23_the_range_and_the_derivation_stay_in_the_problem() -> None:
    env, (b, even) = dims((4, Dim("b", min=2)), (8, 2 * Dim("b", min=2)))
    assert env.range_constraints == {"b": (2, None)}
    assert str(env.sources["x.shape[1]"]) == "2*b"
    assert bool(even % 2 == 0)
    assert bool(b >= 2)
    assert env.guards == []


def test_row_32_a_disjunction_is_one_exact_guard() -> None:
    env, (a, b, c, d) = dims((2, Dim("a")), (3, Dim("b")), (2, Dim("c")), (4, Dim("d")))
    equal = (a == c) & (b == d)
    assert bool(equal) is False
    assert guards(env) == ["a != c or b != d"]


def test_row_34_linear_facts_settle_conditions_on_data() -> None:
    env, (s,) = dims((8, Dim("s")))
    u, v, w, z = (env.unbacked(name, min=0) for name in "uvwz")
    env.check(u <= s)
    assert bool(u <= s) and bool(s + 1 > u) and not bool(u > s)
    env.check(v == 2 * u + 1)
    assert bool(v % 2 == 1)
    env.check(w + z == s)
    assert bool(w <= s) and bool(z <= s)
    assert env.guards == []


def test_transitivity() -> None:
    env, (s,) = dims((8, Dim("s")))
    u, v = env.unbacked("u"), env.unbacked("v")
    env.check(v >= u + 2)
    env.check(v <= s)
    assert bool(u <= s) and bool(u + 2 <= s) and bool(u != s)


def test_the_prover_is_asked_when_nothing_simple_settles_a_condition_on_data() -> None:
    env = ShapeEnv()
    u = env.unbacked("u", min=1, max=10)
    assert bool(u * u + u >= 2)
    assert bool((u * u + u) % 2 == 0)


def test_row_35_the_maximum_as_the_example_stays_dynamic() -> None:
    env, (n,) = dims((128, Dim("n", max=128)))
    assert isinstance(n, SymInt)
    assert bool(n <= 128)
    assert env.guards == []


def test_row_36_equal_dims_named_apart() -> None:
    env, (a, b) = dims((8, Dim("a")), (8, Dim("b")))
    assert bool(a == b)
    assert bool(a * 2 == b + a), "known from the first guard"
    assert guards(env) == ["a == b"]
    error = refusal(env)
    found = counterexample(error)
    assert found["a"] != found["b"]
    assert error.report.guards[0].suggestions[0].condition == "a == b"


def test_equal_expressions_are_equal_without_a_guard() -> None:
    env, (a, b) = dims((3, Dim("a")), (4, Dim("b")))
    assert (a * b + a) == a * (b + 1)
    assert (a + b == b + a) is True
    assert (a != a) is False
    assert env.guards == []


def test_a_guard_is_recorded_once_and_what_it_implies_is_silent() -> None:
    env, (a, b) = dims((30, Dim("a")), (4, Dim("b")))
    for _ in range(3):
        assert bool(a >= 10)
    assert bool(a > 5) and not bool(a == 3)
    assert bool(a + b >= 10)
    assert guards(env) == ["a >= 10"]


def test_a_divisor_that_may_be_zero_is_an_obligation() -> None:
    env, (a, b) = dims((9, Dim("a")), (2, Dim("b")))
    assert repr(a // b) == "a//b"
    assert guards(env) == ["b != 0"]
    assert counterexample(refusal(env))["b"] == 0
    env, (a, b) = dims((9, Dim("a")), (2, Dim("b", min=1)))
    divmod(a, b)
    assert env.guards == []
    env, (a, b) = dims((9, Dim("a")), (0, Dim("b")))
    with pytest.raises(ZeroDivisionError):
        a % b


# Data (M16, M18, M22, M23)


def test_a_decision_on_data_is_refused_with_the_check_to_write() -> None:
    lines = Lines()
    env = ShapeEnv(locate=lines)
    rows = env.unbacked("nz.shape[0]", min=0)
    lines.at(7)
    with pytest.raises(DataDependentError) as caught:
        bool(rows > 0)
    assert caught.value.location == Location("model.py", 7, "forward")
    assert "_check(nz.shape[0] > 0)" in caught.value.hint
    env.check(rows > 0)
    assert bool(rows > 0) and bool(rows != 0)
    for demand in (int, str, hash, float):
        with pytest.raises(DataDependentError):
            demand(rows)
    assert env.guards == []
    assert [str(f) for f in env.facts] == ["u0 >= 1"]


def test_the_caller_may_phrase_symbols() -> None:
    env = ShapeEnv(describe={"u0": "mask.sum().item()"}.get)
    with pytest.raises(DataDependentError) as caught:
        bool(env.unbacked() == 3)
    assert "_check(mask.sum().item() == 3)" in caught.value.hint


def test_a_size_that_a_fact_gives_in_backed_terms_is_backed() -> None:
    env, (s,) = dims((8, Dim("s")))
    u = env.unbacked("u", min=0)
    env.check(u == s + 1)
    assert bool(u > 5)
    assert guards(env) == ["s >= 5"]


def test_floats_and_bools_from_data() -> None:
    env = ShapeEnv()
    x, flag = env.unbacked("x", "float"), env.unbacked("flag", "bool")
    with pytest.raises(DataDependentError):
        bool(x > 0.5)
    with pytest.raises(DataDependentError):
        bool(flag)
    env.check(x > 0.5)
    assert bool(x > 0.5)
    env.check(flag)
    assert bool(flag)


def test_row_7_what_a_branch_checks_stays_inside() -> None:
    env, (n,) = dims((3, Dim("n")))
    with env.scope() as facts:
        env.check(n > 5)
        assert bool(n > 4)
    assert [str(f) for f in facts] == ["n >= 6"]
    assert env.guards == [] and env.facts == []
    assert bool(n > 4) is False
    assert guards(env) == ["n <= 4"]


def test_a_guard_met_inside_a_scope_is_known_outside() -> None:
    env, (n,) = dims((8, Dim("n")))
    with env.scope():
        assert bool(n > 4)
    assert bool(n > 4)
    assert guards(env) == ["n >= 5"]


def test_a_check_on_known_sizes_is_a_guard_and_must_hold_for_the_example() -> None:
    env, (n,) = dims((8, Dim("n")))
    assert env.check(n % 4 == 0) is None
    assert env.guards[0].kind == "check"
    with pytest.raises(ConstraintViolationError, match=r"x.shape\[0\] = 8"):
        env.check(n > 100, "long enough")


# Inferred dimensions (M36)


def test_guards_on_inferred_dims_are_adopted_not_proved() -> None:
    env, (s, b) = dims((8, Dim.DYNAMIC), (8, Dim("b")))
    assert bool(s % 4 == 0) and bool(s > 1) and bool(s == b)
    assert [str(g) for g in env.adopted] == guards(env) == ["s0 % 4 == 0", "s0 >= 2", "b == s0"]
    assert env.prove().status == "proved"
    assert env.range_constraints["s0"] == (2, None)
    assert all(g.verdict == "adopted" for g in env.guards)


def test_a_dynamic_that_collapses_is_refused_at_its_line() -> None:
    lines = Lines()
    env, (s,) = dims((8, Dim.DYNAMIC), locate=lines)
    lines.at(20)
    bool(s >= 8)
    lines.at(21)
    bool(s <= 8)
    error = refusal(env)
    assert error.id == "dynamic-is-constant"
    assert error.location is not None and error.location.line == 21
    assert "x.shape[0]" in error.message and "8" in error.message


def test_a_collapse_that_takes_a_proof_to_see() -> None:
    env, (s,) = dims((4, Dim.DYNAMIC))
    bool(s * s == 16)
    error = refusal(env)
    assert error.id == "dynamic-is-constant" and "4" in error.message
    env, (s, t) = dims((4, Dim.DYNAMIC), (4, Dim.DYNAMIC))
    bool(s * t == 16)
    assert env.prove().status == "proved"


def test_an_auto_that_collapses_is_static_with_a_note() -> None:
    lines = Lines()
    env, (s,) = dims((8, Dim.AUTO), locate=lines)
    lines.at(30)
    int(s)
    env.prove()
    assert env.static == {"s0": 8}
    assert "model.py:30" in env.notes[0] and "x.shape[0]" in env.notes[0]
    assert env.final((s * 2 + 1).expr) is E.constant(17)
    assert "s0" not in env.range_constraints


def test_static_and_fixed() -> None:
    env, sizes = dims((8, None), (8, Dim.STATIC), (8, 8))
    assert sizes == [8, 8, 8]
    with pytest.raises(ConstraintViolationError):
        env.input_dim("y.shape[0]", 8, 9)


def test_hints_take_ranges() -> None:
    env, (s,) = dims((8, Dim.AUTO(min=4, max=8)))
    assert bool(s >= 4) and bool(s < 9)
    assert env.guards == []
    with pytest.raises(ConstraintViolationError):
        env.input_dim("y.shape[0]", 9, Dim.DYNAMIC(max=8))


def test_an_int_input_may_be_negative() -> None:
    env = ShapeEnv()
    n = env.input_int("n", -3, Dim.DYNAMIC)
    assert bool(n < 0)
    assert guards(env) == ["s0 < 0"] or guards(env) == ["s0 <= -1"]


# Named and derived dimensions (M36)


def test_a_shared_dim_is_one_symbol() -> None:
    b = Dim("b")
    env, (x, y) = dims((4, b), (4, Dim("b")))
    assert (x == y) is True
    with pytest.raises(ConstraintViolationError, match=r"5"):
        env.input_dim("y.shape[0]", 5, b)
    with pytest.raises(InputError, match="one name, two ranges"):
        env.input_dim("y.shape[0]", 4, Dim("b", max=9))


def test_derived_dims_are_over_their_root() -> None:
    d = Dim("d", min=1, max=10)
    env, (x, y) = dims((9, 2 * d + 1), (4, d))
    assert repr(x) == "2*d + 1" and repr(y) == "d"
    assert bool(x > y)
    assert env.guards == []
    with pytest.raises(ConstraintViolationError, match="no integer d"):
        env.input_dim("z.shape[0]", 8, 2 * d + 1)
    with pytest.raises(ConstraintViolationError):
        dims((41, 2 * d + 1))


def test_a_size_below_zero_is_no_size() -> None:
    env, (x,) = dims((3, Dim("d") - 5))
    assert bool(x >= 0)
    assert [a.text for a in env.assumptions] == ["d - 5 >= 0"]
    assert env.prove().status == "proved"


@pytest.mark.parametrize("dim", [Dim("b", min=5), Dim("b", max=3)])
def test_the_example_must_lie_in_the_range(dim: Dim) -> None:
    with pytest.raises(ConstraintViolationError, match=r"x.shape\[0\] is 4"):
        dims((4, dim))


def test_assumptions_are_premises() -> None:
    env, (a, b) = dims((8, Dim("a")), (16, Dim("b")))
    env.assume(parse_bool("2*a == b"))
    env.assume(parse_bool("a % 8 == 0"))
    assert bool(b > a - 1) and bool(b % 2 == 0) and bool(a % 4 == 0)
    bool((a * b) % 32 == 0)
    assert env.prove().status == "proved"
    with pytest.raises(ConstraintViolationError, match=r"x.shape\[0\] = 8"):
        env.assume(parse_bool("a > 100"))
    with pytest.raises(InputError, match="zz"):
        env.assume(parse_bool("zz > 1"))


def test_symbols_of_equal_names_stay_apart() -> None:
    _, (s, named) = dims((8, Dim.DYNAMIC), (9, Dim("s0")))
    assert repr(s) != repr(named)


# The whole


def test_the_refusal_names_the_line_the_sizes_and_a_way_out() -> None:
    lines = Lines()
    env, (b,) = dims((4, Dim("b", min=1, max=64)), locate=lines)
    lines.at(41)
    env.origin = "aten::squeeze.dim"
    bool(b == 1)
    error = refusal(env)
    assert error.location == Location("model.py", 41, "forward")
    assert "x.shape[0] = 1" in error.message
    assert "aten::squeeze.dim" in error.message
    assert error.hint
    assert env.guards[0].verdict == "refuted"
    assert error.report.status == "refuted"


def test_tracing_and_proving_nothing_load_neither_z3_nor_sympy() -> None:
    program = (
        "import sys\n"
        "from solver.shape_env import ShapeEnv\n"
        "from solver.dims import Dim\n"
        "env = ShapeEnv()\n"
        "b = env.input_dim('x.shape[0]', 4, Dim('b', min=1))\n"
        "assert b * 8 // 4 == 2 * b and b >= 1\n"
        "assert env.prove().status == 'proved'\n"
        "print(sorted({'z3', 'sympy', 'torch', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
