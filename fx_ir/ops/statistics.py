"""Spread, norms and medians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array, average, compute_type, dense, to
from fx_ir.ops.reduction import axes, fake_with_indices, reduced, title
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import wrap_dim

# --- spread ----------------------------------------------------------------------------------------------------------


def _fake_spread(self: TensorMeta, dim: Sequence[int] | None, keepdim: bool) -> TensorMeta:
    if self.dtype.category < Category.FLOAT:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return reduced(self, dim, keepdim, self.dtype.to_real())


def _spread(
    self: Array, dim: Sequence[int] | None, correction: Any, keepdim: Any, root: bool
) -> tuple[Array, Array]:
    wide = self.astype(compute_type(self.dtype), copy=False)
    axis = axes(self, dim)
    centre = average(wide, axis, True)
    distance = wide - centre
    squares = (distance * distance.conj()).real if self.dtype.kind == "c" else distance * distance
    count = math.prod(self.shape[one] for one in axis)
    total = np.sum(squares, axis=axis, keepdims=keepdim)
    value = as_array(np.divide(total, np.asarray(max(count - correction, 0), dtype=np.asarray(total).dtype)))
    spread = as_array(np.sqrt(value)) if root else value
    shown = centre if keepdim else as_array(np.squeeze(centre, axis=axis))
    real = self.dtype if self.dtype.kind != "c" else value.dtype
    return spread.astype(real, copy=False), shown.astype(self.dtype, copy=False)


def _declare_spread(name: str, root: bool, with_mean: bool) -> None:
    result = "(Tensor, Tensor)" if with_mean else "Tensor"

    def fake_result(self: TensorMeta, dim: Sequence[int] | None, keepdim: bool) -> Any:
        spread = _fake_spread(self, dim, keepdim)
        return (spread, spread.like(dtype=self.dtype)) if with_mean else spread

    def compute(self: Array, dim: Sequence[int] | None, correction: Any, keepdim: bool) -> Any:
        both = _spread(self, dim, correction, keepdim, root)
        return both if with_mean else both[0]

    def fake_all(self: TensorMeta, unbiased: bool = True) -> Any:
        return fake_result(self, None, False)

    def kernel_all(self: Array, unbiased: bool = True) -> Any:
        return compute(self, None, int(unbiased), False)

    def fake_dim(
        self: TensorMeta, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> Any:
        return fake_result(self, dim, keepdim)

    def kernel_dim(
        self: Array, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> Any:
        return compute(self, dim, int(unbiased), keepdim)

    def fake_correction(
        self: TensorMeta, dim: Sequence[int] | None = None, *, correction: Any = None, keepdim: bool = False
    ) -> Any:
        return fake_result(self, dim, keepdim)

    def kernel_correction(
        self: Array, dim: Sequence[int] | None = None, *, correction: Any = None, keepdim: bool = False
    ) -> Any:
        return compute(self, dim, 1 if correction is None else correction, keepdim)

    register(f"aten::{name}(Tensor self, bool unbiased=True) -> {result}", fake=fake_all, kernel=kernel_all)
    register(
        f"aten::{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {result}",
        fake=fake_dim,
        kernel=kernel_dim,
    )
    register(
        f"aten::{name}.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> {result}",
        fake=fake_correction,
        kernel=kernel_correction,
    )


# --- norms -----------------------------------------------------------------------------------------------------------


def fake_vector_norm(
    self: TensorMeta,
    ord: Any = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> TensorMeta:
    if self.dtype.category < Category.FLOAT:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {title(self.dtype)}"
        )  # fmt: skip
    return reduced(self, dim, keepdim, (self.dtype if dtype is None else dtype).to_real())


def vector_norm(
    self: Array,
    ord: Any = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    array = self if dtype is None else to(self, dtype)
    size = np.abs(array)
    keep: Any = keepdim  # NumPy 2.5 annotates keepdims by literals
    target = size.dtype
    size = as_array(size).astype(compute_type(target), copy=False)
    axis = axes(self, dim)
    if ord == math.inf:
        result = np.max(size, axis=axis, keepdims=keep)
    elif ord == -math.inf:
        result = np.min(size, axis=axis, keepdims=keep)
    elif ord == 0:
        result = np.sum(size != 0, axis=axis, keepdims=keep)
    elif ord == 1:
        result = np.sum(size, axis=axis, keepdims=keep)
    elif ord == 2:
        result = np.sqrt(np.sum(size * size, axis=axis, keepdims=keep))
    else:
        result = np.power(np.sum(np.power(size, ord), axis=axis, keepdims=keep), 1.0 / ord)
    return dense(result).astype(target, copy=False)


def _fake_norm(
    self: TensorMeta, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> TensorMeta:
    return fake_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _norm(
    self: Array, p: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    return vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _linalg_norm(
    self: Array, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Array:
    array = self if dtype is None else to(self, dtype)
    if ord is None or (dim is not None and len(dim) == 1) or (dim is None and self.ndim == 1):
        return vector_norm(array, 2 if ord is None else ord, dim, keepdim)
    axis = tuple(dim) if dim is not None else (0, 1)
    return as_array(np.linalg.norm(array, ord=ord, axis=axis, keepdims=keepdim))


def _fake_frobenius(self: TensorMeta, dim: Any, keepdim: bool = False) -> TensorMeta:
    return fake_vector_norm(self, 2, dim, keepdim)


def _frobenius(self: Array, dim: Any, keepdim: bool = False) -> Array:
    return vector_norm(self, 2, dim, keepdim)


def _fake_linalg_norm(
    self: TensorMeta, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None
) -> TensorMeta:
    return fake_vector_norm(self, 2, dim, keepdim, dtype=dtype)


# --- median ----------------------------------------------------------------------------------------------------------


def median_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower of two middle elements; NaNs win, as in PyTorch."""
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = np.argsort(self, axis=axis, kind="stable")
    count = self.shape[axis]
    position = np.full([1 if one == axis else size for one, size in enumerate(self.shape)], (count - 1) // 2)
    if self.dtype.kind == "f":
        nans = np.isnan(self).sum(axis=axis, keepdims=True)
        position = np.where(nans > 0, count - nans, position)
    index = np.take_along_axis(order, position, axis=axis).astype(np.int64, copy=False)
    values = np.take_along_axis(self, index, axis=axis)
    return (values, index) if keepdim else (np.squeeze(values, axis=axis), np.squeeze(index, axis=axis))


def median(self: Array) -> Array:
    if self.size == 0:
        return as_array(np.array(np.nan).astype(self.dtype))
    return median_dim(self.reshape(-1), 0)[0]


def _fake_whole(self: TensorMeta) -> TensorMeta:
    return TensorMeta((), self.dtype, self.device)


def fake_pdist(self: TensorMeta, p: float = 2.0) -> TensorMeta:
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if self.dtype.category is not Category.FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes")
    rows = self.shape[0]
    return TensorMeta((rows * (rows - 1) // 2,), self.dtype, self.device)


def pdist(self: Array, p: float = 2.0) -> Array:
    """Distances of all pairs of rows ``i < j``, by ``i`` and then ``j``."""
    first, second = np.triu_indices(len(self), 1)
    return vector_norm(as_array(self[first] - self[second]), p, [-1])


def _declare_norms() -> None:
    register("aten::pdist(Tensor self, float p=2.) -> Tensor", fake=fake_pdist, kernel=pdist)
    tail = "int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    register(
        f"aten::linalg_vector_norm(Tensor self, Scalar ord=2, {tail}",
        fake=fake_vector_norm,
        kernel=vector_norm,
    )
    register(
        f"aten::linalg_norm(Tensor self, Scalar? ord=None, {tail}",
        fake=_fake_linalg_norm,
        kernel=_linalg_norm,
    )
    register(
        f"aten::linalg_norm.ord_str(Tensor self, str ord, {tail}", fake=_fake_linalg_norm, kernel=_linalg_norm
    )
    register(
        "aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        fake=_fake_frobenius,
        kernel=_frobenius,
    )
    for arguments in (
        "Scalar(Tensor self, Scalar p=2)",
        "ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)",
        "ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)",
        "ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype)",
    ):
        register(f"aten::norm.{arguments} -> Tensor", fake=_fake_norm, kernel=_norm)


def _declare_medians() -> None:
    register("aten::median(Tensor self) -> Tensor", fake=_fake_whole, kernel=median)
    register(
        "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        fake=fake_with_indices,
        kernel=median_dim,
    )


for _name, _root in (("var", False), ("std", True)):
    _declare_spread(_name, _root, False)
    _declare_spread(f"{_name}_mean", _root, True)
_declare_norms()
_declare_medians()
