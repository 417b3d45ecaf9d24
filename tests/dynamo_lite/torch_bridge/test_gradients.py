"""A program under autograd: gradients equal eager's, or an error. Modes that the model sets are part of the program."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module

ROW = torch.tensor([1.0, 2.0, 3.0, 4.0])


def part_without(self: Any, x: Any) -> Any:
    with torch.no_grad():
        y = x * 2
    return y * x


def several_results(self: Any, x: Any) -> Any:
    with torch.no_grad():
        first, second = x.chunk(2)
        ordered, best = torch.sort(x).values, x.max(0)
    return first * x[:2], second * x[2:], ordered * x, best.values * x


def updates_inside(self: Any, x: Any) -> Any:
    with torch.no_grad():
        y = x.round()
        z = torch.zeros(4)
        z.add_(1)
    return y * x + z


def frozen_layer(self: Any, x: Any) -> Any:
    with torch.no_grad():
        hidden = self.lin(x)
    return self.lin(hidden)


@torch.no_grad()
def all_frozen(self: Any, x: Any) -> Any:
    return self.lin(x)


def inference(self: Any, x: Any) -> Any:
    with torch.inference_mode():
        y = x * 2
    return y + 1


def switched(self: Any, x: Any) -> Any:
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y * x


def gradients_of(run: Callable[..., Any], x: Any, parameters: Any) -> Any:
    results = run(x)
    results = results if isinstance(results, tuple) else (results,)
    wanted = [result for result in results if result.requires_grad]
    if not wanted:
        return [result.requires_grad for result in results], None
    total = sum((result * result).sum() for result in wanted)
    return [result.requires_grad for result in results], torch.autograd.grad(
        total, [x, *parameters], allow_unused=True
    )


@both_modes
@pytest.mark.parametrize(
    "forward",
    [part_without, several_results, updates_inside, frozen_layer, all_frozen, inference, switched],
    ids=lambda forward: str(forward.__name__),
)
def test_gradients_equal_eager(forward: Any, strict: bool) -> None:
    model = module(forward)
    program = dl.export(model, (ROW,), strict=strict).module()
    parameters = list(model.parameters())
    expected = gradients_of(model, ROW.clone().requires_grad_(), parameters)
    given = gradients_of(program, ROW.clone().requires_grad_(), parameters)
    assert expected[0] == given[0]
    assert_same(expected[1], given[1])


def cut_where_none_can_flow(self: Any, x: Any) -> Any:
    with torch.no_grad():
        table = self.buf.cos() * torch.arange(4).float()
    return x * table


@both_modes
def test_no_cut_where_no_gradient_can_flow(strict: bool) -> None:
    program = dl.export(module(cut_where_none_can_flow), (ROW,), strict=strict)
    assert not any("detach" in str(node.target) for node in program.graph.nodes)


def behind_autograd(self: Any, x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        y.mul_(3)
    return y * 1


def through_data(self: Any, x: Any) -> Any:
    y = x * 2
    y.data.add_(1)
    return y * y


@both_modes
@pytest.mark.parametrize("forward", [behind_autograd, through_data])
def test_updates_that_autograd_does_not_see_are_refused(forward: Any, strict: bool) -> None:
    with pytest.raises(dl.UnsupportedError, match="gradient-written"):
        dl.export(module(forward), (ROW,), strict=strict)
    with torch.no_grad():  # then there is no history to go on with
        program = dl.export(module(forward), (ROW,), strict=strict).module()
        assert_same(module(forward)(ROW), program(ROW))


@both_modes
def test_writing_a_leaf_raises_as_in_eager(strict: bool) -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        dl.export(module(lambda self, x: x.add_(1)), (ROW.clone().requires_grad_(),), strict=strict)
    with pytest.raises(dl.UnsupportedError, match="gradient-written"):
        dl.export(module(lambda self, x: x.add_(1)), (ROW.clone().requires_grad_() * 1,), strict=strict)


@both_modes
def test_gradient_reaches_an_updated_input(strict: bool) -> None:
    model = module(lambda self, x, y: x.add_(y * y))
    program = dl.export(model, (ROW, ROW.clone()), strict=strict).module()
    found = []
    for run in (model, program):
        x, y = ROW.clone(), ROW.clone().requires_grad_()
        run(x, y)
        assert x.requires_grad
        found.append(torch.autograd.grad((x * x).sum(), y))
    assert_same(*found)


@both_modes
def test_training_steps_equal_eager(strict: bool) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                hidden = self.first(x)
            return self.second(hidden.relu() + self.first(x))

    model = Net()
    eager, source = copy.deepcopy(model), copy.deepcopy(model)
    program = dl.export(source, (torch.randn(3, 4),), strict=strict).module()
    for net, run in ((eager, eager), (source, program)):
        torch.manual_seed(0)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            run(torch.randn(3, 4)).pow(2).sum().backward()
            optimiser.step()
    assert_same(dict(eager.state_dict()), dict(source.state_dict()))


@both_modes
def test_idle_operators_in_place_write_nothing(strict: bool) -> None:
    """``dropout_`` in eval mode gives the tensor that it was given, a leaf that requires gradients too."""

    def forward(self: Any, x: Any) -> Any:
        y = torch.nn.functional.dropout(x, 0.5, False, inplace=True)
        return torch.nn.functional.dropout(y * 2, 0.0, True, inplace=True), y

    x = torch.randn(3, 4, requires_grad=True)
    result, same = dl.export(module(forward), (x,), strict=strict).module()(x)
    assert same is x and torch.equal(result, x * 2)


@both_modes
def test_a_write_through_as_strided_has_no_derivative(strict: bool) -> None:
    """PyTorch's derivative of ``as_strided_scatter`` is not that of the write."""

    def forward(self: Any, w: Any, x: Any) -> Any:
        y = w.sum() * x
        y.as_strided((1,), (1,)).add_(1)
        return y

    model, w, x = module(forward), torch.ones(2, requires_grad=True), torch.arange(3.0)
    for example in (w, w.detach()):
        program = dl.export(model, (example, x), strict=strict).module()
        assert_same(program(example, x), model(example, x))
    with pytest.raises(dl.ExportError, match="backward-unknown"):
        dl.export(model, (w, x), strict=strict).module()(w, x).sum().backward()
