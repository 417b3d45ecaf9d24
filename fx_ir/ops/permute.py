"""Views with the dimensions in another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array
from fx_ir.ops.registry import Call, ViewRule, register
from fx_ir.ops.shapes import contiguous_or, wrap_dim


def permuted(self: TensorMeta, order: Sequence[int]) -> TensorMeta:
    """The dimensions in another order."""
    shape = tuple([self.shape[dim] for dim in order])
    if list(order) == list(range(self.ndim)):
        strides: Any = None if self.is_plain else lambda: self.strides
    else:
        strides = lambda: contiguous_or(shape, tuple([self.strides[dim] for dim in order]))  # noqa: E731
    return self.like(
        shape=shape,
        strides=strides,
        requires_grad=False,
        offset=lambda: self.offset,
    )


def _order_permute(ndim: int, dims: Sequence[int]) -> list[int]:
    if len(dims) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(dim, ndim) for dim in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return order


def _order_transpose(ndim: int, dim0: int, dim1: int) -> list[int]:
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = order[second], order[first]
    return order


def _order_t(ndim: int) -> list[int]:
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return list(range(ndim))[::-1]


def _order_reversed(ndim: int) -> list[int]:
    return list(range(ndim))[::-1]


def _order_matrix(ndim: int) -> list[int]:
    if ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
        )
    return [*range(ndim - 2), ndim - 1, ndim - 2]


def _order_movedim(ndim: int, source: int | Sequence[int], destination: int | Sequence[int]) -> list[int]:
    sources = [wrap_dim(dim, ndim) for dim in ([source] if isinstance(source, int) else source)]
    targets = [
        wrap_dim(dim, ndim) for dim in ([destination] if isinstance(destination, int) else destination)
    ]
    if len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise RuntimeError("movedim: repeated dim in `source` or `destination`")
    if len(sources) != len(targets):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: they should have the same number of elements"
        )
    rest = iter([dim for dim in range(ndim) if dim not in sources])
    placed = dict(zip(targets, sources, strict=True))
    return [placed[dim] if dim in placed else next(rest) for dim in range(ndim)]


def _inverse(order: Sequence[int]) -> list[int]:
    back = [0] * len(order)
    for position, dim in enumerate(order):
        back[dim] = position
    return back


def _declare_permutation(schema: str, order: Callable[..., list[int]]) -> None:
    def fake(self: TensorMeta, *args: Any) -> TensorMeta:
        return permuted(self, order(self.ndim, *args))

    def kernel(self: Array, *args: Any) -> Array:
        return self.transpose(order(self.ndim, *args))

    def scatter(call: Call, base: Any, new: Any, index: int, *args: Any) -> Any:
        return call("aten::permute", new, _inverse(order(len(base.shape), *args)))

    register(schema, fake=fake, kernel=kernel, view=ViewRule(scatter))


_PERMUTATIONS: dict[str, Callable[..., list[int]]] = {
    "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)": _order_permute,
    "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)": _order_transpose,
    "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)": _order_transpose,
    "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)": _order_transpose,
    "aten::t(Tensor(a) self) -> Tensor(a)": _order_t,
    "aten::numpy_T(Tensor(a) self) -> Tensor(a)": _order_reversed,
    "aten::mT(Tensor(a) self) -> Tensor(a)": _order_matrix,
    "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)": _order_movedim,
    "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)": _order_movedim,
    "aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)": _order_movedim,
    "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)": _order_movedim,
}

for _schema, _order in _PERMUTATIONS.items():
    _declare_permutation(_schema, _order)
