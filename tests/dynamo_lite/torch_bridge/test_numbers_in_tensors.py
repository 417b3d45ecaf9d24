"""Tensors made of sizes: what is read of them is a size, where eager reads a number that happens to be one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import both_modes


class Runs(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def pooled(x: Any) -> Any:
    rows, columns = torch.tensor(x.shape) // torch.tensor([2, 4])
    return x.view(rows, 2, columns, 4).sum((1, 3))


KNOWN: list[tuple[str, Callable[[Any], Any]]] = [
    ("trunc", lambda x: x.view(x.shape[0], torch.div(x.shape[1], 4, rounding_mode="trunc"), 4)),
    ("floor", lambda x: x.view(x.shape[0], torch.div(torch.tensor(x.shape[1]), 4, rounding_mode="floor"), 4)),
    ("floor_divide", lambda x: x.view(x.shape[0], -1, 4)[:, : torch.tensor(x.shape[1]) // 4]),
    ("remainder", lambda x: x[: torch.tensor(x.shape[0] + 3) % 4 + 1]),
    ("product of tensors", lambda x: x.reshape(torch.tensor(x.shape[0]) * torch.tensor(x.shape[1]))),
    ("prod", lambda x: x.view(torch.prod(torch.tensor(x.shape)).item())),
    ("sum, max, min", lambda x: x.new_zeros(torch.tensor(x.shape).sum(), torch.tensor([x.shape[0], 3]).max(), torch.tensor([x.shape[1], 3]).min())),
    ("parts", pooled),
    ("item", lambda x: x[: torch.tensor(x.shape[0]).item() - 1]),
    ("arange", lambda x: torch.arange(torch.tensor(x.shape[1])) + 1 - torch.tensor(x.shape[0])),
    ("a decision", lambda x: x + 1 if torch.tensor(x.shape[1]) >= 4 else x - 1),
    ("another", lambda x: x + 1 if (torch.tensor(x.shape)[1] - 1 != torch.tensor(5)) else x - 1),
    ("a number of decisions", lambda x: x.new_zeros(3) + (torch.tensor(x.shape) > 3).sum()),
    ("negative", lambda x: x.new_zeros(2) + torch.div(2 - x.shape[0], 4, rounding_mode="floor").item()),
]  # fmt: skip


@both_modes
@pytest.mark.parametrize("function", [pytest.param(function, id=name) for name, function in KNOWN])
def test_read_as_sizes(function: Callable[[Any], Any], strict: bool) -> None:
    """Equal to eager at sizes other than the example's; a decision is a condition on sizes, kept by the contract."""
    free = [{0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}]
    run = dl.export(Runs(function), (torch.randn(6, 8),), dynamic_shapes=free, strict=strict).module()
    met = 0
    for rows, columns in ((6, 8), (4, 12), (2, 4), (10, 16), (8, 2)):
        x = torch.randn(rows, columns)
        try:
            found = run(x)
        except dl.GuardError:
            continue
        assert found.equal(function(x))
        met += 1
    assert met >= 3


@both_modes
def test_rounded_numbers_are_data(strict: bool) -> None:
    """A float rounds: what is read of it is no size, and nothing is decided on it."""
    function = lambda x: x[:2] if torch.ceil(torch.tensor(x.shape[0]) / 3).long() > 1 else x  # noqa: E731
    with pytest.raises(dl.DataDependentError):
        dl.export(Runs(function), (torch.randn(6, 8),), dynamic_shapes=[{0: dl.Dim.DYNAMIC}], strict=strict)


@both_modes
def test_one_hot_of_a_size(strict: bool) -> None:
    """Its number of classes may be a size; a class out of range raises where eager does."""

    def counts(x: Any) -> Any:
        return nn.functional.one_hot(x, x.shape[0] + 1), nn.functional.one_hot(x, num_classes=x.shape[1]).sum(
            0
        )

    free = [{0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}]
    run = dl.export(Runs(counts), (torch.zeros(2, 3).long(),), dynamic_shapes=free, strict=strict).module()
    for rows, columns in ((2, 3), (3, 5), (0, 2)):
        x = torch.randint(0, min(rows + 1, columns), (rows, columns))
        assert all(a.equal(b) for a, b in zip(run(x), counts(x), strict=True))
    for wrong in (torch.full((2, 5), 3), torch.full((2, 5), -1)):
        with pytest.raises(RuntimeError, match="Class values must be"):
            counts(wrong)
        with pytest.raises(RuntimeError, match="Class values must be"):
            run(wrong)
