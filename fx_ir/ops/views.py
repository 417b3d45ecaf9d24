"""Views that reorder or restrict dimensions, and the scatters that write through them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array
from fx_ir.ops.registry import Call, ViewRule, register
from fx_ir.ops.reshape import refuse_write
from fx_ir.ops.shapes import decided, fails, same, wrap_dim
from solver.sym import sym_ite, sym_max, sym_min

_INSIDE: Final = "what is taken lies within the dimension"

# --- select and slice ------------------------------------------------------------------------------------------------


def checked_index(index: Size, size: Size, dim: int, shape: Sizes) -> Size:
    """An index counted from the front; IndexError if it is outside. Where data decides, the kernel says so."""
    if decided(index < 0) is None:
        return _from_front(index, size)
    if decided(size < -index if index < 0 else index >= size):
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}"
        )  # fmt: skip
    return _from_front(index, size)


def _from_front(index: Size, size: Size) -> Size:
    """An index that may count from the end; where data decides which, an expression."""
    below = decided(index < 0)
    if below is None:
        return sym_ite(index < 0, index + size, index)  # type: ignore[no-any-return]
    return index + size if below else index


def fake_select(self: TensorMeta, dim: int, index: Size) -> TensorMeta:
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    at = checked_index(index, self.shape[dim], dim, self.shape)
    shape = (*self.shape[:dim], *self.shape[dim + 1 :])
    plain = dim == 0 and self.is_plain
    return self.like(
        shape=shape,
        strides=None if plain else lambda: (*self.strides[:dim], *self.strides[dim + 1 :]),
        requires_grad=False,
        offset=lambda: self.offset + at * self.strides[dim],
    )


def slice_bound(bound: Size | None, size: Size, default: Size) -> Size:
    """A slice's bound within ``0..size``: a clamp kept symbolic, not a question."""
    if bound is None or (type(bound) is int and bound >= sys.maxsize):
        return default
    if type(bound) is int and type(size) is int:
        return min(bound, size) if bound >= 0 else max(size + bound, 0)
    if type(bound) is int and bound == 0:
        return 0
    below = decided(bound < 0)
    if below is None:
        return sym_ite(bound < 0, sym_max(size + bound, 0), sym_min(bound, size))  # type: ignore[no-any-return]
    return sym_max(size + bound, 0) if below else sym_min(bound, size)


