"""``nn.functional``: short Python over leaf operators. Strict mode interprets it, so bodies stay small."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS, NN_FUNCTIONS
from dynamo_lite.torchlite.nn.attention import multi_head_attention_forward
from dynamo_lite.torchlite.nn.loss_functions import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from dynamo_lite.torchlite.nn.pooling_functions import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    fold,
    interpolate,
    max_pool1d,
    max_pool2d,
    pad,
    unfold,
    upsample,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d",
    "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy",
    "dropout", "dropout1d", "dropout2d", "elu", "embedding", "embedding_bag", "fold", "gelu", "glu", "group_norm",
    "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "instance_norm",
    "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d",
    "max_pool2d", "mish", "mse_loss", "multi_head_attention_forward", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu", "relu6", "rms_norm",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "unfold", "upsample",
]  # fmt: skip

linear = NN_FUNCTIONS["linear"]
gelu = NN_FUNCTIONS["gelu"]
one_hot = NN_FUNCTIONS["one_hot"]
softplus = NN_FUNCTIONS["softplus"]
softshrink = NN_FUNCTIONS["softshrink"]
logsigmoid = NN_FUNCTIONS["log_sigmoid"]
scaled_dot_product_attention = NN_FUNCTIONS["scaled_dot_product_attention"]
bilinear = FUNCTIONS["bilinear"]
conv1d = FUNCTIONS["conv1d"]
conv2d = FUNCTIONS["conv2d"]
conv3d = FUNCTIONS["conv3d"]
conv_transpose1d = FUNCTIONS["conv_transpose1d"]
conv_transpose2d = FUNCTIONS["conv_transpose2d"]
prelu = FUNCTIONS["prelu"]
hardshrink = FUNCTIONS["hardshrink"]
cosine_similarity = FUNCTIONS["cosine_similarity"]
pairwise_distance = FUNCTIONS["pairwise_distance"]
pixel_shuffle = FUNCTIONS["pixel_shuffle"]
pixel_unshuffle = FUNCTIONS["pixel_unshuffle"]

_dropout = FUNCTIONS["dropout"]
_feature_dropout = FUNCTIONS["feature_dropout"]
_embedding = FUNCTIONS["embedding"]
_embedding_bag = FUNCTIONS["embedding_bag"]
_layer_norm = FUNCTIONS["layer_norm"]
_rms_norm = FUNCTIONS["rms_norm"]
_group_norm = FUNCTIONS["group_norm"]
_batch_norm = FUNCTIONS["batch_norm"]
_instance_norm = FUNCTIONS["instance_norm"]
_threshold = FUNCTIONS["threshold"]
_celu = FUNCTIONS["celu"]
_selu = FUNCTIONS["selu"]
_silu = NN_FUNCTIONS["silu"]
_silu_ = NN_FUNCTIONS["silu_"]
_mish = NN_FUNCTIONS["mish"]
_glu = NN_FUNCTIONS["glu"]
_elu = NN_FUNCTIONS["elu"]
_leaky_relu = NN_FUNCTIONS["leaky_relu"]
_leaky_relu_ = NN_FUNCTIONS["leaky_relu_"]
_hardtanh = NN_FUNCTIONS["hardtanh"]
_hardtanh_ = NN_FUNCTIONS["hardtanh_"]
_hardsigmoid = NN_FUNCTIONS["hardsigmoid"]
_hardswish = NN_FUNCTIONS["hardswish"]
_relu6 = NN_FUNCTIONS["relu6"]


# --- activations ---


def relu(input: Any, inplace: bool = False) -> Any:
    return input.relu_() if inplace else input.relu()


def relu6(input: Any, inplace: bool = False) -> Any:
    return hardtanh(input, 0.0, 6.0, inplace)


def silu(input: Any, inplace: bool = False) -> Any:
    return _silu_(input) if inplace else _silu(input)


def mish(input: Any, inplace: bool = False) -> Any:
    return input.copy_(_mish(input)) if inplace else _mish(input)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return input.copy_(_elu(input, alpha)) if inplace else _elu(input, alpha)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return input.copy_(_celu(input, alpha)) if inplace else _celu(input, alpha)


def selu(input: Any, inplace: bool = False) -> Any:
    return input.copy_(_selu(input)) if inplace else _selu(input)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return _leaky_relu_(input, negative_slope) if inplace else _leaky_relu(input, negative_slope)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    return _hardtanh_(input, min_val, max_val) if inplace else _hardtanh(input, min_val, max_val)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    return input.copy_(_hardsigmoid(input)) if inplace else _hardsigmoid(input)


def hardswish(input: Any, inplace: bool = False) -> Any:
    return input.copy_(_hardswish(input)) if inplace else _hardswish(input)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    result = _threshold(input, threshold, value)
    return input.copy_(result) if inplace else result


def glu(input: Any, dim: int = -1) -> Any:
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _glu(input, dim)


def tanh(input: Any) -> Any:
    return input.tanh()


def sigmoid(input: Any) -> Any:
    return input.sigmoid()


def tanhshrink(input: Any) -> Any:
    return input - input.tanh()


def softsign(input: Any) -> Any:
    return input / (input.abs() + 1)


def _softmax_dim(ndim: int) -> int:
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if dim is None:
        dim = _softmax_dim(input.dim())
    if dtype is None:
        return input.softmax(dim)
    return input.softmax(dim, dtype=dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    if dim is None:
        dim = _softmax_dim(input.dim())
    if dtype is None:
        return input.log_softmax(dim)
    return input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    gumbels = -FUNCTIONS["empty_like"](logits).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return FUNCTIONS["zeros_like"](logits).scatter_(dim, index, 1.0) - soft.detach() + soft


# --- dropout ---


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if p < 0.0 or p > 1.0:
        _check_probability(p)
    result = _dropout(input, p, training)
    return input.copy_(result) if inplace else result


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    _check_probability(p)
    batched = input if input.dim() == 3 else input.unsqueeze(0)
    result = _feature_dropout(batched, p, training)
    result = result if input.dim() == 3 else result.squeeze(0)
    return input.copy_(result) if inplace else result


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    _check_probability(p)
    result = _feature_dropout(input, p, training)
    return input.copy_(result) if inplace else result


# --- look-up and normalisation ---


def _no_max_norm(max_norm: float | None) -> None:
    if max_norm is not None:
        raise NotImplementedError(
            "torchlite has no embedding with max_norm: it would change the weight in forward"
        )


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    if padding_idx is None:
        padding_idx = -1
    else:
        rows = weight.size(0)
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx = rows + padding_idx
    _no_max_norm(max_norm)
    return _embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None")
        offsets = FUNCTIONS["arange"](0, input.numel(), input.size(1), dtype=input.dtype)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    _no_max_norm(max_norm)
    kind = {"sum": 0, "mean": 1, "max": 2}[mode]
    return _embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        kind,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )[0]


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    return _layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    return _rms_norm(input, normalized_shape, weight, eps)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    return _group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return _instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    result = input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return result if out is None else out.copy_(result)
