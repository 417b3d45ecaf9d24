"""Normalisation over groups and batches, and of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.norm import affine, check_floating, normalise
from fx_ir.ops.pool import in_order
from fx_ir.ops.registry import Call, register
from fx_ir.ops.shapes import differ, formatted_like, wrap_dim


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
    check_floating(input)
    return formatted_like(input, input.shape)


def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Array:
    groups = input.reshape(input.shape[0], num_groups, -1)
    result = normalise(groups, (2,), eps)[0].reshape(input.shape)
    channels = (1, -1, *(1,) * (input.ndim - 2))
    made = affine(
        result,
        None if weight is None else weight.reshape(channels),
        None if bias is None else bias.reshape(channels),
    ).astype(input.dtype, copy=False)
    return in_order(made, input, max(input.ndim - 2, 1))


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
    check_floating(input)
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    channels = input.shape[wrap_dim(1, input.ndim)]
    for meta in (weight, bias, running_mean, running_var):
        if meta is not None and differ(meta.shape[0], channels):
            raise RuntimeError(f"running_mean should contain {channels} elements not {meta.shape[0]}")
    return formatted_like(input, input.shape)


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
    channels = (running_mean.shape[0],) if training else (0,)
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
    check_floating(input)
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
    return np.ascontiguousarray(v * (g / _norms(v, dim)))


def _fake_weight_norm(v: TensorMeta, g: TensorMeta, dim: int = 0) -> TensorMeta:
    return TensorMeta(v.shape, v.dtype, v.device)


def _norms(v: Array, dim: int) -> Array:
    return as_array(np.sqrt(np.sum(np.square(v), axis=_weight_axes(v, dim), keepdims=True)))


def _fake_weight_norm_interface(v: TensorMeta, g: TensorMeta, dim: int = 0) -> tuple[TensorMeta, TensorMeta]:
    return TensorMeta(v.shape, v.dtype, v.device), TensorMeta(g.shape, g.dtype, g.device)


def _declare() -> None:
    register(
        "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
        "float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
        fake=fake_group_norm,
        kernel=group_norm,
    )
    register(
        "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
        fake=_fake_weight_norm,
        kernel=weight_norm,
    )
    register(
        "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)",
        fake=_fake_weight_norm_interface,
        kernel=lambda v, g, dim=0: (weight_norm(v, g, dim), _norms(v, dim)),
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
_declare_batch_norm()
