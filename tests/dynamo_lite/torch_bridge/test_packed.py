"""Packed sequences through recurrent layers: equal to eager for other lengths, batches and paddings, and refused where eager raises."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import dynamo_lite as dl

FREE = dl.Dim.DYNAMIC


class Reader(nn.Module):
    """``whole``: padded to the input's length again, and added to the input."""

    def __init__(self, layer: str, batch_first: bool, is_sorted: bool, whole: bool) -> None:
        super().__init__()
        self.layer = getattr(nn, layer)(16, 8, 2, batch_first=batch_first, bidirectional=True)
        self.batch_first, self.is_sorted, self.whole = batch_first, is_sorted, whole

    def forward(self, x: Any, lengths: Any) -> Any:
        packed = pack_padded_sequence(x, lengths, self.batch_first, enforce_sorted=self.is_sorted)
        out, state = self.layer(packed)
        length = x.shape[1 if self.batch_first else 0] if self.whole else None
        padded, seen = pad_packed_sequence(out, self.batch_first, padding_value=1.5, total_length=length)
        return padded + x if self.whole else padded, state, seen


def given(batch_first: bool, steps: int, lengths: list[int]) -> tuple[Any, Any]:
    rows = len(lengths)
    shape = (rows, steps) if batch_first else (steps, rows)
    return torch.randn(*shape, 16), torch.tensor(lengths)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "longest"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "any_order"])
@pytest.mark.parametrize(("layer", "batch_first"), [("LSTM", True), ("GRU", False), ("RNN", True)])
def test_packed(layer: str, batch_first: bool, is_sorted: bool, whole: bool, strict: bool) -> None:
    torch.manual_seed(0)
    model = Reader(layer, batch_first, is_sorted, whole)
    example = given(batch_first, 6, [6, 4, 2])
    program = dl.export(model, example, dynamic_shapes=[{0: FREE, 1: FREE}, {0: FREE}], strict=strict)
    run = program.module()
    calls = [(6, [6, 4, 2]), (9, [5, 3]), (4, [4]), (5, [5, 5, 1, 1]), (7, [3, 1, 1])]
    for steps, lengths in calls if is_sorted else [*calls, (7, [2, 7, 4])]:
        call = given(batch_first, steps, lengths)
        expected, found = model(*call), run(*call)
        flat = [torch.utils._pytree.tree_leaves(each) for each in (expected, found)]
        assert all(a.equal(b) and a.stride() == b.stride() for a, b in zip(*flat, strict=True))
    for steps, lengths in ((6, [2, 6, 4]), (6, [7, 2, 1]), (6, [3, 2, 0])):
        call = given(batch_first, steps, lengths)
        if is_sorted or sorted(lengths) != [2, 4, 6]:
            with pytest.raises(RuntimeError):
                model(*call)
            with pytest.raises(RuntimeError):
                run(*call)


class Converts(nn.Module):
    def __init__(self, how: Any) -> None:
        super().__init__()
        self.part = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).eval()
        self.how = how

    def forward(self, x: Any) -> Any:
        self.part = self.how(self.part, x)  # converts
        return self.part(x)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(lambda part, x: part.to(torch.float32), id="dtype"),
        pytest.param(lambda part, x: part.to(x), id="like"),
        pytest.param(lambda part, x: part.to(tensor=x), id="tensor"),
        pytest.param(lambda part, x: part.to(device=x.device, dtype=x.dtype, non_blocking=True), id="names"),
        pytest.param(lambda part, x: part.float().cpu(), id="methods"),
    ],
)
def test_module_that_is_what_it_is_converted_to(how: Any, strict: bool) -> None:
    model, x = Converts(how), torch.randn(4, 3)
    program = dl.export(model, (x,), strict=strict)
    assert program.module()(x).equal(model(x))
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert targets == ["aten.linear.default", "aten.batch_norm.default"]


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
def test_module_that_is_converted(strict: bool) -> None:
    model = Converts(lambda part, x: part.half())
    with pytest.raises(dl.StateError, match=r"forward converts 0\.weight of a Sequential") as caught:
        dl.export(model, (torch.randn(4, 3),), strict=strict)
    assert caught.value.id == "module-converted"
    assert model.part[0].weight.dtype is torch.float32
