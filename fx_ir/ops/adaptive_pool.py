"""Pooling to fixed sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import int64
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.pool import image_meta, in_order, in_rows, row_meta
from fx_ir.ops.registry import register


def fake_adaptive(self: TensorMeta, output_size: Sequence[Size]) -> TensorMeta:
    rank = len(output_size)
    if self.ndim not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"adaptive pool: Expected {rank + 1}D or {rank + 2}D tensor, but got {list(self.shape)}"
        )
    if rank == 1:
        return row_meta(self, output_size)
    return image_meta(self if rank == 2 else self.like(), rank, output_size)


def _bounds(size: int, count: int) -> list[tuple[int, int]]:
    return [(at * size // count, -((-(at + 1) * size) // count)) for at in range(count)]


def _adaptive(self: Array, output_size: Sequence[int], reduce: Callable[[Array, int], Array]) -> Array:
    """One axis at a time: the reduction of a box is the reduction of the reductions of its sides."""
    rank = len(output_size)
    result = self
    for dim, count in enumerate(output_size):
        axis = self.ndim - rank + dim
        size = result.shape[axis]
        if count == size:
            continue
        if count and size % count == 0:
            shape = (*result.shape[:axis], count, size // count, *result.shape[axis + 1 :])
            result = reduce(result.reshape(shape), axis + 1)
            continue
        parts = [
            reduce(result[(*(slice(None),) * axis, slice(low, high))], axis) for low, high in _bounds(size, count)
        ]  # fmt: skip
        result = np.stack(parts, axis=axis)
    return _placed(result if result is not self else self.copy(), self, rank)


def _placed(result: Array, self: Array, rank: int) -> Array:
    """The result laid out as :func:`fake_adaptive` says."""
    if rank == 3:
        return np.ascontiguousarray(result)
    return in_rows(result, self) if rank == 1 else in_order(result, self, rank)


def adaptive_avg_pool(self: Array, output_size: Sequence[int]) -> Array:
    wide = self.astype(compute_type(self.dtype), copy=False)
    result = _adaptive(wide, output_size, lambda part, axis: as_array(part.mean(axis=axis)))
    return result.astype(self.dtype, copy=False)


def _fake_adaptive_max(self: TensorMeta, output_size: Sequence[Size]) -> tuple[TensorMeta, TensorMeta]:
    result = fake_adaptive(self, output_size)
    strides = None if result.is_plain else lambda: result.strides
    return result, TensorMeta(result.shape, int64, self.device, strides)


def adaptive_max_pool(self: Array, output_size: Sequence[int]) -> tuple[Array, Array]:
    rank = len(output_size)
    shape = (*self.shape[: self.ndim - rank], *output_size)
    values, index = np.zeros(shape, self.dtype), np.zeros(shape, np.int64)
    sides = [
        _bounds(size, count) for size, count in zip(self.shape[self.ndim - rank :], output_size, strict=True)
    ]
    positions = np.arange(int(np.prod(self.shape[self.ndim - rank :]))).reshape(
        self.shape[self.ndim - rank :]
    )
    for place in np.ndindex(*output_size):
        box: Any = tuple([slice(*sides[dim][at]) for dim, at in enumerate(place)])
        part = self[(..., *box)]
        flat = part.reshape(*part.shape[: self.ndim - rank], -1)
        chosen = flat.argmax(axis=-1)
        values[(..., *place)] = np.take_along_axis(flat, chosen[..., None], axis=-1)[..., 0]
        index[(..., *place)] = positions[box].reshape(-1)[chosen]
    return _placed(values, self, rank), _placed(index, self, rank)


def _declare() -> None:
    for rank, kind in ((1, "int[1]"), (2, "SymInt[2]"), (3, "SymInt[3]")):
        register(
            f"aten::adaptive_avg_pool{rank}d(Tensor self, {kind} output_size) -> Tensor",
            fake=fake_adaptive,
            kernel=adaptive_avg_pool,
        )
        register(
            f"aten::adaptive_max_pool{rank}d(Tensor self, int[{rank}] output_size) -> (Tensor, Tensor)",
            fake=_fake_adaptive_max,
            kernel=adaptive_max_pool,
        )
    register(
        "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
        fake=fake_adaptive,
        kernel=adaptive_avg_pool,
    )


_declare()
