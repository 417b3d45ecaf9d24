"""Powers of tensors and numbers, and other operators whose first operand is a number."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from fx_ir.dtypes import Category, bool_, complex128, float64, result_type
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, Operand, as_array, cast, number_type, pair
from fx_ir.ops.binary import over
from fx_ir.ops.registry import OPS, register, register_inplace


def fake_pow(self: Any, exponent: Any) -> TensorMeta:
    dtype = result_type(self, exponent)
    if dtype is bool_ and isinstance(exponent, TensorMeta):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if dtype.category is Category.INTEGER and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return over(dtype, self, exponent)


def fake_double(self: TensorMeta, exponent: Any) -> TensorMeta:
    return over(complex128 if result_type(self, exponent).is_complex else float64, self, exponent)


def fake_power_of_number(self: Any, exponent: TensorMeta) -> TensorMeta:
    return fake_pow(self, exponent).like(requires_grad=False)


def fake_double_of_number(self: Any, exponent: TensorMeta) -> TensorMeta:
    return fake_double(self, exponent).like(requires_grad=False)


def pow(self: Operand, exponent: Operand) -> Array:
    """Powers; the exponents that PyTorch treats apart are computed as it does, the rest by the C library."""
    if isinstance(self, np.ndarray) and self.dtype.kind in "fc" and type(exponent) in (int, float):
        if exponent == 2:
            return as_array(np.multiply(self, self))
        if exponent == 3:
            return as_array(self * self * self)
        if exponent == 0.5:
            return as_array(np.sqrt(self))
        if exponent == -0.5:
            return as_array(np.reciprocal(np.sqrt(self)))
        if exponent == -1:
            return as_array(np.reciprocal(self))
        if exponent == -2:
            return as_array(np.reciprocal(self * self))
    a, b = pair(self, exponent)
    if isinstance(a, np.ndarray) and a.dtype.kind == "b":
        return as_array(a | (not b))
    if (a if isinstance(a, np.ndarray) else b).dtype.kind in "iu":
        return _integer_power(a, b)
    return as_array(np.power(a, b))


def _integer_power(base: Operand, exponent: Operand) -> Array:
    """Negative exponents of integers give 0, but for a base of 1 or -1."""
    base = np.asarray(base, dtype=None if isinstance(base, np.ndarray) else exponent.dtype)
    negative = np.less(exponent, 0)
    if not np.any(negative):
        return as_array(np.power(base, exponent))
    result = np.power(base, np.where(negative, 0, exponent).astype(base.dtype))
    units = np.where(
        base == 1, 1, np.where(np.equal(base, -1), np.where(np.equal(np.remainder(exponent, 2), 0), 1, -1), 0)
    )
    return as_array(np.where(negative, units, result).astype(result.dtype))


def float_power(self: Operand, exponent: Operand) -> Array:
    wide = complex128 if number_type(self, exponent).is_complex else float64
    return as_array(np.power(cast(self, wide), cast(exponent, wide)))


_NUMBER_FIRST: Final = {
    "remainder": "Scalar_Tensor", "bitwise_and": "Scalar_Tensor", "bitwise_or": "Scalar_Tensor", "bitwise_xor": "Scalar_Tensor",
    "bitwise_left_shift": "Scalar_Tensor", "bitwise_right_shift": "Scalar_Tensor", "xlogy": "Scalar_Self",
}  # fmt: skip


def _declare() -> None:
    for name, first in _NUMBER_FIRST.items():
        of_tensors = OPS[f"aten::{name}.Tensor"]
        register(
            f"aten::{name}.{first}(Scalar self, Tensor other) -> Tensor",
            fake=of_tensors.fake,
            kernel=of_tensors.kernel,
        )
    register("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", fake=fake_pow, kernel=pow)
    register("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", fake=fake_pow, kernel=pow)
    register(
        "aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", fake=fake_power_of_number, kernel=pow
    )
    register(
        "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
        fake=fake_double_of_number,
        kernel=float_power,
    )
    for overload, kind in (("Tensor_Tensor", "Tensor"), ("Tensor_Scalar", "Scalar")):
        register(
            f"aten::float_power.{overload}(Tensor self, {kind} exponent) -> Tensor",
            fake=fake_double,
            kernel=float_power,
        )
    register_inplace(
        "aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", "aten::pow.Tensor_Tensor"
    )
    register_inplace(
        "aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", "aten::pow.Tensor_Scalar"
    )


_declare()
