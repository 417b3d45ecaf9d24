"""Softmax and normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType, float32
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, average, compute_type, to
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import differ, wrap_dim

# --- softmax ---------------------------------------------------------------------------------------------------------


def fake_softmax(self: TensorMeta, dim: int, dtype: DType | None = None) -> TensorMeta:
    wrap_dim(dim, self.ndim)
    target = self.dtype if dtype is None else dtype
    if target.category < Category.FLOAT:
        raise RuntimeError(f"\"softmax_lastdim_kernel_impl\" not implemented for '{target}'")
    return TensorMeta(self.shape, target, self.device)


def softmax(self: Array, dim: int, dtype: DType | None = None) -> Array:
    array = self if dtype is None else to(self, dtype)
    wide = array.astype(compute_type(array.dtype), copy=False)
    if wide.ndim == 0:
        return np.ones_like(array)
    if wide.size == 0:
        return np.zeros(array.shape, array.dtype)
    result: Array = np.subtract(wide, wide.max(axis=dim, keepdims=True), order="C")
    np.exp(result, out=result)
    result /= result.sum(axis=dim, keepdims=True)
    return result.astype(array.dtype, copy=False)


def log_softmax(self: Array, dim: int, dtype: DType | None = None) -> Array:
    array = self if dtype is None else to(self, dtype)
    wide = array.astype(compute_type(array.dtype), copy=False)
    if wide.ndim == 0:
        return np.zeros_like(array)
    if wide.size == 0:
        return np.zeros(array.shape, array.dtype)
    result: Array = np.subtract(wide, wide.max(axis=dim, keepdims=True), order="C")
    result -= np.log(np.exp(result).sum(axis=dim, keepdims=True))
    return result.astype(array.dtype, copy=False)


def safe_softmax(self: Array, dim: int, dtype: DType | None = None) -> Array:
    """Rows of nothing but -inf give zeros."""
    result = softmax(self, dim, dtype)
    masked = np.all(np.isneginf(self), axis=dim, keepdims=True)
    return as_array(np.where(masked, result.dtype.type(0), result)) if masked.any() else result


def _fake_inner(self: TensorMeta, dim: int, half_to_float: bool) -> TensorMeta:
    return fake_softmax(self, dim, float32 if half_to_float else None)


def _inner(kernel: Any) -> Any:
    return lambda self, dim, half_to_float: kernel(self, dim, float32 if half_to_float else None)


# --- layer and RMS norm ----------------------------------------------------------------------------------------------


def _check_normalized(name: str, input: TensorMeta, normalized_shape: Sequence[Size]) -> int:
    """The number of normalised trailing dimensions; RuntimeError unless they are the input's last."""
    count = len(normalized_shape)
    if count == 0 or count > input.ndim:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    for size, wanted in zip(input.shape[input.ndim - count :], normalized_shape, strict=True):
        if differ(size, wanted):
            raise RuntimeError(
                f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
                f"{', '.join(str(extent) for extent in normalized_shape)}], but got input of size{list(input.shape)}"
            )
    return count


def fake_layer_norm(
    input: TensorMeta,
    normalized_shape: Sequence[Size],
    weight: TensorMeta | None = None,
    bias: TensorMeta | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> TensorMeta:
    _check_normalized("layer_norm", input, normalized_shape)
    check_floating(input)
    return TensorMeta(input.shape, input.dtype, input.device)


def check_floating(input: TensorMeta) -> None:
    if input.dtype.category < Category.FLOAT:
        raise RuntimeError(f"normalisation is not implemented for '{input.dtype}'")


def normalise(input: Array, axis: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """(input - mean) / sqrt(var + eps) over the axes in float32 or better, the mean, and the reciprocal root."""
    wide = input.astype(compute_type(input.dtype), copy=False)
    centre = average(wide, axis, True)
    result = np.subtract(wide, centre, order="C")
    if axis == (wide.ndim - 1,):
        variance = np.einsum("...i,...i->...", result, result)[..., None] / wide.shape[-1]
    else:
        variance = average(np.square(result), axis, True)
    scale = as_array(1 / np.sqrt(variance + wide.dtype.type(eps))).astype(wide.dtype, copy=False)
    result *= scale
    return result, centre, scale


def layer_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Array:
    axis = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    result, _, _ = normalise(input, axis, eps)
    return affine(result, weight, bias).astype(input.dtype, copy=False)


def affine(result: Array, weight: Array | None, bias: Array | None) -> Array:
    if weight is not None:
        result *= weight
    if bias is not None:
        result += bias
    return result


def fake_native_layer_norm(
    input: TensorMeta,
    normalized_shape: Sequence[Size],
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    eps: float,
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    result = fake_layer_norm(input, normalized_shape, weight, bias, eps)
    kept = input.ndim - len(normalized_shape)
    shape = (*input.shape[:kept], *(1,) * len(normalized_shape))
    return result, TensorMeta(shape, input.dtype, input.device), TensorMeta(shape, input.dtype, input.device)


def native_layer_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    axis = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    result, centre, scale = normalise(input, axis, eps)
    return affine(result, weight, bias).astype(input.dtype, copy=False), centre, scale


def fake_rms_norm(
    input: TensorMeta,
    normalized_shape: Sequence[Size],
    weight: TensorMeta | None = None,
    eps: float | None = None,
) -> TensorMeta:
    _check_normalized("rms_norm", input, normalized_shape)
    check_floating(input)
    return TensorMeta(input.shape, input.dtype, input.device)


def rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    wide = input.astype(compute_type(input.dtype), copy=False)
    axis = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    small = float(np.finfo(wide.dtype).eps) if eps is None else eps
    scale = 1 / np.sqrt(average(np.square(wide), axis, True) + wide.dtype.type(small))
    result = np.multiply(wide, scale, order="C")
    if weight is not None:
        result *= weight
    return as_array(result).astype(input.dtype, copy=False)


def _declare() -> None:
    tail = "(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"
    for name, kernel in (
        ("softmax.int", softmax),
        ("log_softmax.int", log_softmax),
        ("_safe_softmax", safe_softmax),
    ):
        register(f"aten::{name}{tail}", fake=fake_softmax, kernel=kernel)
    for name, kernel in (("_softmax", softmax), ("_log_softmax", log_softmax)):
        register(
            f"aten::{name}(Tensor self, int dim, bool half_to_float) -> Tensor",
            fake=_fake_inner,
            kernel=_inner(kernel),
        )
    register(
        "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
        "float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
        fake=fake_layer_norm,
        kernel=layer_norm,
    )
    register(
        "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
        "(Tensor, Tensor, Tensor)",
        fake=fake_native_layer_norm,
        kernel=native_layer_norm,
    )
    register(
        "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
        fake=fake_rms_norm,
        kernel=rms_norm,
    )


_declare()
