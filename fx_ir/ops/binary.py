"""Elementwise operators of two operands: arithmetic, comparison, logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import CPU, Category, DType, bool_, get_default_dtype, result_type
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import (
    Array,
    Operand,
    as_array,
    cast,
    compute_type,
    describe,
    laid_out,
    number_type,
    pair,
    to_float,
)
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import elementwise, elementwise_strides

Fake = Callable[..., TensorMeta]
Kernel = Callable[..., Array]


# --- fake rules ------------------------------------------------------------------------------------------------------


def over(dtype: DType, *operands: Any) -> TensorMeta:
    """An elementwise result of this type over the tensors among the operands; a scalar if all are numbers."""
    tensors = [operand for operand in operands if isinstance(operand, TensorMeta)]
    return elementwise(dtype, *tensors) if tensors else TensorMeta((), dtype, CPU)


def fake_same(self: Any, other: Any) -> TensorMeta:
    """The operands' common type."""
    if type(other) is type(self) is TensorMeta:
        dtype = self.dtype if self.dtype is other.dtype else result_type(self, other)
        return elementwise(dtype, self, other)
    return over(result_type(self, other), self, other)


def fake_float(self: Any, other: Any) -> TensorMeta:
    """The common type; integers become the default floating type."""
    dtype = result_type(self, other)
    return over(get_default_dtype() if dtype.category < Category.FLOAT else dtype, self, other)


def fake_bool(self: Any, other: Any) -> TensorMeta:
    return over(bool_, self, other)


def fake_alpha(self: TensorMeta, other: Any, alpha: Any = 1) -> TensorMeta:
    result = fake_same(self, other)
    if type(alpha) is not int:
        _check_alpha(result.dtype, alpha)
    return result


def _check_alpha(dtype: DType, alpha: Any) -> None:
    if isinstance(alpha, bool) and dtype is not bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and dtype.category < Category.FLOAT:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def _is_bool(operand: Any) -> bool:
    return operand.dtype is bool_ if isinstance(operand, TensorMeta) else isinstance(operand, bool)


def fake_sub(self: TensorMeta, other: Any, alpha: Any = 1) -> TensorMeta:
    self_is_bool, other_is_bool = _is_bool(self), _is_bool(other)
    if self_is_bool and other_is_bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    if self_is_bool or other_is_bool:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return fake_alpha(self, other, alpha)


def fake_rsub(self: TensorMeta, other: Any, alpha: Any = 1) -> TensorMeta:
    result = fake_sub(self, other, alpha)
    return over(result.dtype, other, self)


