"""Functions whose results are views of their arguments: made of the operators that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamo_lite.lowering.access import meta_of
from dynamo_lite.lowering.packets import apply


def grids(tensors: Sequence[Any], indexing: str) -> tuple[Any, ...]:
    """``meshgrid``: each tensor along a dimension of its own, seen as of the common shape. RuntimeError as PyTorch's."""
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    metas = [meta_of(tensor) for tensor in tensors]
    if any(meta.dtype is not metas[0].dtype for meta in metas):
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    if any(meta.ndim > 1 for meta in metas):
        raise RuntimeError("torch.meshgrid: Expected 0D or 1D tensor in the tensor list")
    turned = indexing == "xy" and len(tensors) > 1
    order = [1, 0, *range(2, len(tensors))] if turned else list(range(len(tensors)))
    sizes = [metas[index].numel() for index in order]
    made: list[Any] = [None] * len(tensors)
    for place, index in enumerate(order):
        along: list[Any] = [1] * len(tensors)
        along[place] = sizes[place]
        made[index] = apply("expand", apply("view", tensors[index], along), sizes)
    return tuple(made)


def rearranged(equation: Any, operand: Any) -> Any | None:
    """``einsum`` of one operand that sums over nothing: diagonals and a permutation. None for any other."""
    if not isinstance(equation, str) or "," in equation:
        return None
    left, arrow, right = equation.replace(" ", "").partition("->")
    rank = meta_of(operand).ndim
    labels = _labels(left, rank - len(left.replace("...", "")))
    once = sorted(label for label in labels if len(label) == 1 and labels.count(label) == 1)
    wanted = [label for label in labels if len(label) > 1] + once
    if arrow:
        wanted = _labels(right, len([label for label in labels if len(label) > 1]))
    if len(labels) != rank or set(wanted) != set(labels) or len(set(wanted)) != len(wanted):
        return None
    while len(set(labels)) != len(labels):
        first = next(index for index, label in enumerate(labels) if labels.count(label) > 1)
        second = labels.index(labels[first], first + 1)
        operand = apply("diagonal", operand, 0, first, second)
        label = labels[first]
        labels = [each for index, each in enumerate(labels) if index not in (first, second)] + [label]
    return apply("permute", operand, [labels.index(label) for label in wanted])


def _labels(text: str, more: int) -> list[str]:
    """One label a dimension; those of an ellipsis, of which there are ``more``, are longer than a letter."""
    before, dots, after = text.partition("...")
    return [*before, *([f"...{index}" for index in range(more)] if dots else []), *after]
