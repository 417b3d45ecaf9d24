"""Methods that are a little Python over operators: copies, ``unique``, what has no meaning here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import access_of, meta_of
from dynamo_lite.lowering.errors import NO_AUTOGRAD, where
from dynamo_lite.lowering.metadata import without_autograd
from dynamo_lite.lowering.packets import apply
from dynamo_lite.lowering.size import Size
from fx_ir.ops.shapes import broadcast_size


def shallow_copy(self: Any) -> Any:
    """``copy.copy``: another tensor on the same memory."""
    return apply("alias", self)


def deep_copy(self: Any, memo: dict[int, Any]) -> Any:
    """``copy.deepcopy``: another tensor on memory of its own; once a tensor, however often it is met."""
    done = memo.get(id(self))
    if done is None:
        if not access_of(self).is_leaf(self):
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            )
        done = apply("clone", apply("detach", self))
        if dispatch.recorder() is None and meta_of(self).requires_grad:
            done = done.requires_grad_()
        memo[id(self)] = done
    return done


def unique(
    self: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or slices along ``dim``, with inverse and counts if asked for."""
    if dim is None:
        values, inverse, counts = apply("_unique2", self, sorted, return_inverse, return_counts)
    else:
        values, inverse, counts = apply("unique_dim", self, dim, sorted, return_inverse, return_counts)
    return _asked(values, return_inverse and inverse, return_counts and counts)


def unique_consecutive(
    self: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements, or slices along ``dim``, with inverse and counts if asked for."""
    values, inverse, counts = apply("unique_consecutive", self, return_inverse, return_counts, dim)
    return _asked(values, return_inverse and inverse, return_counts and counts)


def _asked(values: Any, *others: Any) -> Any:
    chosen = [value for value in others if value is not False]
    return (values, *chosen) if chosen else values


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that these broadcast to."""
    rows = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    rank = max((len(row) for row in rows), default=0)
    result: list[Any] = [1] * rank
    for number, row in enumerate(rows):
        for position, size in enumerate(row, rank - len(row)):
            try:
                result[position] = broadcast_size(result[position], size, position)
            except RuntimeError:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {position - rank}! Mismatching argument at "
                    f"index {number} had {tuple(row)}; but expected shape should be broadcastable to {result}"
                ) from None
    return Size(result)


def cuda(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refused: there is one device here."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def register_hook(self: Any, hook: Callable[..., Any]) -> NoReturn:
    """Refused: hooks on gradients need autograd."""
    raise NO_AUTOGRAD(what="register_hook()", where=without_autograd(), location=where())


def is_shared(self: Any) -> bool:
    """Always False: memory is this process's."""
    return False
