"""Softmax and normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType, float32, get_default_dtype
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, to
from fx_ir.ops.registry import Call, register
from fx_ir.ops.reshape import same
from fx_ir.ops.shapes import elementwise, wrap_dim

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


def _negative(self: Array, dim: int, dtype: DType | None = None) -> Array:
    return softmax(-(self if dtype is None else to(self, dtype)), dim)


# --- layer and RMS norm ----------------------------------------------------------------------------------------------


def _check_normalized(name: str, input: TensorMeta, normalized_shape: Sequence[Size]) -> int:
    """The number of normalised trailing dimensions; RuntimeError unless they are the input's last."""
    count = len(normalized_shape)
    if count == 0 or count > input.ndim:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element"
        )
    for size, wanted in zip(input.shape[input.ndim - count :], normalized_shape, strict=True):
        if not same(size, wanted) and size != wanted:
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
    _check_floating(input)
    return TensorMeta(input.shape, input.dtype, input.device)


def _check_floating(input: TensorMeta) -> None:
    if input.dtype.category < Category.FLOAT:
        raise RuntimeError(f"normalisation is not implemented for '{input.dtype}'")


def _normalise(input: Array, axis: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """(input - mean) / sqrt(var + eps) over the axes in float32 or better, the mean, and the reciprocal root."""
    wide = input.astype(compute_type(input.dtype), copy=False)
    centre = as_array(wide.mean(axis=axis, keepdims=True))
    result = np.subtract(wide, centre, order="C")
    if axis == (wide.ndim - 1,):
        variance = np.einsum("...i,...i->...", result, result)[..., None] / wide.shape[-1]
    else:
        variance = np.mean(np.square(result), axis=axis, keepdims=True)
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
    result, _, _ = _normalise(input, axis, eps)
    return _affine(result, weight, bias).astype(input.dtype, copy=False)


def _affine(result: Array, weight: Array | None, bias: Array | None) -> Array:
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
    result, centre, scale = _normalise(input, axis, eps)
    return _affine(result, weight, bias).astype(input.dtype, copy=False), centre, scale


def fake_rms_norm(
    input: TensorMeta,
    normalized_shape: Sequence[Size],
    weight: TensorMeta | None = None,
    eps: float | None = None,
) -> TensorMeta:
    _check_normalized("rms_norm", input, normalized_shape)
    _check_floating(input)
    return TensorMeta(input.shape, input.dtype, input.device)


def rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    wide = input.astype(compute_type(input.dtype), copy=False)
    axis = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    small = float(np.finfo(wide.dtype).eps) if eps is None else eps
    scale = 1 / np.sqrt(np.mean(np.square(wide), axis=axis, keepdims=True) + wide.dtype.type(small))
    result = np.multiply(wide, scale, order="C")
    if weight is not None:
        result *= weight
    return as_array(result).astype(input.dtype, copy=False)


# --- group and batch norm --------------------------------------------------------------------------------------------


def fake_group_norm(
    input: TensorMeta,
    num_groups: int,
    weight: TensorMeta | None = None,
    bias: TensorMeta | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> TensorMeta:
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    if input.shape[1] % num_groups != 0:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    _check_floating(input)
    return TensorMeta(input.shape, input.dtype, input.device)


def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Array:
    groups = input.reshape(input.shape[0], num_groups, -1)
    result = _normalise(groups, (2,), eps)[0].reshape(input.shape)
    channels = (1, -1, *(1,) * (input.ndim - 2))
    return _affine(
        result,
        None if weight is None else weight.reshape(channels),
        None if bias is None else bias.reshape(channels),
    ).astype(input.dtype, copy=False)


def fake_batch_norm(
    input: TensorMeta,
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    running_mean: TensorMeta | None,
    running_var: TensorMeta | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> TensorMeta:
    _check_floating(input)
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    channels = input.shape[1]
    for meta in (weight, bias, running_mean, running_var):
        if meta is not None and not same(meta.shape[0], channels) and meta.shape[0] != channels:
            raise RuntimeError(f"running_mean should contain {channels} elements not {meta.shape[0]}")
    return elementwise(input.dtype, input)


def _batch_statistics(input: Array) -> tuple[Array, Array, int]:
    """Mean and biased variance of each channel, and how many elements they are taken over."""
    axis = (0, *range(2, input.ndim))
    wide = input.astype(compute_type(input.dtype), copy=False)
    count = input.size // max(input.shape[1], 1)
    return as_array(wide.mean(axis=axis)), as_array(wide.var(axis=axis)), count


def _apply_statistics(
    input: Array, weight: Array | None, bias: Array | None, centre: Array, variance: Array, eps: float
) -> Array:
    """One multiplication and one addition an element, as PyTorch's kernel does."""
    wide = compute_type(input.dtype)
    scale = 1 / np.sqrt(variance.astype(wide, copy=False) + wide.type(eps))
    if weight is not None:
        scale = scale * weight
    shift = -centre * scale if bias is None else bias - centre * scale
    channels = (1, -1, *(1,) * (input.ndim - 2))
    result = np.multiply(input, scale.reshape(channels), dtype=wide)
    result += shift.reshape(channels)
    return as_array(result).astype(input.dtype, copy=False)


def batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Array:
    if training or running_mean is None or running_var is None:
        running_mean, running_var, _ = _batch_statistics(input)
    return _apply_statistics(input, weight, bias, running_mean, running_var, eps)


def _fake_functional_batch_norm(input: TensorMeta, *args: Any) -> tuple[TensorMeta, ...]:
    result = fake_batch_norm(input, *args)
    running_mean, running_var, training = args[2:5]
    channels = (input.shape[1],) if training else (0,)
    saved = [TensorMeta(channels, input.dtype, input.device) for _ in range(2)]
    return (result, *saved, running_mean.like(), running_var.like())


def functional_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array, Array, Array]:
    if not training:
        empty = np.zeros(0, input.dtype)
        result = _apply_statistics(input, weight, bias, running_mean, running_var, eps)
        return result, empty, empty.copy(), running_mean.copy(), running_var.copy()
    centre, variance, count = _batch_statistics(input)
    if count <= 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(input.shape)}"
        )
    result = _apply_statistics(input, weight, bias, centre, variance, eps)
    new_mean = (1 - momentum) * running_mean + momentum * centre
    new_var = (1 - momentum) * running_var + momentum * (variance * (count / (count - 1)))
    scale = as_array(1 / np.sqrt(variance + eps))
    return (
        result,
        centre.astype(input.dtype, copy=False),
        scale.astype(input.dtype, copy=False),
        as_array(new_mean).astype(running_mean.dtype, copy=False),
        as_array(new_var).astype(running_var.dtype, copy=False),
    )


