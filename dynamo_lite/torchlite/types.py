"""Element types, devices and limits, under PyTorch's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynamo_lite.lowering.size import Size
from fx_ir import dtypes
from fx_ir.dtypes import Device, DType, Layout, MemoryFormat

__all__ = ["Device", "Layout", "MemoryFormat", "Size", "device", "dtype", "finfo", "iinfo"]

dtype = DType


class _DeviceMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Device)

    def __call__(cls, type: str | Device, index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
        return Device.parse(type) if index is None else Device(type, index)


class device(metaclass=_DeviceMeta):
    """``device("cpu")``; the objects themselves are :class:`fx_ir.dtypes.Device`."""

    type: str
    index: int | None

    if TYPE_CHECKING:

        def __init__(self, type: str | Device, index: int | None = None) -> None: ...


class _Limits:
    """What both kinds of limits share."""

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype
        self.bits = dtype.itemsize * 8
        self.dtype = dtype.name


class finfo(_Limits):
    """Limits of a floating-point type (of the default one if none is given)."""

    def __init__(self, dtype: DType | None = None) -> None:
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype.name}'"
            )
        super().__init__(dtype.to_real())
        limits: Any
        if dtype is dtypes.bfloat16:
            import ml_dtypes

            limits = ml_dtypes.finfo(dtype.numpy)
        else:
            limits = np.finfo(dtype.to_real().numpy)
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.smallest_normal)
        self.resolution = float(limits.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Limits of an integer type."""

    def __init__(self, dtype: DType) -> None:
        if not dtype.is_integral:
            raise TypeError(
                f"torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.{dtype.name}'"
            )
        super().__init__(dtype)
        limits = np.iinfo(dtype.numpy)
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
