"""Dropout that keeps mean and variance (Klambauer et al., Self-Normalizing Neural Networks, 2017), and random leaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fx_ir import rng
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.attention import fake_dropout
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.views import WHOLE_RULE

_SATURATED: Final = -1.7580993408473766  # what SELU gives for large negative inputs: -scale * alpha


def _is_idle(result: TensorMeta, input: TensorMeta, p: float, train: bool) -> bool:
    return not train or p == 0


def _alpha(shape: Callable[[Array], tuple[int, ...]]) -> Callable[[Array, float, bool], Array]:
    def kernel(input: Array, p: float, train: bool) -> Array:
        if not train or p == 0:
            return input
        if p == 1:
            return np.zeros_like(input)
        keep = rng.generator().random(shape(input), np.float32) >= p
        scale = 1 / np.sqrt((_SATURATED**2 * p + 1) * (1 - p))
        shift = np.where(keep, 0, _SATURATED * scale) - _SATURATED * scale * p
        return as_array(input * (keep * scale).astype(input.dtype) + shift.astype(input.dtype))

    return kernel


def fake_rrelu(
    self: TensorMeta, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None
) -> TensorMeta:
    return TensorMeta(self.shape, self.dtype, self.device)


def rrelu(
    self: Array, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, generator: Any = None
) -> Array:
    slope: Any = (lower + upper) / 2
    if training:
        slope = rng.generator(generator).uniform(lower, upper, self.shape)
    return np.ascontiguousarray(np.where(self > 0, self, self * np.asarray(slope, self.dtype)))


for _name, _shape in (
    ("alpha_dropout", lambda input: input.shape),
    ("feature_alpha_dropout", lambda input: (*input.shape[:2], *(1,) * (input.ndim - 2))),
):
    register(
        f"aten::{_name}(Tensor input, float p, bool train) -> Tensor",
        fake=fake_dropout,
        kernel=_alpha(_shape),
        random=True,
        view=WHOLE_RULE,
        maybe_view=_is_idle,
    )
    register_inplace(f"aten::{_name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", f"aten::{_name}")
_BOUNDS: Final = (
    "Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None"
)
register(f"aten::rrelu(Tensor self, {_BOUNDS}) -> Tensor", fake=fake_rrelu, kernel=rrelu, random=True)
register_inplace(f"aten::rrelu_(Tensor(a!) self, {_BOUNDS}) -> Tensor(a!)", "aten::rrelu")
