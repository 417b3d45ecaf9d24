"""Copies and conversions: of element type, device and order in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import Device, DType, MemoryFormat, from_numpy
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, copied, to
from fx_ir.ops.registry import ViewRule, register, register_inplace
from fx_ir.ops.shapes import (
    broadcast_shapes,
    channels_last_strides,
    elementwise,
    is_channels_last,
    is_contiguous,
)
from fx_ir.ops.views import WHOLE_RULE, fake_alias

_CHANNELS_LAST = (MemoryFormat.channels_last, MemoryFormat.channels_last_3d)
_KEEPS = (None, MemoryFormat.preserve_format)
_TO = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None"
_FLAGS = ("non_blocking", "copy", "memory_format")
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def formatted(meta: TensorMeta, memory_format: MemoryFormat | None) -> TensorMeta:
    """The description after a copy in this order; ``meta`` is that of a copy which preserves the layout."""
    if memory_format in _KEEPS:
        return meta
    if memory_format in _CHANNELS_LAST:
        shape = meta.shape
        if len(shape) != (4 if memory_format is MemoryFormat.channels_last else 5):
            raise RuntimeError(
                f"required rank {4 if memory_format is MemoryFormat.channels_last else 5} tensor to use {memory_format!r} format"
            )
        return meta.like(strides=lambda: channels_last_strides(shape))
    return meta.like()


def with_format(array: Array, memory_format: MemoryFormat | None) -> Array:
    """The array in this order of memory, copied only if it is in another."""
    if memory_format in _KEEPS:
        return array
    if memory_format in _CHANNELS_LAST:
        moved = np.moveaxis(array, 1, -1)
        return np.moveaxis(np.ascontiguousarray(moved), -1, 1)
    return np.ascontiguousarray(array).reshape(array.shape)


def _has_format(meta: TensorMeta, memory_format: MemoryFormat | None) -> bool:
    if memory_format in _KEEPS:
        return True
    return is_channels_last(meta) if memory_format in _CHANNELS_LAST else is_contiguous(meta)


def converted(
    self: TensorMeta, dtype: DType, device: Device, copy: bool, memory_format: MemoryFormat | None
) -> TensorMeta:
    """``to``: the tensor itself if nothing changes."""
    if is_noop(self, dtype, device, copy, memory_format):
        return fake_alias(self)
    meta = formatted(elementwise(dtype, self), memory_format)
    if device == meta.device:
        return meta
    return TensorMeta(meta.shape, dtype, device, None if meta.is_plain else lambda: meta.strides)


def is_noop(
    self: TensorMeta, dtype: DType, device: Device, copy: bool, memory_format: MemoryFormat | None
) -> bool:
    return not copy and self.dtype is dtype and self.device == device and _has_format(self, memory_format)


def _convert(self: Array, dtype: DType | None, copy: bool, memory_format: MemoryFormat | None) -> Array:
    """The array itself or a view of it only where nothing changes and no copy is asked for."""
    result = with_format(self if dtype is None else to(self, dtype), memory_format)
    new = copy or result.dtype != self.dtype
    return copied(result) if new and np.may_share_memory(result, self) else result


def _gives_itself(own: int) -> Callable[..., bool]:
    """Whether an overload of ``to`` gives the tensor itself; ``own`` positional arguments stand before those that all share."""

    def asked(result: TensorMeta, self: TensorMeta, *args: Any, **options: Any) -> bool:
        given = {**options, **dict(zip(_FLAGS, args[own:], strict=False))}
        copy, memory_format = given.get("copy", False), given.get("memory_format")
        return is_noop(self, result.dtype, result.device, copy, memory_format)

    return asked


def _fake_to_dtype(
    self: TensorMeta,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> TensorMeta:
    return converted(self, dtype, self.device, copy, memory_format)


def _to_dtype(
    self: Array,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Array:
    return _convert(self, dtype, copy, memory_format)


def _fake_to_device(
    self: TensorMeta,
    device: Device,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> TensorMeta:
    return converted(self, dtype, device, copy, memory_format)


def _to_device(
    self: Array,
    device: Device,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Array:
    return _convert(self, dtype, copy, memory_format)


def _fake_to_other(
    self: TensorMeta,
    other: TensorMeta,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> TensorMeta:
    return converted(self, other.dtype, other.device, copy, memory_format)


def _to_other(
    self: Array,
    other: Array,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Array:
    return _convert(self, from_numpy(other.dtype), copy, memory_format)


def _layout_target(self: TensorMeta, dtype: DType | None, device: Device | None) -> tuple[DType, Device]:
    return self.dtype if dtype is None else dtype, self.device if device is None else device


def _fake_to_layout(
    self: TensorMeta,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
    **_: Any,
) -> TensorMeta:
    return converted(self, *_layout_target(self, dtype, device), copy, memory_format)


def _to_layout(
    self: Array,
    *,
    dtype: DType | None = None,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
    **_: Any,
) -> Array:
    return _convert(self, dtype, copy, memory_format)


def _fake_to_copy(
    self: TensorMeta,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    memory_format: MemoryFormat | None = None,
    **_: Any,
) -> TensorMeta:
    return converted(self, *_layout_target(self, dtype, device), True, memory_format)


def _to_copy(
    self: Array, *, dtype: DType | None = None, memory_format: MemoryFormat | None = None, **_: Any
) -> Array:
    return _convert(self, dtype, True, memory_format)


def _fake_type_as(self: TensorMeta, other: TensorMeta) -> TensorMeta:
    return converted(self, other.dtype, other.device, False, None)


def _fake_clone(self: TensorMeta, *, memory_format: MemoryFormat | None = None) -> TensorMeta:
    return formatted(elementwise(self.dtype, self), memory_format)


def _clone(self: Array, *, memory_format: MemoryFormat | None = None) -> Array:
    return _convert(self, None, True, memory_format)


def _fake_contiguous(
    self: TensorMeta, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format
) -> TensorMeta:
    if memory_format is MemoryFormat.preserve_format:
        if not is_contiguous(self):
            raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
        return fake_alias(self)
    return formatted(fake_alias(self), memory_format)


def contiguous(self: Array, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> Array:
    if self.flags.c_contiguous and memory_format is MemoryFormat.contiguous_format:
        return self
    return with_format(self, memory_format)


def _is_contiguous(
    result: TensorMeta, self: TensorMeta, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format
) -> bool:
    return _has_format(self, memory_format)


def _fake_copy(self: TensorMeta, src: TensorMeta, non_blocking: bool = False) -> TensorMeta:
    shape = broadcast_shapes(self.shape, src.shape)
    if len(shape) != self.ndim:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    if self.is_plain:
        return self.like(requires_grad=False)

    def strides() -> Any:
        held = self.strides
        return None if any(type(stride) is int and stride == 0 for stride in held) else held

    return self.like(strides=strides, requires_grad=False)


def _copy(self: Array, src: Array, non_blocking: bool = False) -> Array:
    result = np.empty_like(self, subok=False)
    result[...] = src.real if src.dtype.kind == "c" and self.dtype.kind != "c" else src
    return result


def _fake_view_dtype(self: TensorMeta, dtype: DType) -> TensorMeta:
    old, new = self.dtype.itemsize, dtype.itemsize
    if old == new:
        return self.like(
            dtype=dtype,
            strides=None if self.is_plain else lambda: self.strides,
            requires_grad=False,
            offset=lambda: self.offset,
        )
    if self.ndim == 0:
        raise RuntimeError(
            f"self.dim() cannot be 0 to view {self.dtype} as {dtype} (different element sizes)"
        )
    last = self.shape[-1]
    if old > new:
        size: Any = last * (old // new)
    else:
        if last % (new // old) != 0:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {self.dtype} as {dtype} (different element sizes), "
                f"but got {last}"
            )
        size = last // (new // old)

    def strides() -> Any:
        if self.strides[-1] != 1:
            raise RuntimeError("self.stride(-1) must be 1 to view an element type of another size")
        return (*[stride * old // new for stride in self.strides[:-1]], 1)

    return self.like(
        shape=(*self.shape[:-1], size),
        dtype=dtype,
        strides=None if self.is_plain else strides,
        requires_grad=False,
    )


def _view_dtype(self: Array, dtype: DType) -> Array:
    return self.view(dtype.numpy)


def _scatter_view_dtype(call: Any, base: Any, new: Any, index: int, dtype: DType) -> Any:
    return call("aten::view.dtype", new, base.dtype)


def _declare() -> None:
    whole: Any = {"view": WHOLE_RULE}
    register(
        f"aten::to.dtype(Tensor(a) self, ScalarType dtype, {_TO}) -> Tensor(a)",
        fake=_fake_to_dtype,
        kernel=_to_dtype,
        maybe_view=_gives_itself(1),
        **whole,
    )
    register(
        f"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, {_TO}) -> Tensor(a)",
        fake=_fake_to_device,
        kernel=_to_device,
        maybe_view=_gives_itself(2),
        **whole,
    )
    register(
        f"aten::to.other(Tensor(a) self, Tensor other, {_TO}) -> Tensor(a)",
        fake=_fake_to_other,
        kernel=_to_other,
        maybe_view=_gives_itself(1),
        **whole,
    )
    register(
        f"aten::to.dtype_layout(Tensor(a) self, *, {_OPTIONS}, {_TO}) -> Tensor(a)",
        fake=_fake_to_layout,
        kernel=_to_layout,
        maybe_view=_gives_itself(0),
        **whole,
    )
    register(
        f"aten::_to_copy(Tensor self, *, {_OPTIONS}, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
        fake=_fake_to_copy,
        kernel=_to_copy,
    )
    register(
        "aten::type_as(Tensor self, Tensor other) -> Tensor",
        fake=_fake_type_as,
        kernel=_to_other,
        maybe_view=_gives_itself(1),
        **whole,
    )
    register(
        "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
        fake=_fake_clone,
        kernel=_clone,
    )
    register(
        "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
        fake=_fake_contiguous,
        kernel=contiguous,
        maybe_view=_is_contiguous,
        **whole,
    )
    register(
        "aten::lift_fresh_copy(Tensor self) -> Tensor",
        fake=lambda self: self.like(requires_grad=False),
        kernel=lambda self: self.copy(),
    )
    register(
        "aten::lift_fresh(Tensor(a) self) -> Tensor(a)", fake=fake_alias, kernel=lambda self: self, **whole
    )
    register(
        "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
        fake=_fake_copy,
        kernel=_copy,
    )
    register_inplace(
        "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", "aten::copy"
    )
    register(
        "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
        fake=_fake_view_dtype,
        kernel=_view_dtype,
        view=ViewRule(_scatter_view_dtype),
    )


_declare()
