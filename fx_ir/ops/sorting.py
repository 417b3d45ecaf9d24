"""Order: sorting, selection, running reductions, searching, counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fx_ir.dtypes import Category, DType, bool_, get_default_dtype, int32, int64
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, describe, laid_out, to_float
from fx_ir.ops.indexing import data_size
from fx_ir.ops.reduction import reduced, sum_dtype
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import broadcast_shapes, elementwise, elementwise_strides, fails, wrap_dim

_WITHIN: Final = "the number selected is within the dimension"

# --- sort ------------------------------------------------------------------------------------------------------------


def order_of(self: Array, axis: int, descending: bool) -> Array:
    """Stable order along an axis; NaNs count as largest."""
    if not descending:
        return np.argsort(self, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(self, axis), axis=axis, kind="stable")
    return as_array(self.shape[axis] - 1 - np.flip(flipped, axis))


def fake_sort(
    self: TensorMeta, dim: int = -1, descending: bool = False, **_: Any
) -> tuple[TensorMeta, TensorMeta]:
    wrap_dim(dim, self.ndim)
    return elementwise(self.dtype, self), elementwise(int64, self)


def sort(self: Array, dim: int = -1, descending: bool = False, **_: Any) -> tuple[Array, Array]:
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = order_of(self, axis, descending).astype(np.int64, copy=False)
    values = np.take_along_axis(self, order, axis=axis)
    return _as_laid(values, self), _as_laid(order, self)


def _as_laid(array: Array, pattern: Array) -> Array:
    """The array in the memory order that an elementwise operator on ``pattern`` would give: its own where that is dense."""
    if pattern.flags.c_contiguous:
        return np.ascontiguousarray(array)
    return laid_out(array, elementwise_strides(array.shape, [describe(pattern)]))


def fake_argsort(self: TensorMeta, dim: int = -1, descending: bool = False, **_: Any) -> TensorMeta:
    return fake_sort(self, dim)[1]


def argsort(self: Array, dim: int = -1, descending: bool = False, **_: Any) -> Array:
    return sort(self, dim, descending)[1]


def _fake_msort(self: TensorMeta) -> TensorMeta:
    return elementwise(self.dtype, self)


def _msort(self: Array) -> Array:
    return sort(self, 0)[0]


def fake_topk(
    self: TensorMeta, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[TensorMeta, TensorMeta]:
    dim = wrap_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.like(), self.like(dtype=int64)
    if fails(k < 0, _WITHIN) or fails(k > self.shape[dim], _WITHIN):
        raise RuntimeError("selected index k out of range")
    shape = (*self.shape[:dim], k, *self.shape[dim + 1 :])
    return TensorMeta(shape, self.dtype, self.device), TensorMeta(shape, int64, self.device)


def topk(
    self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = order_of(self, axis, largest)
    index = np.take(order, np.arange(k), axis=axis).astype(np.int64, copy=False)
    return np.take_along_axis(self, index, axis=axis), index


def _fake_kth(
    self: TensorMeta, k: Size, dim: int = -1, keepdim: bool = False
) -> tuple[TensorMeta, TensorMeta]:
    wrapped = wrap_dim(dim, self.ndim)
    if self.ndim and (fails(k < 1, _WITHIN) or fails(k > self.shape[wrapped], _WITHIN)):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {wrapped}")
    return reduced(self, wrapped, keepdim, self.dtype), reduced(self, wrapped, keepdim, int64)


def _kth(self: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    index = np.take(order_of(self, axis, False), [k - 1], axis=axis).astype(np.int64, copy=False)
    values = np.take_along_axis(self, index, axis=axis)
    return (values, index) if keepdim else (np.squeeze(values, axis=axis), np.squeeze(index, axis=axis))


# --- running reductions ----------------------------------------------------------------------------------------------


def fake_running_sum(self: TensorMeta, dim: int, *, dtype: DType | None = None) -> TensorMeta:
    wrap_dim(dim, self.ndim)
    return TensorMeta(self.shape, sum_dtype(self, dtype), self.device)


def _running(ufunc: Any) -> Callable[..., Array]:
    def kernel(self: Array, dim: int, *, dtype: DType | None = None) -> Array:
        target = (
            dtype.numpy
            if dtype is not None
            else np.dtype(np.int64)
            if self.dtype.kind in "iub"
            else self.dtype
        )
        if self.ndim == 0:
            return self.astype(target)
        result = ufunc.accumulate(self.astype(compute_type(target), copy=False), axis=dim)
        return np.ascontiguousarray(result.astype(target, copy=False))

    return kernel


def fake_running_extremum(self: TensorMeta, dim: int) -> tuple[TensorMeta, TensorMeta]:
    wrap_dim(dim, self.ndim)
    return TensorMeta(self.shape, self.dtype, self.device), TensorMeta(self.shape, int64, self.device)


def _running_extremum(ufunc: Any, keeps: Any) -> Callable[..., tuple[Array, Array]]:
    """Values so far and the last position that holds them."""

    def kernel(self: Array, dim: int) -> tuple[Array, Array]:
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        axis = wrap_dim(dim, self.ndim)
        values = ufunc.accumulate(self, axis=axis)
        shape = [-1 if one == axis else 1 for one in range(self.ndim)]
        position = np.arange(self.shape[axis]).reshape(shape)
        hit = keeps(self, values) | (np.isnan(self) if self.dtype.kind == "f" else False)
        index = np.maximum.accumulate(np.where(hit, position, 0), axis=axis)
        return np.ascontiguousarray(values), np.ascontiguousarray(index.astype(np.int64, copy=False))

    return kernel


def _fake_logcumsumexp(self: TensorMeta, dim: int) -> TensorMeta:
    wrap_dim(dim, self.ndim)
    dtype = self.dtype if self.dtype.category >= Category.FLOAT else get_default_dtype()
    return TensorMeta(self.shape, dtype, self.device)


def _logcumsumexp(self: Array, dim: int) -> Array:
    array = to_float(self)
    return array.copy() if array.ndim == 0 else np.ascontiguousarray(np.logaddexp.accumulate(array, axis=dim))


# --- search and count ------------------------------------------------------------------------------------------------


def _side(right: bool, side: str | None) -> Any:
    return side if side is not None else "right" if right else "left"


def _fake_search(
    sorted_sequence: TensorMeta,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> TensorMeta:
    shape = self.shape if isinstance(self, TensorMeta) else ()
    return TensorMeta(shape, int32 if out_int32 else int64, sorted_sequence.device)


def _search(
    sorted_sequence: Array,
    self: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    kind = np.int32 if out_int32 else np.int64
    where = _side(right, side)
    if sorted_sequence.ndim <= 1:
        return as_array(np.searchsorted(sorted_sequence, self, where, sorter)).astype(kind, copy=False)
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    values = np.asarray(self).reshape(len(rows), -1)
    orders = [None] * len(rows) if sorter is None else list(sorter.reshape(rows.shape))
    found = [
        np.searchsorted(row, value, where, order)
        for row, value, order in zip(rows, values, orders, strict=True)
    ]
    return np.stack(found).reshape(np.shape(self)).astype(kind, copy=False)


def _fake_bucketize(self: Any, boundaries: TensorMeta, **options: Any) -> TensorMeta:
    return _fake_search(boundaries, self, **options)


def _bucketize(self: Any, boundaries: Array, *, out_int32: bool = False, right: bool = False) -> Array:
    return _search(boundaries, self, out_int32=out_int32, right=right)


def _fake_histc(self: TensorMeta, bins: int = 100, min: Any = 0, max: Any = 0) -> TensorMeta:
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    return TensorMeta((bins,), self.dtype, self.device)


def _histc(self: Array, bins: int = 100, min: Any = 0, max: Any = 0) -> Array:
    low, high = float(min), float(max)
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    inside = self[(self >= low) & (self <= high)]
    position = ((inside - low) / (high - low) * bins).astype(np.int64)
    return np.bincount(np.minimum(position, bins - 1), minlength=bins).astype(self.dtype)


def _fake_bincount(self: TensorMeta, weights: TensorMeta | None = None, minlength: Size = 0) -> TensorMeta:
    size = data_size("bincount", None, minlength if type(minlength) is int else 0)
    dtype = int64 if weights is None else weights.dtype if weights.dtype.name == "float32" else _double()
    return TensorMeta((size,), dtype, self.device)


def _double() -> DType:
    from fx_ir.dtypes import float64

    return float64


def _bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    counts = np.bincount(self, weights, minlength)
    return counts.astype(
        np.int64 if weights is None else weights.dtype if weights.dtype == np.float32 else np.float64,
        copy=False,
    )


def _fake_isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> TensorMeta:
    pattern = elements if isinstance(elements, TensorMeta) else test_elements
    shape = elements.shape if isinstance(elements, TensorMeta) else ()
    return TensorMeta(shape, bool_, pattern.device)


def _isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Array:
    return as_array(np.isin(elements, test_elements, invert=invert))


def _declare() -> None:
    pair = "(Tensor values, Tensor indices)"
    register(
        f"aten::sort(Tensor self, int dim=-1, bool descending=False) -> {pair}", fake=fake_sort, kernel=sort
    )
    register(
        f"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> {pair}",
        fake=fake_sort,
        kernel=sort,
    )
    register(
        "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
        fake=fake_argsort,
        kernel=argsort,
    )
    register(
        "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
        fake=fake_argsort,
        kernel=argsort,
    )
    register("aten::msort(Tensor self) -> Tensor", fake=_fake_msort, kernel=_msort)
    register(
        f"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> {pair}",
        fake=fake_topk,
        kernel=topk,
    )
    register(
        f"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> {pair}",
        fake=_fake_kth,
        kernel=_kth,
    )
    for name, ufunc in (("cumsum", np.add), ("cumprod", np.multiply)):
        register(
            f"aten::{name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
            fake=fake_running_sum,
            kernel=_running(ufunc),
        )
        register_inplace(
            f"aten::{name}_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
            f"aten::{name}",
        )
    register(
        f"aten::cummax(Tensor self, int dim) -> {pair}",
        fake=fake_running_extremum,
        kernel=_running_extremum(np.maximum, np.greater_equal),
    )
    register(
        f"aten::cummin(Tensor self, int dim) -> {pair}",
        fake=fake_running_extremum,
        kernel=_running_extremum(np.minimum, np.less_equal),
    )
    register(
        "aten::logcumsumexp(Tensor self, int dim) -> Tensor", fake=_fake_logcumsumexp, kernel=_logcumsumexp
    )
    _declare_search()


def _declare_search() -> None:
    tail = "*, bool out_int32=False, bool right=False"
    for kind in ("Tensor", "Scalar"):
        register(
            f"aten::searchsorted.{kind}(Tensor sorted_sequence, {kind} self, {tail}, str? side=None, Tensor? sorter=None) -> Tensor",
            fake=_fake_search,
            kernel=_search,
        )
        register(
            f"aten::bucketize.{kind}({kind} self, Tensor boundaries, {tail}) -> Tensor",
            fake=_fake_bucketize,
            kernel=_bucketize,
        )
    register(
        "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
        fake=_fake_histc,
        kernel=_histc,
    )
    register(
        "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
        fake=_fake_bincount,
        kernel=_bincount,
    )
    for arguments in (
        "Tensor_Tensor(Tensor elements, Tensor test_elements",
        "Tensor_Scalar(Tensor elements, Scalar test_element",
        "Scalar_Tensor(Scalar element, Tensor test_elements",
    ):
        register(
            f"aten::isin.{arguments}, *, bool assume_unique=False, bool invert=False) -> Tensor",
            fake=_fake_isin,
            kernel=_isin,
        )


_declare()

__all__ = ["broadcast_shapes", "order_of"]