def slice_range(size: Size, start: Size | None, end: Size | None, step: int) -> tuple[Size, Size]:
    """First index and length of a slice."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first = slice_bound(start, size, 0)
    last = slice_bound(end, size, size)
    if type(first) is int and first == 0:
        length = last
    elif type(first) is int and type(last) is int:
        length = max(last - first, 0)
    else:
        length = sym_max(last - first, 0)
    return first, length if step == 1 else (length + (step - 1)) // step


def fake_slice(
    self: TensorMeta, dim: int = 0, start: Size | None = None, end: Size | None = None, step: int = 1
) -> TensorMeta:
    if self.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    first, length = slice_range(self.shape[dim], start, end, step)
    return restricted(self, dim, first, length, step)


def restricted(self: TensorMeta, dim: int, first: Size, length: Size, step: Size = 1) -> TensorMeta:
    """A regular part of one dimension."""
    shape = (*self.shape[:dim], length, *self.shape[dim + 1 :])
    whole = type(step) is int and step == 1 and (dim == 0 or same(length, self.shape[dim]))
    strides: Any = lambda: (*self.strides[:dim], self.strides[dim] * step, *self.strides[dim + 1 :])  # noqa: E731
    return self.like(
        shape=shape,
        strides=None if whole and self.is_plain else strides,
        requires_grad=False,
        offset=lambda: (
            self.offset if type(first) is int and first == 0 else self.offset + first * self.strides[dim]
        ),
    )


def fake_narrow(self: TensorMeta, dim: int, start: Size, length: Size) -> TensorMeta:
    if self.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if fails(length < 0, "a length is not negative"):
        raise RuntimeError("narrow(): length must be non-negative.")
    first = _from_front(start, size)
    if fails(first < 0, _INSIDE) or fails(first > size, _INSIDE):
        raise IndexError(
            f"start out of range (expected to be in range of [-{size}, {size}], but got {start})"
        )
    if fails(first + length > size, _INSIDE):
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return restricted(self, dim, first, length)


def select(self: Array, dim: int, index: int) -> Array:
    dim = wrap_dim(dim, self.ndim)
    if not -self.shape[dim] <= index < self.shape[dim]:
        checked_index(index, self.shape[dim], dim, self.shape)
    return self[(slice(None),) * dim + (index, ...)]


def slice_(
    self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    return self[(slice(None),) * wrap_dim(dim, self.ndim) + (slice(start, end, step),)]


def narrow(self: Array, dim: int, start: int, length: int) -> Array:
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    first = start + size if start < 0 else start
    if not 0 <= first <= size or first + length > size:  # the rule refuses it too, where it knows the sizes
        raise RuntimeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return self[(slice(None),) * dim + (slice(first, first + length),)]


# --- diagonal, as_strided, unfold ------------------------------------------------------------------------------------


def fake_diagonal(self: TensorMeta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> TensorMeta:
    first, second = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, columns = self.shape[first], self.shape[second]
    length = sym_min(rows, columns - offset) if offset >= 0 else sym_min(rows + offset, columns)
    if offset:
        length = sym_max(length, 0)
    rest = [dim for dim in range(self.ndim) if dim not in (first, second)]

    def strides() -> Sizes:
        return (*[self.strides[dim] for dim in rest], self.strides[first] + self.strides[second])

    return self.like(
        shape=(*[self.shape[dim] for dim in rest], length),
        strides=strides,
        requires_grad=False,
        offset=lambda: (
            self.offset + (offset * self.strides[second] if offset >= 0 else -offset * self.strides[first])
        ),
    )


def fake_linalg_diagonal(A: TensorMeta, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> TensorMeta:
    return fake_diagonal(A, offset, dim1, dim2)


def linalg_diagonal(A: Array, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    return diagonal(A, offset, dim1, dim2)


def _scatter_linalg_diagonal(
    call: Call, base: Any, new: Any, index: int, *, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> Any:
    return call("aten::diagonal_scatter", base, new, offset, dim1, dim2)


def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    result = np.diagonal(self, offset, dim1, dim2)
    if self.flags.writeable and not result.flags.writeable:
        result.flags.writeable = True
    return result


def fake_as_strided(
    self: TensorMeta, size: Sequence[Size], stride: Sequence[Size], storage_offset: Size | None = None
) -> TensorMeta:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    offset: Any = (lambda: self.offset) if storage_offset is None else storage_offset
    return self.like(shape=tuple(size), strides=tuple(stride), requires_grad=False, offset=offset)


def storage_of(self: Array) -> tuple[Array, int]:
    """The flat memory that an array is a view of, and where in it the array starts (both in elements)."""
    root = self
    while isinstance(root.base, np.ndarray) and root.base.dtype == self.dtype:
        root = root.base
    if not root.flags.forc:
        root = self
    flat = root.reshape(-1, order="A" if root.flags.f_contiguous else "C")
    if not np.may_share_memory(flat, root) and root.size:
        raise RuntimeError("as_strided: the memory of this array cannot be seen as one block")
    start = (self.__array_interface__["data"][0] - flat.__array_interface__["data"][0]) // self.itemsize
    return flat, start


def as_strided(
    self: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Array:
    flat, start = storage_of(self)
    offset = start if storage_offset is None else storage_offset
    reach = offset + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True)) + 1
    if 0 not in size and reach > flat.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset} are out of bounds for "
            f"storage of size {flat.size}"
        )
    steps = tuple([step * self.itemsize for step in stride])
    return np.lib.stride_tricks.as_strided(flat[offset:], tuple(size), steps)


def fake_unfold(self: TensorMeta, dimension: int, size: int, step: int) -> TensorMeta:
    dim = wrap_dim(dimension, self.ndim)
    extent = self.shape[dim] if self.ndim else 1
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size > extent:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {extent} but size is {size}"
        )  # fmt: skip
    count = (extent - size) // step + 1

    def strides() -> Sizes:
        old = self.strides
        return (*old[:dim], old[dim] * step, *old[dim + 1 :], old[dim]) if old else (1,)

    shape = (*self.shape[:dim], count, *self.shape[dim + 1 :], size) if self.ndim else (size,)
    return self.like(shape=shape, strides=strides, requires_grad=False, offset=lambda: self.offset)


def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    if self.ndim == 0:
        return self.reshape(1)[:size]
    dim = wrap_dim(dimension, self.ndim)
    windows = np.lib.stride_tricks.sliding_window_view(self, size, axis=dim, writeable=self.flags.writeable)
    return windows[(slice(None),) * dim + (slice(None, None, step),)]


# --- scatters: a copy of the base with the view's part replaced ------------------------------------------------------


def _fake_scatter(part: Callable[..., TensorMeta]) -> Callable[..., TensorMeta]:
    def fake(self: TensorMeta, src: TensorMeta, *args: Any) -> TensorMeta:
        expected = part(self, *args)
        for wanted, given in zip(expected.shape, src.shape, strict=False):
            if len(expected.shape) != len(src.shape) or wanted != given:
                raise RuntimeError(
                    f"expected src to have a size equal to the slice of self. src sizes = {list(src.shape)}, "
                    f"slice sizes = {list(expected.shape)}"
                )
        return self.like(strides=None if self.is_plain else lambda: self.strides, requires_grad=False)

    return fake


def _scatter(part: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(self: Array, src: Array, *args: Any) -> Array:
        result = self.copy(order="K")
        part(result, *args)[...] = src
        return result

    return kernel


def _scatter_rule(name: str) -> ViewRule:
    def scatter(call: Call, base: Any, new: Any, index: int, *args: Any) -> Any:
        return call(name, base, new, *args)

    return ViewRule(scatter)


def _scatter_narrow(call: Call, base: Any, new: Any, index: int, dim: int, start: Size, length: Size) -> Any:
    first = _from_front(start, base.shape[wrap_dim(dim, len(base.shape))])
    return call("aten::slice_scatter", base, new, dim, first, first + length, 1)


# --- aliases ---------------------------------------------------------------------------------------------------------


def fake_alias(self: TensorMeta) -> TensorMeta:
    return self.like(
        strides=None if self.is_plain else lambda: self.strides, requires_grad=False, offset=lambda: self.offset
    )  # fmt: skip


def alias(self: Array) -> Array:
    return self.view()


def whole(call: Call, base: Any, new: Any, index: int, *args: Any, **kwargs: Any) -> Any:
    """A view of everything as it is: the new value is the base's."""
    return new


