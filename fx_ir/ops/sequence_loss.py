"""Losses whose targets are sequences: connectionist temporal classification, and margins between sets of classes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from fx_ir.dtypes import Category
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.loss import MEAN, NONE, fake_reduced, reduce_loss
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import differ

Lengths = Any  # a tensor, or a list of ints


def _count(lengths: Lengths) -> Any:
    return lengths.numel() if isinstance(lengths, TensorMeta) else len(lengths)


def _fake_ctc(
    log_probs: TensorMeta,
    targets: TensorMeta,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> TensorMeta:
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(f"ctc_loss expects log_probs with 2 or 3 dimensions, got {log_probs.ndim}")
    if targets.dtype.category >= Category.FLOAT:
        raise RuntimeError("targets must be integral")
    rows = log_probs.shape[1] if log_probs.ndim == 3 else 1
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        count = _count(lengths)
        if differ(count, rows):
            raise RuntimeError(f"{name} must be of size batch_size")
    classes = log_probs.shape[-1]
    if blank < 0 or blank >= classes:
        raise RuntimeError("blank must be in label range")
    shape = (rows,) if log_probs.ndim == 3 and reduction == NONE else ()
    return TensorMeta(shape, log_probs.dtype, log_probs.device)


def _minus_log_likelihood(scores: Array, labels: Array, blank: int) -> Any:
    """Minus the logarithm of the probability of all alignments of ``labels`` to the rows of ``scores`` (steps, classes).

    The usual recursion: between labels (and before and after them) may be blanks, and must be one between equal labels.
    """
    path = np.full(2 * len(labels) + 1, blank)
    path[1::2] = labels
    jumps = np.zeros(len(path), bool)
    jumps[2:] = (path[2:] != blank) & (path[2:] != path[:-2])
    reached = np.full(len(path), -np.inf)
    if len(scores) == 0:
        return 0.0 if len(labels) == 0 else np.inf
    reached[:2] = scores[0, path[:2]]
    for row in scores[1:]:
        before = np.concatenate([[-np.inf], reached[:-1]])
        skipped = np.where(jumps, np.concatenate([[-np.inf, -np.inf], reached[:-2]])[: len(path)], -np.inf)
        reached = np.logaddexp(np.logaddexp(reached, before), skipped) + row[path]
    return -reduce(np.logaddexp, reached[-2:])


def ctc_loss(
    log_probs: Array,
    targets: Array,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: int = MEAN,
    zero_infinity: bool = False,
) -> Array:
    """One loss a row of the batch; the mean is of losses over target lengths (at least 1). RuntimeError for lengths out of range."""
    batched = log_probs.ndim == 3
    scores = (log_probs if batched else log_probs[:, None]).astype(np.float64)
    steps, wanted = (np.asarray(lengths).reshape(-1) for lengths in (input_lengths, target_lengths))
    if steps.size and (steps.min() < 0 or steps.max() > scores.shape[0]):
        raise RuntimeError(
            f"Expected input_lengths to have value at most {scores.shape[0]}, but got value {steps.max()}"
        )
    width = targets.shape[-1] if targets.ndim == 2 else targets.size - wanted[:-1].sum()
    if wanted.size and (
        wanted.min() < 0 or wanted[-1] > width or (targets.ndim == 2 and wanted.max() > width)
    ):
        raise RuntimeError(
            f"Expected tensor to have size at least {wanted.max()} at dimension 1, but got size {width}"
        )
    starts = np.cumsum(wanted) - wanted
    losses = np.zeros(len(steps))
    for row, (length, start) in enumerate(zip(wanted, starts, strict=True)):
        labels = targets[row, :length] if targets.ndim == 2 else targets[start : start + length]
        losses[row] = _minus_log_likelihood(scores[: steps[row], row], labels, blank)
    if zero_infinity:
        losses = np.where(np.isinf(losses), 0, losses)
    if reduction == MEAN:
        losses = losses / np.maximum(wanted, 1)
    return reduce_loss(
        as_array(losses if batched or reduction != NONE else losses[0]), reduction, log_probs.dtype
    )


def _fake_multilabel_margin(self: TensorMeta, target: TensorMeta, reduction: int = MEAN) -> TensorMeta:
    if self.ndim > 2:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}")  # fmt: skip
    if target.ndim != self.ndim or any(differ(a, b) for a, b in zip(self.shape, target.shape, strict=True)):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}"
        )
    rows: Sequence[Any] = self.shape[:-1] if self.ndim == 2 else ()
    return fake_reduced(TensorMeta(tuple(rows), self.dtype, self.device), reduction)


def multilabel_margin_loss(self: Array, target: Array, reduction: int = MEAN) -> Array:
    """By how much other classes come nearer than 1 to the scores of the targets (those before the first negative one)."""
    rows, wanted = np.atleast_2d(self), np.atleast_2d(target)
    if wanted.size and wanted.max() >= rows.shape[1]:
        raise RuntimeError("target out of range")
    losses = np.zeros(len(rows), self.dtype)
    for row, (scores, classes) in enumerate(zip(rows, wanted, strict=True)):
        own = classes[: int(np.argmax(classes < 0)) if (classes < 0).any() else None]
        others = np.ones(len(scores), bool)
        others[own] = False
        losses[row] = np.maximum(1 - scores[own][:, None] + scores[others][None], 0).sum() / len(scores)
    return reduce_loss(losses if self.ndim == 2 else as_array(losses[0]), reduction, self.dtype)


def _declare() -> None:
    options = "int blank=0, int reduction=1, bool zero_infinity=False"
    for overload, lengths in (("IntList", "int[]"), ("Tensor", "Tensor")):
        register(
            f"aten::ctc_loss.{overload}(Tensor log_probs, Tensor targets, {lengths} input_lengths, "
            f"{lengths} target_lengths, {options}) -> Tensor",
            fake=_fake_ctc,
            kernel=ctc_loss,
        )
    register(
        "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
        fake=_fake_multilabel_margin,
        kernel=multilabel_margin_loss,
    )


_declare()
