"""Updates in place that read what they write: eager's result, or an error."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module

VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda y: y,
    "transposed": lambda y: y.t(),
    "first rows": lambda y: y[:-1],
    "last rows": lambda y: y[1:],
    "a row": lambda y: y[1],
    "another row": lambda y: y[2],
    "a column": lambda y: y[:, 1],
    "another column": lambda y: y[:, 2],
    "columns": lambda y: y[:, :2],
    "other columns": lambda y: y[:, 2:],
    "every second": lambda y: y[::2],
    "the others": lambda y: y[1::2],
    "flat": lambda y: y.view(-1),
    "diagonal": lambda y: y.diagonal(),
    "again": lambda y: y.view(4, 4),
    "a piece": lambda y: y.split([1, 3])[0],
    "copy": lambda y: y.clone(),
}
PAIRS = [(a, b) for a in VIEWS for b in VIEWS]
random.Random(5).shuffle(PAIRS)


def adding(written: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    def forward(self: Any, x: Any) -> Any:
        y = x * 1
        written(y).add_(read(y))
        return y

    return forward


@pytest.mark.parametrize("part", range(8))
def test_any_two_views(part: int) -> None:
    """Where no element is shared, or all by the same places, eager's result; where eager raises or orders matter, an error."""
    for written, read in PAIRS[part::8]:
        forward = adding(VIEWS[written], VIEWS[read])
        x = torch.arange(16.0).reshape(4, 4)
        numbers = torch.arange(16).reshape(4, 4)
        first, second = VIEWS[written](numbers), VIEWS[read](numbers)
        shared = "copy" not in (written, read) and bool(
            set(first.flatten().tolist()) & set(second.flatten().tolist())
        )
        safe = not shared or (first.shape == second.shape and bool((first == second).all()))
        try:
            expected = module(forward)(x)
        except RuntimeError:
            with pytest.raises((RuntimeError, dl.UnsupportedError)):
                dl.export(module(forward), (x,), strict=part % 2 == 0)
            continue
        if safe:
            assert_same(dl.export(module(forward), (x,), strict=part % 2 == 0).module()(x), expected)
        else:
            with pytest.raises(dl.UnsupportedError, match="reads-what-it-writes"):
                dl.export(module(forward), (x,), strict=part % 2 == 0)


def rows_apart(self: Any, x: Any) -> Any:
    y = x * 1
    y[0].add_(y[1])
    y[:, :1].mul_(y[:, 1:])
    first, second = y.chunk(2, 1)
    first.add_(second)
    y.add_(y)
    y[1:].mul_(y[1:])
    return y


def shifted(self: Any, x: Any) -> Any:
    y = x * 1
    y[1:].add_(y[:-1])
    return y


def shifted_from_the_end(self: Any, x: Any) -> Any:
    y = x * 1
    y[-1].add_(y[2])  # one row if there are three
    return y


@both_modes
def test_with_dynamic_sizes(strict: bool) -> None:
    spec = {"x": {0: dl.Dim("n", min=2, max=9)}}
    program = dl.export(module(rows_apart), (torch.randn(4, 2),), dynamic_shapes=spec, strict=strict).module()
    for n in (2, 4, 7):
        x = torch.randn(n, 2)
        assert_same(program(x), module(rows_apart)(x))
    spec = {"x": {0: dl.Dim("n", min=3, max=9)}}
    for forward in (shifted, shifted_from_the_end):
        with pytest.raises(dl.UnsupportedError, match="reads-what-it-writes"):
            dl.export(module(forward), (torch.randn(4, 2),), dynamic_shapes=spec, strict=strict)


@both_modes
@pytest.mark.parametrize(
    "update",
    [
        lambda y: y.addmm_(y, y),
        lambda y: y.index_add_(0, torch.tensor([0]), y[:1]),
        lambda y: y.scatter_(0, torch.zeros(1, 4, dtype=torch.long), y),
    ],
)
def test_operators_of_several_steps_do_not_read_even_themselves(update: Any, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y = x * 1
        update(y)
        return y

    with pytest.raises(dl.UnsupportedError, match="reads-what-it-writes"):
        dl.export(module(forward), (torch.randn(4, 4),), strict=strict)


def view_written(self: Any, x: Any) -> Any:
    y = self.lin(x)
    with torch.no_grad():
        v = y.view(-1)
    v.mul_(2)
    return y


def base_written(self: Any, x: Any) -> Any:
    y = self.lin(x)
    with torch.no_grad():
        v = y[0]
    y.mul_(2)
    return v * 1


@both_modes
@pytest.mark.parametrize("forward", [view_written, base_written])
def test_a_view_made_with_gradients_off_is_not_updated(forward: Any, strict: bool) -> None:
    with pytest.raises(RuntimeError, match="no_grad"):
        module(forward)(torch.randn(2, 4))
    with pytest.raises(dl.UnsupportedError, match="gradient-written"):
        dl.export(module(forward), (torch.randn(2, 4),), strict=strict)