WHOLE_RULE = ViewRule(whole)


def _declare() -> None:
    parts: list[tuple[str, str, str, Any, Any]] = [
        ("select", ".int", "int dim, SymInt index", fake_select, select),
        (
            "slice",
            ".Tensor",
            "int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1",
            fake_slice,
            slice_,
        ),
        ("diagonal", "", "int offset=0, int dim1=0, int dim2=1", fake_diagonal, diagonal),
        (
            "as_strided",
            "",
            "SymInt[] size, SymInt[] stride, SymInt? storage_offset=None",
            fake_as_strided,
            as_strided,
        ),
    ]
    for name, overload, arguments, fake, kernel in parts:
        rule = _scatter_rule(f"aten::{name}_scatter")
        register(
            f"aten::{name}{overload}(Tensor(a) self, {arguments}) -> Tensor(a)",
            fake=fake,
            kernel=kernel,
            view=rule,
        )
        register(
            f"aten::{name}_scatter(Tensor self, Tensor src, {arguments}) -> Tensor",
            fake=_fake_scatter(fake),
            kernel=_scatter(kernel),
        )
    register(
        "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
        fake=fake_narrow,
        kernel=narrow,
        view=ViewRule(_scatter_narrow),
    )
    register(
        "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
        fake=fake_linalg_diagonal,
        kernel=linalg_diagonal,
        view=ViewRule(_scatter_linalg_diagonal),
    )
    register(
        "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
        fake=fake_unfold,
        kernel=unfold,
        view=ViewRule(refuse_write),
    )
    register("aten::alias(Tensor(a) self) -> Tensor(a)", fake=fake_alias, kernel=alias, view=WHOLE_RULE)
    register(
        "aten::detach(Tensor(a) self) -> Tensor(a)",
        fake=fake_alias,
        kernel=alias,
        view=WHOLE_RULE,
        nondifferentiable=True,
    )


_declare()
