"""Attributes that hooks of PyTorch's assign before each forward: norms of weights from before parametrisations, pruning."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune

import dynamo_lite as dl

ROWS = [{0: dl.Dim.DYNAMIC}]
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
both_modes = pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])


def pruned(layer: nn.Module) -> Any:
    return prune.l1_unstructured(prune.random_structured(layer, "weight", 0.3, dim=0), "bias", 0.5)


WAYS = [
    pytest.param(nn.utils.weight_norm, id="weight_norm"),
    pytest.param(nn.utils.spectral_norm, id="spectral_norm"),
    pytest.param(pruned, id="pruned"),
]


@both_modes
@pytest.mark.parametrize("way", WAYS)
def test_recomputed_weights(way: Any, strict: bool) -> None:
    """Equal to eager at several sizes, and after the parameters have changed: the weight is computed in the program."""
    model, eager = (
        nn.Sequential(way(nn.Linear(8, 6)), nn.ReLU(), way(nn.Linear(6, 4))).eval() for _ in range(2)
    )
    held = dict(vars(model[0]))
    program = dl.export(model, (torch.randn(3, 8),), dynamic_shapes=ROWS, strict=strict)
    assert dict(vars(model[0])) == held
    run = program.module()
    changed = {name: value + 0.1 for name, value in model.state_dict().items() if "mask" not in name}
    for state in ({}, changed):
        run.load_state_dict(model.state_dict() | state)
        eager.load_state_dict(model.state_dict() | state)
        for rows in (3, 1, 7):
            x = torch.randn(rows, 8)
            assert run(x).equal(eager(x))


@both_modes
def test_gradients_reach_the_parts_of_the_weight(strict: bool) -> None:
    model = nn.utils.weight_norm(nn.Linear(8, 4))
    x = torch.randn(3, 8)
    run = dl.export(model, (x,), strict=strict).module()
    run(x).sum().backward()
    model(x).sum().backward()
    expected = {name: parameter.grad for name, parameter in model.named_parameters()}
    found = {name: parameter.grad for name, parameter in run.named_parameters()}
    assert expected.keys() == found.keys()
    assert all(found[name].equal(expected[name]) for name in expected)


class Cached(nn.Module):
    """Uses its parametrised weights several times in a block that computes them once."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))

    def forward(self, x: Any) -> Any:
        with parametrize.cached():
            return self.layer(self.layer(x)) + self.layer.weight.sum()


@both_modes
def test_weights_computed_once_in_a_block(strict: bool) -> None:
    """The cache of ``parametrize.cached()`` is the capture's own, also where a block is open around the export."""
    model, x = Cached(), torch.randn(2, 3)
    with parametrize.cached():
        model.layer(x)
        kept = dict(parametrize._cache)
        program = dl.export(model, (x,), strict=strict)
        assert parametrize._cache == kept
    assert not parametrize._cache and not parametrize._cache_enabled
    assert torch.equal(program.module()(x), model(x))
    calls = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert sum("weight_norm" in name for name in calls) == 1
