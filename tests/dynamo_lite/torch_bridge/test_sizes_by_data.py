"""Sizes and positions that data tell are arguments of operators like others: what the operators ask of them is asserted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch.nn import functional

import dynamo_lite as dl
from fx_ir.structure import same_graph
from tests.dynamo_lite.torch_bridge.support import assert_same, module, operators

Function = Callable[[Any, Any], Any]


def _written(x: Any, at: Any) -> Any:
    x = x.clone()
    x[at[0]] += 1
    x[at[0].item() :] *= 2
    x[at[0], at[1]] = x[at[1], 0] * 2
    return x


def _filled(x: Any, at: Any) -> Any:
    first, count = at[0].item(), at.max().item()
    buffer = torch.zeros(12, 6)
    buffer[first : first + 5] = x
    buffer[-count:] = x[:count]
    return buffer


def _padded(x: Any, at: Any) -> Any:
    count = at.max().item()
    rows = x[:count]
    return functional.pad(rows, (0, 0, 0, 8 - count)), torch.cat([rows, rows.new_zeros(8 - count, 6)])


def _attended(x: Any, at: Any) -> Any:
    count = at.max().item()
    seen = torch.ones(count, count, dtype=torch.bool).tril()
    rows = x[None, :count]
    return functional.scaled_dot_product_attention(rows, rows, rows, attn_mask=seen)


def _masked(x: Any, at: Any) -> Any:
    kept = x[:, 0] > 0
    loss = functional.mse_loss(x[kept], x.flip(0)[kept])
    return (
        loss,
        x[kept] * x.flip(1)[kept] + at.sum(),
        functional.cross_entropy(x[kept], torch.arange(5)[kept]),
    )


def _cut(x: Any, at: Any) -> Any:
    first, second = at[0].item(), at[1].item()
    return (
        x[:4].split([first, second]),
        x.narrow(1, first, 2),
        x.topk(second).values,
        torch.eye(second),
        torch.randint(0, second, (2,)) < second,
    )


FUNCTIONS: Final[dict[str, Function]] = {
    "rows": lambda x, at: (x[at[0]], x[at[2]], x[1, at.argmin()], x.select(1, at[2].item())),
    "parts": lambda x, at: (x[: at[1]], x[at[0] : at[1]], x[at[2] :], x[: at[2].item(), at[0].item() :]),
    "each row": lambda x, at: [x[i].sum() for i in at.tolist()],
    "made": lambda x, at: (
        torch.zeros(at[0].item()),
        x.new_full((at[1].item(), 2), 1.0),
        torch.arange(at[1]),
    ),
    "added": lambda x, at: x[: at[1]] + torch.arange(at[1].item())[:, None],
    "lengths": lambda x, at: torch.arange(at.max().item())[None] < at[:, None],
    "written": _written,
    "filled": _filled,
    "padded": _padded,
    "attended": _attended,
    "masked": _masked,
    "cut": _cut,
    "off the diagonal": lambda x, at: x[:, :5][~torch.eye(5, dtype=torch.bool)].view(5, 4),
    "in pairs": lambda x, at: x[x[:, 0] > -9].reshape(-1, 2, 3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_operators_take(name: str) -> None:
    """Both modes give one graph, whose results are eager's for other data too."""
    function = FUNCTIONS[name]
    model = module(lambda self, x, at: function(x, at))
    example = torch.randn(5, 6), torch.tensor([1, 3, -2])
    strict, other = (dl.export(model, example, strict=mode) for mode in (True, False))
    assert not same_graph(strict.graph_module, other.graph_module)
    strict.validate()
    run = strict.module()
    for data in ([1, 3, -2], [2, 2, -1], [0, 4, -3], [3, 1, -5]):
        x, at = torch.randn(5, 6), torch.tensor(data)
        assert_same(function(x, at), run(x, at))


@pytest.mark.parametrize("name", ["parts", "filled", "off the diagonal"])
def test_they_are_what_pytorch_takes(name: str) -> None:
    """``to_torch`` says to PyTorch's exporter what it must know of them."""
    function = FUNCTIONS[name]
    args = torch.randn(5, 6), torch.tensor([1, 3, -2])
    real = dl.export(module(lambda self, x, at: function(x, at)), args).to_torch()
    assert_same(function(*args), real.module()(*args))


def test_what_operators_refuse_is_refused_when_the_program_runs() -> None:
    """A size that eager's operator refuses is refused; so is a dimension that would be stretched by data."""
    zeros = dl.export(module(lambda self, at: torch.zeros(at[0].item())), (torch.tensor([2]),)).module()
    with pytest.raises(Exception, match="sizes are not negative"):
        zeros(torch.tensor([-1]))

    row = dl.export(module(lambda self, x, at: x[at[0]]), (torch.randn(3), torch.tensor([2]))).module()
    with pytest.raises(IndexError):
        row(torch.randn(3), torch.tensor([3]))

    def added(self: Any, x: Any, at: Any) -> Any:
        return x[: at[0].item()] + x[: at[1].item()]

    run = dl.export(module(added), (torch.randn(4), torch.tensor([2, 2]))).module()
    x = torch.randn(4)
    assert torch.equal(run(x, torch.tensor([3, 3])), x[:3] * 2)
    with pytest.raises(Exception, match="sizes that are broadcast are equal"):
        run(x, torch.tensor([1, 3]))


def test_one_mask_counts_once() -> None:
    """What is taken by one mask twice is known to be as long; nothing is asserted. Another mask is another length."""

    def lengths(self: Any, x: Any, y: Any) -> Any:
        kept, others = x > 0, y > 0
        if x[kept].shape != y[kept].shape or kept.nonzero().shape[0] != torch.masked_select(y, kept).shape[0]:
            return x
        return x[kept] * y[kept], y[others]

    example = torch.randn(6), torch.randn(6)
    program = dl.export(module(lengths), example, strict=True)
    assert not [name for name in operators(program) if "assert" in name]
    assert_same(lengths(None, *example), program.module()(*example))

    def compared(self: Any, x: Any, y: Any) -> Any:
        return x if x[x > 0].shape == y[y > 0].shape else y

    with pytest.raises(dl.DataDependentError):
        dl.export(module(compared), example)


@pytest.mark.parametrize("lost", [functional.mse_loss, functional.l1_loss, torch.broadcast_tensors])
def test_equal_sizes_are_broadcast_without_a_question(lost: Any) -> None:
    """A size of 1 is not asked for where two sizes are the same."""
    rows = dl.Dim("rows", min=0)
    program = dl.export(
        module(lambda self, x, y: lost(x, y)),
        (torch.randn(3, 2), torch.randn(3, 2)),
        dynamic_shapes={"x": {0: rows}, "y": {0: rows}},
    )
    assert not program.guards
    for count in (1, 4):
        x, y = torch.randn(count, 2), torch.randn(count, 2)
        assert_same(
            tuple(lost(x, y)) if lost is torch.broadcast_tensors else lost(x, y), program.module()(x, y)
        )
