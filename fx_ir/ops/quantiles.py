"""Order statistics beyond the median, covariance, integrals by trapezoids, and choices out of a vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fx_ir.dtypes import Category, float32, float64, get_default_dtype, result_type
from fx_ir.meta import Size, TensorMeta, contiguous_strides
from fx_ir.ops.arrays import Array, as_array, pair, to_float
from fx_ir.ops.reduction import fake_with_indices, reduced
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes, wrap_dim

# --- median without NaN, mode ----------------------------------------------------------------------------------------


def nanmedian_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower of two middle elements among those that are not NaN."""
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = np.argsort(self, axis=axis, kind="stable")  # NaNs come last
    known = np.sum(self == self, axis=axis, keepdims=True)
    return _picked(self, order, np.maximum(known - 1, 0) // 2, axis, keepdim)


def _picked(self: Array, order: Array, position: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    """The elements (and where they were) at a position of each sorted row."""
    index = np.take_along_axis(order, position, axis=axis).astype(np.int64, copy=False)
    values = np.take_along_axis(self, index, axis=axis)
    return (values, index) if keepdim else (np.squeeze(values, axis=axis), np.squeeze(index, axis=axis))


def nanmedian(self: Array) -> Array:
    if self.size == 0:
        return as_array(np.array(np.nan).astype(self.dtype))
    return nanmedian_dim(self.reshape(-1), 0)[0]


def mode(self: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest of the most frequent elements, and where it stands last (PyTorch leaves open where)."""
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    axis = wrap_dim(dim, self.ndim)
    order = np.moveaxis(np.argsort(self, axis=axis, kind="stable"), axis, -1)
    rows = np.take_along_axis(np.moveaxis(self, axis, -1), order, axis=-1)
    places = np.arange(rows.shape[-1])
    starts = np.ones(rows.shape, bool)
    starts[..., 1:] = rows[..., 1:] != rows[..., :-1]
    run = places - np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
    position = np.moveaxis(np.argmax(run, axis=-1)[..., None], -1, axis)  # the end of the first longest run
    return _picked(self, np.moveaxis(order, -1, axis), as_array(position), axis, keepdim)


# --- quantiles -------------------------------------------------------------------------------------------------------

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def fake_quantile(
    self: TensorMeta, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> TensorMeta:
    """The quantiles' dimension comes first in shape and last in memory."""
    if self.dtype not in (float32, float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    result = reduced(self, dim, keepdim, self.dtype)
    if not isinstance(q, TensorMeta):
        return result
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if q.dtype != self.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if q.ndim == 0:
        return result
    count = q.shape[0]

    def strides() -> tuple[Size, ...]:
        *rest, last = contiguous_strides((*result.shape, count))
        return (last, *rest)

    return TensorMeta((count, *result.shape), self.dtype, self.device, strides if result.ndim else None)


def _of_quantile(skip: bool) -> Callable[..., Array]:
    """A kernel; ``skip`` leaves NaNs out, otherwise one NaN makes the row's quantiles NaN."""

    def kernel(
        self: Array, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Array:
        if self.size == 0:
            raise RuntimeError("quantile() input tensor must be non-empty")
        wanted = np.asarray(q, self.dtype)
        if wanted.size and not ((wanted >= 0) & (wanted <= 1)).all():
            raise RuntimeError("quantile() q values must be in the range [0, 1]")
        rows = self.reshape(-1) if dim is None or self.ndim == 0 else np.moveaxis(self, dim, -1)
        found = _of_rows(np.sort(rows, axis=-1), wanted.reshape(-1), interpolation, skip)
        if keepdim:
            whole = dim is None or self.ndim == 0
            kept = (1,) * self.ndim if whole else _with_one(self.shape, wrap_dim(dim or 0, self.ndim))
            found = found.reshape(*kept, wanted.size)
        return as_array(found[..., 0].copy()) if wanted.ndim == 0 else np.moveaxis(found, -1, 0)

    return kernel


def _with_one(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])


_ROUNDINGS: Final[dict[str, Callable[[Array], Array]]] = {
    "lower": np.floor,
    "higher": np.ceil,
    "nearest": np.round,
}


def _of_rows(rows: Array, wanted: Array, interpolation: str, skip: bool) -> Array:
    """Quantiles of sorted rows, a new last dimension."""
    known = np.sum(rows == rows, axis=-1)[..., None]
    rank = wanted * np.maximum(known - 1, 0).astype(rows.dtype)
    if interpolation in _ROUNDINGS:
        rank = _ROUNDINGS[interpolation](rank)
    low = np.floor(rank)
    below = np.take_along_axis(rows, low.astype(np.int64), axis=-1)
    above = np.take_along_axis(rows, np.ceil(rank).astype(np.int64), axis=-1)
    weight = np.full_like(rank, 0.5) if interpolation == "midpoint" else rank - low
    gap = above - below
    found = np.where(
        weight < 0.5, below + weight * gap, above - gap * (1 - weight)
    )  # as lerp, for infinities
    hidden = (known == 0) if skip else (known < rows.shape[-1])
    return np.ascontiguousarray(np.where(hidden, np.nan, found).astype(rows.dtype, copy=False))


# --- covariance ------------------------------------------------------------------------------------------------------


def fake_cov(
    self: TensorMeta,
    *,
    correction: int = 1,
    fweights: TensorMeta | None = None,
    aweights: TensorMeta | None = None,
) -> TensorMeta:
    if self.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {self.ndim} dimensions")  # fmt: skip
    dtype = get_default_dtype() if self.dtype.category < Category.FLOAT else self.dtype
    several = self.ndim == 2 and self.shape[0] != 1  # of one variable it is a number
    return TensorMeta((self.shape[0],) * 2 if several else (), dtype, self.device)


def cov(
    self: Array, *, correction: int = 1, fweights: Array | None = None, aweights: Array | None = None
) -> Array:
    rows = np.atleast_2d(to_float(self))
    if fweights is None and aweights is None:
        weights: Any = np.ones(rows.shape[1], rows.real.dtype)
    else:
        weights = (1 if fweights is None else fweights) * (1 if aweights is None else aweights)
    total = weights.sum()
    centred = rows - ((rows * weights).sum(axis=1) / total)[:, None]
    scale = total - correction * (
        1 if aweights is None or correction == 0 else (weights * aweights).sum() / total
    )
    found = (centred * weights) @ centred.conj().T / max(scale, 0)
    return as_array(found.astype(rows.dtype, copy=False).reshape(() if found.size == 1 else found.shape))


def corrcoef(self: Array) -> Array:
    matrix = cov(self)
    if matrix.ndim == 0:
        return as_array(matrix / matrix)
    spread = np.sqrt(np.diagonal(matrix).real)
    return as_array(
        np.clip(matrix / spread[:, None] / spread[None, :], -1, 1).astype(matrix.dtype, copy=False)
    )


# --- integrals -------------------------------------------------------------------------------------------------------


def _fake_trapezoid(y: TensorMeta, x: TensorMeta | None, dim: int, running: bool) -> TensorMeta:
    axis = wrap_dim(dim, y.ndim)
    shape = y.shape
    if x is not None and x.ndim > 1:
        shape = broadcast_shapes(y.shape, x.shape)
        axis += len(shape) - y.ndim
    dtype = result_type(y, 0.5) if x is None else result_type(y, x, 0.5)
    middle = (shape[axis] - 1,) if running else ()
    return TensorMeta((*shape[:axis], *middle, *shape[axis + 1 :]), dtype, y.device)


def _trapezoids(y: Array, width: Any, dim: int, running: bool) -> Array:
    """Sums of ``(y_i + y_(i+1)) / 2`` times the width; ``width`` is a number or an array of steps."""
    axis = dim - y.ndim if dim >= 0 else dim
    rows = np.moveaxis(to_float(y), axis, -1)
    areas = (rows[..., 1:] + rows[..., :-1]) * (0.5 * width)
    if running:
        return np.ascontiguousarray(np.moveaxis(np.cumsum(areas, axis=-1), -1, axis))
    return as_array(np.sum(areas, axis=-1))


def _declare_trapezoid(name: str, running: bool, number: str) -> None:
    def fake_x(y: TensorMeta, x: TensorMeta, *, dim: int = -1) -> TensorMeta:
        return _fake_trapezoid(y, x, dim, running)

    def kernel_x(y: Array, x: Array, *, dim: int = -1) -> Array:
        a, b = (to_float(each) for each in pair(y, x))
        steps = np.diff(b) if b.ndim == 1 else np.moveaxis(np.diff(b, axis=dim), dim, -1)
        return _trapezoids(a, steps, dim, running)

    def fake_dx(y: TensorMeta, *, dx: Any = 1, dim: int = -1) -> TensorMeta:
        return _fake_trapezoid(y, None, dim, running)

    def kernel_dx(y: Array, *, dx: Any = 1, dim: int = -1) -> Array:
        return _trapezoids(y, dx, dim, running)

    register(f"aten::{name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", fake=fake_x, kernel=kernel_x)
    register(f"aten::{name}.dx(Tensor y, *, {number}, int dim=-1) -> Tensor", fake=fake_dx, kernel=kernel_dx)


# --- choices ---------------------------------------------------------------------------------------------------------


def fake_combinations(self: TensorMeta, r: int = 2, with_replacement: bool = False) -> TensorMeta:
    """``n (n-1) … (n-r+1) / r!`` rows, or ``n (n+1) … (n+r-1) / r!`` with replacement."""
    if self.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return TensorMeta((0,), self.dtype, self.device)
    rows: Size = 1
    for step in range(r):
        rows = rows * (self.shape[0] + step if with_replacement else self.shape[0] - step)
    return TensorMeta((rows // math.factorial(r), r), self.dtype, self.device)


def combinations(self: Array, r: int = 2, with_replacement: bool = False) -> Array:
    if r == 0:
        return np.zeros(0, self.dtype)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return as_array(self[np.array(list(choose(range(self.shape[0]), r)), np.int64).reshape(-1, r)])


def _declare() -> None:
    values = "(Tensor values, Tensor indices)"
    register(
        "aten::nanmedian(Tensor self) -> Tensor",
        fake=lambda self: TensorMeta((), self.dtype, self.device),
        kernel=nanmedian,
    )
    register(
        f"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> {values}",
        fake=fake_with_indices,
        kernel=nanmedian_dim,
    )
    register(
        f"aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> {values}",
        fake=lambda self, dim=-1, keepdim=False: fake_with_indices(self, dim, keepdim),
        kernel=mode,
    )
    for name, skip in (("quantile", False), ("nanquantile", True)):
        for overload in ("(Tensor self, Tensor q", ".scalar(Tensor self, float q"):
            register(
                f'aten::{name}{overload}, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor',
                fake=fake_quantile,
                kernel=_of_quantile(skip),
            )
    register(
        "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
        fake=fake_cov,
        kernel=cov,
    )
    register("aten::corrcoef(Tensor self) -> Tensor", fake=lambda self: fake_cov(self), kernel=corrcoef)
    _declare_trapezoid("trapezoid", False, "Scalar dx=1")
    _declare_trapezoid("trapz", False, "float dx=1.")
    _declare_trapezoid("cumulative_trapezoid", True, "Scalar dx=1")
    register(
        "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
        fake=fake_combinations,
        kernel=combinations,
    )


_declare()
