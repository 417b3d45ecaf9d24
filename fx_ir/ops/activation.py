"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import Category
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array, cast, in_float32, to_float
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import differ, elementwise, wrap_dim
from fx_ir.ops.unary import fake_floating_only, fake_same

_SQRT_HALF = 0.7071067811865476
_SQRT_2_OVER_PI = 0.7978845608028654
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def _expit(array: Array) -> Array:
    from scipy.special import expit

    return as_array(expit(array))


def relu(self: Array) -> Array:
    return as_array(np.maximum(self, self.dtype.type(0)))


@in_float32
def gelu(self: Array, *, approximate: str = "none") -> Array:
    if approximate == "tanh":
        inner = self * self
        inner = as_array(inner * self)
        inner = as_array(inner * 0.044715 + self)
        inner = as_array(np.tanh(inner * _SQRT_2_OVER_PI))
        return as_array((inner + 1) * self * 0.5)
    from scipy.special import erf

    result = as_array(erf(self * _SQRT_HALF))
    result += 1
    result *= self
    result *= 0.5
    return result


@in_float32
def silu(self: Array) -> Array:
    return as_array(_expit(self) * self)


@in_float32
def mish(self: Array) -> Array:
    return as_array(self * np.tanh(np.logaddexp(self, self.dtype.type(0))))


@in_float32
def log_sigmoid(self: Array) -> Array:
    return as_array(np.subtract(np.minimum(self, 0), np.log1p(np.exp(-np.abs(self))), order="C"))


@in_float32
def softplus(self: Array, beta: Any = 1, threshold: Any = 20) -> Array:
    scaled = self * beta
    return as_array(
        np.where(scaled > threshold, self, np.log1p(np.exp(scaled)) / beta).astype(self.dtype, copy=False)
    )


@in_float32
def elu(self: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    below = np.expm1(self * input_scale) * (alpha * scale)
    return as_array(np.where(self > 0, self * scale, below).astype(self.dtype, copy=False))


def selu(self: Array) -> Array:
    return elu(self, _SELU_ALPHA, _SELU_SCALE, 1)


def celu(self: Array, alpha: Any = 1.0) -> Array:
    return elu(self, alpha, 1, 1 / alpha)


def leaky_relu(self: Array, negative_slope: Any = 0.01) -> Array:
    return as_array(np.where(self > 0, self, self * cast(negative_slope, _dtype(self))))


def _dtype(array: Array) -> Any:
    from fx_ir.dtypes import from_numpy

    return from_numpy(array.dtype)


def hardtanh(self: Array, min_val: Any = -1, max_val: Any = 1) -> Array:
    kind = self.dtype.type
    return as_array(np.minimum(np.maximum(self, kind(min_val)), kind(max_val)))


def relu6(self: Array) -> Array:
    return hardtanh(self, 0, 6)


@in_float32
def hardsigmoid(self: Array) -> Array:
    return as_array(np.minimum(np.maximum(self + 3, 0), 6) / 6)


@in_float32
def hardswish(self: Array) -> Array:
    return as_array(self * np.minimum(np.maximum(self + 3, 0), 6) / 6)


def threshold(self: Array, threshold: Any, value: Any) -> Array:
    return as_array(np.where(self <= threshold, self.dtype.type(value), self))


def hardshrink(self: Array, lambd: Any = 0.5) -> Array:
    return as_array(np.where((self >= -lambd) & (self <= lambd), self.dtype.type(0), self))


def softshrink(self: Array, lambd: Any = 0.5) -> Array:
    shrunk = np.where(self > lambd, self - lambd, np.where(self < -lambd, self + lambd, self * 0))
    return as_array(shrunk.astype(self.dtype, copy=False))


def fake_prelu(self: TensorMeta, weight: TensorMeta) -> TensorMeta:
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    count = weight.numel()
    channels = self.shape[1] if self.ndim > 1 else 1
    if not (type(count) is int and count == 1) and differ(count, channels):
        raise RuntimeError(
            f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size = "
            f"{channels}."
        )
    return elementwise(self.dtype, self)


def prelu(self: Array, weight: Array) -> Array:
    if weight.size > 1 and self.ndim > 1:
        weight = weight.reshape(-1, *(1,) * (self.ndim - 2))
    elif weight.ndim:
        weight = weight.reshape((1,) * self.ndim) if self.ndim else weight.reshape(())
    return as_array(np.where(self > 0, self, self * weight))


def fake_glu(self: TensorMeta, dim: int = -1) -> TensorMeta:
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if size % 2 != 0:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size}")
    shape = (*self.shape[:dim], size // 2, *self.shape[dim + 1 :])
    if self.is_plain:
        return TensorMeta(shape, self.dtype, self.device)
    return elementwise(self.dtype, TensorMeta(shape, self.dtype, self.device, lambda: self.strides))


def glu(self: Array, dim: int = -1) -> Array:
    first, second = np.split(to_float(self), 2, axis=dim)
    return as_array((first * in_float32(_expit)(second)).astype(self.dtype, copy=False))


def _fake_gelu(self: TensorMeta, *, approximate: str = "none") -> TensorMeta:
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, but got {approximate}")
    return fake_floating_only(self)


def _fake_relu(self: TensorMeta) -> TensorMeta:
    if self.dtype.category is Category.BOOL:
        raise RuntimeError("Boolean inputs not supported for relu")
    return elementwise(self.dtype, self)


def _fake_log_sigmoid(self: TensorMeta) -> TensorMeta:
    fake_floating_only(self)
    return TensorMeta(self.shape, self.dtype, self.device)


_ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu()": (_fake_relu, relu),
    "relu6()": (_fake_relu, relu6),
    "silu()": (fake_floating_only, silu),
    "mish()": (fake_floating_only, mish),
    "selu()": (fake_floating_only, selu),
    "hardsigmoid()": (fake_floating_only, hardsigmoid),
    "hardswish()": (fake_floating_only, hardswish),
    "gelu(*, str approximate=\"none\")": (_fake_gelu, gelu),
    "elu(Scalar alpha=1, Scalar scale=1, Scalar input_scale=1)": (fake_floating_only, elu),
    "celu(Scalar alpha=1.)": (fake_floating_only, celu),
    "leaky_relu(Scalar negative_slope=0.01)": (fake_floating_only, leaky_relu),
    "hardtanh(Scalar min_val=-1, Scalar max_val=1)": (fake_same, hardtanh),
    "threshold(Scalar threshold, Scalar value)": (fake_same, threshold),
}  # fmt: skip
_WITHOUT_INPLACE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "log_sigmoid()": (_fake_log_sigmoid, log_sigmoid),
    "softplus(Scalar beta=1, Scalar threshold=20)": (fake_floating_only, softplus),
    "hardshrink(Scalar lambd=0.5)": (fake_floating_only, hardshrink),
    "softshrink(Scalar lambd=0.5)": (fake_floating_only, softshrink),
    "prelu(Tensor weight)": (fake_prelu, prelu),
    "glu(int dim=-1)": (fake_glu, glu),
}


def _declare() -> None:
    for table in (_ACTIVATIONS, _WITHOUT_INPLACE):
        for text, (fake, kernel) in table.items():
            name, _, rest = text.partition("(")
            arguments = rest if rest == ")" else f", {rest}"
            register(f"aten::{name}(Tensor self{arguments} -> Tensor", fake=fake, kernel=kernel)
            if table is _ACTIVATIONS:
                register_inplace(f"aten::{name}_(Tensor(a!) self{arguments} -> Tensor(a!)", f"aten::{name}")


_declare()
