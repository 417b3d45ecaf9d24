"""Pooling over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.dtypes import int64
from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, describe, laid_out
from fx_ir.ops.conv import spread, windows
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import channels_last_strides, formatted_like, strides_along, suggests_channels_last

# --- sizes -----------------------------------------------------------------------------------------------------------


def pooled_size(size: Size, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> Size:
    """Windows that fit; in ceil mode a last partial one counts if it starts inside the input or its left padding."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = (span + stride - 1) // stride + 1
    if (count - 1) * stride >= size + padding:
        count = count - 1
    return count


def _window(
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    rank: int,
) -> tuple[list[int], ...]:
    kernel = spread(kernel_size, rank)
    return kernel, spread(stride, rank) if stride else kernel, spread(padding, rank), spread(dilation, rank)


def _check(self: Any, rank: int, kernel: Sequence[int], padding: Sequence[int]) -> None:
    if len(self.shape) not in (rank + 1, rank + 2):
        raise RuntimeError(
            f"pool{rank}d: expected {rank + 1}D or {rank + 2}D input, but got {list(self.shape)}"
        )
    if any(2 * by > width for by, width in zip(padding, kernel, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={padding[0]}, kernel_size={kernel[0]}"
        )


def _fake_pooled(self: TensorMeta, rank: int, sizes: Sequence[Size]) -> TensorMeta:
    for size in sizes:
        if size < 1:
            raise RuntimeError(
                f"Given input size: {list(self.shape)}. Calculated output size: {list(sizes)}. Output size is too small"
            )
    return image_meta(self, rank, sizes)


def image_meta(self: TensorMeta, rank: int, sizes: Sequence[Size]) -> TensorMeta:
    """A tensor of other extents in its last ``rank`` dimensions: batches keep channels last where PyTorch sees them in ``self``."""
    shape = (*self.shape[: self.ndim - rank], *sizes)
    if self.ndim != rank + 2 or rank == 1:
        return TensorMeta(shape, self.dtype, self.device)
    return formatted_like(self, shape)


def row_meta(self: TensorMeta, sizes: Sequence[Size]) -> TensorMeta:
    """As :func:`image_meta` for one dimension where PyTorch computes it as an image of height 1."""
    plain = image_meta(self, 1, sizes)
    if self.is_plain or self.ndim != 3:
        return plain

    def strides() -> Sizes | None:
        (batch, channels, size), held = self.shape, self.strides
        image = self.like(
            shape=(batch, channels, 1, size), strides=(held[0], held[1], size * held[2], held[2])
        )
        return strides_along(plain.shape, (1, 2, 0)) if suggests_channels_last(image) else None

    return TensorMeta(plain.shape, self.dtype, self.device, strides)


def fake_pool(
    self: TensorMeta,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> TensorMeta:
    kernel, steps, pads, by = _window(kernel_size, stride, padding, dilation, rank)
    _check(self, rank, kernel, pads)
    sizes = [
        pooled_size(size, kernel[dim], steps[dim], pads[dim], by[dim], ceil_mode)
        for dim, size in enumerate(self.shape[self.ndim - rank :])
    ]
    return _fake_pooled(self, rank, sizes)


def in_order(result: Array, self: Array, rank: int) -> Array:
    """The result laid out as :func:`image_meta` says."""
    if self.flags.c_contiguous or self.ndim != rank + 2 or not suggests_channels_last(describe(self)):
        return np.ascontiguousarray(result)
    return laid_out(result, channels_last_strides(result.shape))


def in_rows(result: Array, self: Array) -> Array:
    """The result laid out as :func:`row_meta` says."""
    if self.flags.c_contiguous:
        return np.ascontiguousarray(result)
    return laid_out(result, row_meta(describe(self), result.shape[-1:]).strides)


# --- kernels ---------------------------------------------------------------------------------------------------------


def _batched(self: Array, rank: int) -> Array:
    return self if self.ndim == rank + 2 else self[None]


def _pad_for(self: Array, window: tuple[list[int], ...], sizes: Sequence[int], fill: Any) -> Array:
    """The input padded on the left as asked and on the right as far as the last window reaches."""
    kernel, stride, padding, dilation = window
    reach = [
        max((count - 1) * step + by * (width - 1) + 1, size + pad)
        for count, step, by, width, size, pad in zip(
            sizes, stride, dilation, kernel, self.shape[2:], padding, strict=True
        )
    ]
    if not any(padding) and list(self.shape[2:]) == reach:
        return self
    result = np.full((*self.shape[:2], *reach), fill, self.dtype)
    inner = tuple([slice(pad, pad + size) for pad, size in zip(padding, self.shape[2:], strict=True)])
    result[(slice(None), slice(None), *inner)] = self
    return result


def _seen(self: Array, window: tuple[list[int], ...], sizes: Sequence[int], fill: Any) -> Array:
    kernel, stride, _, dilation = window
    seen = windows(_pad_for(self, window, sizes, fill), kernel, stride, dilation)
    return seen[(slice(None), slice(None), *[slice(count) for count in sizes])]


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind in "fV" else np.iinfo(dtype).min


def _sizes(self: Array, window: tuple[list[int], ...], ceil_mode: bool) -> list[int]:
    kernel, stride, padding, dilation = window
    return [
        int(pooled_size(size, kernel[dim], stride[dim], padding[dim], dilation[dim], ceil_mode))
        for dim, size in enumerate(self.shape[2:])
    ]


def max_pool(
    self: Array,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Array:
    window = _window(kernel_size, stride, padding, dilation, rank)
    batch = _batched(self, rank)
    sizes = _sizes(batch, window, ceil_mode)
    seen = _seen(batch, window, sizes, _lowest(self.dtype))
    places = list(np.ndindex(*window[0]))
    result = seen[(..., *places[0])].copy()
    for place in places[1:]:
        np.maximum(result, seen[(..., *place)], out=result)
    return in_order(result if self.ndim == rank + 2 else result[0], self, rank)


def max_pool_with_indices(
    self: Array,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> tuple[Array, Array]:
    window = _window(kernel_size, stride, padding, dilation, rank)
    batch = _batched(self, rank)
    sizes = _sizes(batch, window, ceil_mode)
    seen = _seen(batch, window, sizes, _lowest(self.dtype))
    flat = seen.reshape(*seen.shape[: 2 + rank], -1)
    chosen = flat.argmax(axis=-1)
    values = np.take_along_axis(flat, chosen[..., None], axis=-1)[..., 0]
    index = _flat_positions(chosen, window, batch.shape[2:])
    if self.ndim != rank + 2:
        values, index = values[0], index[0]
    return in_order(values, self, rank), in_order(index, self, rank)


def _flat_positions(chosen: Array, window: tuple[list[int], ...], shape: Sequence[int]) -> Array:
    """Positions in the unpadded input, row-major, of the chosen cells of each window."""
    kernel, stride, padding, dilation = window
    inside = np.unravel_index(chosen, tuple(kernel))
    total = np.zeros(chosen.shape, np.int64)
    for dim, size in enumerate(shape):
        grid = np.arange(chosen.shape[2 + dim]).reshape(
            [-1 if axis == dim else 1 for axis in range(len(shape))]
        )
        total = total * size + grid * stride[dim] - padding[dim] + inside[dim] * dilation[dim]
    return total


def avg_pool(
    self: Array,
    rank: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    window = _window(kernel_size, stride, padding, [1], rank)
    batch = _batched(self, rank)
    sizes = _sizes(batch, window, ceil_mode)
    wide = batch.astype(compute_type(self.dtype), copy=False)
    total = _seen(wide, window, sizes, 0).sum(axis=tuple(range(2 + rank, 2 + 2 * rank)))
    if divisor_override is not None:
        result = total / divisor_override
    else:
        result = total / _cells(window, sizes, batch.shape[2:], count_include_pad).astype(total.dtype)
    result = as_array(result).astype(self.dtype, copy=False)
    return in_order(result if self.ndim == rank + 2 else result[0], self, rank)


def _cells(
    window: tuple[list[int], ...], sizes: Sequence[int], shape: Sequence[int], count_padding: bool
) -> Array:
    """How many cells each window averages over."""
    kernel, stride, padding, _ = window
    result = np.ones((1,) * len(sizes))
    for dim, count in enumerate(sizes):
        starts = np.arange(count) * stride[dim] - padding[dim]
        ends = np.minimum(starts + kernel[dim], shape[dim] + padding[dim])
        if not count_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, shape[dim])
        result = result * (ends - starts).reshape([-1 if axis == dim else 1 for axis in range(len(sizes))])
    return as_array(result)


# --- declarations ----------------------------------------------------------------------------------------------------


def _declare_max(rank: int) -> None:
    def fake(
        self: TensorMeta,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        dilation: Any = (1,),
        ceil_mode: bool = False,
    ) -> TensorMeta:
        return fake_pool(self, rank, kernel_size, stride, padding, dilation, ceil_mode)

    def kernel(
        self: Array,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        dilation: Any = (1,),
        ceil_mode: bool = False,
    ) -> Array:
        return max_pool(self, rank, kernel_size, stride, padding, dilation, ceil_mode)

    def fake_both(self: TensorMeta, *args: Any) -> tuple[TensorMeta, TensorMeta]:
        result = fake(self, *args)
        if rank == 1:
            result = row_meta(self, result.shape[-1:])
        strides = None if result.is_plain else lambda: result.strides
        return result, TensorMeta(result.shape, int64, self.device, strides)

    def kernel_both(
        self: Array,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        dilation: Any = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Array, Array]:
        values, index = max_pool_with_indices(self, rank, kernel_size, stride, padding, dilation, ceil_mode)
        return (in_rows(values, self), in_rows(index, self)) if rank == 1 else (values, index)

    zero, one = ("[0]", "[1]") if rank == 1 else ("0", "1")
    rest = (
        f"(Tensor self, int[{rank}] kernel_size, int[{rank}] stride=[], int[{rank}] padding={zero}, "
        f"int[{rank}] dilation={one}, bool ceil_mode=False)"
    )
    register(f"aten::max_pool{rank}d{rest} -> Tensor", fake=fake, kernel=kernel)
    register(
        f"aten::max_pool{rank}d_with_indices{rest} -> (Tensor, Tensor)", fake=fake_both, kernel=kernel_both
    )


def _declare_avg(rank: int) -> None:
    def fake(
        self: TensorMeta,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        ceil_mode: bool = False,
        *_: Any,
    ) -> TensorMeta:
        made = fake_pool(self, rank, kernel_size, stride, padding, [1], ceil_mode)
        if rank == 2:
            return made
        return (
            row_meta(self, made.shape[-1:]) if rank == 1 else TensorMeta(made.shape, made.dtype, made.device)
        )

    def kernel(
        self: Array,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Array:
        made = avg_pool(
            self, rank, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )
        if rank == 2:
            return made
        return in_rows(made, self) if rank == 1 else np.ascontiguousarray(made)

    zero, override = ("[0]", "") if rank == 1 else ("0", ", int? divisor_override=None")
    register(
        f"aten::avg_pool{rank}d(Tensor self, int[{rank}] kernel_size, int[{rank}] stride=[], int[{rank}] padding={zero}, "
        f"bool ceil_mode=False, bool count_include_pad=True{override}) -> Tensor",
        fake=fake,
        kernel=kernel,
    )


def _declare() -> None:
    for rank in (1, 2, 3):
        _declare_max(rank)
        _declare_avg(rank)


_declare()
