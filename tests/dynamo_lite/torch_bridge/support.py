"""What the tests of the bridge share: modules from functions, both modes, comparison with eager to the bit."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
import torch
from torch import nn
from torch.utils import _pytree as pytree

import dynamo_lite as dl
from fx_ir.structure import same_graph

both_modes: Final = pytest.mark.parametrize("strict", (False, True), ids=("nonstrict", "strict"))


def module(forward: Callable[..., Any], **members: Any) -> Any:
    """A module with a linear layer ``lin``, a buffer ``buf`` of four ones, and ``members``."""

    def init(self: Any) -> None:
        nn.Module.__init__(self)
        self.lin = nn.Linear(4, 4)
        self.register_buffer("buf", torch.ones(4))
        for name, value in members.items():
            setattr(self, name, value)

    return type("Model", (nn.Module,), {"__init__": init, "forward": forward})()


def operators(program: Any) -> list[str]:
    """The targets of a program's calls, in order."""
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def assert_same(expected: Any, given: Any) -> None:
    """Equal structure, types and bits."""
    assert type(expected) is type(given)
    first, second = pytree.tree_leaves(expected), pytree.tree_leaves(given)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        if isinstance(a, torch.Tensor):
            assert a.dtype is b.dtype and a.shape == b.shape
            assert torch.equal(a, b)
        else:
            assert a == b


def assert_equals_eager(
    model: Any, program: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> None:
    """Two calls in a row of the program and of a copy of the model, under one seed, state included."""
    eager, runner = copy.deepcopy(model), program.module()
    for seed in (1, 2):
        results = []
        for target in (eager, runner):
            torch.manual_seed(seed)
            results.append(target(*copy.deepcopy(tuple(args)), **copy.deepcopy(kwargs or {})))
        assert_same(*results)
    kept = runner.state_dict()
    for name, tensor in eager.state_dict().items():
        assert torch.equal(tensor, kept[name]), name


def export_both(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, dynamic_shapes: Any = None
) -> Any:
    """The strict program; the graph of the non-strict one is equal (M4), and the module and PyTorch are as before."""
    before = {name: (id(tensor), tensor.clone()) for name, tensor in model.state_dict(keep_vars=True).items()}
    random, grad = torch.get_rng_state(), torch.is_grad_enabled()
    native, strict = (
        dl.export(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=mode) for mode in (False, True)
    )
    assert same_graph(native.graph_module, strict.graph_module) == []
    assert [str(guard.expr) for guard in native.guards] == [str(guard.expr) for guard in strict.guards]
    after = model.state_dict(keep_vars=True)
    assert list(after) == list(before)
    for name, tensor in after.items():
        assert id(tensor) == before[name][0] and torch.equal(tensor, before[name][1])
    assert torch.equal(random, torch.get_rng_state()) and torch.is_grad_enabled() == grad
    return strict
