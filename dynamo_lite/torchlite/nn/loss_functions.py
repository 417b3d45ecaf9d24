"""Losses as functions."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS, NN_FUNCTIONS

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}

_cross_entropy = NN_FUNCTIONS["cross_entropy_loss"]
_nll_loss = NN_FUNCTIONS["nll_loss_nd"]
_mse_loss = NN_FUNCTIONS["mse_loss"]
_l1_loss = NN_FUNCTIONS["l1_loss"]
_smooth_l1_loss = NN_FUNCTIONS["smooth_l1_loss"]
_huber_loss = NN_FUNCTIONS["huber_loss"]
_binary_cross_entropy = NN_FUNCTIONS["binary_cross_entropy"]
_with_logits = NN_FUNCTIONS["binary_cross_entropy_with_logits"]
_kl_div = FUNCTIONS["kl_div"]
_cosine_similarity = FUNCTIONS["cosine_similarity"]
_where = FUNCTIONS["where"]
_broadcast_tensors = FUNCTIONS["broadcast_tensors"]


def chosen_reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """The reduction; what the deprecated ``size_average`` and ``reduce`` say counts where either is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _reduction(name: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    name = chosen_reduction(name, size_average, reduce)
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


def _reduced(loss: Any, reduction: int) -> Any:
    if reduction == 1:
        return loss.mean()
    return loss.sum() if reduction == 2 else loss


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    return _cross_entropy(
        input, target, weight, _reduction(reduction, size_average, reduce), ignore_index, label_smoothing
    )


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    return _nll_loss(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)


def mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    code = _reduction(reduction, size_average, reduce)
    input, target = _broadcast_tensors([input, target])
    if weight is not None:
        return _reduced(weight * (input - target).pow(2), code)
    return _mse_loss(input, target, code)


def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    code = _reduction(reduction, size_average, reduce)
    input, target = _broadcast_tensors([input, target])
    if weight is not None:
        return _reduced(weight * (input - target).abs(), code)
    return _l1_loss(input, target, code)


def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    input, target = _broadcast_tensors([input, target])
    if beta == 0.0:
        return _l1_loss(input, target, _reduction(reduction, size_average, reduce))
    return _smooth_l1_loss(input, target, _reduction(reduction, size_average, reduce), beta)


def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    input, target = _broadcast_tensors([input, target])
    if weight is not None:
        return _reduced(weight * _huber_loss(input, target, 0, delta), _reduction(reduction))
    return _huber_loss(input, target, _reduction(reduction), delta)


def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
            "Please ensure they have the same size."
        )
    return _binary_cross_entropy(input, target, weight, _reduction(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _with_logits(input, target, weight, pos_weight, _reduction(reduction, size_average, reduce))


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    reduction = chosen_reduction(reduction, size_average, reduce)
    if reduction == "batchmean":
        return _kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return _kl_div(input, target, _reduction(reduction), log_target=log_target)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    code = _reduction(reduction, size_average, reduce)
    similarity = _cosine_similarity(input1, input2, -1)
    loss = _where(target == 1, 1 - similarity, (similarity - margin).clamp(min=0))
    return _reduced(loss, code)
