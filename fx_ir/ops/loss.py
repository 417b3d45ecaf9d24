"""Loss functions and distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, DType, get_default_dtype, result_type
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, pair, to_float
from fx_ir.ops.norm import log_softmax
from fx_ir.ops.reduction import reduced
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes, differ, elementwise, wrap_dim
from fx_ir.ops.statistics import vector_norm

NONE, MEAN, SUM = 0, 1, 2


def floating(dtype: DType) -> DType:
    """The type that a number with a fraction makes of this one: the default floating type of integers and bools."""
    return get_default_dtype() if dtype.category < Category.FLOAT else dtype


def fake_reduced(meta: TensorMeta, reduction: int) -> TensorMeta:
    return meta if reduction == NONE else TensorMeta((), meta.dtype, meta.device)


def reduce_loss(loss: Array, reduction: int, dtype: np.dtype[Any]) -> Array:
    if reduction == MEAN:
        loss = as_array(loss.mean())
    elif reduction == SUM:
        loss = as_array(loss.sum())
    return as_array(loss).astype(dtype, copy=False)


# --- element by element ----------------------------------------------------------------------------------------------


def _fake_pointwise(self: TensorMeta, target: TensorMeta, *args: Any, **_: Any) -> TensorMeta:
    reduction = next((value for value in args if type(value) is int), MEAN)
    return fake_reduced(elementwise(result_type(self, target), self, target), reduction)


def _pointwise(formula: Callable[..., Any]) -> Callable[..., Array]:
    """A kernel ``(self, target, reduction, *parameters)``."""

    def kernel(self: Array, target: Array, reduction: int = MEAN, *parameters: Any, **named: Any) -> Array:
        a, b = pair(self, target)
        wide = compute_type(a.dtype)
        loss = as_array(formula(a.astype(wide, copy=False), b.astype(wide, copy=False), *parameters, **named))
        return reduce_loss(loss, reduction, a.dtype)

    return kernel


def _smooth_l1(a: Array, b: Array, beta: float = 1.0) -> Any:
    distance = np.abs(a - b)
    if beta == 0:
        return distance
    return np.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


def _huber(a: Array, b: Array, delta: float = 1.0) -> Any:
    distance = np.abs(a - b)
    return np.where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))


def _kl_div(a: Array, b: Array, *, log_target: bool = False) -> Any:
    if log_target:
        return np.exp(b) * (b - a)
    from scipy.special import xlogy

    return xlogy(b, b) - b * a


def _fake_bce(
    self: TensorMeta, target: TensorMeta, weight: TensorMeta | None = None, *rest: Any
) -> TensorMeta:
    if self.ndim != target.ndim or any(differ(a, b) for a, b in zip(self.shape, target.shape, strict=True)):
        raise ValueError(
            f"Using a target size ({list(target.shape)}) that is different to the input size ({list(self.shape)}) is deprecated. "
            "Please ensure they have the same size."
        )
    return fake_reduced(elementwise(self.dtype, self), rest[-1] if rest else MEAN)


def binary_cross_entropy(
    self: Array, target: Array, weight: Array | None = None, reduction: int = MEAN
) -> Array:
    """Logarithms are cut off at -100, as in PyTorch."""
    wide = self.astype(compute_type(self.dtype), copy=False)
    loss = -(target * np.maximum(np.log(wide), -100) + (1 - target) * np.maximum(np.log1p(-wide), -100))
    return reduce_loss(as_array(loss if weight is None else loss * weight), reduction, self.dtype)


def binary_cross_entropy_with_logits(
    self: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction: int = MEAN,
) -> Array:
    wide = self.astype(compute_type(self.dtype), copy=False)
    softplus = np.maximum(-wide, 0) + np.log1p(np.exp(-np.abs(wide)))
    factor: Any = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    loss = (1 - target) * wide + factor * softplus
    return reduce_loss(as_array(loss if weight is None else loss * weight), reduction, self.dtype)


# --- classes ---------------------------------------------------------------------------------------------------------


def _check_classes(self: TensorMeta, target: TensorMeta) -> None:
    channels = 0 if self.ndim == 1 else 1
    expected = (*self.shape[:channels], *self.shape[channels + 1 :])
    if target.ndim != len(expected):
        raise RuntimeError(f"Expected target size {list(expected)}, got {list(target.shape)}")
    for a, b in zip(expected, target.shape, strict=True):
        if differ(a, b):
            raise ValueError(f"Expected input batch_size ({a}) to match target batch_size ({b}).")


def fake_nll_loss(
    self: TensorMeta,
    target: TensorMeta,
    weight: TensorMeta | None = None,
    reduction: int = MEAN,
    ignore_index: Size = -100,
) -> TensorMeta:
    _check_classes(self, target)
    return fake_reduced(TensorMeta(target.shape, self.dtype, self.device), reduction)


def nll_loss(
    self: Array, target: Array, weight: Array | None = None, reduction: int = MEAN, ignore_index: int = -100
) -> Array:
    """Minus the score of the target class; ignored targets count for nothing."""
    axis = 0 if self.ndim == 1 else 1
    kept = target != ignore_index
    chosen = np.where(kept, target, 0)
    if chosen.size and (chosen.min() < 0 or chosen.max() >= self.shape[axis]):
        raise IndexError(f"Target {chosen.max()} is out of bounds.")
    picked = np.squeeze(np.take_along_axis(self, np.expand_dims(chosen, axis), axis=axis), axis=axis)
    scale = np.where(kept, 1 if weight is None else weight[chosen], 0).astype(self.dtype)
    loss: Any = as_array(-picked * scale)
    if reduction == MEAN:
        return as_array(loss.sum() / scale.sum()).astype(self.dtype, copy=False)
    return reduce_loss(loss, reduction, self.dtype)


def fake_cross_entropy(
    self: TensorMeta,
    target: TensorMeta,
    weight: TensorMeta | None = None,
    reduction: int = MEAN,
    ignore_index: Size = -100,
    label_smoothing: float = 0.0,
) -> TensorMeta:
    if self.dtype.category < Category.FLOAT:
        raise RuntimeError(f"cross_entropy_loss is not implemented for '{self.dtype}'")
    if target.dtype.is_floating_point:
        channels = 0 if self.ndim == 1 else 1
        broadcast_shapes(self.shape, target.shape)
        shape = (*self.shape[:channels], *self.shape[channels + 1 :])
        return fake_reduced(TensorMeta(shape, self.dtype, self.device), reduction)
    return fake_nll_loss(self, target, weight, reduction)


def cross_entropy(
    self: Array,
    target: Array,
    weight: Array | None = None,
    reduction: int = MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    axis = 0 if self.ndim == 1 else 1
    scores = log_softmax(self, axis)
    classes = self.shape[axis]
    shape = [-1 if one == axis else 1 for one in range(self.ndim)]
    if target.dtype.kind == "f":
        return _soft_cross_entropy(scores, target, weight, reduction, label_smoothing, axis)
    loss = nll_loss(scores, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    kept = target != ignore_index
    weighted = scores if weight is None else scores * weight.reshape(shape)
    smooth: Any = as_array(np.where(kept, -weighted.sum(axis=axis), 0))
    if reduction == MEAN:
        scale = kept.sum() if weight is None else np.where(kept, weight[np.where(kept, target, 0)], 0).sum()
        smooth = as_array(smooth.sum() / scale)
    elif reduction == SUM:
        smooth = as_array(smooth.sum())
    return as_array((1 - label_smoothing) * loss + smooth * (label_smoothing / classes)).astype(
        self.dtype, copy=False
    )


def _soft_cross_entropy(
    scores: Array, target: Array, weight: Array | None, reduction: int, label_smoothing: float, axis: int
) -> Array:
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / scores.shape[axis]
    shape = [-1 if one == axis else 1 for one in range(scores.ndim)]
    weighted = scores if weight is None else scores * weight.reshape(shape)
    loss = as_array(-(weighted * target).sum(axis=axis))
    if reduction == MEAN:
        return as_array(loss.sum() / (scores.size / scores.shape[axis])).astype(scores.dtype, copy=False)
    return reduce_loss(loss, reduction, scores.dtype)


# --- distances -------------------------------------------------------------------------------------------------------


def fake_cosine_similarity(x1: TensorMeta, x2: TensorMeta, dim: int = 1, eps: float = 1e-08) -> TensorMeta:
    shape = broadcast_shapes(x1.shape, x2.shape)
    return reduced(
        TensorMeta(shape, result_type(x1, x2), x1.device),
        wrap_dim(dim, len(shape)),
        False,
        result_type(x1, x2),
    )


def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-08) -> Array:
    a, b = np.broadcast_arrays(*pair(x1, x2))
    first = a / np.maximum(np.sqrt(np.sum(a * a, axis=dim, keepdims=True)), a.dtype.type(eps))
    second = b / np.maximum(np.sqrt(np.sum(b * b, axis=dim, keepdims=True)), b.dtype.type(eps))
    return as_array(np.sum(first * second, axis=dim))


def fake_pairwise_distance(
    x1: TensorMeta, x2: TensorMeta, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> TensorMeta:
    shape = broadcast_shapes(x1.shape, x2.shape)
    dtype = floating(result_type(x1, x2))
    return reduced(TensorMeta(shape, dtype, x1.device), len(shape) - 1, keepdim, dtype)


def pairwise_distance(
    x1: Array, x2: Array, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Array:
    a, b = map(to_float, pair(x1, x2))
    return vector_norm(as_array(a - b + a.dtype.type(eps)), p, [-1], keepdim)


def fake_cdist(x1: TensorMeta, x2: TensorMeta, p: float = 2.0, compute_mode: int | None = None) -> TensorMeta:
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    if differ(x1.shape[-1], x2.shape[-1]):
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    return TensorMeta((*batch, x1.shape[-2], x2.shape[-2]), result_type(x1, x2), x1.device)


def cdist(x1: Array, x2: Array, p: float = 2.0, compute_mode: int | None = None) -> Array:
    return vector_norm(as_array(x1[..., :, None, :] - x2[..., None, :, :]), p, [-1])


def _margin_ranking(
    input1: Array, input2: Array, target: Array, margin: float = 0.0, reduction: int = MEAN
) -> Array:
    first, second, sign = map(to_float, (input1, input2, target))
    loss = as_array(np.maximum(-sign * (first - second) + first.dtype.type(margin), 0))
    return reduce_loss(loss, reduction, loss.dtype)


def _fake_margin_ranking(
    input1: TensorMeta, input2: TensorMeta, target: TensorMeta, margin: float = 0.0, reduction: int = MEAN
) -> TensorMeta:
    dtype = floating(result_type(input1, input2, target))  # the margin is a float
    return fake_reduced(elementwise(dtype, input1, input2, target), reduction)


def _declare() -> None:
    pointwise: Sequence[tuple[str, str, Any]] = (
        ("mse_loss", "int reduction=1", lambda a, b: np.square(a - b)),
        ("l1_loss", "int reduction=1", lambda a, b: np.abs(a - b)),
        ("smooth_l1_loss", "int reduction=1, float beta=1.", _smooth_l1),
        ("huber_loss", "int reduction=1, float delta=1.", _huber),
        ("soft_margin_loss", "int reduction=1", lambda a, b: np.log1p(np.exp(-a * b))),
        ("kl_div", "int reduction=1, *, bool log_target=False", _kl_div),
    )
    for name, arguments, formula in pointwise:
        register(
            f"aten::{name}(Tensor self, Tensor target, {arguments}) -> Tensor",
            fake=_fake_pointwise,
            kernel=_pointwise(formula),
        )
    head = "Tensor self, Tensor target, Tensor? weight=None,"
    register(
        f"aten::binary_cross_entropy({head} int reduction=1) -> Tensor",
        fake=_fake_bce,
        kernel=binary_cross_entropy,
    )
    register(
        f"aten::binary_cross_entropy_with_logits({head} Tensor? pos_weight=None, int reduction=1) -> Tensor",
        fake=_fake_bce,
        kernel=binary_cross_entropy_with_logits,
    )
    for name in ("nll_loss", "nll_loss_nd"):
        register(
            f"aten::{name}({head} int reduction=1, SymInt ignore_index=-100) -> Tensor",
            fake=fake_nll_loss,
            kernel=nll_loss,
        )
    register(
        f"aten::cross_entropy_loss({head} int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
        fake=fake_cross_entropy,
        kernel=cross_entropy,
    )
    register(
        "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
        fake=fake_cosine_similarity,
        kernel=cosine_similarity,
    )
    register(
        "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
        fake=fake_pairwise_distance,
        kernel=pairwise_distance,
    )
    register(
        "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", fake=fake_cdist, kernel=cdist
    )  # fmt: skip
    register(
        "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
        fake=_fake_margin_ranking,
        kernel=_margin_ranking,
    )


_declare()
