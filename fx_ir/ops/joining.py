"""Operators that join, repeat and rearrange tensors into new ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir import fake_context
from fx_ir.dtypes import result_type
from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, cast, describe, number_type
from fx_ir.ops.permute import permuted
from fx_ir.ops.registry import register
from fx_ir.ops.reshape import fake_reshape
from fx_ir.ops.shapes import (
    channels_last_strides,
    common_device,
    differ,
    elementwise,
    same,
    suggests_channels_last,
    wrap_dim,
)
from solver.sym import sym_max

# --- cat and stack ---------------------------------------------------------------------------------------------------


def _without_legacy_empty(tensors: Sequence[TensorMeta]) -> list[TensorMeta]:
    """Without the 1-D tensors of size 0, which go with any shape in ``cat``, for old times' sake.

    A symbolic size is asked only beside tensors of another rank: among vectors an empty one adds nothing anyway.
    """
    mixed = any(tensor.ndim != 1 for tensor in tensors)
    return [
        tensor
        for tensor in tensors
        if tensor.ndim != 1 or not (same(tensor.shape[0], 0) or (mixed and tensor.shape[0] == 0))
    ]


def fake_cat(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    if not tensors:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    if any(tensor.ndim == 0 for tensor in tensors):
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    dtype = result_type(*tensors)
    kept = _without_legacy_empty(tensors)
    if not kept:
        return TensorMeta((0,), dtype, tensors[0].device)
    first = kept[0]
    dim = wrap_dim(dim, first.ndim)
    total: Size = first.shape[dim]
    shape = list(first.shape)
    for tensor in kept[1:]:
        if tensor.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {tensor.ndim}"
            )
        for axis in range(first.ndim):
            shape[axis] = (
                shape[axis] if axis == dim else _equal_size(shape[axis], tensor.shape[axis], axis, dim)
            )
        total = total + tensor.shape[dim]
    shape[dim] = total
    strides = None if all(tensor.is_plain for tensor in kept) else lambda: _cat_strides(tuple(shape), kept)
    return TensorMeta(tuple(shape), dtype, common_device(kept), strides)


def _equal_size(a: Size, b: Size, axis: int, dim: int) -> Size:
    if same(a, b):
        return a
    if a != b:
        raise RuntimeError(
            f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor number 1 in "
            f"the list (dimension {axis})."
        )
    return a if type(a) is int else b


def _cat_strides(shape: Sizes, tensors: Sequence[TensorMeta]) -> Sizes | None:
    """Channels last if every operand is, contiguous otherwise."""
    if all(suggests_channels_last(tensor) for tensor in tensors):
        return channels_last_strides(shape)
    return None


def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    kept = [tensor for tensor in tensors if tensor.shape != (0,)] or [tensors[0]]
    first = kept[0].dtype
    if any(tensor.dtype is not first for tensor in tensors):
        dtype = number_type(*tensors)
        kept = [cast(tensor, dtype) for tensor in kept]
    result = np.concatenate(kept, axis=dim)
    if result.flags.c_contiguous or all(suggests_channels_last(describe(tensor)) for tensor in kept):
        return result
    return np.ascontiguousarray(result)


def fake_stack(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape: Sizes = tensors[0].shape
    for tensor in tensors[1:]:
        if tensor.ndim != len(shape):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(tensor.shape)} at entry 1"
            )
        merged: list[Size] = []
        for a, b in zip(shape, tensor.shape, strict=True):
            if differ(a, b):
                raise RuntimeError(
                    f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(tensor.shape)} at "
                    "entry 1"
                )
            merged.append(a if type(a) is int else b)
        shape = tuple(merged)
    at = wrap_dim(dim, len(shape) + 1)
    return TensorMeta((*shape[:at], len(tensors), *shape[at:]), result_type(*tensors), common_device(tensors))


def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    first = tensors[0].dtype
    if any(tensor.dtype is not first for tensor in tensors):
        dtype = number_type(*tensors)
        tensors = [cast(tensor, dtype) for tensor in tensors]
    return np.ascontiguousarray(np.stack(tensors, axis=dim))


def fake_pad_sequence(
    sequences: Sequence[TensorMeta],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> TensorMeta:
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    first = sequences[0]
    longest: Size = first.shape[0]
    for tensor in sequences[1:]:
        if tensor.ndim != first.ndim or any(
            differ(a, b) for a, b in zip(tensor.shape[1:], first.shape[1:], strict=True)
        ):
            raise RuntimeError(
                f"pad_sequence: {list(tensor.shape)} and {list(first.shape)} differ after the first dimension"
            )
        longest = sym_max(longest, tensor.shape[0])
    outer = (len(sequences), longest) if batch_first else (longest, len(sequences))
    return TensorMeta((*outer, *first.shape[1:]), first.dtype, first.device)


def pad_sequence(
    sequences: Sequence[Array],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Array:
    longest = max(len(tensor) for tensor in sequences)
    first = sequences[0]
    result = np.full((len(sequences), longest, *first.shape[1:]), padding_value, dtype=first.dtype)
    for row, tensor in zip(result, sequences, strict=True):
        place = slice(len(tensor)) if padding_side == "right" else slice(longest - len(tensor), None)
        row[place] = tensor
    return result if batch_first else np.ascontiguousarray(result.swapaxes(0, 1))


def _at_least(rank: int) -> Callable[[Any], Any]:
    def lift(tensor: Any) -> Any:
        if len(tensor.shape) >= rank:
            return tensor
        shape = (1,) * (rank - len(tensor.shape)) + tuple(tensor.shape)
        return fake_reshape(tensor, shape) if isinstance(tensor, TensorMeta) else tensor.reshape(shape)

    return lift


def _joined(
    join: Callable[..., Any], lift: Callable[[Any], Any], axis: Callable[[Any], int]
) -> Callable[..., Any]:
    def rule(tensors: Sequence[Any]) -> Any:
        lifted = [lift(tensor) for tensor in tensors]
        return join(lifted, axis(lifted[0]))

    return rule


def _column(tensor: Any) -> Any:
    if len(tensor.shape) > 1:
        return tensor
    shape = (-1, 1)
    return fake_reshape(tensor, shape) if isinstance(tensor, TensorMeta) else tensor.reshape(shape)


# --- repetition ------------------------------------------------------------------------------------------------------


def fake_repeat(self: TensorMeta, repeats: Sequence[Size]) -> TensorMeta:
    lead = len(repeats) - self.ndim
    if lead < 0:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )  # fmt: skip
    sizes = (1,) * lead + self.shape
    return TensorMeta(
        tuple([size * count for size, count in zip(sizes, repeats, strict=True)]), self.dtype, self.device
    )


def repeat(self: Array, repeats: Sequence[int]) -> Array:
    return (
        np.tile(self, tuple(repeats))
        if any(count != 1 for count in repeats)
        else np.array(self, ndmin=len(repeats))
    )


def fake_tile(self: TensorMeta, dims: Sequence[Size]) -> TensorMeta:
    return fake_repeat(self, [1] * (self.ndim - len(dims)) + list(dims))


def tile(self: Array, dims: Sequence[int]) -> Array:
    return repeat(self, [1] * (self.ndim - len(dims)) + list(dims))


def fake_repeat_interleave(
    self: TensorMeta, repeats: Any, dim: int | None = None, *, output_size: Size | None = None
) -> TensorMeta:
    shape = (self.numel(),) if dim is None else self.shape
    at = 0 if dim is None else wrap_dim(dim, self.ndim)
    if isinstance(repeats, TensorMeta):
        total = fake_repeat_total(repeats, output_size=output_size).shape[0]
    else:
        total = shape[at] * repeats
    return TensorMeta((*shape[:at], total, *shape[at + 1 :]), self.dtype, self.device)


def fake_repeat_total(repeats: TensorMeta, *, output_size: Size | None = None) -> TensorMeta:
    """The indices to repeat: how many depends on data unless the caller says."""
    size = (
        fake_context.current().unbacked("repeat_interleave", "int", 0) if output_size is None else output_size
    )
    return TensorMeta((size,), repeats.dtype, repeats.device)


def repeat_interleave(
    self: Array, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Array:
    return np.repeat(self, repeats, axis=dim)


def _repeat_total(repeats: Array, *, output_size: int | None = None) -> Array:
    return np.repeat(np.arange(len(repeats), dtype=repeats.dtype), repeats)


# --- order -----------------------------------------------------------------------------------------------------------


def fake_flip(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    wrapped = [wrap_dim(dim, self.ndim) for dim in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("dim appears multiple times in the list of dims")
    return elementwise(self.dtype, self)


def flip(self: Array, dims: Sequence[int]) -> Array:
    return np.flip(self, tuple(dims)).copy(order="K") if self.ndim else self.copy()


def fake_roll(self: TensorMeta, shifts: Sequence[Size], dims: Sequence[int] = ()) -> TensorMeta:
    if dims and len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return TensorMeta(self.shape, self.dtype, self.device)


def roll(self: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    return np.ascontiguousarray(
        np.roll(self, tuple(shifts), tuple(dims)) if dims else np.roll(self, shifts[0])
    )


def fake_rot90(self: TensorMeta, k: int = 1, dims: Sequence[int] = (0, 1)) -> TensorMeta:
    first, second = (wrap_dim(dim, self.ndim) for dim in dims)
    order = list(range(self.ndim))
    order[first], order[second] = second, first
    flipped = elementwise(self.dtype, self)
    return permuted(flipped, order) if k % 2 else flipped


def rot90(self: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    first, second = (wrap_dim(dim, self.ndim) for dim in dims)
    turns = k % 4
    if turns == 0:
        return self.copy(order="K")
    flipped = flip(self, {1: [second], 2: [first, second], 3: [first]}[turns])
    return flipped.swapaxes(first, second) if turns % 2 else flipped


def _declare() -> None:
    for name in ("cat", "concat", "concatenate"):
        register(f"aten::{name}(Tensor[] tensors, int dim=0) -> Tensor", fake=fake_cat, kernel=cat)
    register("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", fake=fake_stack, kernel=stack)
    register(
        "aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., "
        'str padding_side="right") -> Tensor',
        fake=fake_pad_sequence,
        kernel=pad_sequence,
    )
    joins: list[tuple[str, Any, Any]] = [
        ("hstack", _at_least(1), lambda tensor: 0 if len(tensor.shape) == 1 else 1),
        ("vstack", _at_least(2), lambda tensor: 0),
        ("column_stack", _column, lambda tensor: 1),
    ]
    for name, lift, axis in joins:
        register(
            f"aten::{name}(Tensor[] tensors) -> Tensor",
            fake=_joined(fake_cat, lift, axis),
            kernel=_joined(cat, lift, axis),
        )
    register("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", fake=fake_repeat, kernel=repeat)
    register("aten::tile(Tensor self, SymInt[] dims) -> Tensor", fake=fake_tile, kernel=tile)
    for overload, kind in (("self_int", "SymInt"), ("self_Tensor", "Tensor")):
        register(
            f"aten::repeat_interleave.{overload}(Tensor self, {kind} repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
            fake=fake_repeat_interleave,
            kernel=repeat_interleave,
        )
    register(
        "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
        fake=fake_repeat_total,
        kernel=_repeat_total,
    )
    register("aten::flip(Tensor self, int[] dims) -> Tensor", fake=fake_flip, kernel=flip)
    register(
        "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", fake=fake_roll, kernel=roll
    )
    register("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", fake=fake_rot90, kernel=rot90)


_declare()
