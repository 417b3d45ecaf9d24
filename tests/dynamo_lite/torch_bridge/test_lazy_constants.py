"""Constants made in forward when first needed and kept: recomputed by the program, rolled back in the module."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    assert_same,
    both_modes,
    export_both,
    module,
)


def attribute(self: Any, x: Any) -> Any:
    if self.cache is None:
        table = torch.zeros(4)
        table[0::2] = torch.sin(torch.arange(2))
        self.cache = table + torch.tensor([1.0, 2.0, 3.0, 4.0])
    return x + self.cache


def by_key(self: Any, x: Any) -> Any:
    key = (4, x.dtype)
    if key not in self.tables:
        self.tables[key] = (torch.arange(4), [torch.ones(4)])
    first, (second,) = self.tables[key]
    return x * first + second


SHARED: dict[str, Any] = {}


def _table(name: str) -> Any:
    if name not in SHARED:
        SHARED[name] = torch.linspace(0, 1, 4)
    return SHARED[name]


def of_the_file(self: Any, x: Any) -> Any:
    return x - _table("line")


def of_a_buffer(self: Any, x: Any) -> Any:
    self.tables["b"] = [torch.ones(4), self.buf + 1]
    return x + self.tables["b"][1]


def of_a_parameter(self: Any, x: Any) -> Any:
    if self.cache is None:
        self.cache = self.lin.weight * 2
    return x @ self.cache


@pytest.mark.parametrize("forward", [attribute, by_key, of_the_file, of_a_parameter, of_a_buffer])
def test_recomputed_and_rolled_back(forward: Any) -> None:
    model = module(forward, cache=None, tables={})
    program = export_both(model, (torch.randn(3, 4),), dynamic_shapes=[{0: dl.Dim.DYNAMIC}])
    assert model.cache is None and model.tables == {} and SHARED == {}
    assert [effect.became for effect in program.effects] == ["rolled back"]
    try:
        assert_equals_eager(model, program, (torch.randn(5, 4),))
    finally:
        SHARED.clear()


def of_an_input(self: Any, x: Any) -> Any:
    self.cache = x.sum()
    return x


def of_a_size(self: Any, x: Any) -> Any:
    if self.cache is None:
        self.cache = torch.arange(x.shape[0])
    return x + self.cache[:, None]


def of_a_draw(self: Any, x: Any) -> Any:
    if self.cache is None:
        self.cache = torch.zeros(4) + torch.randn(4)
    return x + self.cache


def counted(self: Any, x: Any) -> Any:
    self.steps = self.steps + 1
    return x * self.steps


COUNT = torch.zeros(())


def counted_in_the_file(self: Any, x: Any) -> Any:
    global COUNT
    COUNT = COUNT + 1
    return x * COUNT


@both_modes
@pytest.mark.parametrize("forward", [of_an_input, of_a_size, of_a_draw, counted])
def test_what_depends_on_more_is_state(forward: Any, strict: bool) -> None:
    model = module(forward, cache=None, tables={}, steps=torch.zeros(()))
    with pytest.raises(dl.StateError, match="tensor-left-outside"):
        dl.export(model, (torch.randn(3, 4),), dynamic_shapes=[{0: dl.Dim.DYNAMIC}], strict=strict)
    assert model.cache is None and model.tables == {} and torch.equal(model.steps, torch.zeros(()))


def test_a_tensor_of_the_file_is_state() -> None:
    with pytest.raises(dl.StateError, match="tensor-left-outside"):
        dl.export(module(counted_in_the_file), (torch.randn(3, 4),), strict=True)
    assert torch.equal(COUNT, torch.zeros(()))


@both_modes
def test_decorated_after_eager_has_filled_it(strict: bool) -> None:
    class Lazy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cache: Any = None

        def plain(self, x: Any) -> Any:
            if self.cache is None:
                self.cache = torch.arange(4)
            return x + self.cache

        forward = dl.exported(strict=strict, on_mismatch="reexport")(plain)

    model, x = Lazy(), torch.randn(2, 4)
    expected = x + torch.arange(4)
    assert_same(expected, model(x))
    assert model.cache is None
    model.plain(x)
    assert_same(expected, model(x))
    model.cache = torch.ones(4)
    assert_same(x + 1, model(x))


@both_modes
def test_plain_tensors_of_a_live_module_are_read_at_each_call(strict: bool) -> None:
    class Holds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one = torch.zeros(4)
            self.many: dict[Any, Any] = {"a": [torch.zeros(4)], 2: (torch.zeros(4),)}

        @dl.exported(strict=strict, on_mismatch="reexport")
        def forward(self, x: Any) -> Any:
            return x + self.one, self.many["a"][0] * x, x - self.many[2][0]

    model, x = Holds(), torch.randn(2, 4)
    model(x)
    model.one = torch.ones(4)
    model.many["a"][0] = torch.ones(4)
    model.many[2] = (torch.ones(4),)
    assert_same((x + 1, x, x - 1), model(x))
    model.one.add_(1)
    assert_same(x + 2, model(x)[0])
    model.one = torch.ones(1)
    assert_same(x + 1, model(x)[0])
