"""Operators that ATen keeps whole though they are made of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import CPU, Device, DType, get_default_dtype, result_type
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, pair, to_float
from fx_ir.ops.batch_norm import fake_group_norm, group_norm
from fx_ir.ops.indexing import fake_index, index
from fx_ir.ops.joining import cat, fake_cat, fake_flip, flip
from fx_ir.ops.loss import (
    MEAN,
    cosine_similarity,
    fake_pairwise_distance,
    fake_reduced,
    floating,
    pairwise_distance,
    reduce_loss,
)
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.reduction import axes, reduced
from fx_ir.ops.registry import register
from fx_ir.ops.reshape import SHAPE_RULE, reshaped
from fx_ir.ops.shapes import broadcast_shapes, elementwise, wrap_dims
from fx_ir.ops.statistics import vector_norm

# --- at least so many dimensions -------------------------------------------------------------------------------------


def _lifted_shape(shape: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """Ones in front, but for the third dimension, which comes last."""
    if rank == 3 and len(shape) == 1:
        return (1, shape[0], 1)
    if rank == 3 and len(shape) == 2:
        return (*shape, 1)
    return (1,) * (rank - len(shape)) + shape


def _declare_at_least(rank: int) -> None:
    def fake(self: TensorMeta) -> TensorMeta:
        return reshaped(self, _lifted_shape(self.shape, rank))

    def kernel(self: Array) -> Array:
        return self.reshape(_lifted_shape(self.shape, rank))

    # Without an alias in its schema, but PyTorch gives a view: only a size of 1 is added.
    register(
        f"aten::atleast_{rank}d(Tensor self) -> Tensor",
        fake=fake,
        kernel=kernel,
        view=SHAPE_RULE,
        maybe_view=lambda result, self: True,
    )


def _deep(tensor: Any) -> Any:
    shape = _lifted_shape(tuple(tensor.shape), 3)
    return reshaped(tensor, shape) if isinstance(tensor, TensorMeta) else tensor.reshape(shape)


# --- losses ----------------------------------------------------------------------------------------------------------


def _fake_triplet(
    anchor: TensorMeta,
    positive: TensorMeta,
    negative: TensorMeta,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = MEAN,
) -> TensorMeta:
    distances = [fake_pairwise_distance(anchor, other, p, eps) for other in (positive, negative)]
    if swap:
        distances.append(fake_pairwise_distance(positive, negative, p, eps))
    return fake_reduced(elementwise(result_type(*distances), *distances), reduction)


def _triplet(
    anchor: Array,
    positive: Array,
    negative: Array,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = MEAN,
) -> Array:
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = as_array(np.minimum(far, pairwise_distance(positive, negative, p, eps)))
    loss = as_array(np.maximum(near.dtype.type(margin) + near - far, 0))
    return reduce_loss(loss, reduction, loss.dtype)


def _fake_hinge(
    self: TensorMeta, target: TensorMeta, margin: float = 1.0, reduction: int = MEAN
) -> TensorMeta:
    return fake_reduced(elementwise(self.dtype, self, target), reduction)


def _hinge(self: Array, target: Array, margin: float = 1.0, reduction: int = MEAN) -> Array:
    apart = np.where(target != 1, np.maximum(margin - self, 0), 0)
    together = np.where(target != -1, self, 0)
    return reduce_loss(as_array(apart + together), reduction, self.dtype)


def _fake_cosine_loss(
    input1: TensorMeta, input2: TensorMeta, target: TensorMeta, margin: float = 0.0, reduction: int = MEAN
) -> TensorMeta:
    return fake_reduced(TensorMeta(target.shape, floating(input1.dtype), input1.device), reduction)


def _cosine_loss(
    input1: Array, input2: Array, target: Array, margin: float = 0.0, reduction: int = MEAN
) -> Array:
    if input1.dtype.kind in "iub":
        input1, input2 = (each.astype(get_default_dtype().numpy) for each in (input1, input2))
    similarity = cosine_similarity(input1, input2, input1.ndim - 1)
    loss = np.where(target == 1, 1 - similarity, np.maximum(similarity - margin, 0))
    return reduce_loss(as_array(loss), reduction, input1.dtype)


def _fake_poisson(
    input: TensorMeta, target: TensorMeta, log_input: bool, full: bool, eps: float, reduction: int
) -> TensorMeta:
    first = input.like(dtype=floating(input.dtype))
    return fake_reduced(elementwise(result_type(first, target), input, target), reduction)


def _poisson(input: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: int) -> Array:
    """Minus the log-likelihood of a Poisson distribution; ``full`` adds Stirling's term where the target is above 1."""
    a, b = pair(to_float(input), target)
    loss = np.exp(a) - b * a if log_input else a - b * np.log(a + eps)
    if full:
        loss = loss + np.where(b > 1, b * np.log(b) - b + 0.5 * np.log(2 * np.pi * b), 0)
    return reduce_loss(as_array(loss), reduction, a.dtype)


def _fake_multi_margin(
    self: TensorMeta,
    target: TensorMeta,
    p: Any = 1,
    margin: Any = 1,
    weight: TensorMeta | None = None,
    reduction: int = MEAN,
) -> TensorMeta:
    if self.ndim > 2:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}")  # fmt: skip
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    if self.ndim == 2 and target.shape[0] != self.shape[0]:
        raise RuntimeError(f"inconsistent target size, expected {self.shape[0]} but got {list(target.shape)}")
    return fake_reduced(TensorMeta(target.shape, self.dtype, self.device), reduction)


