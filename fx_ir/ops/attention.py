"""Attention, embeddings and dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fx_ir import rng
from fx_ir.dtypes import Category, bool_, int64
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import broadcast_shapes, differ, elementwise, elementwise_strides, same
from fx_ir.ops.views import WHOLE_RULE

# --- embedding -------------------------------------------------------------------------------------------------------


def fake_embedding(weight: TensorMeta, indices: TensorMeta, *options: Any) -> TensorMeta:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.dtype.category is not Category.INTEGER:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{indices.dtype} instead (while checking arguments for embedding)"
        )
    return TensorMeta((*indices.shape, weight.shape[1]), weight.dtype, weight.device)


def embedding(weight: Array, indices: Array, *options: Any) -> Array:
    if indices.size and indices.min() < 0:
        raise IndexError("index out of range in self")
    try:
        return np.take(weight, indices, axis=0)
    except IndexError:
        raise IndexError("index out of range in self") from None


def fake_one_hot(self: TensorMeta, num_classes: int = -1) -> TensorMeta:
    if self.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    classes: Size = num_classes
    if num_classes == -1:
        from fx_ir import fake_context

        classes = fake_context.current().unbacked("one_hot", "int", 1)
    return TensorMeta((*self.shape, classes), int64, self.device)


def one_hot(self: Array, num_classes: int = -1) -> Array:
    if self.size and self.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    classes = int(self.max()) + 1 if num_classes == -1 else num_classes
    if self.size and self.max() >= classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    result = np.zeros((*self.shape, classes), np.int64)
    np.put_along_axis(result, self[..., None], 1, axis=-1)
    return result


def fake_embedding_bag(
    weight: TensorMeta,
    indices: TensorMeta,
    offsets: TensorMeta,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: TensorMeta | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[TensorMeta, ...]:
    bags = offsets.shape[0] - 1 if include_last_offset else offsets.shape[0]
    result = TensorMeta((bags, weight.shape[1]), weight.dtype, weight.device)
    offset2bag = TensorMeta(indices.shape if mode else (0,), indices.dtype, weight.device)
    bag_size = TensorMeta((bags,), offsets.dtype, weight.device)
    largest = TensorMeta((bags, weight.shape[1]) if mode == 2 else (bags,), offsets.dtype, weight.device)
    return result, offset2bag, bag_size, largest


def embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Sums, means or maxima of rows over the bags that ``offsets`` begins; padding rows are left out."""
    ends = np.append(offsets, len(indices)) if not include_last_offset else offsets
    bags = len(ends) - 1
    result = np.zeros((bags, weight.shape[1]), weight.dtype)
    counts = np.zeros(bags, offsets.dtype)
    largest = np.zeros((bags, weight.shape[1]) if mode == 2 else (bags,), offsets.dtype)
    padding = None if padding_idx is None else padding_idx % weight.shape[0]
    for bag in range(bags):
        span = np.arange(ends[bag], ends[bag + 1])
        if padding is not None:
            span = span[indices[span] != padding]
        counts[bag] = len(span)
        if not len(span):
            continue
        rows = weight[indices[span]]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[span][:, None]
        result[bag] = rows.max(axis=0) if mode == 2 else rows.mean(axis=0) if mode == 1 else rows.sum(axis=0)
        if mode == 2:
            largest[bag] = indices[span][rows.argmax(axis=0)]
    bag_of = (
        np.repeat(np.arange(bags), np.diff(ends)).astype(indices.dtype)
        if mode
        else np.zeros(0, indices.dtype)
    )
    return result, bag_of, counts, largest


# --- dropout ---------------------------------------------------------------------------------------------------------


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def fake_dropout(input: TensorMeta, p: float, train: bool) -> TensorMeta:
    _check_probability(p)
    if not train or p == 0:
        return input
    return elementwise(input.dtype, input)


def _is_idle(result: TensorMeta, input: TensorMeta, p: float, train: bool) -> bool:
    return not train or p == 0


def dropout(input: Array, p: float, train: bool) -> Array:
    if not train or p == 0:
        return input
    if p == 1:
        return np.zeros_like(input)
    keep = rng.generator().random(input.shape, np.float32) >= p
    return as_array(np.multiply(input, keep * np.asarray(1 / (1 - p), input.dtype)))


def feature_dropout(input: Array, p: float, train: bool) -> Array:
    """Drops whole channels."""
    if not train or p == 0:
        return input
    if p == 1:
        return np.zeros_like(input)
    shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    keep = rng.generator().random(shape, np.float32) >= p
    return as_array(np.multiply(input, keep * np.asarray(1 / (1 - p), input.dtype)))


def _fake_native_dropout(input: TensorMeta, p: float, train: bool | None) -> tuple[TensorMeta, TensorMeta]:
    result = elementwise(input.dtype, input)
    return result, elementwise(bool_, input)


