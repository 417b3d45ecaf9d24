"""Padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, describe, laid_out
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import channels_last_strides, fails, suggests_channels_last


def _pairs(pad: Sequence[Size], ndim: int) -> list[tuple[Size, Size]]:
    """(before, after) of every dimension; ``pad`` begins with the last one."""
    if len(pad) % 2 or len(pad) > 2 * ndim:
        raise RuntimeError(
            f"Length of pad should be even and no more than twice the number of dimensions, got {len(pad)}"
        )
    pairs: list[tuple[Size, Size]] = [(0, 0)] * ndim
    for index in range(len(pad) // 2):
        pairs[ndim - 1 - index] = (pad[2 * index], pad[2 * index + 1])
    return pairs


def _is_zero(size: Size) -> bool:
    return type(size) is int and size == 0


def fake_constant_pad(self: TensorMeta, pad: Sequence[Size], value: Any = 0) -> TensorMeta:
    shape: list[Size] = []
    for size, (before, after) in zip(self.shape, _pairs(pad, self.ndim), strict=True):
        if _is_zero(before) and _is_zero(after):
            shape.append(size)
            continue
        total = size + before + after
        if fails(total < 0, "what is left by padding is not negative"):
            raise RuntimeError(
                f"The input size {size}, plus negative padding {before} and {after} resulted in a negative output size"
            )
        shape.append(total)
    result = tuple(shape)
    if self.is_plain:
        return TensorMeta(result, self.dtype, self.device)
    return TensorMeta(
        result,
        self.dtype,
        self.device,
        lambda: channels_last_strides(result) if suggests_channels_last(self) else None,
    )


def constant_pad(self: Array, pad: Sequence[int], value: Any = 0) -> Array:
    pairs = _pairs(pad, self.ndim)
    shape = [size + before + after for size, (before, after) in zip(self.shape, pairs, strict=True)]
    result = np.full(shape, np.asarray(value).astype(self.dtype), self.dtype)
    target, source = [], []
    for size, (before, after) in zip(self.shape, pairs, strict=True):
        low, high = max(-before, 0), size - max(-after, 0)
        source.append(slice(low, high))
        target.append(slice(max(before, 0), max(before, 0) + high - low))
    result[tuple(target)] = self[tuple(source)]
    if not self.flags.c_contiguous and suggests_channels_last(describe(self)):
        return laid_out(result, channels_last_strides(result.shape))
    return result


_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def fake_pad(
    self: TensorMeta, pad: Sequence[Size], mode: str = "constant", value: float | None = None
) -> TensorMeta:
    if mode == "constant":
        return fake_constant_pad(self, pad, 0 if value is None else value)
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    for size, (before, after) in zip(self.shape, _pairs(pad, self.ndim), strict=True):
        for by in (before, after):
            if mode == "reflect" and not _is_zero(by) and by >= size:
                raise RuntimeError(
                    "Padding size should be less than the corresponding input dimension, but got: padding "
                    f"({before}, {after}) at a dimension of input {list(self.shape)}"
                )
            if mode == "circular" and not _is_zero(by) and by > size:
                raise RuntimeError("Padding value causes wrapping around more than once.")
    result = fake_constant_pad(self, pad)
    return result if mode != "circular" else TensorMeta(result.shape, self.dtype, self.device)


def pad_(self: Array, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Array:
    if mode == "constant":
        return constant_pad(self, pad, 0 if value is None else value)
    pairs = _pairs(pad, self.ndim)
    grown = [(max(before, 0), max(after, 0)) for before, after in pairs]
    result = np.pad(self, grown, mode=_MODES[mode])  # type: ignore[call-overload]
    cut = tuple(
        [
            slice(max(-before, 0), size - max(-after, 0))
            for size, (before, after) in zip(result.shape, pairs, strict=True)
        ]
    )
    return as_array(result[cut])


def _mode(mode: str) -> tuple[Callable[..., TensorMeta], Callable[..., Array]]:
    return lambda self, padding: fake_pad(self, padding, mode), lambda self, padding: pad_(
        self, padding, mode
    )


def _declare() -> None:
    register(
        'aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
        fake=fake_pad,
        kernel=pad_,
    )
    register(
        "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
        fake=fake_constant_pad,
        kernel=constant_pad,
    )
    for name, mode in (("reflection", "reflect"), ("replication", "replicate")):
        for rank in (1, 2, 3):
            fake, kernel = _mode(mode)
            register(
                f"aten::{name}_pad{rank}d(Tensor self, SymInt[{2 * rank}] padding) -> Tensor",
                fake=fake,
                kernel=kernel,
            )


_declare()