def _multi_margin(
    self: Array,
    target: Array,
    p: Any = 1,
    margin: Any = 1,
    weight: Array | None = None,
    reduction: int = MEAN,
) -> Array:
    """By how much other classes come nearer to the target's score than the margin, over the number of classes."""
    rows, classes = np.atleast_2d(self), target.reshape(-1)
    if classes.size and (classes.min() < 0 or classes.max() >= rows.shape[1]):
        raise RuntimeError("target out of range")
    own = np.take_along_axis(rows, classes[:, None], axis=1)
    gap = np.maximum(margin - own + rows, 0) ** p
    if weight is not None:
        gap = gap * weight[classes][:, None]
    np.put_along_axis(gap, classes[:, None], 0, axis=1)
    return reduce_loss((gap.sum(axis=1) / rows.shape[1]).reshape(target.shape), reduction, self.dtype)


# --- the rest --------------------------------------------------------------------------------------------------------


def _fake_native_group_norm(
    input: TensorMeta, weight: Any, bias: Any, N: Size, C: Size, HxW: Size, group: int, eps: float
) -> tuple[TensorMeta, ...]:
    result = fake_group_norm(input, group, weight, bias, eps)
    statistics = [TensorMeta((N, group), input.dtype, input.device) for _ in range(2)]
    return (result, *statistics)


def _native_group_norm(
    input: Array, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Array, Array, Array]:
    groups = input.reshape(N, group, -1)
    spread = 1 / np.sqrt(groups.var(axis=2) + eps)
    mean = as_array(groups.mean(axis=2)).astype(input.dtype, copy=False)
    return group_norm(input, group, weight, bias, eps), mean, as_array(spread).astype(input.dtype, copy=False)


def _fake_window(
    window_length: int, *rest: Any, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    return TensorMeta((window_length,), get_default_dtype() if dtype is None else dtype, device or CPU)


def _hann(window_length: int, periodic: bool = True, *, dtype: DType | None = None, **_: Any) -> Array:
    points = window_length + 1 if periodic and window_length > 1 else window_length
    return np.hanning(points)[:window_length].astype((get_default_dtype() if dtype is None else dtype).numpy)


def _fake_shift(self: TensorMeta, dim: Sequence[int] | None = None) -> TensorMeta:
    wrap_dims(dim, self.ndim)
    return TensorMeta(self.shape, self.dtype, self.device)


def _of_shift(shift: Any) -> Callable[..., Array]:
    return lambda self, dim=None: np.ascontiguousarray(shift(self, axes(self, dim)))


def _fake_dist(self: TensorMeta, other: TensorMeta, p: Any = 2) -> TensorMeta:
    check_same_dtype(self, other)
    broadcast_shapes(self.shape, other.shape)
    return reduced(self, None, False, self.dtype)


def _dist(self: Array, other: Array, p: Any = 2) -> Array:
    return vector_norm(as_array(self - other), p)


def _fake_bilinear(
    input1: TensorMeta, input2: TensorMeta, weight: TensorMeta, bias: TensorMeta | None = None
) -> TensorMeta:
    check_same_dtype(input1, input2, weight, bias)
    lead = broadcast_shapes(input1.shape[:-1], input2.shape[:-1])
    return TensorMeta((*lead, weight.shape[0]), input1.dtype, input1.device)


def _bilinear(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    result = np.einsum("...i,oij,...j->...o", input1, weight, input2, optimize=True)
    return np.ascontiguousarray(result if bias is None else result + bias)


def _declare() -> None:
    for rank in (1, 2, 3):
        _declare_at_least(rank)
    register(
        "aten::dstack(Tensor[] tensors) -> Tensor",
        fake=lambda tensors: fake_cat([_deep(tensor) for tensor in tensors], 2),
        kernel=lambda tensors: cat([_deep(tensor) for tensor in tensors], 2),
    )
    for name, dim in (("fliplr", 1), ("flipud", 0)):
        register(
            f"aten::{name}(Tensor self) -> Tensor",
            fake=lambda self, dim=dim: fake_flip(self, [dim]),
            kernel=lambda self, dim=dim: flip(self, [dim]),
        )
    register(
        "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", fake=fake_index, kernel=index
    )
    register(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., "
        "float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
        fake=_fake_triplet,
        kernel=_triplet,
    )
    register(
        "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
        fake=_fake_hinge,
        kernel=_hinge,
    )
    register(
        "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
        fake=_fake_cosine_loss,
        kernel=_cosine_loss,
    )
    register(
        "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
        fake=_fake_poisson,
        kernel=_poisson,
    )
    register(
        "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
        "int reduction=1) -> Tensor",
        fake=_fake_multi_margin,
        kernel=_multi_margin,
    )
    _declare_rest()


def _declare_rest() -> None:
    register(
        "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
        "float eps) -> (Tensor, Tensor, Tensor)",
        fake=_fake_native_group_norm,
        kernel=_native_group_norm,
    )
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    register(f"aten::hann_window(int window_length, *, {options}) -> Tensor", fake=_fake_window, kernel=_hann)
    register(
        f"aten::hann_window.periodic(int window_length, bool periodic, *, {options}) -> Tensor",
        fake=_fake_window,
        kernel=_hann,
    )
    for name, shift in (("fft_fftshift", np.fft.fftshift), ("fft_ifftshift", np.fft.ifftshift)):
        register(
            f"aten::{name}(Tensor self, int[1]? dim=None) -> Tensor",
            fake=_fake_shift,
            kernel=_of_shift(shift),
        )
    register("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", fake=_fake_dist, kernel=_dist)
    register(
        "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
        fake=_fake_bilinear,
        kernel=_bilinear,
    )


_declare()
