"""Einstein sums as PyTorch computes them: operands are multiplied two at a time, by ``bmm`` where a size other than 1 is summed over.

Type and layout of the result follow from those steps. Which sizes are 1 is asked only where it decides: on the type of integers and of
operands of several types, and on the layout when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fx_ir.dtypes import DType, bool_, result_type
from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, describe, laid_out
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.reduction import sum_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes, common_device, elementwise, same, strides_along

Terms = Sequence[Sequence[str]]


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


# --- the steps -------------------------------------------------------------------------------------------------------


def fake_einsum(
    equation: str, tensors: Sequence[TensorMeta], *, path: Sequence[int] | None = None
) -> TensorMeta:
    inputs, output = einsum_terms(equation, [tensor.ndim for tensor in tensors])
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
    labels = [*output, *[label for label in sizes if label not in output]]
    first, count = tensors[0].dtype, len(output)
    simple = all(tensor.dtype is first for tensor in tensors) and sum_dtype(tensors[0], None) is first

    def steps() -> TensorMeta:
        return _multiplied(
            [_aligned(t, term, labels) for t, term in zip(tensors, inputs, strict=True)], count
        )

    dtype: DType = first if simple else steps().dtype
    return TensorMeta(
        tuple([sizes[label] for label in output]),
        dtype,
        common_device(tensors),
        lambda: steps().strides[:count],
    )


def _aligned(tensor: TensorMeta, term: Sequence[str], labels: Sequence[str]) -> TensorMeta:
    """An operand with a dimension for each label, of size 1 where it has none; a label that it has twice is its diagonal."""
    shape: list[Size] = []
    places: list[list[int]] = []
    for label in labels:
        found = [dim for dim, each in enumerate(term) if each == label]
        shape.append(tensor.shape[found[0]] if found else 1)
        places.append(found)

    def strides() -> Sizes:
        held = tensor.strides
        return tuple([sum(held[dim] for dim in found) if found else 1 for found in places])

    return TensorMeta(tuple(shape), tensor.dtype, tensor.device, strides)


def _multiplied(operands: list[TensorMeta], kept: int) -> TensorMeta:
    """The product of operands over the same dimensions, of which those from ``kept`` on are summed over."""
    left = operands[0]
    rank = left.ndim
    if len(operands) == 1:
        return _summed(left, list(range(kept, rank))) if rank > kept else left
    counts = {dim: sum(not _is_one(each.shape[dim]) for each in operands) for dim in range(kept, rank)}
    for right in operands[1:]:
        together: list[int] = []
        alone: tuple[list[int], list[int]] = ([], [])
        for dim in counts:
            sides = [not _is_one(left.shape[dim]), not _is_one(right.shape[dim])]
            if all(sides):
                counts[dim] -= 1
                if counts[dim] == 1:
                    together.append(dim)
                    counts[dim] = 0
            elif counts[dim] == 1 and any(sides):
                alone[sides.index(True)].append(dim)
                counts[dim] = 0
        left, right = (
            _summed(each, dims) if dims else each for each, dims in zip((left, right), alone, strict=True)
        )
        left = (
            _by_matrices(left, right, kept, together)
            if together
            else elementwise(result_type(left, right), left, right)
        )
    return left


def _is_one(size: Size) -> bool:
    return same(size, 1) or bool(size == 1)


def _summed(meta: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    shape = tuple([1 if dim in dims else size for dim, size in enumerate(meta.shape)])
    return TensorMeta(shape, sum_dtype(meta, None), meta.device)


def _by_matrices(left: TensorMeta, right: TensorMeta, kept: int, summed: Sequence[int]) -> TensorMeta:
    """A batched product. In memory stand dimensions of both first, then those of one operand, then those of the other."""
    check_same_dtype(left, right)
    if left.dtype is bool_:
        raise NotImplementedError("\"bmm\" not implemented for 'Bool'")
    rank = left.ndim
    shape = tuple(
        [
            1 if dim in summed else broadcast_shapes((left.shape[dim],), (right.shape[dim],))[0]
            for dim in range(rank)
        ]
    )

    def strides() -> Sizes:
        both: list[int] = []
        own: list[int] = []
        other: list[int] = []
        for dim in range(rank):
            if dim in summed:
                continue
            in_left = not _is_one(left.shape[dim])
            in_right = not _is_one(right.shape[dim])
            (both if in_left and in_right else own if in_left else other).append(dim)
        if own and other and max(other) < min(own):
            own, other = other, own
        return strides_along(shape, [*both, *own, *other, *summed][::-1])

    return TensorMeta(shape, left.dtype, left.device, strides)


# --- kernel ----------------------------------------------------------------------------------------------------------


def einsum(equation: str, tensors: Sequence[Array], *, path: Sequence[int] | None = None) -> Array:
    meta = fake_einsum(equation, [describe(tensor) for tensor in tensors])
    wide = compute_type(meta.dtype.numpy)
    result = _value(equation, [tensor.astype(wide, copy=False) for tensor in tensors])
    result = result.astype(meta.dtype.numpy, copy=False)
    return laid_out(result, meta.strides) if result.ndim else result.copy()


def _value(equation: str, operands: Sequence[Array]) -> Array:
    if len(operands) == 2:
        inputs, output = einsum_terms(equation, [operand.ndim for operand in operands])
        if all(len(set(term)) == len(term) for term in inputs):
            return as_array(_contract(operands[0], operands[1], inputs, output))
    return np.array(np.einsum(equation.replace(" ", ""), *operands, optimize=len(operands) > 2))


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
    return as_array(result.transpose([labels.index(label) for label in output]))


def _sum_alone(array: Array, labels: list[str], needed: set[str]) -> tuple[Array, list[str]]:
    gone = tuple([index for index, label in enumerate(labels) if label not in needed])
    if not gone:
        return array, labels
    return as_array(array.sum(axis=gone, dtype=array.dtype)), [label for label in labels if label in needed]


register(
    "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
    fake=fake_einsum,
    kernel=einsum,
)
