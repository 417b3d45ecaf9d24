"""PyTorch's own compilers and tracers around a decorated module read its forward as it was written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    @dl.exported
    def forward(self, x: Any) -> Any:
        return self.lin(x).relu() * x.shape[0]


AROUND: dict[str, Callable[[Any, Any], Any]] = {
    "compile": lambda model, x: torch.compile(model, backend="eager", fullgraph=True)(x),
    "export": lambda model, x: torch.export.export(model, (x,)).module()(x),
    "strict export": lambda model, x: torch.export.export(model, (x,), strict=True).module()(x),
    "jit": lambda model, x: torch.jit.trace(model, (x,), check_trace=False)(x),
    "make_fx": lambda model, x: make_fx(model)(x)(x),
}


def programs(model: Any) -> list[Any]:
    found: list[Any] = model.forward.exported_programs()
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", AROUND)
@pytest.mark.parametrize("called_before", [True, False])
def test_the_original_is_what_they_see(way: str, called_before: bool) -> None:
    model, x = Net(), torch.randn(2, 3)
    expected = Net.forward.function(model, x)  # type: ignore[attr-defined]
    if called_before:
        assert_same(model(x), expected)
    assert_same(AROUND[way](model, x), expected)
    assert len(programs(model)) == int(called_before)
    assert_same(model(x), expected)
    assert len(programs(model)) == 1


def test_fake_tensors_pass() -> None:
    model = Net()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert tuple(model(mode.from_tensor(torch.randn(2, 3))).shape) == (2, 3)
    assert_same(model(torch.ones(2, 3)), Net.forward.function(model, torch.ones(2, 3)))  # type: ignore[attr-defined]


def test_a_bound_forward_has_what_its_function_has() -> None:
    bound: Any = Net().forward
    assert bound.__code__ is Net.forward.function.__code__  # type: ignore[attr-defined]
    assert not hasattr(bound, "no_such_attribute")
    assert copy.copy(bound).__self__ is bound.__self__