def fake_mode(self: TensorMeta, other: Any, *, rounding_mode: str | None) -> TensorMeta:
    if rounding_mode is None:
        return fake_float(self, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return fake_same(self, other)


def fake_bits(self: Any, other: Any) -> TensorMeta:
    dtype = result_type(self, other)
    if dtype.category > Category.INTEGER:
        raise RuntimeError(f"bitwise operators are not implemented for '{dtype}'")
    return over(dtype, self, other)


# --- kernels ---------------------------------------------------------------------------------------------------------


def of_ufunc(ufunc: Any) -> Kernel:
    """The ufunc on operands promoted by PyTorch's rules."""

    def kernel(self: Operand, other: Operand) -> Array:
        a, b = pair(self, other)
        return _laid(as_array(ufunc(a, b)), a, b)

    return kernel


def _laid(result: Array, a: Operand, b: Operand) -> Array:
    """The result in PyTorch's order of memory. NumPy's differs where two operands of one shape disagree: the first decides."""
    if (
        isinstance(a, np.ndarray)
        and isinstance(b, np.ndarray)
        and a.ndim > 1
        and a.ndim == b.ndim
        and a.strides != b.strides
        and not (a.flags.c_contiguous and b.flags.c_contiguous)
    ):
        return laid_out(result, elementwise_strides(result.shape, [describe(a), describe(b)]))
    return result


def of_float_ufunc(ufunc: Any) -> Kernel:
    """As ``of_ufunc``, integers computed in the default floating type."""

    def kernel(self: Operand, other: Operand) -> Array:
        a, b = float_pair(self, other)
        return _laid(as_array(ufunc(a, b)), a, b)

    return kernel


def float_pair(a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """As ``pair``; integers become floats first, so that none wraps around on the way."""
    if _is_integral(a) and _is_integral(b):
        return pair(to_float(a), to_float(b))
    return pair(a, b)


def _is_integral(operand: Operand) -> bool:
    return operand.dtype.kind in "iub" if isinstance(operand, np.ndarray) else isinstance(operand, int)


def add(self: Array, other: Operand, alpha: Any = 1) -> Array:
    a, b = pair(self, other if alpha == 1 else _scaled(self, other, alpha))
    return _laid(as_array(np.add(a, b)), a, b)


def sub(self: Array, other: Operand, alpha: Any = 1) -> Array:
    a, b = pair(self, other if alpha == 1 else _scaled(self, other, alpha))
    return _laid(as_array(np.subtract(a, b)), a, b)


def rsub(self: Array, other: Operand, alpha: Any = 1) -> Array:
    a, b = pair(other, self if alpha == 1 else _scaled(other, self, alpha))
    return _laid(as_array(np.subtract(a, b)), a, b)


def _scaled(self: Operand, other: Operand, alpha: Any) -> Operand:
    if isinstance(other, np.ndarray):
        return as_array(cast(other, number_type(self, other)) * alpha)
    return other * alpha


def _refuse_zero(array: Operand, divisor: Operand) -> None:
    """Integer division by zero is an error, as in PyTorch; floats give inf and nan."""
    kind = array.dtype.kind if isinstance(array, np.ndarray) else np.asarray(divisor).dtype.kind
    if kind in "iub" and np.any(np.equal(divisor, 0)):
        raise RuntimeError("ZeroDivisionError")


def floor_divide(self: Operand, other: Operand) -> Array:
    a, b = pair(self, other)
    _refuse_zero(a, b)
    return as_array(np.floor_divide(a, b))


def trunc_divide(self: Operand, other: Operand) -> Array:
    a, b = pair(self, other)
    _refuse_zero(a, b)
    array = a if isinstance(a, np.ndarray) else b
    if array.dtype.kind not in "iu":
        return as_array(np.trunc(np.true_divide(a, b)).astype(array.dtype, copy=False))
    quotient = np.floor_divide(a, b)
    inexact = np.multiply(quotient, b) != a
    return as_array(quotient + (inexact & (quotient < 0)).astype(array.dtype))


def div_mode(self: Array, other: Operand, *, rounding_mode: str | None) -> Array:
    if rounding_mode is None:
        return true_divide(self, other)
    return floor_divide(self, other) if rounding_mode == "floor" else trunc_divide(self, other)


def remainder(self: Operand, other: Operand) -> Array:
    a, b = pair(self, other)
    _refuse_zero(a, b)
    return as_array(np.remainder(a, b))


def fmod(self: Operand, other: Operand) -> Array:
    a, b = pair(self, other)
    _refuse_zero(a, b)
    return as_array(np.fmod(a, b))


true_divide = of_float_ufunc(np.true_divide)


def _heaviside(a: Operand, b: Operand) -> Array:
    return as_array(np.where(np.equal(a, 0), b, np.greater(a, 0))).astype(a.dtype, copy=False)


def _xlogy(a: Operand, b: Operand) -> Array:
    from scipy.special import xlogy

    dtype = (a if isinstance(a, np.ndarray) else b).dtype
    wide = compute_type(dtype)
    return as_array(xlogy(np.asarray(a).astype(wide), np.asarray(b).astype(wide))).astype(dtype, copy=False)


# --- declarations ----------------------------------------------------------------------------------------------------

# name: (fake rule, kernel, overload of a number)
_WITH_NUMBER: dict[str, tuple[Fake, Kernel, str]] = {
    "mul": (fake_same, of_ufunc(np.multiply), "Scalar"),
    "multiply": (fake_same, of_ufunc(np.multiply), "Scalar"),
    "div": (fake_float, true_divide, "Scalar"),
    "divide": (fake_float, true_divide, "Scalar"),
    "true_divide": (fake_float, true_divide, "Scalar"),
    "remainder": (fake_same, remainder, "Scalar"),
    "fmod": (fake_same, fmod, "Scalar"),
    "copysign": (fake_float, of_float_ufunc(np.copysign), "Scalar"),
    "xlogy": (fake_float, of_float_ufunc(_xlogy), "Scalar_Other"),
    "bitwise_and": (fake_bits, of_ufunc(np.bitwise_and), "Scalar"),
    "bitwise_or": (fake_bits, of_ufunc(np.bitwise_or), "Scalar"),
    "bitwise_xor": (fake_bits, of_ufunc(np.bitwise_xor), "Scalar"),
    "bitwise_left_shift": (fake_bits, of_ufunc(np.left_shift), "Tensor_Scalar"),
    "bitwise_right_shift": (fake_bits, of_ufunc(np.right_shift), "Tensor_Scalar"),
    "__and__": (fake_bits, of_ufunc(np.bitwise_and), "Scalar"),
    "__or__": (fake_bits, of_ufunc(np.bitwise_or), "Scalar"),
    "__xor__": (fake_bits, of_ufunc(np.bitwise_xor), "Scalar"),
    "__lshift__": (fake_bits, of_ufunc(np.left_shift), "Scalar"),
    "__rshift__": (fake_bits, of_ufunc(np.right_shift), "Scalar"),
}
_COMPARISONS: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal,
}  # fmt: skip
_TENSOR_ONLY: dict[str, tuple[Fake, Kernel]] = {
    "maximum": (fake_same, of_ufunc(np.maximum)),
    "minimum": (fake_same, of_ufunc(np.minimum)),
    "fmax": (fake_same, of_ufunc(np.fmax)),
    "fmin": (fake_same, of_ufunc(np.fmin)),
    "atan2": (fake_float, of_float_ufunc(np.arctan2)),
    "arctan2": (fake_float, of_float_ufunc(np.arctan2)),
    "hypot": (fake_same, of_ufunc(np.hypot)),
    "logaddexp": (fake_same, of_ufunc(np.logaddexp)),
    "logaddexp2": (fake_same, of_ufunc(np.logaddexp2)),
    "gcd": (fake_bits, of_ufunc(np.gcd)),
    "logical_and": (fake_bool, of_ufunc(np.logical_and)),
    "logical_or": (fake_bool, of_ufunc(np.logical_or)),
    "logical_xor": (fake_bool, of_ufunc(np.logical_xor)),
}


def _declare_with_alpha(name: str, fake: Fake, kernel: Kernel) -> None:
    register(
        f"aten::{name}.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", fake=fake, kernel=kernel
    )  # fmt: skip
    register(
        f"aten::{name}.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", fake=fake, kernel=kernel
    )


def _declare_with_number(name: str, fake: Fake, kernel: Kernel, number: str, flag: bool) -> None:
    register(
        f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        fake=fake,
        kernel=kernel,
        nondifferentiable=flag,
    )
    register(
        f"aten::{name}.{number}(Tensor self, Scalar other) -> Tensor",
        fake=fake,
        kernel=kernel,
        nondifferentiable=flag,
    )


def _declare() -> None:
    for name in ("add",):
        _declare_with_alpha(name, fake_alpha, add)
    for name in ("sub", "subtract"):
        _declare_with_alpha(name, fake_sub, sub)
    _declare_with_alpha("rsub", fake_rsub, rsub)
    for name, (fake, kernel, number) in _WITH_NUMBER.items():
        _declare_with_number(name, fake, kernel, number, False)
    for name, ufunc in _COMPARISONS.items():
        _declare_with_number(name, fake_bool, of_ufunc(ufunc), "Scalar", True)
    for name, (fake, kernel) in _TENSOR_ONLY.items():
        register(f"aten::{name}(Tensor self, Tensor other) -> Tensor", fake=fake, kernel=kernel)
    for name in ("div", "divide"):
        for overload, kind in (("Tensor_mode", "Tensor"), ("Scalar_mode", "Scalar")):
            register(
                f"aten::{name}.{overload}(Tensor self, {kind} other, *, str? rounding_mode) -> Tensor",
                fake=fake_mode,
                kernel=div_mode,
            )
    register(
        "aten::heaviside(Tensor self, Tensor values) -> Tensor", fake=fake_same, kernel=of_ufunc(_heaviside)
    )  # fmt: skip
    register("aten::floor_divide(Tensor self, Tensor other) -> Tensor", fake=fake_same, kernel=floor_divide)
    register(
        "aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", fake=fake_same, kernel=floor_divide
    )
    _declare_inplace()


_INPLACE_WITH_NUMBER = (
    "mul", "multiply", "div", "divide", "true_divide", "remainder", "fmod", "eq", "ne", "lt", "le", "gt", "ge",
    "bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__",
)  # fmt: skip


def _declare_inplace() -> None:
    for name in ("add", "sub", "subtract"):
        register_inplace(
            f"aten::{name}_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
            f"aten::{name}.Tensor",
        )
        register_inplace(
            f"aten::{name}_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
            f"aten::{name}.Scalar",
        )
    for name in _INPLACE_WITH_NUMBER:
        inplace = f"__i{name[2:]}" if name.startswith("__") else f"{name}_"
        for kind in ("Tensor", "Scalar"):
            register_inplace(
                f"aten::{inplace}.{kind}(Tensor(a!) self, {kind} other) -> Tensor(a!)", f"aten::{name}.{kind}"
            )
    for kind, argument, functional in (
        ("Tensor", "Tensor", "Tensor"),
        ("Tensor_Scalar", "Scalar", "Tensor_Scalar"),
    ):
        for side in ("left", "right"):
            register_inplace(
                f"aten::bitwise_{side}_shift_.{kind}(Tensor(a!) self, {argument} other) -> Tensor(a!)",
                f"aten::bitwise_{side}_shift.{functional}",
            )
    for name, kind, number in (("copysign", "Tensor", "Scalar"), ("xlogy", "Tensor", "Scalar_Other")):
        register_inplace(
            f"aten::{name}_.{kind}(Tensor(a!) self, Tensor other) -> Tensor(a!)", f"aten::{name}.{kind}"
        )
        register_inplace(
            f"aten::{name}_.{number}(Tensor(a!) self, Scalar other) -> Tensor(a!)", f"aten::{name}.{number}"
        )
    register_inplace("aten::heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)", "aten::heaviside")
    for name in ("div", "divide"):
        for kind in ("Tensor", "Scalar"):
            register_inplace(
                f"aten::{name}_.{kind}_mode(Tensor(a!) self, {kind} other, *, str? rounding_mode) -> Tensor(a!)",
                f"aten::{name}.{kind}_mode",
            )
    register_inplace(
        "aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten::floor_divide"
    )  # fmt: skip
    register_inplace(
        "aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten::floor_divide.Scalar"
    )  # fmt: skip
    for name in ("logical_and", "logical_or", "logical_xor", "atan2", "gcd", "hypot"):
        register_inplace(f"aten::{name}_(Tensor(a!) self, Tensor other) -> Tensor(a!)", f"aten::{name}")


_declare()
