"""Views share memory and in-place operators write through them, exactly as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dynamo_lite.torchlite.twin import Snippet, assert_same, needs_torch

pytestmark = [pytest.mark.torch, needs_torch]


def _written_through(make_view: Snippet) -> Snippet:
    """A snippet that writes to a view and gives the base, and writes to the base and gives the view."""

    def snippet(torch: Any) -> Any:
        base = torch.arange(24.0).reshape(2, 3, 4)
        view = make_view(base)
        parts = view if isinstance(view, (tuple, list)) else [view]
        for number, part in enumerate(parts):
            part += 100 * (number + 1)
        after = base.clone()
        base.mul_(2)
        return after, [(part, _strides(part), part.storage_offset()) for part in parts]

    return snippet


def _strides(tensor: Any) -> list[int]:
    """Strides where they matter: NumPy does not say how a dimension of size 1 came about."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size != 1]


VIEWS: dict[str, Snippet] = {
    "select": lambda x: x[1],
    "negative select": lambda x: x[-1, :, -2],
    "slice": lambda x: x[:, 1:, ::2],
    "slice beyond": lambda x: x[:, -2:100],
    "none": lambda x: x[:, None, 0],
    "ellipsis": lambda x: x[..., 1],
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(2, 0, 1),
    "T of matrix": lambda x: x[0].T,
    "mT": lambda x: x.mT,
    "t": lambda x: x[0].t(),
    "view": lambda x: x.view(6, 4),
    "view inferred": lambda x: x.view(-1, 2, 2),
    "reshape as view": lambda x: x.reshape(3, 8),
    "reshape as copy": lambda x: x.transpose(0, 1).reshape(-1),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "squeeze": lambda x: x[:1].squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "split": lambda x: x.split(2, dim=2),
    "split sizes": lambda x: x.split([1, 3], dim=2),
    "chunk": lambda x: x.chunk(2, dim=1),
    "unbind": lambda x: x.unbind(1),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "detach": lambda x: x.detach(),
    "contiguous itself": lambda x: x.contiguous(),
    "contiguous copy": lambda x: x.transpose(0, 1).contiguous(),
    "clone": lambda x: x.clone(),
    "to same": lambda x: x.to(x.dtype),
    "data": lambda x: x.data,
    "view of view": lambda x: x[1].t()[1:].flatten(),
    "advanced is a copy": lambda x: x[[0, 1]],
    "mask is a copy": lambda x: x[x > 3],
}


@pytest.mark.parametrize("name", VIEWS)
def test_writes_go_through_views(name: str) -> None:
    assert_same(_written_through(VIEWS[name]))


def _assigned(index: Any, value: Any) -> Snippet:
    def snippet(torch: Any) -> Any:
        x = torch.arange(12.0).reshape(3, 4)
        given = value(torch) if callable(value) else value
        x[index(torch) if callable(index) else index] = given
        return x

    return snippet


ASSIGNMENTS: dict[str, Snippet] = {
    "number": _assigned(0, 7),
    "float to int row": _assigned((slice(None), 1), 2.5),
    "broadcast": _assigned(slice(1, None), lambda t: t.tensor([1.0, 2.0, 3.0, 4.0])),
    "leading ones": _assigned(0, lambda t: t.ones(1, 1, 4)),
    "0-d": _assigned((0, 0), lambda t: t.tensor(5.0)),
    "other dtype": _assigned(2, lambda t: t.arange(4)),
    "mask number": _assigned(lambda t: t.arange(12).reshape(3, 4) > 6, -1),
    "mask row": _assigned(lambda t: t.tensor([True, False, True]), lambda t: t.zeros(2, 4)),
    "list": _assigned([0, 2], 9.0),
    "index tensor": _assigned(
        lambda t: (t.tensor([0, 2]), t.tensor([1, 3])), lambda t: t.tensor([50.0, 60.0])
    ),
    "index and slice": _assigned(lambda t: (slice(None), t.tensor([3, 0])), lambda t: t.tensor([[1.0, 2.0]])),
    "ellipsis": _assigned(..., 3),
    "none": _assigned(None, lambda t: t.ones(3, 4)),
    "bool": _assigned(True, 8),
    "false": _assigned(False, 8),
    "wrong shape": _assigned(0, lambda t: t.ones(3)),
    "string": _assigned(0, "a"),
    "list value": _assigned(0, [1, 2, 3, 4]),
    "out of range": _assigned(3, 1),
    "mask count": _assigned(lambda t: t.arange(12).reshape(3, 4) > 6, lambda t: t.ones(2)),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignment_by_index(name: str) -> None:
    assert_same(ASSIGNMENTS[name], message=name not in ("mask count", "wrong shape"))


INPLACE: dict[str, Snippet] = {
    "add": lambda t: t.ones(2, 3).add_(t.arange(3)),
    "iadd": lambda t: t.ones(2).__iadd__(2),
    "alpha": lambda t: t.ones(2).add_(t.ones(2), alpha=3),
    "int plus float": lambda t: t.arange(3).add_(1.5),
    "int div": lambda t: t.arange(3).div_(2),
    "bool": lambda t: t.tensor([True, False]).logical_not_(),
    "broadcasting target": lambda t: t.ones(2).add_(t.ones(2, 2)),
    "mismatch": lambda t: t.ones(2).add_(t.ones(3)),
    "expanded": lambda t: t.ones(1, 2).expand(3, 2).add_(1),
    "leaf": lambda t: t.nn.Parameter(t.ones(2)).add_(1),
    "view of leaf": lambda t: t.nn.Parameter(t.ones(2))[0].add_(1),
    "leaf without grad mode": lambda t: _no_grad(t, lambda: t.nn.Parameter(t.ones(2)).add_(1)),
    "copy casts": lambda t: t.zeros(2, dtype=t.int64).copy_(t.tensor([1.7, -1.7])),
    "fill": lambda t: t.zeros(2, 2).t().fill_(3),
    "zero": lambda t: t.ones(2, 2)[0].zero_(),
    "clamp": lambda t: t.arange(5.0).clamp_(1, 3),
    "masked_fill": lambda t: t.arange(4.0).masked_fill_(t.tensor([True, False, True, False]), 9),
    "unsqueeze_": lambda t: t.ones(2).unsqueeze_(0),
    "t_": lambda t: t.arange(6).reshape(2, 3).t_(),
    "relu_": lambda t: t.tensor([-1.0, 2.0]).relu_(),
    "pow_": lambda t: t.tensor([2.0, 3.0]).pow_(2),
    "comparison keeps dtype": lambda t: t.tensor([1.0, 3.0]).gt_(2),
    "index_fill_": lambda t: t.zeros(3, 2).index_fill_(0, t.tensor([0, 2]), 1.0),
    "index_add_": lambda t: t.zeros(3, 2).index_add_(0, t.tensor([0, 2, 0]), t.ones(3, 2)),
    "scatter_": lambda t: t.zeros(2, 3).scatter_(1, t.tensor([[0], [2]]), 5.0),
    "overlap": lambda t: _shift(t),
}


def _no_grad(torch: Any, body: Any) -> Any:
    with torch.no_grad():
        return body()


def _shift(torch: Any) -> Any:
    x = torch.arange(5.0)
    x[:2].copy_(x[3:])
    return x


@pytest.mark.parametrize("name", INPLACE)
def test_in_place(name: str) -> None:
    assert_same(INPLACE[name])
