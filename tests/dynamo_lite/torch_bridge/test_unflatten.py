"""Hierarchies of PyTorch's modules, and our control-flow operators on PyTorch's tensors (M17, M34)."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from dynamo_lite import Dim
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(4)
        self.l = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: Any, *, scale: float = 2.0) -> Any:
        self.n += 1
        return {"y": self.drop(self.l(self.bn(x))) * scale, "x": x}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = Block()
        self.att = nn.MultiheadAttention(4, 2, batch_first=True)
        self.c = torch.ones(4)

    def forward(self, x: Any) -> Any:
        y = self.b(self.b(x, scale=3.0)["y"], scale=3.0)["y"]
        a, _ = self.att(y[None], y[None], y[None])
        return dl.cond(x.sum() > 0, lambda a: a + self.c, lambda a: a - 1, (a,))


def seeded(function: Any, *args: Any, **kwargs: Any) -> Any:
    torch.manual_seed(1)
    return function(*args, **kwargs)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 3)
        self.register_buffer("n", torch.ones(3))

    def forward(self, x: Any) -> Any:
        return self.l(x) * 2.0 + self.n * 3


@both_modes
def test_operators_on_what_a_kept_call_returns(strict: bool) -> None:
    """M34: a module whose call is kept gives back the tensors that the program goes on with."""
    model, x = Scaled(), torch.randn(5, 4)
    program = dl.export(model, (x,), strict=strict, preserve_module_call_signature=("l",))
    assert_same(model(x), dl.unflatten(program)(x))


@both_modes
@pytest.mark.parametrize("keep", [(), ("b", "att"), ("b.drop",)], ids=lambda keep: "-".join(keep) or "none")
def test_hierarchy(strict: bool, keep: tuple[str, ...]) -> None:
    """M34: state, random numbers and results as eager's, whole and in parts, and exported again."""
    torch.manual_seed(0)
    model, x = Net(), torch.randn(5, 4)
    shapes = {"x": {0: Dim("b", min=2, max=64)}}
    program = dl.export(
        model, (x,), dynamic_shapes=shapes, strict=strict, preserve_module_call_signature=keep
    )
    assert program.check_assumptions(model) == []
    back, eager = dl.unflatten(program), copy.deepcopy(model)
    for given in (x, torch.randn(3, 4)):
        assert_same(seeded(eager, given), seeded(back, given))
        assert_same(dict(eager.state_dict()), dict(back.state_dict()))
    if "b" in keep:
        assert_same(seeded(eager.b, x, scale=3.0), seeded(back.b, x, scale=3.0))
        assert_same(eager.att(x[None], x[None], x[None]), back.att(x[None], x[None], x[None]))
    again = dl.export(back, (x,), dynamic_shapes=shapes, strict=strict)
    assert_same(seeded(copy.deepcopy(back), x), seeded(again.module(), x))


@both_modes
def test_our_control_flow_on_their_tensors(strict: bool) -> None:
    """M17: ``dl``'s operators take PyTorch's tensors in both modes, and keep what they decide on."""

    class Loops(nn.Module):
        def forward(self, x: Any) -> Any:
            sign = dl.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))
            count, doubled = dl.while_loop(
                lambda i, a: i.sum() < 3, lambda i, a: (i + 1, a * 2 + x.sum()), (torch.zeros(1), x)
            )
            carry, ys = dl.scan(lambda c, s: (c + s, c * s), torch.zeros(4), x, reverse=True)
            total = dl.associative_scan(lambda a, b: a + b, x, 1)
            return sign, count, doubled, carry, ys, total, dl.map(lambda row: row * carry, x)

    program = dl.export(
        Loops(), (torch.randn(3, 4),), dynamic_shapes={"x": {0: Dim("b", min=1, max=64)}}, strict=strict
    )
    program.validate()
    for given in (torch.ones(2, 4), -torch.ones(1, 4), torch.randn(5, 4)):
        assert_same(Loops()(given), program.module()(given))
        assert_same(Loops()(given), dl.unflatten(program)(given))


class Rows(nn.Module):
    def forward(self, x: Any) -> Iterator[Any]:
        for number in range(2):
            yield x + number


class Taking(nn.Module):
    def forward(self, rows: Iterator[Any]) -> Any:
        return next(rows)


class Resumed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows, self.first, self.second = Rows(), Taking(), Taking()

    def forward(self, x: Any) -> Any:
        rows = self.rows(x)
        return self.first(rows), self.second(rows)


@both_modes
def test_a_generator_runs_in_the_module_that_resumes_it(strict: bool) -> None:
    program = dl.export(Resumed(), (torch.ones(3),), strict=strict)
    stacks = [node.meta["nn_module_stack"] for node in program.graph.nodes if node.op == "call_function"]
    assert [[path for path, _ in stack] for stack in stacks] == [
        ["", "first", "rows"],
        ["", "second", "rows"],
    ]


class Closing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ReLU()

    def forward(self, x: Any) -> Any:
        def again(value: Any) -> Any:
            return self.inner(value)

        return again(x) + 1


@both_modes
def test_a_module_that_a_function_closes_over_is_in_the_stack(strict: bool) -> None:
    program = dl.export(Closing(), (torch.ones(3),), strict=strict)
    stacks = [node.meta["nn_module_stack"] for node in program.graph.nodes if node.op == "call_function"]
    assert [[path for path, _ in stack] for stack in stacks] == [["", "inner"], [""]]
