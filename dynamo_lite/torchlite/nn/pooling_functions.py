"""Pooling, padding, resampling."""

from __future__ import annotations

import math
from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS, NN_FUNCTIONS

avg_pool1d = FUNCTIONS["avg_pool1d"]
avg_pool2d = NN_FUNCTIONS["avg_pool2d"]
adaptive_avg_pool1d = FUNCTIONS["adaptive_avg_pool1d"]

_max_pool1d = FUNCTIONS["max_pool1d"]
_max_pool2d = FUNCTIONS["max_pool2d"]
_max_pool2d_with_indices = NN_FUNCTIONS["max_pool2d_with_indices"]
_adaptive_avg_pool2d = NN_FUNCTIONS["adaptive_avg_pool2d"]
_adaptive_max_pool2d = NN_FUNCTIONS["adaptive_max_pool2d"]
_pad = NN_FUNCTIONS["pad"]
_im2col = NN_FUNCTIONS["im2col"]
_col2im = NN_FUNCTIONS["col2im"]


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if stride is None:
        stride = kernel_size
    if return_indices:
        # One row of height 1: indices in a row count along it.
        rows = [
            [1, *_single(kernel_size)],
            [1, *_single(stride)],
            [0, *_single(padding)],
            [1, *_single(dilation)],
        ]
        values, indices = _max_pool2d_with_indices(input.unsqueeze(-2), *rows, ceil_mode)
        return values.squeeze(-2), indices.squeeze(-2)
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    if stride is None:
        stride = kernel_size
    if return_indices:
        return _max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def _output_size(output_size: Any, sizes: Any) -> Any:
    """``output_size`` with the input's own size where it says None."""
    if isinstance(output_size, int):
        return [output_size, output_size]
    held = sizes[-len(output_size) :]
    return [held[at] if size is None else size for at, size in enumerate(output_size)]


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    return _adaptive_avg_pool2d(input, _output_size(output_size, input.shape))


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    result = _adaptive_max_pool2d(input, _output_size(output_size, input.shape))
    return result if return_indices else result[0]


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    return _pad(input, pad, mode, value)


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    return _im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


def fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    return _col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )


def _single(value: Any) -> Any:
    return [value] if isinstance(value, int) else list(value)


def _pair(value: Any) -> Any:
    return [value, value] if isinstance(value, int) else list(value)


_NEAREST = {3: "upsample_nearest1d", 4: "upsample_nearest2d"}
_LINEAR = {
    ("linear", 3): "upsample_linear1d",
    ("bilinear", 4): "upsample_bilinear2d",
    ("bicubic", 4): "upsample_bicubic2d",
}


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    ndim = input.dim()
    spatial = ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes = (
        None if size is None else ([size] * spatial if not isinstance(size, (list, tuple)) else list(size))
    )
    scales = None
    if scale_factor is not None:
        scales = (
            list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [float(scale_factor)] * spatial
        )
    if recompute_scale_factor:
        if scales is None:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes, scales = (
            [math.floor(size * scale) for size, scale in zip(input.shape[2:], scales, strict=True)],
            None,
        )
    if antialias:
        raise NotImplementedError("torchlite has no interpolation with antialias")
    if mode == "nearest" and ndim in _NEAREST:
        return NN_FUNCTIONS[_NEAREST[ndim]](input, sizes, scales)
    if (mode, ndim) in _LINEAR:
        return NN_FUNCTIONS[_LINEAR[mode, ndim]](input, sizes, bool(align_corners), scales)
    raise NotImplementedError(f"torchlite has no interpolation in mode {mode} of {ndim}-dimensional inputs")


def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    return interpolate(input, size, scale_factor, mode, align_corners)
