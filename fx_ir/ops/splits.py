"""Operators that cut a tensor into several views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array
from fx_ir.ops.registry import Call, ViewRule, register
from fx_ir.ops.shapes import differ, fails, same, wrap_dim
from fx_ir.ops.views import fake_select, restricted, slice_range

Lengths = Callable[..., Sequence[Size]]
Pieces = Callable[[Size, Any], Sequence[tuple[Size, Size]]]  # starts and lengths


def lengths_of_size(extent: Size, split_size: Size) -> list[Size]:
    """``split(n)``: pieces of ``n``, the last smaller. How many there are is part of the graph, hence asked."""
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if type(split_size) is int and split_size == 0:
        if extent != 0:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {extent}"
            )  # fmt: skip
        return [0]
    if same(extent, split_size):
        return [extent]
    count = max(int((extent + split_size - 1) // split_size), 1)
    return [split_size] * (count - 1) + [extent - split_size * (count - 1)]


def lengths_of_chunks(extent: Size, chunks: int) -> list[Size]:
    """``chunk(n)``: at most ``n`` pieces of ceil(size / n), of nothing exactly ``n``. A symbolic size asks only whether
    the last is non-empty, and whether all are empty where it is not."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    piece = (extent + (chunks - 1)) // chunks
    quotient = extent // chunks
    if same(quotient * chunks, extent):
        return [quotient] * chunks
    count = chunks
    while count > 1 and piece * (count - 1) >= extent:
        count -= 1
    if count < chunks and extent == 0:
        return [0] * chunks
    return [piece] * (count - 1) + [extent - piece * (count - 1)]


def lengths_given(extent: Size, split_sizes: Sequence[Size]) -> list[Size]:
    total: Size = 0
    for size in split_sizes:
        if fails(size < 0, "lengths of pieces are not negative"):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}"
            )
        total = total + size
    if differ(total, extent):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at dimension), but got "
            f"split_sizes={list(split_sizes)}"
        )
    return list(split_sizes)


def lengths_of_sections(extent: Size, sections: int) -> list[Size]:
    """``tensor_split(n)``: exactly ``n`` pieces, the first ones larger by one."""
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    size, larger = extent // sections, extent % sections
    if type(extent) is not int:
        return [(extent + (sections - 1 - index)) // sections for index in range(sections)]
    return [size + 1 if index < larger else size for index in range(sections)]


def pieces_between(extent: Size, indices: Sequence[Size]) -> list[tuple[Size, Size]]:
    """``tensor_split([i, j])``: starts and lengths of the slices between the indices."""
    bounds = [None, *indices, None]
    return [slice_range(extent, low, high, 1) for low, high in pairwise(bounds)]


def _starts(lengths: Sequence[Size]) -> list[tuple[Size, Size]]:
    pieces: list[tuple[Size, Size]] = []
    first: Size = 0
    for length in lengths:
        pieces.append((first, length))
        first = first + length
    return pieces


def _one_after_another(lengths: Lengths) -> Pieces:
    return lambda extent, spec: _starts(lengths(extent, spec))


def _declare_split(schema: str, pieces: Pieces) -> None:
    def fake(self: TensorMeta, spec: Any, dim: int = 0) -> list[TensorMeta]:
        dim = _split_dim(dim, self.ndim)
        return [restricted(self, dim, first, length) for first, length in pieces(self.shape[dim], spec)]

    def kernel(self: Array, spec: Any, dim: int = 0) -> list[Array]:
        dim = _split_dim(dim, self.ndim)
        lead = (slice(None),) * dim
        return [
            self[(*lead, slice(first, first + length))] for first, length in pieces(self.shape[dim], spec)
        ]

    def scatter(call: Call, base: Any, new: Any, index: int, spec: Any, dim: int = 0) -> Any:
        dim = _split_dim(dim, len(base.shape))
        first, length = pieces(base.shape[dim], spec)[index]
        return call("aten::slice_scatter", base, new, dim, first, first + length, 1)

    register(schema, fake=fake, kernel=kernel, view=ViewRule(scatter))


def _split_dim(dim: int, ndim: int) -> int:
    if ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    return wrap_dim(dim, ndim)


def fake_unbind(self: TensorMeta, dim: int = 0) -> list[TensorMeta]:
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    return [fake_select(self, dim, index) for index in range(int(self.shape[dim]))]


def unbind(self: Array, dim: int = 0) -> list[Array]:
    rows = np.moveaxis(self, wrap_dim(dim, self.ndim), 0)
    return [rows[index, ...] for index in range(len(rows))]


def _scatter_unbind(call: Call, base: Any, new: Any, index: int, dim: int = 0) -> Any:
    return call("aten::select_scatter", base, new, dim, index)


_SPLITS: dict[str, Lengths] = {
    "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]": lengths_of_size,
    "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]": lengths_given,
    "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]": lengths_given,
    "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]": lengths_of_chunks,
    "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]": lengths_of_sections,
}


def _declare() -> None:
    for schema, lengths in _SPLITS.items():
        _declare_split(schema, _one_after_another(lengths))
    _declare_split(
        "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
        pieces_between,
    )
    _declare_split(
        "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
        _one_after_another(lengths_of_size),
    )
    _declare_split(
        "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
        _one_after_another(lengths_of_chunks),
    )
    register(
        "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
        fake=fake_unbind,
        kernel=unbind,
        view=ViewRule(_scatter_unbind),
    )


_declare()
