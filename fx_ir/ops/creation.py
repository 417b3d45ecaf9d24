"""Operators that make tensors from sizes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import (
    CPU,
    Device,
    DType,
    MemoryFormat,
    get_default_dtype,
    of_number,
)
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, copied
from fx_ir.ops.convert import formatted, with_format
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import elementwise, fails

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_LIKE_OPTIONS = f"{OPTIONS}, MemoryFormat? memory_format=None"


def made(size: Sequence[Size], dtype: DType | None, device: Device | None) -> TensorMeta:
    """A new contiguous tensor; RuntimeError for a negative size."""
    for extent in size:
        if fails(extent < 0, "sizes are not negative"):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {extent}: {list(size)}"
            )  # fmt: skip
    return TensorMeta(
        tuple(size), get_default_dtype() if dtype is None else dtype, CPU if device is None else device
    )


def number_dtype(value: Any) -> DType:
    """What ``full`` and ``arange`` take from a number: bool, int64 or the default floating type."""
    return of_number(value)


# --- sizes -----------------------------------------------------------------------------------------------------------


def _fake_filled(
    size: Sequence[Size], *, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    return made(size, dtype, device)


def _filled(value: int) -> Callable[..., Array]:
    def kernel(size: Sequence[int], *, dtype: DType | None = None, **_: Any) -> Array:
        numpy = (get_default_dtype() if dtype is None else dtype).numpy
        return np.zeros(size, numpy) if value == 0 else np.ones(size, numpy)

    return kernel


def _fake_full(
    size: Sequence[Size],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    **_: Any,
) -> TensorMeta:
    return made(size, number_dtype(fill_value) if dtype is None else dtype, device)


def _full(size: Sequence[int], fill_value: Any, *, dtype: DType | None = None, **_: Any) -> Array:
    target = number_dtype(fill_value) if dtype is None else dtype
    return np.full(size, np.asarray(fill_value).astype(target.numpy), target.numpy)


def _fake_strided(
    size: Sequence[Size],
    stride: Sequence[Size],
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    **_: Any,
) -> TensorMeta:
    return made(size, dtype, device).like(strides=tuple(stride))


def _strided(size: Sequence[int], stride: Sequence[int], *, dtype: DType | None = None, **_: Any) -> Array:
    numpy = (get_default_dtype() if dtype is None else dtype).numpy
    reach = (
        1 + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        if 0 not in size
        else 0
    )
    steps = [step * numpy.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(np.zeros(reach, numpy), tuple(size), steps)


def _fake_permuted(
    size: Sequence[Size],
    physical_layout: Sequence[int],
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    **_: Any,
) -> TensorMeta:
    from fx_ir.ops.shapes import strides_along

    return made(size, dtype, device).like(strides=strides_along(tuple(size), list(physical_layout)[::-1]))


def _permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: DType | None = None, **_: Any
) -> Array:
    numpy = (get_default_dtype() if dtype is None else dtype).numpy
    block = np.zeros([size[dim] for dim in physical_layout], numpy)
    return block.transpose(np.argsort(physical_layout).tolist())


def _fake_eye(
    n: Size, m: Size | None = None, *, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    return made((n, n if m is None else m), dtype, device)


def _eye(n: int, m: int | None = None, *, dtype: DType | None = None, **_: Any) -> Array:
    return np.eye(n, m, dtype=(get_default_dtype() if dtype is None else dtype).numpy)


# --- like and new ----------------------------------------------------------------------------------------------------


def _fake_like(
    self: TensorMeta,
    *args: Any,
    dtype: DType | None = None,
    device: Device | None = None,
    memory_format: MemoryFormat | None = None,
    **_: Any,
) -> TensorMeta:
    meta = elementwise(self.dtype if dtype is None else dtype, self)
    meta = formatted(meta, memory_format)
    if device is None or device == meta.device:
        return meta
    return TensorMeta(meta.shape, meta.dtype, device, None if meta.is_plain else lambda: meta.strides)


def like(self: Array, value: Any, dtype: DType | None, memory_format: MemoryFormat | None) -> Array:
    """An array of this shape and layout filled with a number."""
    pattern = copied(self) if 0 in self.strides and not self.flags.c_contiguous else self
    result = np.empty_like(pattern, self.dtype if dtype is None else dtype.numpy, subok=False)
    result.fill(np.asarray(value).astype(result.dtype))
    return with_format(result, memory_format)


def _like_filled(value: int) -> Callable[..., Array]:
    def kernel(
        self: Array, *, dtype: DType | None = None, memory_format: MemoryFormat | None = None, **_: Any
    ) -> Array:
        return like(self, value, dtype, memory_format)

    return kernel


def _full_like(
    self: Array,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    memory_format: MemoryFormat | None = None,
    **_: Any,
) -> Array:
    return like(self, fill_value, dtype, memory_format)


def _fake_new(
    self: TensorMeta,
    size: Sequence[Size],
    *args: Any,
    dtype: DType | None = None,
    device: Device | None = None,
    **_: Any,
) -> TensorMeta:
    return made(size, self.dtype if dtype is None else dtype, self.device if device is None else device)


def _fake_new_strided(
    self: TensorMeta, size: Sequence[Size], stride: Sequence[Size], **options: Any
) -> TensorMeta:
    return _fake_new(self, size, **options).like(strides=tuple(stride))


def _new_filled(value: int) -> Callable[..., Array]:
    def kernel(self: Array, size: Sequence[int], *, dtype: DType | None = None, **_: Any) -> Array:
        numpy = self.dtype if dtype is None else dtype.numpy
        return np.zeros(size, numpy) if value == 0 else np.ones(size, numpy)

    return kernel


def _new_full(
    self: Array, size: Sequence[int], fill_value: Any, *, dtype: DType | None = None, **_: Any
) -> Array:
    numpy = self.dtype if dtype is None else dtype.numpy
    return np.full(size, np.asarray(fill_value).astype(numpy), numpy)


def _new_strided(
    self: Array, size: Sequence[int], stride: Sequence[int], *, dtype: DType | None = None, **_: Any
) -> Array:
    from fx_ir.dtypes import from_numpy

    return _strided(size, stride, dtype=from_numpy(self.dtype) if dtype is None else dtype)


def _fake_fill(self: TensorMeta, *value: Any) -> TensorMeta:
    if value and isinstance(value[0], TensorMeta) and value[0].ndim:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value[0].ndim} dimensions."
        )  # fmt: skip
    return elementwise(self.dtype, self)


def _fill(self: Array, value: Any = 0) -> Array:
    return like(self, value, None, None)


def _declare() -> None:
    for name, value in (("zeros", 0), ("ones", 1)):
        register(
            f"aten::{name}(SymInt[] size, *, {OPTIONS}) -> Tensor", fake=_fake_filled, kernel=_filled(value)
        )
    register(
        f"aten::empty.memory_format(SymInt[] size, *, {_LIKE_OPTIONS}) -> Tensor",
        fake=_fake_filled,
        kernel=_filled(0),
    )
    register(
        f"aten::full(SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
        fake=_fake_full,
        kernel=_full,
    )
    register(
        f"aten::empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
        fake=_fake_strided,
        kernel=_strided,
    )
    register(
        f"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, {OPTIONS}) -> Tensor",
        fake=_fake_permuted,
        kernel=_permuted,
    )
    register(f"aten::eye(SymInt n, *, {OPTIONS}) -> Tensor", fake=_fake_eye, kernel=_eye)
    register(f"aten::eye.m(SymInt n, SymInt m, *, {OPTIONS}) -> Tensor", fake=_fake_eye, kernel=_eye)
    _declare_like()
    for kind in ("Scalar", "Tensor"):
        register(f"aten::fill.{kind}(Tensor self, {kind} value) -> Tensor", fake=_fake_fill, kernel=_fill)
        register_inplace(
            f"aten::fill_.{kind}(Tensor(a!) self, {kind} value) -> Tensor(a!)", f"aten::fill.{kind}"
        )
    register("aten::zero(Tensor self) -> Tensor", fake=_fake_fill, kernel=_fill)
    register_inplace("aten::zero_(Tensor(a!) self) -> Tensor(a!)", "aten::zero")


def _declare_like() -> None:
    for name, value in (("zeros", 0), ("ones", 1), ("empty", 0)):
        register(
            f"aten::{name}_like(Tensor self, *, {_LIKE_OPTIONS}) -> Tensor",
            fake=_fake_like,
            kernel=_like_filled(value),
        )
        register(
            f"aten::new_{name}(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
            fake=_fake_new,
            kernel=_new_filled(value),
        )
    register(
        f"aten::full_like(Tensor self, Scalar fill_value, *, {_LIKE_OPTIONS}) -> Tensor",
        fake=_fake_like,
        kernel=_full_like,
    )
    register(
        f"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
        fake=_fake_new,
        kernel=_new_full,
    )
    register(
        f"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
        fake=_fake_new_strided,
        kernel=_new_strided,
    )


_declare()
