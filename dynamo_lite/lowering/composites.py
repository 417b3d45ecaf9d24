"""Functions that are several operators: what PyTorch composes too, and in-place views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dynamo_lite import dispatch
from dynamo_lite.lowering import metadata
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.packets import apply, item
from dynamo_lite.lowering.structure import broadcast_shapes
from dynamo_lite.lowering.views import grids, rearranged
from fx_ir.dtypes import int64
from fx_ir.functionalize import storage_of
from fx_ir.ops.shapes import same


def _listed(tensors: tuple[Any, ...]) -> Sequence[Any]:
    """Several tensors, given one by one or as a sequence."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Views of the tensors, all of the shape that they broadcast to; one that has it already is itself."""
    given = _listed(tensors)
    shape = broadcast_shapes(*[meta_of(tensor).shape for tensor in given])
    return tuple(
        tensor if _is_shape(meta_of(tensor).shape, shape) else apply("expand", tensor, list(shape))
        for tensor in given
    )


def _is_shape(held: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether two shapes are known to be equal; nothing is asked."""
    return len(held) == len(wanted) and all(map(same, held, wanted))


def einsum(equation: str, *operands: Any) -> Any:
    """Sums of products in Einstein's notation."""
    given = list(_listed(operands))
    seen = rearranged(equation, given[0]) if len(given) == 1 else None
    return apply("einsum", equation, given) if seen is None else seen


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of the elements of vectors; one vector is itself."""
    given = list(_listed(tensors))
    return given[0] if len(given) == 1 and meta_of(given[0]).ndim == 1 else apply("cartesian_prod", given)


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Grids of coordinates, one for each tensor."""
    return grids(list(_listed(tensors)), "ij" if indexing is None else indexing)


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Products summed over ``dims``: a number of last and first dimensions, or two lists of them."""
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(meta_of(a).ndim, meta_of(b).ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    else:
        dims_a, dims_b = ([dim] if isinstance(dim, int) else list(dim) for dim in dims)
    result = apply("tensordot", a, b, dims_a, dims_b)
    return result if out is None else apply("copy_", out, result)


def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Any:
    """The vector norm over ``dim`` (all dimensions if None); ``"fro"`` is the Euclidean one."""
    over = [dim] if isinstance(dim, int) else dim
    if p == "nuc":
        held = (
            apply("nuclear_norm", input, keepdim)
            if over is None
            else apply("nuclear_norm", input, over, keepdim)
        )
        return held if out is None else apply("copy_", out, held)
    order = 2 if p == "fro" or p is None else p
    result = apply("linalg_vector_norm", input, order, over, keepdim, dtype=dtype)
    return result if out is None else apply("copy_", out, result)


def _at_least(rank: int) -> Callable[..., Any]:
    def grown(tensor: Any) -> Any:
        held = meta_of(tensor).ndim
        if rank == 3 and held == 2:
            return apply("unsqueeze", tensor, -1)
        if rank == 3 and held == 1:
            return apply("unsqueeze", apply("unsqueeze", tensor, 0), -1)
        for _ in range(rank - held):
            tensor = apply("unsqueeze", tensor, 0)
        return tensor

    def at_least(*tensors: Any) -> Any:
        given = _listed(tensors)
        made = tuple(grown(tensor) for tensor in given)
        return made[0] if given is tensors and len(tensors) == 1 else made

    at_least.__doc__ = f"Views with at least {rank} dimensions."
    return at_least


atleast_1d, atleast_2d, atleast_3d = _at_least(1), _at_least(2), _at_least(3)


def conj(self: Any) -> Any:
    """The complex conjugate; a real tensor itself."""
    if not meta_of(self).dtype.is_complex:
        return self
    made = apply("conj_physical", self)
    fake_of = getattr(dispatch.recorder(), "fake_of", None)
    if fake_of is not None:
        for value in (self, made):
            storage_of(fake_of(value)).conjugated = True
    return made


def fliplr(self: Any) -> Any:
    """Flipped along the second dimension."""
    if meta_of(self).ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return apply("flip", self, [1])


def flipud(self: Any) -> Any:
    """Flipped along the first dimension."""
    if meta_of(self).ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return apply("flip", self, [0])


def _split_along(name: str, least: int, dim: int) -> Callable[..., Any]:
    """A split along one dimension, into parts of one size where their number is given."""

    def split(self: Any, indices_or_sections: Any) -> Any:
        shape = meta_of(self).shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {len(shape)} dimensions!"
            )
        at = 0 if dim == 1 and len(shape) == 1 else dim
        parts = indices_or_sections
        if not isinstance(parts, (list, tuple)) and (parts == 0 or shape[at] % parts != 0):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {at}, but the size of the dimension {shape[at]} is not "
                f"divisible by the split_size {parts}!"
            )
        return tuple(apply("tensor_split", self, parts, at))

    split.__doc__ = f"Split along dimension {dim}; of a vector always along its only one."
    return split


hsplit, vsplit, dsplit = (
    _split_along("hsplit", 1, 1),
    _split_along("vsplit", 2, 0),
    _split_along("dsplit", 3, 2),
)


def tensor_split(self: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    """Split into parts whose sizes differ by one at most, or at indices; numbers in a tensor are read from it."""
    given = indices_or_sections
    if is_tensor(given):
        meta = meta_of(given)
        if meta.ndim > 1 or meta.dtype is not int64:
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor of "
                f"dtype long, but got a tensor with {meta.ndim} dims and dtype {meta.dtype}"
            )
        given = [item(part) for part in apply("unbind", given)] if meta.ndim else item(given)
    return tuple(apply("tensor_split", self, given, dim))


def where_of(self: Any, condition: Any, other: Any) -> Any:
    """``Tensor.where``: this tensor where ``condition`` holds, ``other`` elsewhere."""
    return apply("where", condition, self, other)


def polygamma(self: Any, n: int) -> Any:
    """The ``n``-th derivative of the digamma function."""
    return apply("polygamma", n, self)


def nonzero(self: Any, *, as_tuple: bool = False) -> Any:
    """The indices of what is not zero: as rows of one tensor, or a tensor for each dimension."""
    if not as_tuple:
        return apply("nonzero", self)
    return tuple(
        apply("unbind", apply("nonzero", self if meta_of(self).ndim else apply("unsqueeze", self, 0)), 1)
    )


def inner(self: Any, other: Any) -> Any:
    """Products summed over the last dimensions."""
    if meta_of(self).ndim == 0 or meta_of(other).ndim == 0:
        return apply("mul", self, other)
    return apply("tensordot", self, other, [-1], [-1])


def inverse(self: Any) -> Any:
    """The inverse matrix."""
    return apply("linalg_inv", self)


def det(self: Any) -> Any:
    """The determinant."""
    return apply("linalg_det", self)


def _in_place_view(name: str) -> Callable[..., Any]:
    def change(self: Any, *args: Any) -> Any:
        if dispatch.recorder() is not None:
            return apply(f"{name}_", self, *args)
        metadata.set_attribute(self, "data", apply(name, self, *args))
        return self

    change.__doc__ = f"``{name}`` of the tensor itself: it views its memory otherwise from now on."
    return change


unsqueeze_, squeeze_, t_ = _in_place_view("unsqueeze"), _in_place_view("squeeze"), _in_place_view("t")
transpose_ = _in_place_view("transpose")
swapaxes_ = _in_place_view("transpose")

SHARED: dict[str, Callable[..., Any]] = {
    "conj": conj, "fliplr": fliplr, "flipud": flipud, "hsplit": hsplit, "vsplit": vsplit, "inner": inner,
    "inverse": inverse, "det": det, "norm": norm, "dsplit": dsplit, "tensor_split": tensor_split, "nonzero": nonzero,
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    "polygamma": polygamma,
    "unsqueeze_": unsqueeze_, "squeeze_": squeeze_, "t_": t_, "transpose_": transpose_, "swapaxes_": swapaxes_,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "broadcast_tensors": broadcast_tensors, "atleast_1d": atleast_1d, "atleast_2d": atleast_2d,
    "atleast_3d": atleast_3d, "einsum": einsum, "cartesian_prod": cartesian_prod, "meshgrid": meshgrid, "tensordot": tensordot,
}  # fmt: skip
NAMES = frozenset({*SHARED, *FUNCTIONS})
