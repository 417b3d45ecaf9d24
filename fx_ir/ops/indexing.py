"""Reading by index tensors and masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fx_ir import fake_context
from fx_ir.dtypes import bool_, int32, int64, uint8
from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, as_array, describe, laid_out
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import (
    _broadcast_strides,
    _sort_dims,
    broadcast_shapes,
    differ,
    same,
    strides_along,
    wrap_dim,
)

Indices = Sequence[TensorMeta | None]


def data_size(source: str, limit: Size | None, at_least: int = 0) -> Size:
    """A new unbacked size between ``at_least`` and ``limit``."""
    size: Size = fake_context.current().unbacked(source, "int", at_least, limit)
    return size


# --- index -----------------------------------------------------------------------------------------------------------


def expand_masks(self: TensorMeta, indices: Indices) -> list[TensorMeta | None]:
    """Each mask replaced by one index tensor a dimension that it covers, all of one unbacked length."""
    expanded: list[TensorMeta | None] = []
    for index in indices:
        if index is None or index.dtype not in (bool_, uint8):
            if index is not None and index.dtype not in (int64, int32):
                raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
            expanded.append(index)
            continue
        start = len(expanded)
        for offset, size in enumerate(index.shape):
            extent = self.shape[start + offset] if start + offset < self.ndim else 0
            if differ(size, extent):
                raise IndexError(
                    f"The shape of the mask {list(index.shape)} at index {offset} does not match the shape of the indexed "
                    f"tensor {list(self.shape)} at index {start + offset}"
                )
        length = TensorMeta((data_size("index", index.numel()),), int64, index.device)
        expanded.extend([length] * max(index.ndim, 1) if index.ndim else [length])
    if len(expanded) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    return expanded


def indexed_shape(self: TensorMeta, expanded: Indices) -> tuple[Sizes, int, Sizes]:
    """The result's shape, where the indexed part begins in it, and the shape of that part."""
    used = [position for position, index in enumerate(expanded) if index is not None]
    part = broadcast_shapes(*[index.shape for index in expanded if index is not None])
    adjacent = used == list(range(used[0], used[-1] + 1))
    kept = [size for dim, size in enumerate(self.shape) if dim not in used]
    start = used[0] if adjacent else 0
    return (*kept[:start], *part, *kept[start:]), start, part


def fake_index(self: TensorMeta, indices: Indices) -> TensorMeta:
    expanded = expand_masks(self, indices)
    if all(index is None for index in expanded):
        return TensorMeta(self.shape, self.dtype, self.device)
    shape, start, part = indexed_shape(self, expanded)
    if self.is_plain and all(index is None or index.is_plain for index in expanded):
        return TensorMeta(shape, self.dtype, self.device)

    def strides() -> Sizes | None:
        kept = [
            stride for dim, stride in enumerate(self.strides) if dim >= len(expanded) or expanded[dim] is None
        ]
        source = [*kept[:start], *(0 for _ in part), *kept[start:]]
        lead = len(shape) - start - len(part)
        operands: list[Sequence[Size]] = [source]
        for index in expanded:
            if index is not None:
                inner = _broadcast_strides(index, part)
                operands.append([*(0 for _ in range(start)), *inner, *(0 for _ in range(lead))])
        return strides_along(shape, _sort_dims(shape, operands))

    return TensorMeta(shape, self.dtype, self.device, strides)


def index(self: Array, indices: Sequence[Array | None]) -> Array:
    used = [position for position, one in enumerate(indices) if one is not None]
    if len(used) == 1 and self.flags.c_contiguous:
        only = indices[used[0]]
        assert only is not None
        if only.dtype.kind == "i" or (only.dtype == np.bool_ and only.ndim == 1):
            if only.dtype == np.bool_:
                _check_mask(self, only, used[0])
                only = np.flatnonzero(only)
            return np.take(self, only, axis=used[0])
    key = tuple(
        [
            slice(None) if one is None else one.view(np.bool_) if one.dtype == np.uint8 else one
            for one in indices
        ]
    )
    result = as_array(self[key])
    if self.flags.c_contiguous and all(one is None or one.flags.c_contiguous for one in indices):
        return result if result.flags.c_contiguous else np.ascontiguousarray(result)
    return _as_torch_lays(self, indices, result)


def _as_torch_lays(self: Array, indices: Sequence[Array | None], result: Array) -> Array:
    """NumPy's result in the order of memory that the fake rule gives."""
    if any(one is not None and one.dtype.kind in "bu" for one in indices):
        return np.ascontiguousarray(result)
    strides = fake_index(describe(self), [None if one is None else describe(one) for one in indices]).strides
    return laid_out(result, strides)


