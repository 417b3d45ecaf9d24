"""Sums of products over chosen dimensions: tensordot, kron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import same, wrap_dim


def fake_tensordot(
    self: TensorMeta, other: TensorMeta, dims_self: Sequence[int], dims_other: Sequence[int]
) -> TensorMeta:
    check_same_dtype(self, other)
    left = [wrap_dim(dim, self.ndim) for dim in dims_self]
    right = [wrap_dim(dim, other.ndim) for dim in dims_other]
    for a, b in zip(left, right, strict=True):
        first, second = self.shape[a], other.shape[b]
        if not same(first, second) and first != second and first != 1 and second != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {self.shape[a]} in dim {a} and second has size "
                f"{other.shape[b]} in dim {b}"
            )
    kept = [size for dim, size in enumerate(self.shape) if dim not in left]
    kept += [size for dim, size in enumerate(other.shape) if dim not in right]
    return TensorMeta(tuple(kept), self.dtype, self.device)


def tensordot(self: Array, other: Array, dims_self: Sequence[int], dims_other: Sequence[int]) -> Array:
    """A contracted dimension of one element stands for as many as the other tensor has."""
    for a, b in zip(dims_self, dims_other, strict=True):
        if self.shape[a] == 1:
            other = other.sum(axis=b, keepdims=True, dtype=other.dtype)
        elif other.shape[b] == 1:
            self = self.sum(axis=a, keepdims=True, dtype=self.dtype)
    return as_array(np.tensordot(self, other, (list(dims_self), list(dims_other))))


def fake_kron(self: TensorMeta, other: TensorMeta) -> TensorMeta:
    rank = max(self.ndim, other.ndim)
    a = (1,) * (rank - self.ndim) + self.shape
    b = (1,) * (rank - other.ndim) + other.shape
    return TensorMeta(tuple([x * y for x, y in zip(a, b, strict=True)]), self.dtype, self.device)


def kron(self: Array, other: Array) -> Array:
    return as_array(np.kron(self, other))


_CONTRACTIONS: dict[str, tuple[Any, Any]] = {
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)": (fake_tensordot, tensordot),
    "kron(Tensor self, Tensor other)": (fake_kron, kron),
}


def _declare() -> None:
    for schema, (fake, kernel) in _CONTRACTIONS.items():
        register(f"aten::{schema} -> Tensor", fake=fake, kernel=kernel)


_declare()
