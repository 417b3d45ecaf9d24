"""Guards: none missing, none too many, each with its exact meaning (M14, M15, M19, M23-M26, M36)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from tests.exporting import agree, both, both_modes, guards, module, numbers, refused


def counterexample(error: Any) -> dict[str, Any]:
    """The sizes that break the first root of a refuted proof."""
    found: dict[str, Any] = error.report.roots[0].counterexample
    return found


def scaled_if(condition: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def forward(x: Any) -> Any:
        return x * 2 if condition(x) else x * 3

    return forward


ONE = [
    pytest.param(lambda x: x.shape[0] == 1, id="== 1"),
    pytest.param(lambda x: x.shape[0] < 2, id="< 2"),
    pytest.param(lambda x: not x.shape[0] > 1, id="not > 1"),
    pytest.param(lambda x: not x.shape[0] >= 2, id="not >= 2"),
    pytest.param(lambda x: 2 > x.shape[0], id="2 >"),  # noqa: SIM300
    pytest.param(lambda x: x.size(0) == 1, id="size()"),
    pytest.param(lambda x: x.numel() == 3, id="numel()"),
    pytest.param(lambda x: x.t().is_contiguous(), id="is_contiguous()"),
]


@both_modes
@pytest.mark.parametrize("condition", ONE)
def test_one_is_no_special_size(condition: Callable[[Any], Any], strict: bool) -> None:
    """1, M24, M36: a branch on size 1 is refused where the range holds 1: counterexample b=1, fix ``min=2``."""
    forward = scaled_if(condition)
    shapes = {"x": {0: Dim("b", min=1, max=64)}}
    error = refused(
        forward, (numbers(4, 3),), dynamic_shapes=shapes, strict=strict, error=dl.ConstraintViolationError
    )
    assert counterexample(error) == {"b": 1}
    assert "x.shape[0] = 1" in error.message
    assert "min=2" in error.hint


def test_length_of_a_tensor_is_its_first_size_in_strict_mode() -> None:
    """1, M3: ``len(x)`` is exact in strict mode; in the other C takes the plain value, and that is the guard."""
    forward = scaled_if(lambda x: len(x) == 1)
    shapes = {"x": {0: Dim("b", min=1, max=64)}}
    error = refused(forward, (numbers(4, 3),), dynamic_shapes=shapes, strict=True)
    assert [guard.expr for guard in error.report.guards] == ["b != 1"]
    error = refused(forward, (numbers(4, 3),), dynamic_shapes=shapes, strict=False)
    assert [guard.expr for guard in error.report.guards] == ["b == 4"]


@pytest.mark.parametrize("condition", ONE)
def test_one_excluded_by_the_range(condition: Callable[[Any], Any]) -> None:
    """1: with ``min=2`` the same programs export, and are right at the bounds."""
    forward = scaled_if(condition)
    for program in both(forward, (numbers(4, 3),), dynamic_shapes={"x": {0: Dim("b", min=2, max=64)}}):
        agree(program, forward, [(numbers(n, 3),) for n in (2, 3, 64)])


@both_modes
def test_zero_in_the_range(strict: bool) -> None:
    """1: ``== 0`` is refused with ``min=0``."""
    forward = scaled_if(lambda x: x.shape[0] == 0)
    shapes = {"x": {0: Dim("b", min=0, max=64)}}
    error = refused(forward, (numbers(4, 3),), dynamic_shapes=shapes, strict=strict)
    assert counterexample(error) == {"b": 0}
    assert "min=1" in error.hint


def test_zero_excluded() -> None:
    """1: and exports with ``min=1``."""
    forward = scaled_if(lambda x: x.shape[0] == 0)
    for program in both(forward, (numbers(4, 3),), dynamic_shapes={"x": {0: Dim("b", min=1, max=64)}}):
        agree(program, forward, [(numbers(n, 3),) for n in (1, 2, 64)])


PRODUCTS = [
    pytest.param(lambda a, b: a * b >= 20, lambda a, b: a * b >= 20, id="a*b >= 20"),
    pytest.param(lambda a, b: a + b > 9, lambda a, b: a + b > 9, id="a+b > 9"),
    pytest.param(lambda a, b: a * a > b, lambda a, b: a * a > b, id="a*a > b"),
    pytest.param(lambda a, b: a % b != 0, lambda a, b: a % b != 0, id="a % b != 0"),
]


@both_modes
@pytest.mark.parametrize(("condition", "truth"), PRODUCTS)
def test_nonlinear_branch(condition: Any, truth: Any, strict: bool) -> None:
    """2, M24: a branch on two dims is refused with sizes at which the branch goes the other way."""

    def forward(x: Any) -> Any:
        a, b = x.shape
        return x + 1 if condition(a, b) else x - 1

    shapes = {"x": {0: Dim("a", min=1, max=64), 1: Dim("b", min=1, max=64)}}
    error = refused(forward, (numbers(8, 5),), dynamic_shapes=shapes, strict=strict)
    assert isinstance(error, dl.ConstraintViolationError)
    found = counterexample(error)
    assert not truth(found["a"], found["b"])
    assert 1 <= found["a"] <= 64
    assert 1 <= found["b"] <= 64


def test_matmul_does_not_specialise_one() -> None:
    """3, M36: an example of size 1 stays dynamic."""

    def forward(x: Any, w: Any) -> Any:
        return x @ w

    for program in both(
        forward, (numbers(1, 3), numbers(3, 4)), dynamic_shapes={"x": {0: Dim("b", min=1, max=32)}}
    ):
        assert guards(program) == []
        agree(program, forward, [(numbers(n, 3), numbers(3, 4)) for n in (1, 2, 31, 32)])


BROADCASTS = [
    pytest.param(lambda x, y: x + y, id="add"),
    pytest.param(lambda x, y: torch.maximum(x, y), id="maximum"),
    pytest.param(lambda x, y: torch.where(x > 0, x, y), id="where"),
]


@pytest.mark.parametrize("combine", BROADCASTS)
def test_example_of_size_one_broadcast(combine: Any) -> None:
    """3: a dynamic dimension whose example is 1 meets a parameter-like row without specialising."""

    def forward(x: Any, y: Any) -> Any:
        return combine(x, y)

    shapes = {"x": {0: Dim("b", min=1, max=32)}}
    for program in both(forward, (numbers(1, 4), numbers(4, seed=1)), dynamic_shapes=shapes):
        assert guards(program) == []
        agree(program, forward, [(numbers(n, 4), numbers(4, seed=1)) for n in (1, 2, 32)])


def flatten_to_eight(x: Any) -> Any:
    return x.reshape(-1, 8)


@both_modes
def test_reshape_gives_one_condition(strict: bool) -> None:
    """4: the one condition ``(a*b) % 8 == 0``, refuted unless the specification implies it."""
    shapes = {"x": {0: Dim("a", min=1, max=64), 1: Dim("b", min=1, max=64)}}
    error = refused(flatten_to_eight, (numbers(8, 6),), dynamic_shapes=shapes, strict=strict)
    assert [guard.expr for guard in error.report.guards] == ["(a*b) % 8 == 0"]
    assert "(a*b) % 8 == 0" in error.hint
    found = counterexample(error)
    assert found["a"] * found["b"] % 8 != 0


def test_reshape_condition_as_assumption() -> None:
    """4, M36: with the condition as an assumption it exports, and a valid 4x4 is accepted."""
    a, b = dl.ShapeVar("a", min=1, max=64), dl.ShapeVar("b", min=1, max=64)
    spec = dl.ShapesSpec(dl.ParamsSpec({"x": dl.TensorSpec([a, b])}), assumptions=[(a * b) % 8 == 0])
    for program in both(flatten_to_eight, (numbers(8, 6),), dynamic_shapes=spec):
        agree(program, flatten_to_eight, [(numbers(*n),) for n in ((4, 4), (1, 8), (64, 64), (2, 12))])
        with pytest.raises(dl.GuardError):
            program.module()(numbers(3, 3))


def test_slice_of_a_dynamic_dimension() -> None:
    """5: ``x[:, :5] + y`` has no guard that excludes a size."""

    def forward(x: Any, y: Any) -> Any:
        return x[:, :5] + y

    shapes = {"x": {1: Dim("s", min=5, max=64)}}
    for program in both(forward, (numbers(2, 9), numbers(2, 5)), dynamic_shapes=shapes):
        agree(program, forward, [(numbers(2, n), numbers(2, 5)) for n in (5, 6, 64)])


SLICES = [
    pytest.param(lambda x, n: x[:, 0:n], id="0:n"),
    pytest.param(lambda x, n: x[:, :n], id=":n"),
    pytest.param(lambda x, n: x[:, -n:], id="-n:"),
    pytest.param(lambda x, n: x.narrow(1, 0, n), id="narrow"),
]


@pytest.mark.parametrize("cut", SLICES)
def test_slice_by_an_integer_at_its_maximum(cut: Any) -> None:
    """35, M9: ``x[0:n]`` with ``n`` at its maximum as the example is dynamic."""

    def forward(x: Any, n: int) -> Any:
        return cut(x, n)

    shapes = {"x": None, "n": Dim("n", min=1, max=8)}
    for program in both(forward, (numbers(3, 8), 8), dynamic_shapes=shapes):
        agree(program, forward, [(numbers(3, 8), n) for n in (1, 5, 8)])
        with pytest.raises(dl.GuardError):
            program.module()(numbers(3, 8), 9)


@both_modes
@pytest.mark.parametrize(
    "combine",
    [
        pytest.param(lambda x, y: x + y, id="add"),
        pytest.param(lambda x, y: torch.stack([x, y]), id="stack"),
        pytest.param(lambda x, y: x.copy_(y), id="copy_"),
    ],
)
def test_dims_that_must_be_equal(combine: Any, strict: bool) -> None:
    """36, M24: two dims that the program needs equal, named separately: refused with the fix "one Dim"."""

    def forward(x: Any, y: Any) -> Any:
        return combine(x, y)

    shapes = {"x": {0: Dim("a", min=2, max=64)}, "y": {0: Dim("b", min=2, max=64)}}
    error = refused(forward, (numbers(4), numbers(4)), dynamic_shapes=shapes, strict=strict)
    assert isinstance(error, dl.ConstraintViolationError)
    assert "a == b" in error.message or "x.shape[0] == y.shape[0]" in error.message
    found = counterexample(error)
    assert found["a"] != found["b"]
    one = Dim("n", min=2, max=64)
    shared = {"x": {0: one}, "y": {0: one}}
    program = dl.export(module(forward), (numbers(4), numbers(4)), dynamic_shapes=shared, strict=strict)
    agree(program, forward, [(numbers(n), numbers(n, seed=1)) for n in (2, 64)])


def test_unequal_shapes_are_the_exact_disjunction() -> None:
    """32: ``x.shape == y.shape`` (unequal) decides a branch: exactly "not all equal", in both modes."""

    def forward(x: Any, y: Any) -> Any:
        return x.sum() if x.shape == y.shape else y.sum()

    shapes = {"x": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}, "y": {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}}
    programs = both(forward, (numbers(4, 3), numbers(5, 6)), dynamic_shapes=shapes)
    for program in programs:
        agree(
            program,
            forward,
            [(numbers(*a), numbers(*b)) for a, b in (((4, 3), (4, 6)), ((2, 2), (3, 2)), ((7, 3), (5, 6)))],
        )
        with pytest.raises(dl.GuardError):
            program.module()(numbers(4, 3), numbers(4, 3))


def test_runtime_ranges() -> None:
    """22, 23, M26: the specification becomes runtime checks: a range, a derived dimension."""

    def forward(x: Any) -> Any:
        return x + 1

    root = Dim("b", min=1, max=8)
    for program in both(forward, (numbers(4),), dynamic_shapes={"x": {0: Dim("b", min=2)}}):
        agree(program, forward, [(numbers(n),) for n in (2, 3, 100)])
        with pytest.raises(dl.GuardError, match="b = 1"):
            program.module()(numbers(1))
    for program in both(forward, (numbers(4),), dynamic_shapes={"x": {0: 2 * root}}):
        agree(program, forward, [(numbers(n),) for n in (2, 4, 16)])
        for bad in (5, 0, 18):
            with pytest.raises(dl.GuardError):
                program.module()(numbers(bad))
    for program in both(forward, (numbers(4),), dynamic_shapes={"x": {0: 3 * root + 1}}):
        agree(program, forward, [(numbers(n),) for n in (4, 7, 25)])
        for bad in (5, 1, 28):
            with pytest.raises(dl.GuardError):
                program.module()(numbers(bad))


def test_facts_about_unbacked_sizes_are_used() -> None:
    """34: what follows from facts about unbacked sizes is discharged, not refused."""

    def at_most(x: Any) -> Any:
        nz = x.nonzero()
        return nz + 1 if nz.shape[0] <= x.shape[0] else nz

    for program in both(at_most, (torch.tensor([1.0, 0.0, 2.0]),)):
        assert guards(program) == []
        agree(program, at_most, [(torch.zeros(3),), (torch.ones(3),)])

    def odd(a: Any, x: Any) -> Any:
        u, v = a[0].item(), a[1].item()
        torch._check(v == 2 * u + 1)
        return x + 1 if v % 2 == 1 else x - 1

    for program in both(odd, (torch.tensor([2, 5]), numbers(3))):
        agree(program, odd, [(torch.tensor([0, 1]), numbers(3)), (torch.tensor([7, 15]), numbers(3))])
        with pytest.raises(dl.GuardError):
            program.module()(torch.tensor([2, 6]), numbers(3))

    def parts(a: Any, x: Any) -> Any:
        u, v = a[0].item(), a[1].item()
        torch._check(u >= 0)
        torch._check(v >= 0)
        torch._check(u + v == x.shape[0])
        return x * 2 if u <= x.shape[0] else x * 3

    shapes = {"a": None, "x": {0: Dim("s", max=64)}}
    for program in both(parts, (torch.tensor([2, 3]), numbers(5)), dynamic_shapes=shapes):
        agree(program, parts, [(torch.tensor([a, b]), numbers(a + b)) for a, b in ((0, 0), (1, 0), (60, 4))])


@both_modes
def test_contradicting_checks(strict: bool) -> None:
    """16: checks that cannot hold together, not even for the example, are refused with both lines."""

    def forward(a: Any) -> Any:
        u = a[0].item()
        torch._check(u > 1)
        torch._check(u * a.shape[0] == 5)
        return a + u

    example = torch.tensor([1, 2, 3, 4, 5, 6])
    error = refused(forward, (example,), strict=strict, error=dl.ConstraintViolationError)
    first = forward.__code__.co_firstlineno
    assert error.location.line == first + 3
    assert f":{first + 2}" in error.message
