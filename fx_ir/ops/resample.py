"""Padding, resizing and rearranging images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, describe, laid_out
from fx_ir.ops.conv import padded, spread, windows
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import channels_last_strides, formatted_like, suggests_channels_last
from solver.sym import sym_floor

# --- resizing --------------------------------------------------------------------------------------------------------


def _output_sizes(
    input: Any, output_size: Sequence[Size] | None, scale_factors: Sequence[float] | None
) -> list[Size]:
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if output_size is not None:
        return list(output_size)
    assert scale_factors is not None
    return [scaled(size, factor) for size, factor in zip(input.shape[2:], scale_factors, strict=True)]


def scaled(size: Size, factor: float) -> Size:
    """floor(size * factor), symbolic for a symbolic size."""
    if type(size) is int:
        return math.floor(size * factor)
    if float(factor).is_integer():
        return size * int(factor)
    return sym_floor(size * factor)


def _fake_resized(input: TensorMeta, sizes: Sequence[Size]) -> TensorMeta:
    if input.ndim != len(sizes) + 2:
        raise RuntimeError(f"It is expected input_size equals to {len(sizes) + 2}, but got size {input.ndim}")
    shape = (*input.shape[:2], *sizes)
    if input.is_plain or len(sizes) == 1:
        return TensorMeta(shape, input.dtype, input.device)
    return TensorMeta(
        shape,
        input.dtype,
        input.device,
        lambda: channels_last_strides(shape) if suggests_channels_last(input) else None,
    )


def _ratio(size: int, count: int, align_corners: bool, scale: float | None) -> float:
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return 1.0 / scale if scale is not None and scale > 0 else size / count


def _nearest_index(size: int, count: int, scale: float | None) -> Array:
    ratio = np.float32(_ratio(size, count, False, scale))
    return as_array(
        np.minimum(np.floor(np.arange(count, dtype=np.float32) * ratio).astype(np.int64), size - 1)
    )


def _source(size: int, count: int, align_corners: bool, scale: float | None) -> Array:
    """Where in the input each output cell looks."""
    ratio = np.float32(_ratio(size, count, align_corners, scale))
    cells = np.arange(count, dtype=np.float32)
    return as_array(cells * ratio if align_corners else (cells + np.float32(0.5)) * ratio - np.float32(0.5))


def _linear_taps(
    size: int, count: int, align_corners: bool, scale: float | None
) -> list[tuple[Array, Array]]:
    place = np.maximum(_source(size, count, align_corners, scale), 0)
    low = np.minimum(np.floor(place).astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    weight = np.clip(place - low, 0, 1)
    return [(low, 1 - weight), (high, weight)]


def _cubic_taps(size: int, count: int, align_corners: bool, scale: float | None) -> list[tuple[Array, Array]]:
    """Keys' cubic with a = -0.75 over four neighbours, the border repeated."""
    place = _source(size, count, align_corners, scale)
    base = np.floor(place)
    part = (place - base).astype(np.float64)
    a = -0.75

    def inner(x: Array) -> Array:
        return as_array(((a + 2) * x - (a + 3)) * x * x + 1)

    def outer(x: Array) -> Array:
        return as_array(((a * x - 5 * a) * x + 8 * a) * x - 4 * a)

    weights = [outer(part + 1), inner(part), inner(1 - part), outer(2 - part)]
    index = base.astype(np.int64)
    return [
        (np.clip(index + shift, 0, size - 1), weight)
        for shift, weight in zip((-1, 0, 1, 2), weights, strict=True)
    ]


def _smooth_taps(filter: Callable[[Array], Array], width: int) -> Taps:
    """Taps of an antialiased resizing: the filter, ``width`` cells wide, grows with the ratio of a reduction."""

    def taps(size: int, count: int, align_corners: bool, scale: float | None) -> list[tuple[Array, Array]]:
        ratio = _ratio(size, count, align_corners, scale)
        stretch = max(ratio, 1.0)
        centre = (np.arange(count) + 0.5) * ratio
        first = np.maximum((centre - width / 2 * stretch + 0.5).astype(np.int64), 0)
        last = np.minimum((centre + width / 2 * stretch + 0.5).astype(np.int64), size)
        index = first[:, None] + np.arange(max(int((last - first).max(initial=0)), 1))
        weight = np.where(index < last[:, None], filter((index - centre[:, None] + 0.5) / stretch), 0)
        weight = weight / weight.sum(axis=1, keepdims=True)
        return [(np.minimum(index[:, tap], size - 1), weight[:, tap]) for tap in range(index.shape[1])]

    return taps


def _triangle(x: Array) -> Array:
    return as_array(np.maximum(1 - np.abs(x), 0))


def _keys(x: Array) -> Array:
    """Keys' cubic with a = -0.5."""
    d = np.abs(x)
    return as_array(
        np.where(d < 1, (1.5 * d - 2.5) * d * d + 1, np.where(d < 2, ((2.5 - 0.5 * d) * d - 4) * d + 2, 0))
    )


