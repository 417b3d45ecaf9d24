"""Sums of products over chosen dimensions: einsum, tensordot, kron."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes, same, wrap_dim


def einsum_terms(equation: str, ndims: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """Subscripts of the operands and of the result, an ellipsis spelled out as ``.0``, ``.1`` …"""
    left, arrow, right = equation.replace(" ", "").partition("->")
    operands = left.split(",")
    if len(operands) != len(ndims):
        raise RuntimeError(
            "einsum(): more operands were provided than specified in the equation"
            if len(operands) < len(ndims)
            else "einsum(): fewer operands were provided than specified in the equation"
        )
    dots = 0
    for term, ndim in zip(operands, ndims, strict=True):
        letters = len(term.replace("...", ""))
        if letters != ndim and ("..." not in term or letters > ndim):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({letters}) does not match the number of dimensions "
                f"({ndim}) for operand {operands.index(term)}"
            )
        dots = max(dots, ndim - letters)

    def spell(term: str, width: int) -> list[str]:
        head, _, tail = term.partition("...") if "..." in term else (term, "", "")
        return [*head, *[f".{index}" for index in range(dots - width, dots)], *tail]

    inputs = [
        spell(term, ndim - len(term.replace("...", ""))) for term, ndim in zip(operands, ndims, strict=True)
    ]  # fmt: skip
    if arrow:
        return inputs, spell(right, dots if "..." in right else 0)
    everything = [label for term in inputs for label in term]
    once = sorted(label for label in set(everything) if everything.count(label) == 1 and label[0] != ".")
    return inputs, [*[f".{index}" for index in range(dots)], *once]


def fake_einsum(
    equation: str, tensors: Sequence[TensorMeta], *, path: Sequence[int] | None = None
) -> TensorMeta:
    inputs, output = einsum_terms(equation, [tensor.ndim for tensor in tensors])
    check_same_dtype(*tensors)
    sizes: dict[str, Size] = {}
    for term, tensor in zip(inputs, tensors, strict=True):
        for label, size in zip(term, tensor.shape, strict=True):
            known = sizes.get(label, 1)
            sizes[label] = broadcast_shapes((known,), (size,))[0]
    for label in output:
        if label not in sizes:
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    return TensorMeta(tuple([sizes[label] for label in output]), tensors[0].dtype, tensors[0].device)


def einsum(equation: str, tensors: Sequence[Array], *, path: Sequence[int] | None = None) -> Array:
    wide = compute_type(tensors[0].dtype)
    operands = [tensor.astype(wide, copy=False) for tensor in tensors]
    if len(operands) == 2:
        inputs, output = einsum_terms(equation, [operand.ndim for operand in operands])
        if all(len(set(term)) == len(term) for term in inputs):
            return as_array(_contract(operands[0], operands[1], inputs, output)).astype(
                tensors[0].dtype, copy=False
            )
    result = np.einsum(equation.replace(" ", ""), *operands, optimize=len(operands) > 2)
    return np.array(result).astype(tensors[0].dtype, copy=False)


def _contract(a: Array, b: Array, inputs: Sequence[Sequence[str]], output: Sequence[str]) -> Array:
    """Two operands as one batched matrix product: labels are batch, row, column or summed."""
    left, right = list(inputs[0]), list(inputs[1])
    a, left = _sum_alone(a, left, {*right, *output})
    b, right = _sum_alone(b, right, {*left, *output})
    batch = [label for label in left if label in right and label in output]
    summed = [label for label in left if label in right and label not in output]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    sizes: dict[str, int] = {}
    for array, labels in ((a, left), (b, right)):
        for label, size in zip(labels, array.shape, strict=True):
            sizes[label] = max(sizes.get(label, 1), size) if 0 not in (size, sizes.get(label, 1)) else 0
    a = np.broadcast_to(a, [sizes[label] for label in left])
    b = np.broadcast_to(b, [sizes[label] for label in right])

    def extent(labels: Sequence[str]) -> int:
        total = 1
        for label in labels:
            total *= sizes[label]
        return total

    lead = [sizes[label] for label in batch]
    first = a.transpose([left.index(label) for label in (*batch, *rows, *summed)]).reshape(
        *lead, extent(rows), extent(summed)
    )
    second = b.transpose([right.index(label) for label in (*batch, *summed, *columns)]).reshape(
        *lead, extent(summed), extent(columns)
    )
    labels = [*batch, *rows, *columns]
    result = np.matmul(first, second).reshape([sizes[label] for label in labels])
    return np.ascontiguousarray(result.transpose([labels.index(label) for label in output]))


def _sum_alone(array: Array, labels: list[str], needed: set[str]) -> tuple[Array, list[str]]:
    gone = tuple([index for index, label in enumerate(labels) if label not in needed])
    if not gone:
        return array, labels
    return as_array(array.sum(axis=gone, dtype=array.dtype)), [label for label in labels if label in needed]


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
    "einsum(str equation, Tensor[] tensors, *, int[]? path=None)": (fake_einsum, einsum),
    "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other)": (fake_tensordot, tensordot),
    "kron(Tensor self, Tensor other)": (fake_kron, kron),
}


def _declare() -> None:
    for schema, (fake, kernel) in _CONTRACTIONS.items():
        register(f"aten::{schema} -> Tensor", fake=fake, kernel=kernel)


_declare()