def _native_dropout(input: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    if train is False or p == 0:
        return input.copy(), np.ones(input.shape, np.bool_)
    keep = as_array(rng.generator().random(input.shape, np.float32) >= p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return as_array(np.multiply(input, keep * np.asarray(scale, input.dtype))), keep


# --- attention -------------------------------------------------------------------------------------------------------


def fake_attention(
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    attn_mask: TensorMeta | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> TensorMeta:
    _check_attention(query, key, value, attn_mask, is_causal)
    batch = _attention_batch(query, key, value, enable_gqa)
    shape = (*batch, query.shape[-2], value.shape[-1])
    if not query.is_plain and _is_fused(query, value, attn_mask, dropout_p):
        return TensorMeta(shape, query.dtype, query.device, lambda: elementwise_strides(query.shape, [query]))
    return TensorMeta(shape, query.dtype, query.device)


def _is_fused(query: Any, value: Any, attn_mask: Any, dropout_p: float) -> bool:
    """PyTorch's fused CPU kernel leaves its result in the query's order of memory, the other one contiguous."""
    return (
        len(query.shape) == 4
        and dropout_p == 0.0
        and same(query.shape[-1], value.shape[-1])
        and (attn_mask is None or len(attn_mask.shape) in (2, 4))
        and not (attn_mask is not None and getattr(attn_mask, "requires_grad", False))
    )


def _check_attention(
    query: TensorMeta, key: TensorMeta, value: TensorMeta, attn_mask: TensorMeta | None, is_causal: bool
) -> None:
    check_same_dtype(query, key, value)
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 dimensional, but got "
            f"query dim: {query.ndim}, key dim: {key.ndim} and value dim: {value.ndim} instead."
        )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        if (
            attn_mask.dtype is not bool_
            and attn_mask.dtype is not query.dtype
            and attn_mask.dtype.name != "float32"
        ):
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{attn_mask.dtype.name} and  query.dtype: {query.dtype.name} instead."
            )
    for left, right in ((query.shape[-1], key.shape[-1]), (key.shape[-2], value.shape[-2])):
        if differ(left, right):
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied (query {list(query.shape)}, key {list(key.shape)}, value "
                f"{list(value.shape)})"
            )
    if attn_mask is not None:
        # Broadcasting alone: the mask says nothing about the shape of the result.
        scores = (*query.shape[:-1], key.shape[-2])
        broadcast_shapes(scores, attn_mask.shape)


def _attention_batch(
    query: TensorMeta, key: TensorMeta, value: TensorMeta, enable_gqa: bool
) -> tuple[Size, ...]:
    if enable_gqa:
        if query.shape[-3] % key.shape[-3] != 0 or query.shape[-3] % value.shape[-3] != 0:
            raise RuntimeError(
                "scaled_dot_product_attention: the number of heads in query must be divisible by those in key and value"
            )
        return query.shape[:-2]
    return broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """softmax(query @ key.T * scale + mask) @ value; rows that are masked out entirely give zeros."""
    if enable_gqa and query.shape[-3] != key.shape[-3]:
        key = np.repeat(key, query.shape[-3] // key.shape[-3], axis=-3)
    if enable_gqa and query.shape[-3] != value.shape[-3]:
        value = np.repeat(value, query.shape[-3] // value.shape[-3], axis=-3)
    wide = compute_type(query.dtype)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.matmul(query.astype(wide, copy=False), key.astype(wide, copy=False).swapaxes(-1, -2))
    scores *= wide.type(factor)
    weights = _masked_softmax(scores, attn_mask, is_causal)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return _weighted(weights, value.astype(wide, copy=False), query, attn_mask, dropout_p).astype(
        query.dtype, copy=False
    )


def _masked_softmax(scores: Array, mask: Array | None, is_causal: bool) -> Array:
    if is_causal:
        rows, columns = scores.shape[-2:]
        mask = np.tri(rows, columns, dtype=np.bool_)
    if mask is not None:
        if mask.dtype == np.bool_:
            if not mask.all():
                np.copyto(scores, -np.inf, where=~np.broadcast_to(mask, scores.shape))
        else:
            scores += mask
    if scores.size == 0:
        return scores
    top = scores.max(axis=-1, keepdims=True)
    blocked = np.isneginf(top)
    any_blocked = mask is not None and bool(blocked.any())
    if any_blocked:
        top = np.where(blocked, scores.dtype.type(0), top)
    scores -= top
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    if any_blocked:
        total = np.where(blocked, scores.dtype.type(1), total)
    scores /= total
    return scores


def _weighted(weights: Array, value: Array, query: Array, attn_mask: Array | None, dropout_p: float) -> Array:
    if query.flags.c_contiguous or not _is_fused(query, value, attn_mask, dropout_p):
        return as_array(np.matmul(weights, value))
    result = np.empty_like(query, dtype=weights.dtype)
    np.matmul(weights, value, out=result)
    return result


def _declare() -> None:
    register(
        "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
        "bool sparse=False) -> Tensor",
        fake=fake_embedding,
        kernel=embedding,
    )
    register(
        "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
        fake=fake_one_hot,
        kernel=one_hot,
        nondifferentiable=True,
    )
    register(
        "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
        "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> "
        "(Tensor, Tensor, Tensor, Tensor)",
        fake=fake_embedding_bag,
        kernel=embedding_bag,
    )
    register(
        "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, "
        "bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> "
        "(Tensor, Tensor, Tensor, Tensor)",
        fake=fake_embedding_bag,
        kernel=embedding_bag,
    )
    for name, kernel in (("dropout", dropout), ("feature_dropout", feature_dropout)):
        register(
            f"aten::{name}(Tensor input, float p, bool train) -> Tensor",
            fake=fake_dropout,
            kernel=kernel,
            random=True,
            view=WHOLE_RULE,
            maybe_view=_is_idle,
        )
        register_inplace(
            f"aten::{name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", f"aten::{name}"
        )
    register(
        "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
        fake=_fake_native_dropout,
        kernel=_native_dropout,
        random=True,
    )
    register(
        "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
        "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
        fake=fake_attention,
        kernel=scaled_dot_product_attention,
        random=True,
    )


_declare()

__all__ = ["int64"]
