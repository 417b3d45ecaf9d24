"""Gradients through control flow are PyTorch's, gradient modes inside and around it included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import both_modes, module


def off_for_a_part(self: Any, x: Any, chosen: Any) -> Any:
    def then(x: Any) -> Any:
        with torch.no_grad():
            y = self.lin(x)
        return y * x

    return torch.cond(chosen, then, lambda x: self.lin(x) * x, (x,))


def off_for_a_branch(self: Any, x: Any, chosen: Any) -> Any:
    def then(x: Any) -> Any:
        with torch.no_grad():
            return self.lin(x) * 1

    return torch.cond(chosen, then, lambda x: self.lin(x) * x, (x,))


def off_around(self: Any, x: Any, chosen: Any) -> Any:
    with torch.no_grad():
        y = torch.cond(chosen, lambda x: self.lin(x), lambda x: x.sin(), (x,))
    return y * x


def off_around_and_on_inside(self: Any, x: Any, chosen: Any) -> Any:
    def then(x: Any) -> Any:
        with torch.enable_grad():
            return self.lin(x)

    with torch.no_grad():
        y = torch.cond(chosen, then, lambda x: x.sin(), (x,))
    return y * x


def a_branch_in_a_branch(self: Any, x: Any, chosen: Any) -> Any:
    def then(x: Any) -> Any:
        with torch.no_grad():
            return torch.cond(x.sum() > 0, lambda x: self.lin(x), lambda x: x.sin(), (x,))

    return torch.cond(chosen, then, lambda x: x.sin(), (x,)) * x


def detached(self: Any, x: Any, chosen: Any) -> Any:
    return torch.cond(chosen, lambda x: self.lin(x).detach() + x, lambda x: x.sin().detach(), (x,))


def asked(self: Any, x: Any, chosen: Any) -> Any:
    y = torch.cond(chosen, lambda x: x.detach() * 2, lambda x: x.detach().sin(), (x,))
    return y * 3 if y.requires_grad else y


def several_results(self: Any, x: Any, chosen: Any) -> Any:
    a, b = torch.cond(chosen, lambda x: (x * 2, x.exp()), lambda x: (x.sin(), x * 1), (x,))
    return a * b, a


def loop(self: Any, x: Any, chosen: Any) -> Any:
    def body(i: Any, y: Any) -> Any:
        with torch.no_grad():
            z = self.lin(y)
        return i + 1, y * z

    return torch._higher_order_ops.while_loop(lambda i, y: i < 2, body, (torch.tensor(0), x))[1]


def scanned(self: Any, x: Any, chosen: Any) -> Any:
    def step(carry: Any, row: Any) -> Any:
        with torch.no_grad():
            z = carry * self.lin.bias
        return carry + row * z, carry * z

    return torch._higher_order_ops.scan(step, x[0] * 1, x, dim=0)


def mapped(self: Any, x: Any, chosen: Any) -> Any:
    def step(row: Any) -> Any:
        with torch.no_grad():
            z = self.lin(row)
        return z * row

    return torch._higher_order_ops.map(step, x)


def gradients(model: Any, x: Any, chosen: Any) -> tuple[Any, ...]:
    """Results, which of them require gradients, and the gradients of input and parameters (None where there is none)."""
    given = x.clone().requires_grad_()
    found = model(given, chosen)
    results = found if isinstance(found, tuple) else (found,)
    follows = [result for result in results if result.requires_grad]
    over = [given, *model.parameters()]
    total = sum(result.sum() for result in follows)
    slopes = torch.autograd.grad(total, over, allow_unused=True) if follows else [None] * len(over)
    return [result.detach() for result in results], [result.requires_grad for result in results], slopes


def equal(first: Any, second: Any) -> bool:
    return first is second if first is None or second is None else torch.equal(first, second)


CASES: list[Callable[..., Any]] = [
    off_for_a_part, off_for_a_branch, off_around, off_around_and_on_inside, a_branch_in_a_branch, detached,
    asked, several_results, loop, scanned, mapped,
]  # fmt: skip


@both_modes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("forward", CASES, ids=lambda forward: str(forward.__name__))
def test_control_flow(forward: Any, strict: bool) -> None:
    model = module(forward)
    x = torch.randn(3, 4, requires_grad=forward is asked)
    program = dl.export(model, (x, torch.tensor(True)), strict=strict).module()
    for chosen in (torch.tensor(True), torch.tensor(False)):
        expected, found = gradients(model, x.detach(), chosen), gradients(program, x.detach(), chosen)
        assert all(map(equal, expected[0], found[0]))
        assert expected[1] == found[1]
        assert all(map(equal, expected[2], found[2]))


@both_modes
def test_a_result_may_be_written_to(strict: bool) -> None:
    """What comes out is the caller's own tensor: an update in place is followed."""
    program = dl.export(module(several_results), (torch.randn(3, 4), torch.tensor(True)), strict=strict)
    x = torch.randn(3, 4, requires_grad=True)
    result, _ = program.module()(x, torch.tensor(False))
    result.mul_(2)
    (slope,) = torch.autograd.grad(result.sum(), x)
    torch.testing.assert_close(slope, 2 * (x.cos() * x + x.sin()).detach())