def _check_mask(self: Array, mask: Array, dim: int) -> None:
    if mask.shape[0] != self.shape[dim]:
        raise IndexError(
            f"The shape of the mask {list(mask.shape)} at index 0 does not match the shape of the indexed tensor "
            f"{list(self.shape)} at index {dim}"
        )


def fake_index_select(self: TensorMeta, dim: int, index: TensorMeta) -> TensorMeta:
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (int64, int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0:
        return TensorMeta((), self.dtype, self.device)
    dim = wrap_dim(dim, self.ndim)
    return TensorMeta((*self.shape[:dim], index.numel(), *self.shape[dim + 1 :]), self.dtype, self.device)


def index_select(self: Array, dim: int, index: Array) -> Array:
    if index.size and index.min() < 0:
        raise IndexError("index out of range in self")
    if self.ndim == 0:
        return self.copy()
    return np.take(self, index.reshape(-1), axis=dim)


# --- gather ----------------------------------------------------------------------------------------------------------


def check_gather(self: TensorMeta, dim: int, index: TensorMeta) -> int:
    """The wrapped dimension; RuntimeError if the index does not lie within the tensor in the other ones."""
    wrapped = wrap_dim(dim, self.ndim)
    if index.dtype not in (int64, int32) and index.numel() != 0:
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if max(self.ndim, 1) != max(index.ndim, 1):
        if index.numel() == 0:
            return wrapped
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for axis in range(min(self.ndim, index.ndim)):
        limit, size = self.shape[axis], index.shape[axis]
        if axis != wrapped and not same(limit, size) and size > limit:
            raise RuntimeError(
                f"Size does not match at dimension {axis} expected index {list(index.shape)} to be no larger than self "
                f"{list(self.shape)} apart from dimension {wrapped}"
            )
    return wrapped


def fake_gather(self: TensorMeta, dim: int, index: TensorMeta, *, sparse_grad: bool = False) -> TensorMeta:
    check_gather(self, dim, index)
    return TensorMeta(index.shape, self.dtype, self.device)


def gather(self: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    if self.ndim == 0 or index.ndim == 0:
        return np.take(self.reshape(-1), index)
    dim = wrap_dim(dim, self.ndim)
    if index.size and index.min() < 0:
        raise RuntimeError(
            f"index {index.min()} is out of bounds for dimension {dim} with size {self.shape[dim]}"
        )
    part = self[tuple([slice(None) if axis == dim else slice(size) for axis, size in enumerate(index.shape)])]
    return np.ascontiguousarray(np.take_along_axis(part, index, axis=dim))


def fake_take(self: TensorMeta, index: TensorMeta) -> TensorMeta:
    if index.dtype is not int64:
        raise RuntimeError("take(): Expected a long tensor for index")
    return TensorMeta(index.shape, self.dtype, self.device)


def take(self: Array, index: Array) -> Array:
    return as_array(np.take(self.reshape(-1), index))


def fake_take_along_dim(self: TensorMeta, indices: TensorMeta, dim: int | None = None) -> TensorMeta:
    if dim is None:
        return TensorMeta((indices.numel(),), self.dtype, self.device)
    wrapped = wrap_dim(dim, self.ndim)

    def others(shape: Sizes) -> Sizes:
        return (*shape[:wrapped], 1, *shape[wrapped + 1 :])

    shape = broadcast_shapes(others(self.shape), others(indices.shape))
    return TensorMeta(
        (*shape[:wrapped], indices.shape[wrapped], *shape[wrapped + 1 :]), self.dtype, self.device
    )


def take_along_dim(self: Array, indices: Array, dim: int | None = None) -> Array:
    if dim is None:
        return np.take(self.reshape(-1), indices.reshape(-1))
    return np.ascontiguousarray(np.take_along_axis(self, indices, axis=dim))


# --- masks and positions ---------------------------------------------------------------------------------------------


def fake_nonzero(self: TensorMeta) -> TensorMeta:
    """PyTorch lays the positions out column by column."""
    count = data_size("nonzero", self.numel())
    return TensorMeta((count, self.ndim), int64, self.device, lambda: (1, count))


def nonzero(self: Array) -> Array:
    if self.ndim == 0:
        return np.zeros((int(bool(self)), 0), np.int64)
    return np.stack(np.nonzero(self)).T


def fake_nonzero_numpy(self: TensorMeta) -> list[TensorMeta]:
    count = data_size("nonzero", self.numel())
    return [TensorMeta((count,), int64, self.device) for _ in range(max(self.ndim, 1))]


def nonzero_numpy(self: Array) -> list[Array]:
    return [as_array(positions) for positions in np.nonzero(np.atleast_1d(self))]


def fake_masked_select(self: TensorMeta, mask: TensorMeta) -> TensorMeta:
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(self.shape, mask.shape)
    limit: Size = 1
    for size in shape:
        limit = limit * size
    return TensorMeta((data_size("masked_select", limit),), self.dtype, self.device)


def masked_select(self: Array, mask: Array) -> Array:
    array, chosen = np.broadcast_arrays(self, mask)
    return as_array(array[chosen]).reshape(-1)


# --- unique ----------------------------------------------------------------------------------------------------------


def _fake_unique(
    self: TensorMeta, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[TensorMeta, ...]:
    count = data_size("unique", self.numel())
    inverse = self.shape if return_inverse else (0,)
    counts = (count,) if return_counts else (0,)
    return (
        TensorMeta((count,), self.dtype, self.device),
        TensorMeta(inverse, int64, self.device),
        TensorMeta(counts, int64, self.device),
    )


def _unique(
    self: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, ...]:
    values, inverse, counts = np.unique(self.reshape(-1), return_inverse=True, return_counts=True)
    none = np.zeros(0, np.int64)
    return (
        values,
        inverse.reshape(self.shape).astype(np.int64, copy=False) if return_inverse else none,
        counts.astype(np.int64, copy=False) if return_counts else none.copy(),
    )


def _fake_unique_dim(
    self: TensorMeta, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[TensorMeta, ...]:
    dim = wrap_dim(dim, self.ndim)
    count = data_size("unique", self.shape[dim])
    return (
        TensorMeta((*self.shape[:dim], count, *self.shape[dim + 1 :]), self.dtype, self.device),
        TensorMeta((self.shape[dim],) if return_inverse else (0,), int64, self.device),
        TensorMeta((count,) if return_counts else (0,), int64, self.device),
    )


def _unique_dim(
    self: Array, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, ...]:
    values, inverse, counts = np.unique(self, return_inverse=True, return_counts=True, axis=dim)
    none = np.zeros(0, np.int64)
    return values, inverse.reshape(-1) if return_inverse else none, counts if return_counts else none.copy()


def _fake_unique_consecutive(
    self: TensorMeta, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[TensorMeta, ...]:
    if dim is None:
        return _fake_unique(self, True, return_inverse, return_counts)
    return _fake_unique_dim(self, dim, True, return_inverse, return_counts)


def _unique_consecutive(
    self: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Array, ...]:
    rows = self.reshape(-1, 1) if dim is None else np.moveaxis(self, dim, 0).reshape(self.shape[dim], -1)
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    positions = np.flatnonzero(starts)
    values = np.take(self.reshape(-1), positions) if dim is None else np.take(self, positions, axis=dim)
    inverse = np.cumsum(starts) - 1
    none = np.zeros(0, np.int64)
    return (
        values,
        (inverse.reshape(self.shape) if dim is None else inverse) if return_inverse else none,
        np.diff(np.append(positions, len(rows))) if return_counts else none.copy(),
    )


def _declare() -> None:
    register("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", fake=fake_index, kernel=index)
    register(
        "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
        fake=fake_index_select,
        kernel=index_select,
    )
    register(
        "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
        fake=fake_gather,
        kernel=gather,
    )
    register("aten::take(Tensor self, Tensor index) -> Tensor", fake=fake_take, kernel=take)
    register(
        "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
        fake=fake_take_along_dim,
        kernel=take_along_dim,
    )
    for name in ("nonzero", "argwhere"):
        register(
            f"aten::{name}(Tensor self) -> Tensor", fake=fake_nonzero, kernel=nonzero, nondifferentiable=True
        )
    register("aten::nonzero_numpy(Tensor self) -> Tensor[]", fake=fake_nonzero_numpy, kernel=nonzero_numpy)
    register("aten::where(Tensor condition) -> Tensor[]", fake=fake_nonzero_numpy, kernel=nonzero_numpy)
    register(
        "aten::masked_select(Tensor self, Tensor mask) -> Tensor",
        fake=fake_masked_select,
        kernel=masked_select,
    )
    flags = "bool return_inverse=False, bool return_counts=False"
    result = "(Tensor, Tensor, Tensor)"
    register(
        f"aten::_unique2(Tensor self, bool sorted=True, {flags}) -> {result}",
        fake=_fake_unique,
        kernel=_unique,
    )
    register(
        f"aten::unique_dim(Tensor self, int dim, bool sorted=True, {flags}) -> {result}",
        fake=_fake_unique_dim,
        kernel=_unique_dim,
    )
    register(
        f"aten::unique_consecutive(Tensor self, {flags}, int? dim=None) -> {result}",
        fake=_fake_unique_consecutive,
        kernel=_unique_consecutive,
    )


_declare()