Taps = Callable[[int, int, bool, float | None], list[tuple[Array, Array]]]


def _interpolate(
    input: Array, sizes: Sequence[int], align_corners: bool, scales: Sequence[float | None], taps: Taps
) -> Array:
    """A weighted sum of neighbours along one axis after another."""
    dtype = input.dtype
    result = input.astype(compute_type(dtype), copy=False)
    for dim, (count, scale) in enumerate(zip(sizes, scales, strict=True)):
        axis = 2 + dim
        shape = [-1 if one == axis else 1 for one in range(input.ndim)]
        parts = [
            np.take(result, index, axis=axis) * weight.astype(result.dtype).reshape(shape)
            for index, weight in taps(input.shape[axis], count, align_corners, scale)
        ]
        result = parts[0]
        for part in parts[1:]:
            result = result + part
    return _like_input(as_array(result).astype(dtype, copy=False), input)


def _like_input(result: Array, input: Array) -> Array:
    if input.flags.c_contiguous or result.ndim < 4 or not suggests_channels_last(describe(input)):
        return np.ascontiguousarray(result)
    return laid_out(result, channels_last_strides(result.shape))


def _exact_index(size: int, count: int, scale: float | None) -> Array:
    """The cell whose centre is nearest."""
    ratio = np.float32(_ratio(size, count, False, scale))
    centres = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * ratio
    return as_array(np.minimum(np.floor(centres).astype(np.int64), size - 1))


def nearest(
    input: Array,
    sizes: Sequence[int],
    scales: Sequence[float | None],
    cell: Callable[[int, int, float | None], Array] = _nearest_index,
) -> Array:
    result = input
    for dim, (count, scale) in enumerate(zip(sizes, scales, strict=True)):
        result = np.take(result, cell(input.shape[2 + dim], count, scale), axis=2 + dim)
    return _like_input(result, input)


def _declare_resizing(name: str, rank: int, taps: Taps | None) -> None:
    """The overload of sizes and the one of sizes or factors."""
    corners = "" if taps is None else "bool align_corners, "
    scales = (
        "float? scales=None"
        if rank == 1
        else ", ".join(f"float? scales_{axis}=None" for axis in "dhw"[3 - rank :])
    )

    def compute(input: Array, sizes: Sequence[int], rest: Sequence[Any]) -> Array:
        if taps is None:
            return nearest(input, sizes, rest, _exact_index if "exact" in name else _nearest_index)
        return _interpolate(input, sizes, rest[0], rest[1:], taps)

    def fake(self: TensorMeta, output_size: Sequence[Size], *rest: Any) -> TensorMeta:
        return _fake_resized(self, output_size)

    def kernel(self: Array, output_size: Sequence[int], *rest: Any) -> Array:
        known = (1 if taps is not None else 0) + rank
        return compute(self, output_size, [*rest, *[None] * (known - len(rest))])

    def fake_vec(input: TensorMeta, output_size: Sequence[Size] | None, *rest: Any) -> TensorMeta:
        return _fake_resized(input, _output_sizes(input, output_size, rest[-1]))

    def kernel_vec(input: Array, output_size: Sequence[int] | None, *rest: Any) -> Array:
        sizes: Any = _output_sizes(input, output_size, rest[-1])
        return compute(input, sizes, [*rest[:-1], *(rest[-1] or [None] * rank)])

    register(
        f"aten::{name}(Tensor self, SymInt[{rank}] output_size, {corners}{scales}) -> Tensor",
        fake=fake,
        kernel=kernel,
    )
    register(
        f"aten::{name}.vec(Tensor input, SymInt[]? output_size, {corners}float[]? scale_factors) -> Tensor",
        fake=fake_vec,
        kernel=kernel_vec,
    )


# --- rearranging -----------------------------------------------------------------------------------------------------


