"""Operators that write, and what needs automatic differentiation (M27, M31, M32)."""

from __future__ import annotations

from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from fx_ir.signature import OutputKind
from tests.exporting import agree, both, both_modes, module, numbers, refused


@torch.library.custom_op("cases::add_to", mutates_args=("y",))
def add_to(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    y.add_(x)
    return x * 2


@add_to.register_fake
def _add_to_fake(x: Any, y: Any) -> Any:
    return torch.empty_like(x)


def writes_input(x: Any, y: Any) -> Any:
    return add_to(x, y)


def writes_local(x: Any) -> Any:
    y = torch.zeros(3)
    result = add_to(x, y)
    return result + y


def test_operator_that_writes_its_second_argument() -> None:
    """13, M27, M32: as many outputs before decomposing as after: two for an input, one for a local."""
    for forward, args, expected in (
        (
            writes_input,
            (numbers(3), numbers(3, seed=1)),
            [OutputKind.USER_INPUT_MUTATION, OutputKind.USER_OUTPUT],
        ),
        (writes_local, (numbers(3),), [OutputKind.USER_OUTPUT]),
    ):
        for program in both(forward, args):
            for version in (program, program.run_decompositions()):
                assert [spec.kind for spec in version.graph_signature.output_specs] == expected
                agree(version, forward, [args])


@both_modes
def test_autograd_function(strict: bool) -> None:
    """40: an autograd.Function is refused with the line, not run without its gradient."""

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    def forward(x: Any) -> Any:
        return Double.apply(x)

    error = refused(forward, (numbers(3),), strict=strict, error=dl.UnsupportedError)
    assert error.location.line == forward.__code__.co_firstlineno + 1


@both_modes
def test_what_the_library_lacks(strict: bool) -> None:
    """39, 40: what torchlite does not have is named by its own error, at the user's line, never ignored."""

    def differentiates(x: Any) -> Any:
        return torch.func.grad(lambda t: (t * t).sum())(x)

    def casts(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x

    with pytest.raises(AttributeError, match=r"torchlite has no torch\.func") as caught:
        dl.export(module(differentiates), (numbers(3),), strict=strict)
    assert "[model-raises]" in caught.value.__notes__[0]
    with pytest.raises(NotImplementedError, match="autocast"):
        dl.export(module(casts), (numbers(3, 3),), strict=strict)


@both_modes
def test_writing_through_an_expanded_tensor(strict: bool) -> None:
    """M32: eager allows it for a part without overlap; a functional graph cannot say it, and the refusal is ours."""

    def part(x: Any) -> Any:
        x.expand(2, 3)[0].add_(1)
        return x

    def whole(x: Any) -> Any:
        x.expand(2, 3).add_(1)
        return x

    error = refused(part, (numbers(3),), strict=strict, error=dl.UnsupportedError)
    assert error.id == "write-through-expand"
    assert error.location.line == part.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError, match="single memory location"):
        whole(numbers(3))
    with pytest.raises(RuntimeError, match="single memory location"):
        dl.export(module(whole), (numbers(3),), strict=strict)
