"""Writing by index tensors and masks, into a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import bool_, int32, int64
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.indexing import Indices, check_gather, expand_masks
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import broadcast_shapes, differ, elementwise, same, wrap_dim

_COMBINE: dict[str, Any] = {
    "add": np.add, "sum": np.add, "multiply": np.multiply, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
    "mean": np.add,
}  # fmt: skip


# --- index_put -------------------------------------------------------------------------------------------------------


def fake_index_put(
    self: TensorMeta, indices: Indices, values: TensorMeta, accumulate: bool = False
) -> TensorMeta:
    if self.dtype is not values.dtype and not _fills(self, indices, values, accumulate):
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.name} for the destination and "
            f"{values.dtype.name} for the source."
        )
    if not any(index is not None and index.dtype is bool_ for index in indices):
        from fx_ir.ops.indexing import indexed_shape

        expanded = expand_masks(self, indices)
        if any(index is not None for index in expanded):
            shape, _, _ = indexed_shape(self, expanded)
            broadcast_shapes(shape, values.shape)
    return elementwise(self.dtype, self)


def _fills(self: TensorMeta, indices: Indices, values: TensorMeta, accumulate: bool) -> bool:
    """One mask and one element: ``masked_fill``, which converts what it writes."""
    given = [index for index in indices if index is not None]
    one_mask = len(given) == 1 and given[0].dtype is bool_
    real = self.dtype.is_complex or not values.dtype.is_complex
    return one_mask and real and not accumulate and bool(values.numel() == 1)


def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    result = self.copy(order="K")
    key: Any = tuple([slice(None) if index is None else index for index in indices])
    if accumulate:
        np.add.at(result, key, values)
    else:
        result[key] = values
    return result


# --- along one dimension ---------------------------------------------------------------------------------------------


def _check_vector(self: TensorMeta, dim: int, index: TensorMeta) -> int:
    if index.ndim > 1:
        raise IndexError("Index is supposed to be a vector")
    if index.dtype not in (int64, int32):
        raise RuntimeError("Expected dtype int32/int64 for index")
    return wrap_dim(dim, self.ndim)


def fake_index_write(self: TensorMeta, dim: int, index: TensorMeta, source: Any, **_: Any) -> TensorMeta:
    at = _check_vector(self, dim, index)
    if isinstance(source, TensorMeta) and source.ndim:
        if source.dtype is not self.dtype:
            raise RuntimeError("index_copy_(): self and source expected to have the same dtype")
        count = index.numel()
        if differ(source.shape[at], count):
            raise RuntimeError(
                f"Number of indices ({count}) should be equal to source.size(dim) ({source.shape[at]})"
            )  # fmt: skip
    return TensorMeta(self.shape, self.dtype, self.device)


def _fake_index_fill(self: TensorMeta, dim: int, index: TensorMeta, value: Any) -> TensorMeta:
    fake_index_write(self, dim, index, value)
    return elementwise(self.dtype, self)


def _rows(array: Array, dim: int) -> Array:
    """A view with ``dim`` first."""
    return np.moveaxis(array, dim, 0) if array.ndim else array.reshape(1)


def index_add(self: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
    result = self.copy()
    rows = _rows(source, dim)
    np.add.at(
        _rows(result, dim), index.reshape(-1), rows if alpha == 1 else (rows * alpha).astype(self.dtype)
    )
    return result


def index_copy(self: Array, dim: int, index: Array, source: Array) -> Array:
    result = self.copy()
    _rows(result, dim)[index.reshape(-1)] = _rows(source, dim)
    return result


def index_fill(self: Array, dim: int, index: Array, value: Any) -> Array:
    result = self.copy(order="K")
    _rows(result, dim)[index.reshape(-1)] = value
    return result


# --- scatter ---------------------------------------------------------------------------------------------------------


def fake_scatter(
    self: TensorMeta, dim: int, index: TensorMeta, src: Any, *args: Any, **kwargs: Any
) -> TensorMeta:
    wrapped = check_gather(self, dim, index)
    if isinstance(src, TensorMeta):
        if src.dtype is not self.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        for axis, (size, limit) in enumerate(zip(index.shape, src.shape, strict=True)):
            if not same(size, limit) and size > limit:
                raise RuntimeError(
                    f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
                    f"{wrapped} and to be no larger size than src {list(src.shape)} (dimension {axis})"
                )
    return TensorMeta(self.shape, self.dtype, self.device)


def _places(result: Array, dim: int, index: Array) -> tuple[Array, ...]:
    """The index as one array a dimension, so that ``result[places]`` has its shape."""
    if index.size and index.min() < 0:
        raise RuntimeError(
            f"index {index.min()} is out of bounds for dimension {dim} with size {result.shape[dim]}"
        )
    grids = list(np.ogrid[tuple([slice(size) for size in index.shape])])
    grids[dim] = index
    return tuple(grids)


def _sources(src: Any, index: Array) -> Any:
    return (
        src[tuple([slice(size) for size in index.shape])] if isinstance(src, np.ndarray) and src.ndim else src
    )


def scatter(self: Array, dim: int, index: Array, src: Any, *, reduce: str | None = None) -> Array:
    if self.ndim == 0 or index.ndim == 0:
        return as_array(
            scatter(self.reshape(-1), 0, index.reshape(-1), np.reshape(src, -1), reduce=reduce)
        ).reshape(self.shape)
    result = self.copy()
    places = _places(result, wrap_dim(dim, self.ndim), index)
    if reduce is None:
        result[places] = _sources(src, index)
    else:
        _COMBINE[reduce].at(result, places, _sources(src, index))
    return result


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    return scatter(self, dim, index, src, reduce="add")


def fake_scatter_reduce(
    self: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta, reduce: str, *, include_self: bool = True
) -> TensorMeta:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    return fake_scatter(self, dim, index, src)


def scatter_reduce(
    self: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    if self.ndim == 0:
        flat = scatter_reduce(
            self.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self=include_self
        )
        return flat.reshape(())
    result = self.copy()
    places = _places(result, wrap_dim(dim, self.ndim), index)
    if not include_self:
        result[places] = _identity(reduce, result.dtype)
    _COMBINE[reduce].at(result, places, _sources(src, index))
    if reduce == "mean":
        counts = np.full(self.shape, int(include_self), np.int64)
        np.add.at(counts, places, 1)
        counts = np.maximum(counts, 1)
        result = result // counts if result.dtype.kind in "iu" else result / counts
    return as_array(result).astype(self.dtype, copy=False)


def _identity(reduce: str, dtype: np.dtype[Any]) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    low = reduce == "amax"
    if dtype.kind == "f":
        return -np.inf if low else np.inf
    limits = np.iinfo(dtype)
    return limits.min if low else limits.max


# --- masks -----------------------------------------------------------------------------------------------------------


def fake_masked_scatter(self: TensorMeta, mask: TensorMeta, source: TensorMeta) -> TensorMeta:
    if mask.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}"
        )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {self.dtype.name} and {source.dtype.name}"
        )
    return TensorMeta(broadcast_shapes(self.shape, mask.shape), self.dtype, self.device)


def masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    shape = np.broadcast_shapes(self.shape, mask.shape)
    result = np.array(np.broadcast_to(self, shape), order="C")
    chosen = np.broadcast_to(mask, shape)
    result[chosen] = source.reshape(-1)[: int(chosen.sum())]
    return result


def _declare_pair(
    name: str, overload: str, arguments: str, fake: Callable[..., Any], kernel: Callable[..., Any]
) -> None:
    """The functional operator and the in-place one."""
    register(f"aten::{name}{overload}(Tensor self, {arguments}) -> Tensor", fake=fake, kernel=kernel)
    register_inplace(
        f"aten::{name}_{overload}(Tensor(a!) self, {arguments}) -> Tensor(a!)", f"aten::{name}{overload}"
    )


def _declare() -> None:
    _declare_pair(
        "index_put", "", "Tensor?[] indices, Tensor values, bool accumulate=False", fake_index_put, index_put
    )  # fmt: skip
    vector = "int dim, Tensor index"
    _declare_pair("index_add", "", f"{vector}, Tensor source, *, Scalar alpha=1", fake_index_write, index_add)
    _declare_pair("index_copy", "", f"{vector}, Tensor source", fake_index_write, index_copy)
    for kind in ("Scalar", "Tensor"):
        _declare_pair("index_fill", f".int_{kind}", f"{vector}, {kind} value", _fake_index_fill, index_fill)
    _declare_pair("scatter", ".src", f"{vector}, Tensor src", fake_scatter, scatter)
    _declare_pair("scatter", ".value", f"{vector}, Scalar value", fake_scatter, scatter)
    _declare_pair("scatter", ".reduce", f"{vector}, Tensor src, *, str reduce", fake_scatter, scatter)
    _declare_pair("scatter", ".value_reduce", f"{vector}, Scalar value, *, str reduce", fake_scatter, scatter)
    _declare_pair("scatter_add", "", f"{vector}, Tensor src", fake_scatter, scatter_add)
    _declare_pair(
        "scatter_reduce",
        ".two",
        f"{vector}, Tensor src, str reduce, *, bool include_self=True",
        fake_scatter_reduce,
        scatter_reduce,
    )
    _declare_pair("masked_scatter", "", "Tensor mask, Tensor source", fake_masked_scatter, masked_scatter)


_declare()
