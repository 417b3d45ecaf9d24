"""Legacy tensor types: constructors of one dtype each."""

from __future__ import annotations

from typing import Any

from dynamo_lite.torchlite._tensor import Tensor, _legacy_array, wrap
from fx_ir.dtypes import DType, bool_, float16, float32, float64, int32, int64, uint8


class _LegacyMeta(type):
    """``FloatTensor([1, 2])`` is a plain tensor; ``isinstance`` asks for the dtype."""

    legacy_dtype: DType

    def __call__(cls, *args: Any) -> Tensor:
        return wrap(_legacy_array(args, cls.legacy_dtype))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.legacy_dtype


class FloatTensor(metaclass=_LegacyMeta):
    legacy_dtype = float32


class DoubleTensor(metaclass=_LegacyMeta):
    legacy_dtype = float64


class HalfTensor(metaclass=_LegacyMeta):
    legacy_dtype = float16


class LongTensor(metaclass=_LegacyMeta):
    legacy_dtype = int64


class IntTensor(metaclass=_LegacyMeta):
    legacy_dtype = int32


class BoolTensor(metaclass=_LegacyMeta):
    legacy_dtype = bool_


class ByteTensor(metaclass=_LegacyMeta):
    legacy_dtype = uint8
