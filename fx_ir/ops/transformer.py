"""Self-attention and whole encoder layers in one operator: what their modules call where no gradient is wanted."""

from __future__ import annotations

import math

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.activation import gelu, relu
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.matmul import check_same_dtype, linear
from fx_ir.ops.norm import layer_norm, softmax
from fx_ir.ops.registry import register

PADDING: int = 1  # the mask type of a mask of keys, one row a batch entry


def fake_encoder_layer(
    src: TensorMeta,
    embed_dim: Size,
    num_heads: int,
    qkv_weight: TensorMeta,
    qkv_bias: TensorMeta,
    proj_weight: TensorMeta,
    proj_bias: TensorMeta,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: TensorMeta,
    norm_bias_1: TensorMeta,
    norm_weight_2: TensorMeta,
    norm_bias_2: TensorMeta,
    ffn_weight_1: TensorMeta,
    ffn_bias_1: TensorMeta,
    ffn_weight_2: TensorMeta,
    ffn_bias_2: TensorMeta,
    mask: TensorMeta | None = None,
    mask_type: int | None = None,
) -> TensorMeta:
    check_same_dtype(src, qkv_weight, proj_weight, ffn_weight_1, ffn_weight_2)
    if src.ndim != 3:
        raise RuntimeError(f"expected 3-D `query`, got {src.ndim}-D tensor")
    if src.shape[2] != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {src.shape[2]}")
    return TensorMeta(src.shape, src.dtype, src.device)


def encoder_layer(
    src: Array,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Array,
    qkv_bias: Array,
    proj_weight: Array,
    proj_bias: Array,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Array,
    norm_bias_1: Array,
    norm_weight_2: Array,
    norm_bias_2: Array,
    ffn_weight_1: Array,
    ffn_bias_1: Array,
    ffn_weight_2: Array,
    ffn_bias_2: Array,
    mask: Array | None = None,
    mask_type: int | None = None,
) -> Array:
    def first(x: Array) -> Array:
        return layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def second(x: Array) -> Array:
        return layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    x = first(src) if norm_first else src
    attended, _ = _attention(x, num_heads, linear(x, qkv_weight, qkv_bias), mask, mask_type)
    x = as_array(linear(attended, proj_weight, proj_bias) + src)
    x = x if norm_first else first(x)
    hidden = linear(second(x) if norm_first else x, ffn_weight_1, ffn_bias_1)
    grown = gelu(hidden) if use_gelu else relu(hidden)
    x = as_array(linear(grown, ffn_weight_2, ffn_bias_2) + x)
    return x if norm_first else second(x)


def _attention(
    x: Array, heads: int, qkv: Array, mask: Array | None, mask_type: int | None
) -> tuple[Array, Array]:
    """What was attended to, ``(batch, length, width)``, and the weights, ``(batch, heads, length, length)``."""
    batch, length, width = x.shape
    q, k, v = qkv.reshape(batch, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = as_array((q / math.sqrt(width // heads)) @ k.swapaxes(-1, -2))
    if mask is not None:
        hidden = mask.astype(np.bool_)  # a float mask hides what is not zero
        hidden = hidden[:, None, None, :] if mask_type == PADDING else hidden
        scores = np.where(hidden, scores.dtype.type(-np.inf), scores)
    weights = softmax(scores, 3).astype(x.dtype, copy=False)
    return as_array((weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, width)), weights


def fake_self_attention(
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    embed_dim: Size,
    num_head: int,
    qkv_weight: TensorMeta,
    qkv_bias: TensorMeta,
    proj_weight: TensorMeta,
    proj_bias: TensorMeta,
    mask: TensorMeta | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[TensorMeta, TensorMeta | None]:
    check_same_dtype(query, key, value, qkv_weight, proj_weight)
    if query.ndim != 3:
        raise RuntimeError(f"expected 3-D `query`, got {query.ndim}-D tensor")
    batch, length, width = query.shape
    if width != embed_dim:
        raise RuntimeError(f"passed-in embed_dim {embed_dim} didn't match last dim of query {width}")
    attended = TensorMeta(query.shape, query.dtype, query.device)
    if not need_weights:
        return attended, None
    heads = () if average_attn_weights else (num_head,)
    return attended, TensorMeta((batch, *heads, length, length), query.dtype, query.device)


def self_attention(
    query: Array,
    key: Array,
    value: Array,
    embed_dim: int,
    num_head: int,
    qkv_weight: Array,
    qkv_bias: Array,
    proj_weight: Array,
    proj_bias: Array,
    mask: Array | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Array, Array | None]:
    parts = zip((query, key, value), np.split(qkv_weight, 3), np.split(qkv_bias, 3), strict=True)
    qkv = np.concatenate([linear(x, weight, bias) for x, weight, bias in parts], axis=-1)
    attended, weights = _attention(query, num_head, qkv, mask, mask_type)
    result = linear(attended, proj_weight, proj_bias)
    if not need_weights:
        return result, None
    return result, as_array(weights.mean(1)) if average_attn_weights else weights


_WEIGHTS = "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias"
_NORMS = "Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2"
_FEED = "Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2"
register(
    f"aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, {_WEIGHTS}, bool use_gelu, bool norm_first, "
    f"float eps, {_NORMS}, {_FEED}, Tensor? mask=None, int? mask_type=None) -> Tensor",
    fake=fake_encoder_layer,
    kernel=encoder_layer,
)
register(
    f"aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, {_WEIGHTS}, "
    "Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    fake=fake_self_attention,
    kernel=self_attention,
)
