"""What is done with tensors themselves: indexing, writing, shaping, sorting, drawing, converting."""

from __future__ import annotations

from typing import Any, Final

import torch
import torch.nn.functional as F

from tests.zoo.building import BOTH as BS
from tests.zoo.building import PlainModels

TENSORS: Final = PlainModels()
plain, fn = TENSORS.plain, TENSORS.fn
SEQ: Final = [BS]


# indexing
fn(
    "indexing",
    lambda b, s: (torch.randn(b, s, 6), torch.tensor([0, 2, 1])),
    [BS, {}],
    lambda self, x, i: (
        x[:, i],
        x[:, i, i],
        x[..., None, ::2],
        x[:, -1],
        x[:, 1:-1],
        x[[0, 1]],
        x[:, i[:, None], i[None]],
        x[0, ..., 1:3],
        x[:, torch.arange(x.shape[1]) % 2 == 0],
    ),
)


def writes(self: Any, x: Any, i: Any) -> Any:
    y = x.clone()
    y[:, 0] = 1.0
    y[:, i] += 2
    y[y > 1] = 0
    y[..., -1:] = x[..., :1]
    z = torch.zeros_like(x)
    z[:, 1:] = x[:, :-1]
    z.index_fill_(2, i, 3.0)
    z.masked_fill_(x > 0, -1)
    return y, z


