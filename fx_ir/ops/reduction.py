"""Reductions over dimensions: sums, extrema, norms, statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType, bool_, float32, get_default_dtype, int64, uint8
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, dense, to, to_float
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import wrap_dim, wrap_dims

Axis = tuple[int, ...]


def reduced_shape(shape: tuple[Size, ...], dims: Sequence[int], keepdim: bool) -> tuple[Size, ...]:
    """The shape without the reduced dimensions, or with 1 in their place."""
    if keepdim:
        return tuple([1 if dim in dims else size for dim, size in enumerate(shape)])
    return tuple([size for dim, size in enumerate(shape) if dim not in dims])


def reduced(self: TensorMeta, dim: int | Sequence[int] | None, keepdim: bool, dtype: DType) -> TensorMeta:
    """What a reduction leaves: always contiguous."""
    dims = wrap_dims((dim,) if isinstance(dim, int) else dim, self.ndim)
    return TensorMeta(reduced_shape(self.shape, dims, keepdim), dtype, self.device)


def axes(self: Array, dim: int | Sequence[int] | None) -> Axis:
    """NumPy's axes for PyTorch's dimensions (None and the empty list: all; a zero-dim array has none)."""
    if self.ndim == 0:
        return ()
    return tuple(wrap_dims((dim,) if isinstance(dim, int) else dim, self.ndim))


# --- sums ------------------------------------------------------------------------------------------------------------


def sum_dtype(self: TensorMeta, dtype: DType | None) -> DType:
    if dtype is not None:
        return dtype
    return int64 if self.dtype.category < Category.FLOAT else self.dtype


def fake_sum(
    self: TensorMeta,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> TensorMeta:
    return reduced(self, dim, keepdim, sum_dtype(self, dtype))


def _widened(self: Array, dtype: DType | None) -> tuple[Array, np.dtype[Any]]:
    """The operand and the type of the result; half precisions are summed in float32."""
    target = (
        dtype.numpy if dtype is not None else np.dtype(np.int64) if self.dtype.kind in "iub" else self.dtype
    )
    wide = compute_type(target)
    return (self if self.dtype is wide else self.astype(wide, copy=False)), target


def _of_sum(function: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(
        self: Array,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Array:
        wide, target = _widened(self, dtype)
        result = dense(function(wide, axis=axes(self, dim), keepdims=keepdim))
        return result.astype(target, copy=False)

    return kernel


sum_ = _of_sum(np.add.reduce)
prod = _of_sum(np.multiply.reduce)
nansum = _of_sum(np.nansum)


def fake_mean(
    self: TensorMeta, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> TensorMeta:
    target = self.dtype if dtype is None else dtype
    if target.category < Category.FLOAT:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {_title(target)}"
        )
    return reduced(self, dim, keepdim, target)


_TITLES = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}


def _title(dtype: DType) -> str:
    return _TITLES.get(dtype.name, dtype.name.title())


mean = _of_sum(np.mean)
nanmean = _of_sum(np.nanmean)


def logsumexp(self: Array, dim: Sequence[int], keepdim: bool = False) -> Array:
    array = to_float(self)
    wide = array.astype(compute_type(array.dtype), copy=False)
    axis = axes(self, dim)
    top = np.max(wide, axis=axis, keepdims=True) if wide.size else np.zeros((1,) * wide.ndim, wide.dtype)
    top = np.where(np.isinf(top), 0, top)
    total = np.log(np.sum(np.exp(wide - top), axis=axis, keepdims=True)) + top
    return as_array(total if keepdim else np.squeeze(total, axis=axis)).astype(array.dtype, copy=False)


def fake_logsumexp(self: TensorMeta, dim: Sequence[int], keepdim: bool = False) -> TensorMeta:
    return reduced(
        self, dim, keepdim, self.dtype if self.dtype.category >= Category.FLOAT else get_default_dtype()
    )


# --- truth -----------------------------------------------------------------------------------------------------------


def fake_truth(self: TensorMeta, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> TensorMeta:
    return reduced(self, dim, keepdim, uint8 if self.dtype is uint8 else bool_)


def _of_truth(function: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(self: Array, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Array:
        result = dense(function(self, axis=axes(self, dim), keepdims=keepdim))
        return result.astype(np.uint8 if self.dtype == np.uint8 else np.bool_, copy=False)

    return kernel


def fake_count(self: TensorMeta, dim: int | Sequence[int] | None = None) -> TensorMeta:
    return reduced(self, dim, False, int64)


def count_nonzero(self: Array, dim: int | Sequence[int] | None = None) -> Array:
    return dense(np.count_nonzero(self, axis=axes(self, dim))).astype(np.int64, copy=False)


# --- extrema ---------------------------------------------------------------------------------------------------------


def fake_extremum(self: TensorMeta, dim: Sequence[int] | None = None, keepdim: bool = False) -> TensorMeta:
    dims = wrap_dims(dim, self.ndim)
    for one in dims:
        if type(self.shape[one]) is int and self.shape[one] == 0:
            raise IndexError(f"amax(): Expected reduction dim {one} to have non-zero size.")
    return TensorMeta(reduced_shape(self.shape, dims, keepdim), self.dtype, self.device)


def _of_extremum(ufunc: Any) -> Callable[..., Array]:
    def kernel(self: Array, dim: Sequence[int] | None = None, keepdim: bool = False) -> Array:
        return dense(ufunc.reduce(self, axis=axes(self, dim), keepdims=keepdim))

    return kernel


amax, amin = _of_extremum(np.maximum), _of_extremum(np.minimum)


def fake_with_indices(self: TensorMeta, dim: int, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
    wrapped = wrap_dim(dim, self.ndim)
    if self.ndim and type(self.shape[wrapped]) is int and self.shape[wrapped] == 0:
        raise IndexError(f"max(): Expected reduction dim {wrapped} to have non-zero size.")
    return reduced(self, wrapped, keepdim, self.dtype), reduced(self, wrapped, keepdim, int64)


def _of_extremum_dim(find: Callable[..., Any]) -> Callable[..., tuple[Array, Array]]:
    def kernel(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        wrapped = wrap_dim(dim, self.ndim)
        index = dense(find(self, axis=wrapped, keepdims=True)).astype(np.int64, copy=False)
        values = np.take_along_axis(self, index, axis=wrapped)
        if not keepdim:
            return np.squeeze(values, axis=wrapped), np.squeeze(index, axis=wrapped)
        return values, index

    return kernel


def fake_arg(self: TensorMeta, dim: int | None = None, keepdim: bool = False) -> TensorMeta:
    if self.dtype is bool_:
        raise RuntimeError("argmax is not implemented for 'Bool'")
    return reduced(self, dim, keepdim, int64)


def _of_arg(find: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        if self.size == 0 and (dim is None or self.shape[dim] == 0):
            raise IndexError("argmax(): Expected reduction dim to be specified for input.numel() == 0.")
        if self.ndim == 0:
            return np.zeros((), np.int64)
        return dense(find(self, axis=dim, keepdims=keepdim)).astype(np.int64, copy=False)

    return kernel


def fake_aminmax(
    self: TensorMeta, *, dim: int | None = None, keepdim: bool = False
) -> tuple[TensorMeta, TensorMeta]:
    result = reduced(self, dim, keepdim, self.dtype)
    return result, result.like()


def aminmax(self: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    dims = None if dim is None else [dim]
    return amin(self, dims, keepdim), amax(self, dims, keepdim)


# --- spread ----------------------------------------------------------------------------------------------------------


def _fake_spread(self: TensorMeta, dim: Sequence[int] | None, keepdim: bool) -> TensorMeta:
    if self.dtype.category < Category.FLOAT:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    return reduced(self, dim, keepdim, self.dtype.to_real())


def _spread(
    self: Array, dim: Sequence[int] | None, correction: Any, keepdim: bool, root: bool
) -> tuple[Array, Array]:
    wide = self.astype(compute_type(self.dtype), copy=False)
    axis = axes(self, dim)
    centre = as_array(np.mean(wide, axis=axis, keepdims=True))
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
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {_title(self.dtype)}"
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
    target = size.dtype
    size = as_array(size).astype(compute_type(target), copy=False)
    axis = axes(self, dim)
    if ord == math.inf:
        result = np.max(size, axis=axis, keepdims=keepdim)
    elif ord == -math.inf:
        result = np.min(size, axis=axis, keepdims=keepdim)
    elif ord == 0:
        result = np.sum(size != 0, axis=axis, keepdims=keepdim)
    elif ord == 1:
        result = np.sum(size, axis=axis, keepdims=keepdim)
    elif ord == 2:
        result = np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdim))
    else:
        result = np.power(np.sum(np.power(size, ord), axis=axis, keepdims=keepdim), 1.0 / ord)
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


def _fake_trace(self: TensorMeta) -> TensorMeta:
    if self.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return TensorMeta((), sum_dtype(self, None), self.device)


def _trace(self: Array) -> Array:
    return sum_(np.diagonal(self))


def _declare_sums() -> None:
    tail = "*, ScalarType? dtype=None) -> Tensor"
    register(f"aten::sum(Tensor self, {tail}", fake=fake_sum, kernel=sum_)
    register(
        f"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, {tail}",
        fake=fake_sum,
        kernel=sum_,
    )
    register(f"aten::mean(Tensor self, {tail}", fake=fake_mean, kernel=mean)
    register(
        f"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, {tail}", fake=fake_mean, kernel=mean
    )
    register(f"aten::prod(Tensor self, {tail}", fake=fake_sum, kernel=prod)
    register(
        f"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, {tail}", fake=fake_sum, kernel=prod
    )
    register(
        f"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, {tail}",
        fake=fake_sum,
        kernel=nansum,
    )
    register(
        f"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, {tail}",
        fake=fake_mean,
        kernel=nanmean,
    )
    register(
        "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
        fake=fake_logsumexp,
        kernel=logsumexp,
    )
    register("aten::trace(Tensor self) -> Tensor", fake=_fake_trace, kernel=_trace)


def _declare_truth() -> None:
    for name, ufunc in (("all", np.all), ("any", np.any)):
        kernel = _of_truth(ufunc)
        for arguments in (
            "",
            ".dim|, int dim, bool keepdim=False",
            ".dims|, int[]? dim=None, bool keepdim=False",
        ):
            overload, _, rest = arguments.partition("|")
            register(
                f"aten::{name}{overload}(Tensor self{rest}) -> Tensor",
                fake=fake_truth,
                kernel=kernel,
                nondifferentiable=True,
            )
    register(
        "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", fake=fake_count, kernel=count_nonzero
    )
    register(
        "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
        fake=fake_count,
        kernel=count_nonzero,
    )


def _declare_extrema() -> None:
    from fx_ir.ops.binary import fake_same, of_ufunc

    table: list[tuple[str, Any, Any, Any]] = [
        ("max", np.maximum, np.argmax, amax),
        ("min", np.minimum, np.argmin, amin),
    ]
    for name, ufunc, find, reduce in table:
        register(f"aten::{name}(Tensor self) -> Tensor", fake=fake_extremum, kernel=reduce)
        register(
            f"aten::{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            fake=fake_with_indices,
            kernel=_of_extremum_dim(find),
        )
        register(
            f"aten::{name}.other(Tensor self, Tensor other) -> Tensor", fake=fake_same, kernel=of_ufunc(ufunc)
        )  # fmt: skip
        register(
            f"aten::a{name}(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
            fake=fake_extremum,
            kernel=reduce,
        )
        register(
            f"aten::arg{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
            fake=fake_arg,
            kernel=_of_arg(find),
            nondifferentiable=True,
        )
    register(
        "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
        fake=fake_aminmax,
        kernel=aminmax,
    )
    register("aten::median(Tensor self) -> Tensor", fake=_fake_whole, kernel=median)
    register(
        "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        fake=fake_with_indices,
        kernel=median_dim,
    )


def _declare_norms() -> None:
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
    for arguments in (
        "Scalar(Tensor self, Scalar p=2)",
        "ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)",
        "ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)",
        "ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype)",
    ):
        register(f"aten::norm.{arguments} -> Tensor", fake=_fake_norm, kernel=_norm)


_declare_sums()
_declare_truth()
_declare_extrema()
for _name, _root in (("var", False), ("std", True)):
    _declare_spread(_name, _root, False)
    _declare_spread(f"{_name}_mean", _root, True)
_declare_norms()

__all__ = ["axes", "float32", "reduced", "reduced_shape"]
