"""Complex numbers seen as pairs, Fourier transforms, linear algebra, and a few operators of their own kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType, complex64, get_default_dtype
from fx_ir.meta import Size, Sizes, TensorMeta, contiguous_strides
from fx_ir.ops.arrays import Array, as_array, to
from fx_ir.ops.matmul import check_same_dtype, fake_bmm, matmul
from fx_ir.ops.registry import Call, ViewRule, register
from fx_ir.ops.shapes import broadcast_shapes, strides_along, wrap_dim, wrap_dims
from fx_ir.ops.views import WHOLE_RULE, alias, fake_alias

# --- complex numbers as views ----------------------------------------------------------------------------------------


def _fake_part(self: TensorMeta) -> TensorMeta:
    if not self.dtype.is_complex:
        return fake_alias(self)
    return self.like(
        dtype=self.dtype.to_real(),
        strides=lambda: tuple([stride * 2 for stride in self.strides]),
        requires_grad=False,
        offset=lambda: self.offset * 2,
    )


def _fake_imag(self: TensorMeta) -> TensorMeta:
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _fake_part(self)


def _scatter_real(call: Call, base: Any, new: Any, index: int) -> Any:
    return call("aten::complex", new, call("aten::imag", base)) if base.dtype.is_complex else new


def _scatter_imag(call: Call, base: Any, new: Any, index: int) -> Any:
    return call("aten::complex", call("aten::real", base), new)


def fake_view_as_real(self: TensorMeta) -> TensorMeta:
    if not self.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    strides: Any = lambda: (*[stride * 2 for stride in self.strides], 1)  # noqa: E731
    return self.like(
        shape=(*self.shape, 2),
        dtype=self.dtype.to_real(),
        strides=None if self.is_plain else strides,
        requires_grad=False,
    )


def view_as_real(self: Array) -> Array:
    real = np.dtype(np.float32 if self.dtype == np.complex64 else np.float64)
    if self.ndim == 0:
        return self.reshape(1).view(real)
    if self.flags.c_contiguous:
        return self.view(real).reshape(*self.shape, 2)
    steps = (*self.strides, real.itemsize)
    return (
        np.lib.stride_tricks.as_strided(self.view(real), (*self.shape, 2), steps)
        if self.strides[-1] == self.itemsize
        else np.stack([self.real, self.imag], -1)
    )


def fake_view_as_complex(self: TensorMeta) -> TensorMeta:
    if self.ndim == 0 or self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    strides: Any = lambda: tuple([stride // 2 for stride in self.strides[:-1]])  # noqa: E731
    return self.like(
        shape=self.shape[:-1],
        dtype=self.dtype.to_complex(),
        strides=None if self.is_plain else strides,
        requires_grad=False,
    )


def view_as_complex(self: Array) -> Array:
    target = np.dtype(np.complex128 if self.dtype == np.float64 else np.complex64)
    return (
        self.view(target)[..., 0]
        if self.strides[-1] == self.itemsize
        else as_array(self[..., 0] + 1j * self[..., 1])
    )


def _scatter_as_real(call: Call, base: Any, new: Any, index: int) -> Any:
    return call("aten::view_as_complex", new)


def _scatter_as_complex(call: Call, base: Any, new: Any, index: int) -> Any:
    return call("aten::view_as_real", new)


# --- Fourier transforms ----------------------------------------------------------------------------------------------


def _to_complex(dtype: DType) -> DType:
    return complex64 if dtype.category < Category.FLOAT else dtype.to_complex()


def _to_real(dtype: DType) -> DType:
    return dtype.to_real() if dtype.category >= Category.FLOAT else get_default_dtype()


def _fft_dims(ndim: int, s: Sequence[Any] | None, dim: Sequence[int] | None) -> list[int]:
    if dim is not None:
        return wrap_dims([dim] if isinstance(dim, int) else dim, ndim)
    return list(range(ndim)) if s is None else list(range(ndim - len(s), ndim))


def _memory_order(strides: Sequence[Any], dims: Sequence[int], last: bool) -> list[int]:
    """Outermost first: what is not transformed and then what is, each as it lies in memory; ``last``: the last of ``dims`` is innermost."""
    kept = [dim for dim in range(len(strides)) if dim not in dims]
    inner = list(dims[-1:]) if last else []
    moved = [dim for dim in dims if dim not in inner]
    return [*_outermost_first(strides, kept), *_outermost_first(strides, moved), *inner]


def _outermost_first(strides: Sequence[Any], dims: Sequence[int]) -> list[int]:
    """The dimensions by their strides; sorted by comparisons alone, since strides may be symbolic."""
    found: list[int] = []
    for dim in dims:
        place = len(found)
        while place and strides[found[place - 1]] < strides[dim]:
            place -= 1
        found.insert(place, dim)
    return found


def _fake_transform(kind: str) -> Callable[..., TensorMeta]:
    """``c2c``, ``r2c`` (half of the last dimension is left out) or ``c2r`` (it is put back)."""

    def fake(
        self: TensorMeta,
        s: Sequence[Size] | None = None,
        dim: Sequence[int] | None = None,
        norm: str | None = None,
    ) -> TensorMeta:
        dims = _fft_dims(self.ndim, s, dim)
        shape = list(self.shape)
        for axis, size in zip(dims, s or [shape[axis] for axis in dims], strict=True):
            shape[axis] = shape[axis] if type(size) is int and size == -1 else size
        given = tuple(shape)
        if kind == "r2c":
            shape[dims[-1]] = shape[dims[-1]] // 2 + 1
        elif kind == "c2r" and s is None:
            shape[dims[-1]] = 2 * (shape[dims[-1]] - 1)

        def strides() -> Sizes:
            # Padding makes a new tensor, cutting looks at part of the old one.
            padded = any(new > old for new, old in zip(given, self.shape, strict=True)) if s else False
            held = contiguous_strides(given) if padded else self.strides
            order = _memory_order(held, dims, kind != "c2c")
            return strides_along(tuple(shape), order[::-1])

        inner = sorted(dims) == list(range(self.ndim - len(dims), self.ndim)) and dims[-1:] == [self.ndim - 1]
        plain = self.is_plain and inner and (kind == "c2c" or dims == sorted(dims))
        dtype = _to_real(self.dtype) if kind == "c2r" else _to_complex(self.dtype)
        return TensorMeta(tuple(shape), dtype, self.device, None if plain else strides)

    return fake


def _fake_one(kind: str) -> Callable[..., TensorMeta]:
    many = _fake_transform(kind)

    def fake(self: TensorMeta, n: Size | None = None, dim: int = -1, norm: str | None = None) -> TensorMeta:
        return many(self, None if n is None else [n], [dim], norm)

    return fake


def _exact(result: Any, input: Array, dims: Sequence[int], kind: str) -> Array:
    """A transform in the precision of its input, laid out as PyTorch lays it out."""
    double = input.dtype in (np.float64, np.complex128)
    real, paired = (np.float64, np.complex128) if double else (np.float32, np.complex64)
    order = _memory_order(input.strides, dims, kind != "c2c")
    placed = np.ascontiguousarray(np.transpose(result, order)).astype(
        real if kind == "c2r" else paired, copy=False
    )
    return as_array(np.transpose(placed, np.argsort(order)))


def _of_fft(transform: Any, kind: str) -> Callable[..., Array]:
    return lambda self, n=None, dim=-1, norm=None: _exact(
        transform(self, n, dim, norm), self, wrap_dims([dim], self.ndim), kind
    )


def _of_fftn(transform: Any, kind: str) -> Callable[..., Array]:
    def kernel(
        self: Array, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None
    ) -> Array:
        dims = _fft_dims(self.ndim, s, dim)
        sizes = None if s is None else [self.shape[d] if n == -1 else n for n, d in zip(s, dims, strict=True)]
        return _exact(transform(self, sizes, dims, norm), self, dims, kind)

    return kernel


# --- linear algebra --------------------------------------------------------------------------------------------------


def _cross_dim(self: Any, other: Any, dim: int | None) -> int:
    if dim is not None:
        return wrap_dim(dim, len(self.shape))
    return next(axis for axis, size in enumerate(self.shape) if size == 3)


def _fake_cross(self: TensorMeta, other: TensorMeta, dim: int | None = None) -> TensorMeta:
    axis = _cross_dim(self, other, dim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {axis} must have length 3.")
    return TensorMeta(broadcast_shapes(self.shape, other.shape), self.dtype, self.device)


def _cross(self: Array, other: Array, dim: int | None = None) -> Array:
    axis = _cross_dim(self, other, dim)
    a, b = np.broadcast_arrays(self, other)
    return np.ascontiguousarray(np.cross(a, b, axis=axis))


def fake_grouped_mm(
    self: TensorMeta,
    mat2: TensorMeta,
    offs: TensorMeta | None = None,
    bias: TensorMeta | None = None,
    out_dtype: DType | None = None,
) -> TensorMeta:
    check_same_dtype(self, mat2)
    dtype = self.dtype if out_dtype is None else out_dtype
    if self.ndim == 2 and mat2.ndim == 3:
        return TensorMeta((self.shape[0], mat2.shape[2]), dtype, self.device)
    if self.ndim == 2:
        assert offs is not None
        return TensorMeta((offs.shape[0], self.shape[0], mat2.shape[1]), dtype, self.device)
    if mat2.ndim == 2:
        return TensorMeta((self.shape[1], mat2.shape[1]), dtype, self.device)
    return fake_bmm(self, mat2).like(dtype=dtype)


def grouped_mm(
    self: Array,
    mat2: Array,
    offs: Array | None = None,
    bias: Array | None = None,
    out_dtype: DType | None = None,
) -> Array:
    """Products of consecutive groups of rows (or columns), each with a matrix of its own; ``offs`` holds their ends."""
    if self.ndim == 3 and mat2.ndim == 3:
        result = matmul(self, mat2)
    else:
        assert offs is not None
        ends = offs.tolist()
        spans = list(zip([0, *ends[:-1]], ends, strict=True))
        if self.ndim == 2 and mat2.ndim == 3:
            result = np.zeros((self.shape[0], mat2.shape[2]), self.dtype)
            for group, (low, high) in enumerate(spans):
                result[low:high] = matmul(self[low:high], mat2[group])
        elif self.ndim == 2:
            result = np.stack([matmul(self[:, low:high], mat2[low:high]) for low, high in spans])
        else:
            result = np.zeros((self.shape[1], mat2.shape[1]), self.dtype)
            for group, (low, high) in enumerate(spans):
                result[:, low:high] = matmul(self[group], mat2[:, low:high])
    return result if out_dtype is None else to(result, out_dtype)


def _declare_complex() -> None:
    for name, fake, part, scatter in (
        (
            "real",
            _fake_part,
            lambda self: self.real if self.dtype.kind == "c" else self.view(),
            _scatter_real,
        ),
        ("imag", _fake_imag, lambda self: self.imag, _scatter_imag),
    ):
        register(f"aten::{name}(Tensor(a) self) -> Tensor(a)", fake=fake, kernel=part, view=ViewRule(scatter))
    register(
        "aten::view_as_real(Tensor(a) self) -> Tensor(a)",
        fake=fake_view_as_real,
        kernel=view_as_real,
        view=ViewRule(_scatter_as_real),
    )
    register(
        "aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
        fake=fake_view_as_complex,
        kernel=view_as_complex,
        view=ViewRule(_scatter_as_complex),
    )
    for name in ("resolve_conj", "resolve_neg", "positive"):
        register(f"aten::{name}(Tensor(a) self) -> Tensor(a)", fake=fake_alias, kernel=alias, view=WHOLE_RULE)
    register(
        "aten::detach_(Tensor(a!) self) -> Tensor(a!)",
        fake=fake_alias,
        kernel=None,
        lower=lambda call, write, self: self,
        nondifferentiable=True,
    )


def _declare_transforms() -> None:
    one = "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
    two = "(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor"
    many = "(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor"
    for name, kind in (("fft", "c2c"), ("ifft", "c2c"), ("rfft", "r2c"), ("irfft", "c2r")):
        single, several = getattr(np.fft, name), getattr(np.fft, f"{name}n")
        register(f"aten::fft_{name}{one}", fake=_fake_one(kind), kernel=_of_fft(single, kind))
        for suffix, schema in (("n", many), ("2", two)):
            register(
                f"aten::fft_{name}{suffix}{schema}",
                fake=_fake_transform(kind),
                kernel=_of_fftn(several, kind),
            )


def _declare() -> None:
    _declare_transforms()
    register(
        "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", fake=_fake_cross, kernel=_cross
    )
    register(
        "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
        fake=lambda self, other, *, dim=-1: _fake_cross(self, other, dim),
        kernel=lambda self, other, *, dim=-1: _cross(self, other, dim),
    )
    register(
        "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor",
        fake=fake_grouped_mm,
        kernel=grouped_mm,
    )


_declare_complex()
_declare()
