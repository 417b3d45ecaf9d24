"""Dimension specifications and the newer spelling (M36)."""

from __future__ import annotations

from typing import Any

import pytest

from solver.dims import DerivedDim, Dim, DimHint, dims
from solver.errors import ConstraintViolationError, InputError
from solver.shape_env import ShapeEnv
from solver.specs import DictSpec, IntVar, ObjectSpec, ParamsSpec, SeqSpec, ShapesSpec, ShapeVar, TensorSpec


def test_a_named_dim_starts_at_zero_and_has_no_limit() -> None:
    d = Dim("n")
    assert (d.__name__, d.min, d.max) == ("n", 0, None)
    assert Dim("n", min=0) == d and Dim("n", max=4) != d
    assert [x.__name__ for x in dims("a", "b", min=1, max=3)] == ["a", "b"]
    assert dims("a", min=1, max=3) == (Dim("a", min=1, max=3),)


def test_derived_dims_are_linear_with_positive_coefficients() -> None:
    d = Dim("d", min=1, max=10)
    made = 3 * (2 * d + 1) - 2
    assert isinstance(made, DerivedDim)
    assert (made.root, made.scale, made.offset) == (d, 6, 1)
    assert (made.min, made.max, made.__name__) == (7, 61, "6*d + 1")
    assert d * 1 == d and (d + 1) - 1 == d


@pytest.mark.parametrize(
    "operation",
    [
        lambda d: -d, lambda d: 3 - d, lambda d: d * 0, lambda d: d * -1, lambda d: d // 2, lambda d: d % 2,
        lambda d: d / 2, lambda d: d**2, lambda d: d * d, lambda d: d + d, lambda d: d + 0.5, lambda d: (2 * d) // 2,
        lambda d: -(2 * d), lambda d: d * True,
    ],
)  # fmt: skip
def test_other_arithmetic_is_refused(operation: Any) -> None:
    with pytest.raises(InputError, match="derived dimension"):
        operation(Dim("d"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dim("n", min=3, max=2),
        lambda: Dim("n", max=-1),
        lambda: Dim("n", min=1.5),  # type: ignore[arg-type]
        lambda: Dim("a b"),
        lambda: Dim("if"),
        lambda: Dim(""),
        lambda: Dim("max"),
        lambda: Dim.DYNAMIC(min=5, max=4),
        lambda: Dim.STATIC(min=1),
        lambda: Dim("d", max=3) - 5,
        lambda: ShapeVar("a", min=-1),
        lambda: IntVar("a", min=4, max=3),
        lambda: IntVar("not a name"),
    ],
)
def test_bad_dimensions(make: Any) -> None:
    with pytest.raises(InputError):
        make()


def test_hints() -> None:
    assert Dim.AUTO is Dim.AUTO and Dim.DYNAMIC != Dim.AUTO
    assert Dim.DYNAMIC(min=2, max=9) == DimHint("DYNAMIC", 2, 9)
    assert repr(Dim.AUTO(max=4)) == "Dim.AUTO(max=4)"


def test_the_newer_spelling_lowers_to_dims_and_conditions() -> None:
    a, b, n = ShapeVar("a", min=2), ShapeVar("b", max=64), IntVar("n")
    spec = ShapesSpec(
        ParamsSpec(
            {
                "x": TensorSpec([a, 2 * a + 1, None, 8]),
                "y": ObjectSpec({"w": TensorSpec([b])}),
                "z": DictSpec({"k": SeqSpec([TensorSpec([a]), n])}),
                "**kwargs": {"extra": TensorSpec([b])},
            }
        ),
        assumptions=[a + b > 10, a % 8 == 0, 2 * a == b, "b >= a", (a > 1) | (b > 1)],
    )
    A, B = Dim("a", min=2), Dim("b", max=64)
    nest = spec.as_dynamic_shapes()
    assert nest["x"] == (A, DerivedDim(A, 2, 1), None, 8)
    assert nest["y"] == {"w": (B,)}
    assert nest["extra"] == (B,)
    inner = nest["z"]["k"]
    assert inner[0] == (A,) and (inner[1].min, inner[1].max) == (None, None)
    assert [str(c) for c in spec.assumptions] == [
        "a + b >= 11",
        "a % 8 == 0",
        "2*a == b",
        "b >= a",
        "a >= 2 or b >= 2",
    ]


def test_variables_are_apart_even_under_one_name() -> None:
    first, second = ShapeVar("n"), ShapeVar("n")
    spec = ShapesSpec({"x": TensorSpec([first, second])}, assumptions=[first < second])
    one, other = spec.as_dynamic_shapes()["x"]
    assert one.__name__ == "n" and other.__name__ == "n_1"
    assert [str(c) for c in spec.assumptions] == ["n_1 > n"] or [str(c) for c in spec.assumptions] == [
        "n < n_1"
    ]


def test_a_dimension_that_is_a_general_expression_is_an_assumption() -> None:
    a, b = ShapeVar("a"), ShapeVar("b")
    spec = ShapesSpec({"x": TensorSpec([a, b]), "y": TensorSpec([a * b])})
    env = ShapeEnv()
    nest = spec.as_dynamic_shapes()
    for name, sizes in (("x", (3, 4)), ("y", (12,))):
        for i, size in enumerate(sizes):
            env.input_dim(f"{name}.shape[{i}]", size, nest[name][i])
    for assumption in spec.assumptions:
        env.assume(assumption)
    x, y, z = (env.wrap(env.sources[s]) for s in ("x.shape[0]", "x.shape[1]", "y.shape[0]"))
    assert bool(z == x * y)
    assert env.guards == []
    with pytest.raises(ConstraintViolationError):
        other = ShapeEnv()
        for i, size in enumerate((3, 4)):
            other.input_dim(f"x.shape[{i}]", size, nest["x"][i])
        other.input_dim("y.shape[0]", 13, nest["y"][0])
        other.assume(spec.assumptions[0])


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: ShapesSpec({"x": TensorSpec([a])}, assumptions=[b > 1]),
        lambda a, b: ShapesSpec({"x": TensorSpec([a])}, assumptions=[3]),  # type: ignore[list-item]
        lambda a, b: ShapesSpec({"x": TensorSpec([a])}, assumptions=["a > q"]),
        lambda a, b: ShapesSpec({"x": "dynamic"}),
        lambda a, b: ParamsSpec({"*rest": None}),
        lambda a, b: TensorSpec(["a"]),  # type: ignore[list-item]
        lambda a, b: bool(a == b),
        lambda a, b: bool(a),
        lambda a, b: 1 < a < 3,
    ],
)
def test_bad_specifications(make: Any) -> None:
    with pytest.raises(InputError):
        make(ShapeVar("a"), ShapeVar("b"))


def test_assumptions_over_a_nest_of_dims() -> None:
    b, k = Dim("b"), Dim("k")
    spec = ShapesSpec(
        {"x": {0: b, 1: 2 * k}, "y": [{0: b, 2: Dim.AUTO}, None]}, assumptions=["b != 1", "b*k <= 64"]
    )
    assert spec.as_dynamic_shapes() == {"x": {0: b, 1: 2 * k}, "y": [{0: b, 2: Dim.AUTO}, None]}
    assert [str(condition) for condition in spec.assumptions] == ["b != 1", "b*k <= 64"]
    with pytest.raises(InputError):
        ShapesSpec({"x": {0: b}}, assumptions=["c != 1"])
    with pytest.raises(InputError):
        ShapesSpec({"x": TensorSpec([ShapeVar("b")]), "y": {0: Dim("b")}})
