"""Operators that read metadata or single numbers, and run-time assertions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir import fake_context
from fx_ir.dtypes import Category, Device, DType, Layout, bool_, from_numpy
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import wrap_dim

_NUMBER_KINDS = {Category.BOOL: "bool", Category.INTEGER: "int", Category.FLOAT: "float"}


# --- sizes -----------------------------------------------------------------------------------------------------------


def _fake_sym_size(self: TensorMeta, dim: int) -> Size:
    return self.shape[wrap_dim(dim, self.ndim)]


def _sym_size(self: Array, dim: int) -> int:
    size: int = self.shape[dim]
    return size


def _fake_sym_stride(self: TensorMeta, dim: int) -> Size:
    return self.strides[wrap_dim(dim, self.ndim)]


def strides_of(self: Array) -> list[int]:
    """Strides in elements."""
    return [stride // self.itemsize for stride in self.strides]


def _sym_stride(self: Array, dim: int) -> int:
    return self.strides[dim] // self.itemsize


def _offset(self: Array) -> int:
    from fx_ir.ops.views import storage_of

    return storage_of(self)[1]


# --- numbers ---------------------------------------------------------------------------------------------------------


def fake_item(self: TensorMeta) -> Any:
    """An unbacked number of the tensor's kind."""
    count = self.numel()
    if count != 1:
        raise RuntimeError(f"a Tensor with {count} elements cannot be converted to Scalar")
    kind = _NUMBER_KINDS.get(self.dtype.category)
    if kind is None:
        raise RuntimeError("a complex number read from a tensor cannot be kept symbolic")
    return fake_context.current().unbacked("item", kind)


def item(self: Array) -> Any:
    if self.size != 1:
        raise RuntimeError(f"a Tensor with {self.size} elements cannot be converted to Scalar")
    return self.item() if self.dtype.kind != "V" else float(self.reshape(()).astype(np.float32))


def fake_is_nonzero(self: TensorMeta) -> Any:
    if self.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return fake_context.current().unbacked("is_nonzero", "bool")


def is_nonzero(self: Array) -> bool:
    if self.size != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(self)


def fake_equal(self: TensorMeta, other: TensorMeta) -> Any:
    if self.ndim != other.ndim or any(a != b for a, b in zip(self.shape, other.shape, strict=True)):
        return False
    return fake_context.current().unbacked("equal", "bool")


def equal(self: Array, other: Array) -> bool:
    return bool(self.shape == other.shape and np.array_equal(self, other))


# --- assertions ------------------------------------------------------------------------------------------------------


def _fake_nothing(*args: Any, **kwargs: Any) -> None:
    return None


def assert_scalar(self: Any, assert_msg: str) -> None:
    if not self:
        raise RuntimeError(assert_msg)


def assert_async(self: Array, assert_msg: str = "Expected Tensor with single nonzero value") -> None:
    if not bool(self):
        raise RuntimeError(assert_msg)


def constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


def _check_metadata(
    shape: Sequence[Any],
    actual_dtype: DType,
    size: Sequence[Any] | None,
    dtype: DType | None,
) -> None:
    if size is not None and list(shape) != list(size):
        raise RuntimeError(f"Tensor sizes mismatch! Expected: {list(size)}, Got: {list(shape)}")
    if dtype is not None and actual_dtype is not dtype:
        raise RuntimeError(f"Tensor dtype mismatch! Expected: {dtype}, Got: {actual_dtype}")


def _fake_assert_metadata(
    a: TensorMeta,
    size: Sequence[Size] | None = None,
    stride: Sequence[Size] | None = None,
    dtype: DType | None = None,
    *,
    device: Device | None = None,
    layout: Layout | None = None,
) -> None:
    _check_metadata(a.shape, a.dtype, size, dtype)


def _assert_metadata(
    a: Array,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dtype: DType | None = None,
    *,
    device: Device | None = None,
    layout: Layout | None = None,
) -> None:
    _check_metadata(a.shape, from_numpy(a.dtype), size, dtype)


def _declare() -> None:
    register("aten::sym_size.int(Tensor self, int dim) -> SymInt", fake=_fake_sym_size, kernel=_sym_size)
    register(
        "aten::sym_stride.int(Tensor self, int dim) -> SymInt", fake=_fake_sym_stride, kernel=_sym_stride
    )
    register(
        "aten::sym_size(Tensor self) -> SymInt[]",
        fake=lambda self: list(self.shape),
        kernel=lambda self: list(self.shape),
    )
    register(
        "aten::sym_stride(Tensor self) -> SymInt[]", fake=lambda self: list(self.strides), kernel=strides_of
    )
    register(
        "aten::sym_numel(Tensor self) -> SymInt",
        fake=lambda self: self.numel(),
        kernel=lambda self: self.size,
    )
    register("aten::sym_storage_offset(Tensor self) -> SymInt", fake=lambda self: self.offset, kernel=_offset)
    for name in ("item", "_local_scalar_dense"):
        register(f"aten::{name}(Tensor self) -> Scalar", fake=fake_item, kernel=item)
    register("aten::is_nonzero(Tensor self) -> bool", fake=fake_is_nonzero, kernel=is_nonzero)
    register("aten::equal(Tensor self, Tensor other) -> bool", fake=fake_equal, kernel=equal)
    register(
        "aten::_assert_scalar(Scalar self, str assert_msg) -> ()", fake=_fake_nothing, kernel=assert_scalar
    )
    register("aten::_assert_async(Tensor self) -> ()", fake=_fake_nothing, kernel=assert_async)
    register(
        "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", fake=_fake_nothing, kernel=assert_async
    )
    for name in ("sym_constrain_range", "sym_constrain_range_for_size"):
        register(
            f"aten::{name}(Scalar size, *, int? min=None, int? max=None) -> ()",
            fake=_fake_nothing,
            kernel=constrain_range,
        )
    register(
        "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, "
        "Device? device=None, Layout? layout=None) -> ()",
        fake=_fake_assert_metadata,
        kernel=_assert_metadata,
    )


_declare()

__all__ = ["bool_", "item", "strides_of"]
