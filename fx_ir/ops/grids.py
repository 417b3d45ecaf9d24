"""Triangles, diagonals, grids, differences, and complex numbers from their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import result_type
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, copied
from fx_ir.ops.joining import cat, fake_cat
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.reshape import fake_reshape
from fx_ir.ops.shapes import (
    elementwise,
    wrap_dim,
)

# --- triangles and diagonals -----------------------------------------------------------------------------------------


def fake_triangle(self: TensorMeta, diagonal: Size = 0) -> TensorMeta:
    if self.ndim < 2:
        raise RuntimeError("tril: input tensor must have at least 2 dimensions")
    return TensorMeta(self.shape, self.dtype, self.device)


def tril(self: Array, diagonal: int = 0) -> Array:
    return np.tril(self, diagonal)


def triu(self: Array, diagonal: int = 0) -> Array:
    return np.triu(self, diagonal)


def fake_diag_embed(self: TensorMeta, offset: int = 0, dim1: int = -2, dim2: int = -1) -> TensorMeta:
    ndim = self.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    return TensorMeta(
        tuple([size if dim in (first, second) else next(rest) for dim in range(ndim)]),
        self.dtype,
        self.device,
    )


def diag_embed(self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    ndim = self.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    size = self.shape[-1] + abs(offset)
    result = np.zeros((*self.shape[:-1], size, size), self.dtype)
    index = np.arange(self.shape[-1])
    result[..., index + max(-offset, 0), index + max(offset, 0)] = self
    return np.ascontiguousarray(np.moveaxis(result, (-2, -1), (first, second)))


def fake_diag(self: TensorMeta, diagonal: int = 0) -> TensorMeta:
    from fx_ir.ops.views import fake_diagonal

    if self.ndim == 1:
        return fake_diag_embed(self, diagonal, 0, 1)
    if self.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.ndim}D")
    return TensorMeta(fake_diagonal(self, diagonal).shape, self.dtype, self.device)


def diag(self: Array, diagonal: int = 0) -> Array:
    return np.array(np.diag(self, diagonal))


# --- grids -----------------------------------------------------------------------------------------------------------


def fake_meshgrid(tensors: Sequence[TensorMeta], *, indexing: str = "ij") -> list[TensorMeta]:
    """Expanded views of the operands, exactly as PyTorch makes them."""
    from fx_ir.ops.reshape import fake_expand

    if indexing not in ("ij", "xy"):
        raise RuntimeError('torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing)
    metas = list(tensors)
    swap = indexing == "xy" and len(metas) >= 2
    if swap:
        metas[0], metas[1] = metas[1], metas[0]
    sizes: list[Size] = [meta.numel() for meta in metas]
    grids = []
    for position, meta in enumerate(metas):
        shape: list[Size] = [1] * len(metas)
        shape[position] = sizes[position]
        grids.append(fake_expand(fake_reshape(meta, shape), sizes))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


def meshgrid(tensors: Sequence[Array], *, indexing: Any = "ij") -> list[Array]:
    return [as_array(grid) for grid in np.meshgrid(*tensors, indexing=indexing, copy=False)]


def fake_cartesian(tensors: Sequence[TensorMeta]) -> TensorMeta:
    if len(tensors) == 1:
        return tensors[0].like()
    total: Size = 1
    for tensor in tensors:
        total = total * tensor.numel()
    return TensorMeta((total, len(tensors)), result_type(*tensors), tensors[0].device)


def cartesian_prod(tensors: Sequence[Array]) -> Array:
    if len(tensors) == 1:
        return tensors[0].copy()
    return np.stack([grid.reshape(-1) for grid in np.meshgrid(*tensors, indexing="ij")], axis=-1)


# --- differences -----------------------------------------------------------------------------------------------------


def fake_diff(
    self: TensorMeta,
    n: int = 1,
    dim: int = -1,
    prepend: TensorMeta | None = None,
    append: TensorMeta | None = None,
) -> TensorMeta:
    """Laid out as sums are, in the order of the operand's memory. Zero steps copy the tensor alone, whatever is joined to it."""
    if self.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap_dim(dim, self.ndim)
    parts = [part for part in (prepend, self, append) if part is not None]
    whole = fake_cat(parts, dim) if len(parts) > 1 else self
    if n == 0:
        return elementwise(self.dtype, self)
    from solver.sym import sym_max

    size = sym_max(whole.shape[dim] - n, 0)
    shape = (*whole.shape[:dim], size, *whole.shape[dim + 1 :])
    strides = None if whole.is_plain else lambda: whole.strides
    return elementwise(whole.dtype, whole.like(shape=shape, strides=strides))


def diff(
    self: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    if n == 0:
        return copied(self)
    parts = [part for part in (prepend, self, append) if part is not None]
    whole = cat(parts, dim) if len(parts) > 1 else self
    if whole.dtype == np.bool_:
        for _ in range(n):
            whole = np.diff(whole, axis=dim)
        return whole
    return np.diff(whole, n, axis=dim)


def fake_complex(real: TensorMeta, imag: TensorMeta) -> TensorMeta:
    if real.dtype is not imag.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {real.dtype.name} but got scalar type {imag.dtype.name}"
        )
    return elementwise(real.dtype.to_complex(), real, imag)


def make_complex(real: Array, imag: Array) -> Array:
    return as_array(real + 1j * imag).astype(
        np.complex128 if real.dtype == np.float64 else np.complex64, copy=False
    )


def polar(abs: Array, angle: Array) -> Array:
    return make_complex(abs * np.cos(angle), abs * np.sin(angle))


def _declare() -> None:
    for name, kernel in (("tril", tril), ("triu", triu)):
        register(f"aten::{name}(Tensor self, SymInt diagonal=0) -> Tensor", fake=fake_triangle, kernel=kernel)
        register_inplace(f"aten::{name}_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", f"aten::{name}")
    register("aten::diag(Tensor self, int diagonal=0) -> Tensor", fake=fake_diag, kernel=diag)
    register(
        "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
        fake=fake_diag_embed,
        kernel=diag_embed,
    )
    register("aten::meshgrid(Tensor[] tensors) -> Tensor[]", fake=fake_meshgrid, kernel=meshgrid)
    register(
        "aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
        fake=fake_meshgrid,
        kernel=meshgrid,
    )
    register("aten::cartesian_prod(Tensor[] tensors) -> Tensor", fake=fake_cartesian, kernel=cartesian_prod)
    register(
        "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
        fake=fake_diff,
        kernel=diff,
    )
    register("aten::complex(Tensor real, Tensor imag) -> Tensor", fake=fake_complex, kernel=make_complex)
    register("aten::polar(Tensor abs, Tensor angle) -> Tensor", fake=fake_complex, kernel=polar)


_declare()
