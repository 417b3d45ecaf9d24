"""Operators that give the same elements another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, dense
from fx_ir.ops.registry import Call, ViewRule, register
from fx_ir.ops.shapes import contiguous_or, decided, fails, is_contiguous, same, wrap_dim
from fx_ir.ops.viewing import infer_size, product, view_strides
from solver.sym import sym_and

# --- fake rules ------------------------------------------------------------------------------------------------------


def fake_view(self: TensorMeta, size: Sequence[Size]) -> TensorMeta:
    shape = infer_size(self.shape, size)
    strides: Sizes | None = None
    if not _is_plain(self):
        numel = self.numel()
        known_empty = type(numel) is int and numel == 0  # nothing in memory fits any shape
        strides = None if known_empty else view_strides(self.shape, self.strides, shape)
        if strides is None and numel != 0:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                "contiguous subspaces). Use .reshape(...) instead."
            )
    return self.like(shape=shape, strides=strides, requires_grad=False, offset=lambda: self.offset)


def _is_plain(self: TensorMeta) -> bool:
    """True once the layout has been worked out and is contiguous."""
    return self.is_plain or contiguous_or(self.shape, self.strides) is None


def reshaped(self: TensorMeta, shape: Sizes) -> TensorMeta:
    """A view where memory allows, a contiguous copy elsewhere: which of them is decided when the layout is asked for."""
    if self.is_plain:
        return self.like(shape=shape, requires_grad=False, offset=lambda: self.offset)
    return self.like(
        shape=shape,
        strides=lambda: _reshaped_strides(self, shape),
        requires_grad=False,
        offset=lambda: self.offset if _viewable(self, shape) else 0,
    )


def _reshaped_strides(self: TensorMeta, shape: Sizes) -> Sizes | None:
    strides = self.strides  # once asked for, the layout may turn out to be plain
    return None if self.is_plain else view_strides(self.shape, strides, shape)


def _viewable(self: TensorMeta, shape: Sizes) -> bool:
    return self.is_plain or view_strides(self.shape, self.strides, shape) is not None


def fake_reshape(self: TensorMeta, shape: Sequence[Size]) -> TensorMeta:
    return reshaped(self, infer_size(self.shape, shape))


def fake_flatten(self: TensorMeta, start_dim: int = 0, end_dim: int = -1) -> TensorMeta:
    start, end = wrap_dim(start_dim, self.ndim), wrap_dim(end_dim, self.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if self.ndim == 0:
        return reshaped(self, (1,))
    if start == end:
        return self
    merged = product(self.shape[start : end + 1])
    return reshaped(self, (*self.shape[:start], merged, *self.shape[end + 1 :]))


def _fake_ravel(self: TensorMeta) -> TensorMeta:
    """Flat and contiguous: unlike ``flatten``, a copy of evenly spaced elements with gaps."""
    shape = (product(self.shape),)
    if self.is_plain:
        return reshaped(self, shape)
    return self.like(
        shape=shape,
        strides=lambda: _reshaped_strides(self, shape) if is_contiguous(self) else None,
        requires_grad=False,
        offset=lambda: self.offset if is_contiguous(self) else 0,
    )


def fake_unflatten(self: TensorMeta, dim: int, sizes: Sequence[Size]) -> TensorMeta:
    dim = wrap_dim(dim, self.ndim)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = infer_size((self.shape[dim],), sizes)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({self.shape[dim]}) in the input tensor"
        ) from None
    return fake_view(self, (*self.shape[:dim], *inner, *self.shape[dim + 1 :]))


def _restrided(self: TensorMeta, shape: Sizes, change: Callable[[Sizes], Sizes]) -> TensorMeta:
    strides = None if self.is_plain else lambda: change(self.strides)
    return self.like(shape=shape, strides=strides, requires_grad=False, offset=lambda: self.offset)


def fake_unsqueeze(self: TensorMeta, dim: int) -> TensorMeta:
    at = wrap_dim(dim, self.ndim + 1)
    shape = self.shape

    def strides(old: Sizes) -> Sizes:
        new = shape[at] * old[at] if at < len(old) else 1
        return (*old[:at], new, *old[at:])

    return _restrided(self, (*shape[:at], 1, *shape[at:]), strides)


def _squeezed(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    """Drops those of the dimensions that have size 1: a symbolic one is asked, since the rank depends on it."""
    gone = {dim for dim in dims if dim < self.ndim and self.shape[dim] == 1}
    kept = [dim for dim in range(self.ndim) if dim not in gone]
    return _restrided(
        self, tuple([self.shape[dim] for dim in kept]), lambda old: tuple([old[dim] for dim in kept])
    )  # fmt: skip


def fake_squeeze(self: TensorMeta) -> TensorMeta:
    return _squeezed(self, range(self.ndim))


def fake_squeeze_dim(self: TensorMeta, dim: int) -> TensorMeta:
    return _squeezed(self, [wrap_dim(dim, self.ndim)])


def fake_squeeze_dims(self: TensorMeta, dim: Sequence[int]) -> TensorMeta:
    return _squeezed(self, [wrap_dim(one, self.ndim) for one in dim])


def fake_expand(self: TensorMeta, size: Sequence[Size], implicit: bool = False) -> TensorMeta:
    lead = len(size) - self.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand({self!r}, size={list(size)}): the number of sizes provided ({len(size)}) must be greater or equal to "
            f"the number of dimensions in the tensor ({self.ndim})"
        )
    shape: list[Size] = []
    stretched = [True] * lead
    for dim, target in enumerate(size):
        if dim < lead:
            if type(target) is int and target < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({target}) isn't allowed in a leading, non-existing dimension {dim}"
                )
            shape.append(target)
            continue
        extent, stretch = _expand_size(self.shape[dim - lead], target, dim, list(size), self.shape)
        shape.append(extent)
        stretched.append(stretch)
    if not any(stretched):
        return _restrided(self, tuple(shape), lambda old: old)
    return self.like(
        shape=tuple(shape),
        strides=lambda: _expanded_strides(self.strides, lead, stretched, shape),
        requires_grad=False,
        offset=lambda: self.offset,
    )


def _expand_size(extent: Size, target: Size, dim: int, wanted: list[Size], shape: Sizes) -> tuple[Size, bool]:
    """The size after expanding, and whether the dimension is stretched."""
    if (type(target) is int and target == -1) or same(extent, target):
        return extent, False
    if type(extent) is int and extent == 1:
        return target, True
    if type(extent) is int and decided(target == extent) is None:
        if not fails(
            sym_and(target != extent, target != -1), "a size that is expanded to is the size there is"
        ):
            return extent, False
    elif extent == target:
        return (target if type(target) is int else extent), False
    if type(extent) is not int and extent == 1:
        return target, True
    raise RuntimeError(
        f"The expanded size of the tensor ({target}) must match the existing size ({extent}) at non-singleton dimension "
        f"{dim}.  Target sizes: {wanted}.  Tensor sizes: {list(shape)}"
    )


def _expanded_strides(old: Sizes, lead: int, stretched: list[bool], shape: list[Size]) -> Sizes:
    strides: list[Size] = [0] * lead
    strides += [0 if stretch else stride for stretch, stride in zip(stretched[lead:], old, strict=True)]
    for dim in range(lead - 1, -1, -1):
        extent = shape[dim]
        if type(extent) is int and extent == 1:
            strides[dim] = shape[dim + 1] * strides[dim + 1] if dim + 1 < len(shape) else 1
    return tuple(strides)


# --- kernels ---------------------------------------------------------------------------------------------------------


def reshape(self: Array, shape: Sequence[int]) -> Array:
    return self.reshape(shape)


def flatten(self: Array, start_dim: int = 0, end_dim: int = -1) -> Array:
    start, end = wrap_dim(start_dim, self.ndim), wrap_dim(end_dim, self.ndim)
    if self.ndim == 0:
        return self.reshape(1)
    merged = 1
    for size in self.shape[start : end + 1]:
        merged *= size
    return self.reshape((*self.shape[:start], merged, *self.shape[end + 1 :]))


def _ravel(self: Array) -> Array:
    return dense(self).reshape(-1)


def unflatten(self: Array, dim: int, sizes: Sequence[int]) -> Array:
    dim = wrap_dim(dim, self.ndim)
    inner = infer_size((self.shape[dim],), sizes)
    return self.reshape((*self.shape[:dim], *inner, *self.shape[dim + 1 :]))


def unsqueeze(self: Array, dim: int) -> Array:
    at = wrap_dim(dim, self.ndim + 1)
    return self[(slice(None),) * at + (None,)]


def squeeze(self: Array) -> Array:
    return self.squeeze()


def squeeze_dims(self: Array, dim: int | Sequence[int]) -> Array:
    given = (dim,) if isinstance(dim, int) else dim
    dims = [wrap_dim(one, self.ndim) for one in given]
    return self.squeeze(tuple([one for one in dims if one < self.ndim and self.shape[one] == 1]))


def expand(self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    """A read-only look: NumPy marks it so, and writing to an expanded tensor is refused elsewhere."""
    import numpy as np

    lead = len(size) - self.ndim
    shape = [self.shape[dim - lead] if extent == -1 else extent for dim, extent in enumerate(size)]
    return np.broadcast_to(self, shape)


# --- declarations ----------------------------------------------------------------------------------------------------


def back_to_shape(call: Call, base: Any, new: Any, index: int, *args: Any, **kwargs: Any) -> Any:
    """The inverse of every operator that only changes the shape."""
    return call("aten::reshape", new, list(base.shape))


def refuse_write(call: Call, base: Any, new: Any, index: int, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation."
    )


def scatter_expanded(call: Call, base: Any, new: Any, index: int, *args: Any, **kwargs: Any) -> Any:
    """Where nothing was stretched, each element stands for itself. RuntimeError otherwise, as in PyTorch."""
    lead = len(new.shape) - len(base.shape)
    ones = all(size == 1 for size in new.shape[:lead])
    if not ones or any(a != b for a, b in zip(new.shape[lead:], base.shape, strict=True)):
        refuse_write(call, base, new, index)
    return back_to_shape(call, base, new, index)


STRETCHING: Final = (refuse_write, scatter_expanded)
"""How views are written of which an element may stand for several."""


def _reshape_views(result: TensorMeta, self: TensorMeta, *args: Any, **kwargs: Any) -> bool:
    return _viewable(self, result.shape)


def _ravel_views(result: TensorMeta, self: TensorMeta) -> bool:
    return is_contiguous(self)


SHAPE_RULE = ViewRule(back_to_shape)


def _as(fake: Any) -> Any:
    return lambda self, other: fake(self, other.shape)


_VIEW: Any = {"view": SHAPE_RULE}
_MAYBE: Any = {"view": SHAPE_RULE, "maybe_view": _reshape_views}
_STRETCHED: Any = {"view": ViewRule(scatter_expanded)}
# schema without the result: fake rule, kernel, relation to the base
_SHAPED: dict[str, tuple[Any, Any, Any]] = {
    "view(Tensor(a) self, SymInt[] size)": (fake_view, reshape, _VIEW),
    "view_as(Tensor(a) self, Tensor other)": (_as(fake_view), _as(reshape), _VIEW),
    "reshape(Tensor(a) self, SymInt[] shape)": (fake_reshape, reshape, _MAYBE),
    "reshape_as(Tensor(a) self, Tensor other)": (_as(fake_reshape), _as(reshape), _MAYBE),
    "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1)": (fake_flatten, flatten, _MAYBE),
    "ravel(Tensor(a) self)": (_fake_ravel, _ravel, {"view": SHAPE_RULE, "maybe_view": _ravel_views}),
    "unflatten.int(Tensor(a) self, int dim, SymInt[] sizes)": (fake_unflatten, unflatten, _VIEW),
    "unsqueeze(Tensor(a) self, int dim)": (fake_unsqueeze, unsqueeze, _VIEW),
    "squeeze(Tensor(a) self)": (fake_squeeze, squeeze, _VIEW),
    "squeeze.dim(Tensor(a) self, int dim)": (fake_squeeze_dim, squeeze_dims, _VIEW),
    "squeeze.dims(Tensor(a) self, int[] dim)": (fake_squeeze_dims, squeeze_dims, _VIEW),
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False)": (fake_expand, expand, _STRETCHED),
    "expand_as(Tensor(a) self, Tensor other)": (_as(fake_expand), _as(expand), _STRETCHED),
    "broadcast_to(Tensor(a) self, SymInt[] size)": (fake_expand, expand, _STRETCHED),
}


def _declare() -> None:
    for schema, (fake, kernel, relation) in _SHAPED.items():
        register(f"aten::{schema} -> Tensor(a)", fake=fake, kernel=kernel, **relation)
    register("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", fake=fake_view, kernel=reshape)


_declare()
