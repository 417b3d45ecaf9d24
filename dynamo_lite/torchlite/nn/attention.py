"""Multi-head attention as a function."""

from __future__ import annotations

import math
from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS, NN_FUNCTIONS
from fx_ir.dtypes import bool_

_linear = NN_FUNCTIONS["linear"]
_attention = NN_FUNCTIONS["scaled_dot_product_attention"]
_dropout = FUNCTIONS["dropout"]
_cat = FUNCTIONS["cat"]
_zeros_like = FUNCTIONS["zeros_like"]
_zeros = FUNCTIONS["zeros"]


def additive_mask(mask: Any, like: Any) -> Any:
    """A mask to be added to scores: a bool one becomes ``-inf`` where it is true."""
    if mask is None or mask.dtype is not bool_:
        return mask
    return _zeros_like(mask, dtype=like.dtype).masked_fill_(mask, float("-inf"))


def _project(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> Any:
    """Queries, keys and values from one packed weight."""
    width = query.size(-1)
    if key is value and query is key:
        packed = _linear(query, weight, bias)
        packed = packed.unflatten(-1, (3, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
        return packed[0], packed[1], packed[2]
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return (
        _linear(query, weights[0], biases[0]),
        _linear(key, weights[1], biases[1]),
        _linear(value, weights[2], biases[2]),
    )


def _project_separately(query: Any, key: Any, value: Any, weights: Any, bias: Any) -> Any:
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return (
        _linear(query, weights[0], biases[0]),
        _linear(key, weights[1], biases[1]),
        _linear(value, weights[2], biases[2]),
    )


def _merged_mask(attn_mask: Any, key_padding_mask: Any, batch: Any, heads: int) -> Any:
    """One additive mask that broadcasts against (batch, heads, length, keys); it is never expanded."""
    if attn_mask is not None and attn_mask.dim() == 3:
        attn_mask = attn_mask.unflatten(0, (batch, heads))
    if key_padding_mask is None:
        return attn_mask
    padding = key_padding_mask.unsqueeze(1).unsqueeze(1)
    return padding if attn_mask is None else attn_mask + padding


def _pad_mask(mask: Any) -> Any:
    return None if mask is None else NN_FUNCTIONS["pad"](mask, (0, 1))


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    """Attention of ``query`` over ``key`` and ``value``, each (length, batch, width) or (length, width)."""
    batched = query.dim() == 3
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    _, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    if width % num_heads != 0:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    head = width // num_heads
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        is_causal = False
        attn_mask = additive_mask(attn_mask, query)
    key_padding_mask = additive_mask(key_padding_mask, query)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _project_separately(query, key, value, weights, in_proj_bias)
    else:
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    if bias_k is not None:
        k, v = _cat([k, bias_k.repeat(1, batch, 1)]), _cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _pad_mask(attn_mask), _pad_mask(key_padding_mask)
    q = _heads(q, num_heads, head)
    k = _heads(k, num_heads, head) if static_k is None else static_k.unflatten(0, (batch, num_heads))
    v = _heads(v, num_heads, head) if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        zeros = _zeros((batch, num_heads, 1, head), dtype=k.dtype)
        k, v = _cat([k, zeros], dim=2), _cat([v, zeros], dim=2)
        attn_mask, key_padding_mask = _pad_mask(attn_mask), _pad_mask(key_padding_mask)
    mask = _merged_mask(attn_mask, key_padding_mask, batch, num_heads)
    dropout_p = dropout_p if training else 0.0
    shown: Any = None
    if need_weights:
        output, shown = _weighted(q, k, v, mask, dropout_p)
        shown = shown.mean(dim=1) if average_attn_weights else shown
    else:
        output = _attention(q, k, v, mask, dropout_p, is_causal)
    output = _linear(output.permute(2, 0, 1, 3).contiguous().flatten(2), out_proj_weight, out_proj_bias)
    if batched:
        return output, shown
    return output.squeeze(1), None if shown is None else shown.squeeze(0)


def _heads(x: Any, heads: int, width: int) -> Any:
    """(length, batch, heads * width) as (batch, heads, length, width)."""
    return x.unflatten(2, (heads, width)).permute(1, 2, 0, 3)


def _weighted(q: Any, k: Any, v: Any, mask: Any, dropout_p: float) -> Any:
    """Attention that also gives its weights."""
    scores = (q * math.sqrt(1.0 / float(q.size(-1)))) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = _dropout(weights, dropout_p, True)
    return weights @ v, weights
