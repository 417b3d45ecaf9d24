"""Elementwise operators of several operands: selection, clamping, interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from fx_ir import fake_context
from fx_ir.dtypes import DType, bool_, result_type
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, Operand, as_array, cast, dense, number_type, to
from fx_ir.ops.binary import over
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import broadcast_shapes, elementwise


def fake_where(condition: TensorMeta, self: Any, other: Any) -> TensorMeta:
    if condition.dtype is not bool_ and condition.dtype.name != "uint8":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    return over(result_type(self, other), condition, self, other)


def where(condition: Array, self: Operand, other: Operand) -> Array:
    if isinstance(self, np.ndarray) and isinstance(other, np.ndarray) and self.dtype is other.dtype:
        return as_array(np.where(condition, self, other))
    dtype = number_type(self, other)
    return as_array(np.where(condition, cast(self, dtype), cast(other, dtype)))


def fake_clamp(self: TensorMeta, min: Any = None, max: Any = None) -> TensorMeta:
    given = [bound for bound in (min, max) if bound is not None]
    if not given:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return over(result_type(self, *given), self, *given)


def clamp(self: Array, min: Operand = None, max: Operand = None) -> Array:
    """The lower bound first, the upper one wins, as in PyTorch; NaNs stay."""
    dtype = number_type(self, *[bound for bound in (min, max) if bound is not None])
    result = to(self, dtype)
    if min is not None:
        result = np.maximum(result, cast(min, dtype))
    if max is not None:
        result = np.minimum(result, cast(max, dtype))
    return as_array(result)


def clamp_max(self: Array, max: Operand) -> Array:
    return clamp(self, None, max)


def fake_masked_fill(self: TensorMeta, mask: TensorMeta, value: Any) -> TensorMeta:
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if isinstance(value, TensorMeta) and value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if not isinstance(value, TensorMeta) and not _converts(value, self.dtype):
        raise RuntimeError(f"value cannot be converted to type {self.dtype.name} without overflow")
    return TensorMeta(broadcast_shapes(self.shape, mask.shape), self.dtype, self.device)


_LARGEST: Final = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


def _converts(value: Any, dtype: DType) -> bool:
    """Whether a number may be written to a tensor: fractions are cut off, and negative ones wrap around."""
    if dtype is bool_ or dtype.is_complex or not isinstance(value, (int, float, complex)):
        return True
    if isinstance(value, complex):
        return not value.imag and _converts(value.real, dtype)
    if dtype.is_floating_point:
        return not math.isfinite(value) or abs(value) <= _LARGEST.get(dtype.name, math.inf)
    limits = np.iinfo(dtype.numpy)
    low = limits.min if limits.min else -limits.max
    return math.isfinite(value) and low <= int(value) <= limits.max


def masked_fill(self: Array, mask: Array, value: Operand) -> Array:
    number = np.asarray(value)
    if number.dtype.kind == "c" and self.dtype.kind != "c" and self.dtype != np.bool_:
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {self.dtype.name} without overflow")
        number = number.real
    return dense(np.where(mask, number.astype(self.dtype), self))


def fake_lerp(self: TensorMeta, end: TensorMeta, weight: Any) -> TensorMeta:
    if end.dtype is not self.dtype:
        raise RuntimeError(f"expected dtype {self.dtype.name} for `end` but got dtype {end.dtype.name}")
    return over(self.dtype, self, end, weight)


def lerp(self: Array, end: Array, weight: Operand) -> Array:
    """From the nearer end, so that a weight of 1 gives ``end`` exactly."""
    difference = end - self
    near = self + weight * difference
    far = end - difference * (1 - weight)
    return as_array(np.where(np.abs(weight) < 0.5, near, far).astype(self.dtype))


def fake_addc(self: TensorMeta, tensor1: TensorMeta, tensor2: TensorMeta, *, value: Any = 1) -> TensorMeta:
    return over(result_type(self, tensor1, tensor2), self, tensor1, tensor2)


def addcmul(self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
    dtype = number_type(self, tensor1, tensor2)
    product = cast(tensor1, dtype) * cast(tensor2, dtype)
    return as_array(cast(self, dtype) + (product if value == 1 else cast(value, dtype) * product))


def addcdiv(self: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
    dtype = number_type(self, tensor1, tensor2)
    quotient = cast(tensor1, dtype) / cast(tensor2, dtype)
    return as_array(
        (cast(self, dtype) + (quotient if value == 1 else value * quotient)).astype(dtype.numpy, copy=False)
    )


def fake_isclose(
    self: TensorMeta, other: TensorMeta, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> TensorMeta:
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype.name} did not match {other.dtype.name}")
    return elementwise(bool_, self, other)


def isclose(
    self: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    return as_array(np.isclose(self, other, rtol, atol, equal_nan))


def fake_allclose(self: TensorMeta, other: TensorMeta, *rest: Any) -> Any:
    fake_isclose(self, other)
    return fake_context.current().unbacked("allclose", "bool")


def allclose(self: Array, other: Array, *rest: Any) -> bool:
    return bool(np.all(isclose(self, other, *rest)))


def _declare_many(
    names: Sequence[str], schema: str, fake: Callable[..., Any], kernel: Callable[..., Any]
) -> None:
    for name in names:
        register(f"aten::{name}({schema}", fake=fake, kernel=kernel)


def _declare() -> None:
    _declare_many(["where.self"], "Tensor condition, Tensor self, Tensor other) -> Tensor", fake_where, where)
    _declare_many(
        ["where.ScalarOther"], "Tensor condition, Tensor self, Scalar other) -> Tensor", fake_where, where
    )
    _declare_many(
        ["where.ScalarSelf"], "Tensor condition, Scalar self, Tensor other) -> Tensor", fake_where, where
    )
    _declare_many(
        ["where.Scalar"], "Tensor condition, Scalar self, Scalar other) -> Tensor", fake_where, where
    )
    clamps = ("clamp", "clip")
    _declare_many(clamps, "Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", fake_clamp, clamp)
    _declare_many(
        [f"{name}.Tensor" for name in clamps],
        "Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
        fake_clamp,
        clamp,
    )
    for bound, kernel in (("min", clamp), ("max", clamp_max)):
        fake: Any = fake_clamp if bound == "min" else lambda self, max: fake_clamp(self, None, max)
        _declare_many([f"clamp_{bound}"], f"Tensor self, Scalar {bound}) -> Tensor", fake, kernel)
        _declare_many([f"clamp_{bound}.Tensor"], f"Tensor self, Tensor {bound}) -> Tensor", fake, kernel)
        register_inplace(
            f"aten::clamp_{bound}_(Tensor(a!) self, Scalar {bound}) -> Tensor(a!)", f"aten::clamp_{bound}"
        )
        register_inplace(
            f"aten::clamp_{bound}_.Tensor(Tensor(a!) self, Tensor {bound}) -> Tensor(a!)",
            f"aten::clamp_{bound}.Tensor",
        )
    for kind in ("Scalar", "Tensor"):
        _declare_many(
            [f"masked_fill.{kind}"],
            f"Tensor self, Tensor mask, {kind} value) -> Tensor",
            fake_masked_fill,
            masked_fill,
        )
        _declare_many([f"lerp.{kind}"], f"Tensor self, Tensor end, {kind} weight) -> Tensor", fake_lerp, lerp)
        register_inplace(
            f"aten::masked_fill_.{kind}(Tensor(a!) self, Tensor mask, {kind} value) -> Tensor(a!)",
            f"aten::masked_fill.{kind}",
        )
        register_inplace(
            f"aten::lerp_.{kind}(Tensor(a!) self, Tensor end, {kind} weight) -> Tensor(a!)",
            f"aten::lerp.{kind}",
        )
    for name in clamps:
        register_inplace(
            f"aten::{name}_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
            f"aten::{name}",
        )
        register_inplace(
            f"aten::{name}_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)",
            f"aten::{name}.Tensor",
        )
    operands = "Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"
    for name, addc in (("addcmul", addcmul), ("addcdiv", addcdiv)):
        _declare_many([name], f"Tensor self, {operands}", fake_addc, addc)
        register_inplace(f"aten::{name}_(Tensor(a!) self, {operands}(a!)", f"aten::{name}")
    close = "Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False)"
    _declare_many(["isclose"], f"{close} -> Tensor", fake_isclose, isclose)
    _declare_many(["allclose"], f"{close} -> bool", fake_allclose, allclose)


_declare()
