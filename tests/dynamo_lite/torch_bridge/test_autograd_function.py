"""Functions with a backward of their own: values equal eager's, and what a program does not know of gradients it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from fx_ir.ops.autograd import OPAQUE
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module

ROW = torch.tensor([1.0, 2.0, 3.0, 4.0])


class FiveFold(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        assert not torch.is_grad_enabled()
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return 5 * ctx.saved_tensors[0] * gradients[0]


class Several(torch.autograd.Function):
    """Results of all kinds, and ``setup_context``."""

    @staticmethod
    def forward(*args: Any) -> Any:
        x, w = args
        return x * w, (x * w).argmax(0), (x * 2).round(), x.view(2, 2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0], gradients[0]


class Looks(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        return x * 2 if ctx.needs_input_grad[0] else x * 3

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None


class Writes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(w)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0], None


def of_a_layer(self: Any, x: Any) -> Any:
    return FiveFold.apply(self.lin(x)) + 1


def several(self: Any, x: Any) -> Any:
    return Several.apply(x, self.lin.bias)


def written_after(self: Any, x: Any) -> Any:
    y = FiveFold.apply(x)
    y.add_(1)
    return y, FiveFold.apply(torch.arange(4))


def beside_another(self: Any, x: Any) -> Any:
    return FiveFold.apply(x), x * 3


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


FORWARDS = pytest.mark.parametrize("forward", [of_a_layer, several, written_after, beside_another])


@both_modes
@FORWARDS
@pytest.mark.parametrize("around", [True, False])
def test_gradients_equal_eager_or_are_raised(forward: Callable[..., Any], around: bool, strict: bool) -> None:
    model = module(forward)
    with torch.set_grad_enabled(around):
        program = dl.export(model, (ROW,), strict=strict).module()
    x = ROW.clone().requires_grad_()
    expected, given = _tuple(model(x)), _tuple(program(x))
    raised = 0
    for theirs, ours in zip(expected, given, strict=True):
        assert torch.equal(theirs, ours)
        assert ours.requires_grad >= theirs.requires_grad
        assert not around or ours.requires_grad is theirs.requires_grad
        if not ours.requires_grad:
            continue
        try:
            found = torch.autograd.grad(ours.sum(), x, retain_graph=True)
        except dl.UnsupportedError as error:
            assert error.id == "backward-unknown"
            raised += 1
        else:
            assert_same(torch.autograd.grad(theirs.sum(), x, retain_graph=True), found)
    assert raised
    with torch.no_grad():
        assert_same(model(ROW), program(ROW))


@both_modes
def test_without_gradients_nothing_is_marked(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        with torch.no_grad():
            y = FiveFold.apply(self.lin(x))
        return y + FiveFold.apply(torch.arange(4)) + x

    program = dl.export(module(forward), (ROW,), strict=strict)
    assert OPAQUE not in {getattr(node.target, "qualified", "") for node in program.graph.nodes}
    x = ROW.clone().requires_grad_()
    assert_same(torch.autograd.grad(program.module()(x).sum(), x), (torch.ones(4),))
    assert_same(program.to_torch().module()(ROW), program.module()(ROW))


@both_modes
def test_what_decides_on_gradients_holds_for_such_inputs(strict: bool) -> None:
    model = module(lambda self, x: Looks.apply(x, self.lin.bias))
    program = dl.export(model, (ROW,), strict=strict).module()
    assert_same(model(ROW), program(ROW))
    with pytest.raises(dl.GuardError, match="input-requires-grad"):
        program(ROW.clone().requires_grad_())


@both_modes
def test_writes_that_gradients_pass_are_refused(strict: bool) -> None:
    model = module(lambda self, x: Writes.apply(x * 1, self.lin.bias))
    with pytest.raises(dl.UnsupportedError, match=r"autograd-function-writes|gradient-written"):
        dl.export(model, (ROW,), strict=strict)


@both_modes
def test_saved_and_for_other_tools(tmp_path: Path, strict: bool) -> None:
    model = module(of_a_layer)
    program = dl.export(model, (ROW,), strict=strict)
    dl.save(program, tmp_path / "program.dlp")
    again = dl.load(tmp_path / "program.dlp")
    assert_same(again.module()(ROW).detach(), model(ROW).detach())
    with pytest.raises(dl.UnsupportedError, match="autograd function FiveFold"):
        program.to_torch()
    with torch.no_grad():
        off = dl.export(model, (ROW,), strict=strict)
    assert_same(off.to_torch().module()(ROW).detach(), model(ROW).detach())


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            scale = x.abs().sum()
        return self.lin(x) * scale


@both_modes
def test_exported_with_gradients_off_and_called_with_them(strict: bool) -> None:
    model, plain = Block(), module(lambda self, x: self.lin(x) * 2)
    with torch.no_grad():
        program = dl.export(model, (ROW,), strict=strict).module()
        unswitched = dl.export(plain, (ROW,), strict=strict).module()
        assert_same(model(ROW), program(ROW))
    x = ROW.clone().requires_grad_()
    assert_same(torch.autograd.grad(plain(x).sum(), x), torch.autograd.grad(unswitched(x).sum(), x))
    with pytest.raises(dl.UnsupportedError, match="backward-unknown"):
        program(x).sum().backward()


@both_modes
def test_a_view_that_was_written_keeps_its_history(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y = x * 2
        z = y.view_as(y)
        z.mul_(y + 1)
        return z

    model = module(forward)
    program = dl.export(model, (ROW,), strict=strict).module()
    x = ROW.clone().requires_grad_()
    assert_same(torch.autograd.grad(program(x).sum(), x), torch.autograd.grad(model(x).sum(), x))