def fake_pixel_shuffle(self: TensorMeta, upscale_factor: int) -> TensorMeta:
    *lead, channels, height, width = self.shape
    square = upscale_factor * upscale_factor
    if channels % square != 0:
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)={channels}"
        )
    shape = (*lead, channels // square, height * upscale_factor, width * upscale_factor)
    return formatted_like(self, shape)


def pixel_shuffle(self: Array, upscale_factor: int) -> Array:
    *lead, channels, height, width = self.shape
    factor = upscale_factor
    split = self.reshape(-1, channels // factor**2, factor, factor, height, width)
    return split.transpose(0, 1, 4, 2, 5, 3).reshape(
        *lead, channels // factor**2, height * factor, width * factor
    )


def fake_pixel_unshuffle(self: TensorMeta, downscale_factor: int) -> TensorMeta:
    *lead, channels, height, width = self.shape
    if height % downscale_factor != 0 or width % downscale_factor != 0:
        raise RuntimeError("pixel_unshuffle expects height and width to be divisible by downscale_factor")
    shape = (*lead, channels * downscale_factor**2, height // downscale_factor, width // downscale_factor)
    return formatted_like(self, shape)


def pixel_unshuffle(self: Array, downscale_factor: int) -> Array:
    *lead, channels, height, width = self.shape
    factor = downscale_factor
    split = self.reshape(-1, channels, height // factor, factor, width // factor, factor)
    return split.transpose(0, 1, 3, 5, 2, 4).reshape(
        *lead, channels * factor**2, height // factor, width // factor
    )


def _fake_channel_shuffle(self: TensorMeta, groups: Size) -> TensorMeta:
    if self.shape[1] % groups != 0:
        raise RuntimeError("Number of channels must be divisible by groups.")
    return formatted_like(self, self.shape)


def channel_shuffle(self: Array, groups: int) -> Array:
    split = self.reshape(self.shape[0], groups, self.shape[1] // groups, -1)
    return split.swapaxes(1, 2).reshape(self.shape)


def fake_im2col(
    self: TensorMeta,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> TensorMeta:
    from fx_ir.ops.conv import window_count

    sizes = [
        window_count(
            self.shape[self.ndim - 2 + dim], kernel_size[dim], stride[dim], padding[dim], dilation[dim]
        )
        for dim in range(2)
    ]
    rows = self.shape[-3] * kernel_size[0] * kernel_size[1]
    return TensorMeta((*self.shape[:-3], rows, sizes[0] * sizes[1]), self.dtype, self.device)


def im2col(
    self: Array,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    batch = self if self.ndim == 4 else self[None]
    seen = windows(padded(batch, spread(padding, 2)), kernel_size, stride, dilation)
    count, channels = batch.shape[:2]
    result = seen.transpose(0, 1, 4, 5, 2, 3).reshape(count, channels * kernel_size[0] * kernel_size[1], -1)
    return result if self.ndim == 4 else result[0]


def fake_col2im(
    self: TensorMeta,
    output_size: Sequence[Size],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> TensorMeta:
    channels = self.shape[-2] // (kernel_size[0] * kernel_size[1])
    return TensorMeta((*self.shape[:-2], channels, *output_size), self.dtype, self.device)


def col2im(
    self: Array,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    columns = self if self.ndim == 3 else self[None]
    count, channels = columns.shape[0], columns.shape[1] // (kernel_size[0] * kernel_size[1])
    grown = [size + 2 * by for size, by in zip(output_size, padding, strict=True)]
    result = np.zeros((count, channels, *grown), self.dtype)
    cells = [(grown[dim] - dilation[dim] * (kernel_size[dim] - 1) - 1) // stride[dim] + 1 for dim in range(2)]
    split = columns.reshape(count, channels, *kernel_size, *cells)
    for row, column in np.ndindex(*kernel_size):
        top, left = row * dilation[0], column * dilation[1]
        place = (
            slice(top, top + cells[0] * stride[0], stride[0]),
            slice(left, left + cells[1] * stride[1], stride[1]),
        )
        result[(slice(None), slice(None), *place)] += split[:, :, row, column]
    inner = result[:, :, padding[0] : padding[0] + output_size[0], padding[1] : padding[1] + output_size[1]]
    inner = np.ascontiguousarray(inner)
    return inner if self.ndim == 3 else inner[0]


def _declare() -> None:
    _declare_resizing("upsample_nearest1d", 1, None)
    _declare_resizing("upsample_nearest2d", 2, None)
    _declare_resizing("upsample_nearest3d", 3, None)
    for rank in (1, 2, 3):
        _declare_resizing(f"_upsample_nearest_exact{rank}d", rank, None)
    _declare_resizing("upsample_trilinear3d", 3, _linear_taps)
    _declare_resizing("upsample_linear1d", 1, _linear_taps)
    _declare_resizing("upsample_bilinear2d", 2, _linear_taps)
    _declare_resizing("upsample_bicubic2d", 2, _cubic_taps)
    _declare_resizing("_upsample_bilinear2d_aa", 2, _smooth_taps(_triangle, 2))
    _declare_resizing("_upsample_bicubic2d_aa", 2, _smooth_taps(_keys, 4))
    register(
        "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
        fake=fake_pixel_shuffle,
        kernel=pixel_shuffle,
    )
    register(
        "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
        fake=fake_pixel_unshuffle,
        kernel=pixel_unshuffle,
    )
    register(
        "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
        fake=_fake_channel_shuffle,
        kernel=channel_shuffle,
    )
    tail = "int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor"
    register(f"aten::im2col(Tensor self, {tail}", fake=fake_im2col, kernel=im2col)
    register(f"aten::col2im(Tensor self, SymInt[2] output_size, {tail}", fake=fake_col2im, kernel=col2im)


_declare()
