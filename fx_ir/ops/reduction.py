"""Reductions over dimensions: sums, extrema, norms, statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType, bool_, get_default_dtype, int64, uint8
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, average, compute_type, dense, sum_over, to_float
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import same, wrap_dim, wrap_dims
from fx_ir.ops.views import WHOLE_RULE, fake_alias

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


def _summed_away(shape: tuple[Size, ...], size: Sequence[Size]) -> list[int]:
    """The dimensions that ``sum_to_size`` sums over; RuntimeError where ``size`` does not broadcast to ``shape``."""
    lead = len(shape) - len(size)
    if lead < 0 or any(
        not same(wanted, 1) and not same(wanted, held) and wanted != 1 and wanted != held
        for wanted, held in zip(size, shape[lead:], strict=True)
    ):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(shape)}}}.")
    stretched = [
        lead + dim
        for dim, wanted in enumerate(size)
        if (same(wanted, 1) or wanted == 1) and not same(shape[lead + dim], 1) and shape[lead + dim] != 1
    ]
    return [*range(lead), *stretched]


def fake_sum_to_size(self: TensorMeta, size: Sequence[Size]) -> TensorMeta:
    if not _summed_away(self.shape, size) and self.ndim:
        return fake_alias(self)
    return TensorMeta(tuple(size), sum_dtype(self, None), self.device)


def sum_to_size(self: Array, size: Sequence[int]) -> Array:
    dims = _summed_away(self.shape, size)
    return sum_(self, dims, True).reshape(size) if dims or not self.ndim else self


def _sums_nothing(result: TensorMeta, self: TensorMeta, size: Sequence[Size]) -> bool:
    return self.ndim > 0 and not _summed_away(self.shape, size)


def fake_mean(
    self: TensorMeta, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> TensorMeta:
    target = self.dtype if dtype is None else dtype
    if target.category < Category.FLOAT:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {title(target)}"
        )
    return reduced(self, dim, keepdim, target)


_TITLES = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}


def title(dtype: DType) -> str:
    return _TITLES.get(dtype.name, dtype.name.title())


def _nan_average(array: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    known = ~np.isnan(array)
    count = sum_over(known, axis, keepdims, array.real.dtype)
    return as_array(sum_over(np.where(known, array, 0), axis, keepdims) / count)


mean = _of_sum(average)
nanmean = _of_sum(_nan_average)


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
    for one in dims if self.ndim else ():
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


def _fake_trace(self: TensorMeta) -> TensorMeta:
    if self.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return TensorMeta((), sum_dtype(self, None), self.device)


def _trace(self: Array) -> Array:
    return sum_(np.diagonal(self))


def _declare_sums() -> None:
    tail = "*, ScalarType? dtype=None) -> Tensor"
    register(
        "aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor",
        fake=fake_sum_to_size,
        kernel=sum_to_size,
        view=WHOLE_RULE,
        maybe_view=_sums_nothing,
    )
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


_declare_sums()
_declare_truth()
_declare_extrema()