def lower_batch_norm(
    call: Call,
    write: Any,
    input: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Any:
    """In training with running statistics: one functional operator, then the two buffers are written."""
    if not training or running_mean is None or running_var is None:
        return NotImplemented
    results = call(
        "aten::_native_batch_norm_legit_functional",
        input, weight, bias, running_mean, running_var, training, momentum, eps,
    )  # fmt: skip
    write(running_mean, results[3])
    write(running_var, results[4])
    return results[0]


def fake_instance_norm(input: TensorMeta, *args: Any) -> TensorMeta:
    _check_floating(input)
    return TensorMeta(input.shape, input.dtype, input.device)


def instance_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Array:
    if not use_input_stats and running_mean is not None and running_var is not None:
        return _apply_statistics(input, weight, bias, running_mean, running_var, eps)
    return group_norm(input, input.shape[1], weight, bias, eps)


def _weight_axes(v: Array, dim: int) -> tuple[int, ...]:
    kept = wrap_dim(dim, v.ndim)
    return tuple(axis for axis in range(v.ndim) if axis != kept)


def weight_norm(v: Array, g: Array, dim: int = 0) -> Array:
    """``v`` scaled so that its slices along ``dim`` have the norms ``g``."""
    length = np.sqrt(np.sum(np.square(v), axis=_weight_axes(v, dim), keepdims=True))
    return as_array(v * (g / length))


def _fake_weight_norm(v: TensorMeta, g: TensorMeta, dim: int = 0) -> TensorMeta:
    return elementwise(v.dtype, v)


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
    register(
        "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
        "float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
        fake=fake_group_norm,
        kernel=group_norm,
    )
    _declare_batch_norm()
    register(
        "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
        fake=_fake_weight_norm,
        kernel=weight_norm,
    )


def _declare_batch_norm() -> None:
    head = "Tensor input, Tensor? weight, Tensor? bias,"
    register(
        f"aten::batch_norm({head} Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, "
        "bool cudnn_enabled) -> Tensor",
        fake=fake_batch_norm,
        kernel=batch_norm,
        lower=lower_batch_norm,
    )
    register(
        f"aten::_native_batch_norm_legit_functional({head} Tensor running_mean, Tensor running_var, bool training, "
        "float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
        fake=_fake_functional_batch_norm,
        kernel=functional_batch_norm,
    )
    register(
        f"aten::instance_norm({head} Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
        "float eps, bool cudnn_enabled) -> Tensor",
        fake=fake_instance_norm,
        kernel=instance_norm,
    )


_declare()

__all__ = ["get_default_dtype", "log_softmax", "softmax"]