fn("index_writes", lambda b, s: (torch.randn(b, s, 6), torch.tensor([0, 2, 1])), [BS, {}], writes)
fn(
    "scatter",
    lambda b, s: (torch.randn(b, s), torch.randint(0, 5, (b, s))),
    [BS, BS],
    lambda self, x, i: (
        torch.zeros(x.shape[0], 5).scatter(1, i, x),
        torch.zeros(x.shape[0], 5).scatter_add(1, i, x),
        torch.zeros(x.shape[0], 5).scatter_reduce(1, i, x, "amax"),
        x.gather(1, i % x.shape[1]),
        torch.take_along_dim(x, i % x.shape[1], 1),
        torch.zeros(5, x.shape[0]).index_add(0, i[0], x.T),
        x.index_select(1, i[0] % x.shape[1]),
        torch.zeros(x.shape[0], 5).index_put((torch.arange(x.shape[0]),), torch.ones(5), accumulate=True),
        x.take(i),
        F.one_hot(i, 5),
    ),
)
fn(
    "topk_sort",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.topk(3),
        x.sort(-1, descending=True),
        x.argsort(-1),
        x.kthvalue(2),
        x.median(-1),
        x.max(-1),
        x.min(0),
        x.argmax(),
        torch.msort(x),
        x.aminmax(dim=-1),
        x.quantile(0.5, dim=-1),
    ),
)
fn(
    "cumulative",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.cumsum(-1),
        x.cumprod(0),
        x.cummax(-1),
        x.logcumsumexp(-1),
        x.logsumexp(-1),
        x.std(-1),
        x.var(0, correction=0),
        torch.var_mean(x, -1),
        x.prod(-1),
        x.norm(dim=-1),
        x.amax(-1),
        x.all(-1),
        (x > 0).any(),
        x.count_nonzero(-1),
        torch.std_mean(x),
        x.diff(dim=-1),
    ),
)
fn(
    "complex",
    lambda b, s: (torch.randn(b, s, 2),),
    SEQ,
    lambda self, x: (
        torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones(()), torch.tensor(0.5))),
        torch.view_as_complex(x).angle(),
        torch.complex(x[..., 0], x[..., 1]).conj().imag,
    ),
)
fn(
    "where_masks",
    lambda b, s: (torch.randn(b, s), torch.rand(b, s) > 0.5),
    [BS, BS],
    lambda self, x, m: (
        torch.where(m, x, 0.0),
        x.masked_fill(~m, float("-inf")).softmax(-1),
        torch.where(x > 0, 1, -1),
        x.clamp(-1, 1),
        x.clamp(min=x.mean()),
        torch.nan_to_num(x / 0),
        x.lerp(x * 2, 0.5),
        torch.addcmul(x, x, x, value=2),
        x.maximum(x.roll(1, 1)),
        x.heaviside(x),
        x.fmod(2),
        x.remainder(2),
        torch.isfinite(x),
        torch.signbit(x),
        torch.copysign(x, -x),
        x.frac(),
        torch.logical_xor(m, x > 0),
    ),
)
fn(
    "bucketize",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        torch.bucketize(x, torch.linspace(-1, 1, 5)),
        torch.searchsorted(x.sort(-1).values, x),
        torch.histc(x, 5, -1, 1),
        torch.bincount(x.abs().long().flatten(), minlength=10)[:3],
    ),
)
fn(
    "shaping",
    lambda b, s: (torch.randn(b, s, 6),),
    SEQ,
    lambda self, x: (
        x.flip(1),
        x.roll(2, 1),
        x.repeat(1, 2, 1),
        x.repeat_interleave(2, 1),
        x.tile(2, 1),
        x.unfold(1, 3, 1),
        x.unflatten(2, (2, 3)),
        x.movedim(0, 2),
        torch.stack([x, x], 1),
        torch.cat([x, x[:, :2]], 1),
        x.chunk(3, 2),
        x.split([1, 5], 2),
        x.tensor_split(2, 2),
        torch.rot90(x, 1, (1, 2)),
        x.swapaxes(0, 1),
        torch.hstack([x, x]),
        torch.block_diag(x[0], x[0]),
        torch.cartesian_prod(x[0, 0], x[0, 0]),
        x.expand(2, *x.shape),
        torch.broadcast_to(x, (2, *x.shape)),
        x.narrow(1, 1, 2),
        x.select(1, 0),
        x.squeeze(),
        x.view(x.shape[0], -1),
        x.reshape(-1, 3),
        x.flatten(1),
        x.mT,
        F.pad(x, (1, 2, 0, 1), value=3.0),
    ),
)
fn(
    "random_like",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        torch.rand_like(x) + x,
        torch.randn(x.shape),
        torch.randint(0, 5, (x.shape[0],)),
        torch.bernoulli(x.sigmoid()),
        x.softmax(-1).multinomial(2),
        torch.randperm(x.shape[1]),
        torch.empty_like(x).normal_(),
        torch.normal(x, x.abs()),
        F.gumbel_softmax(x),
    ),
)
fn(
    "new_tensors",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.new_ones(x.shape[1], 2),
        torch.full_like(x, 2.0),
        torch.arange(x.shape[1], dtype=x.dtype),
        torch.eye(x.shape[1]),
        torch.tensor([1.0, 2.0]) * x[:, :1],
        torch.tril_indices(3, 3),
        torch.ones(x.size(0), dtype=torch.bool),
        torch.zeros(()),
        torch.logspace(0, 1, 4),
        torch.scalar_tensor(3.0),
        torch.as_tensor([1, 2]),
        torch.empty(x.shape[0]).fill_(2),
        torch.arange(x.shape[1] - 1, -1, -1),
    ),
)


# data-dependent sizes
def nonzeros(self: Any, x: Any) -> Any:
    i = (x > 0).nonzero()
    return (
        x[x > 0].sum(),
        i.sum(),
        torch.masked_select(x, x < 0).sum(),
        i.shape[0] * 2,
        torch.unique(x.round()).sum(),
    )


fn("data_sizes", lambda b, s: (torch.randn(b, s),), SEQ, nonzeros)


def argwhere(self: Any, x: Any) -> Any:
    a, c = torch.where(x > 0)
    return x[a, c] * 2, torch.argwhere(x > 0)


fn("where_sizes", lambda b, s: (torch.randn(b, s),), SEQ, argwhere)
# dtypes
fn(
    "dtypes",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.half() + 1,
        x.bfloat16() * x,
        x.double().float(),
        (x * 10).to(torch.int8),
        (x > 0).float(),
        x.long() // 2,
        x.int() & 3,
        ~(x > 0),
        x.to(torch.int32) << 1,
        x.type(torch.float64),
        x.to(x.dtype),
        torch.tensor(1.5) + x.long(),
    ),
)
