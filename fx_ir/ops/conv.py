"""Convolutions: windows of the input seen through strides, multiplied with the weights as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import channels_last_strides, differ, suggests_channels_last

# --- sizes -----------------------------------------------------------------------------------------------------------


def window_count(size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size) -> Size:
    """How many windows fit: a floor expression, no question about the size."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def spread(values: Sequence[Any], rank: int) -> list[Any]:
    """One value a spatial dimension."""
    return list(values) * rank if len(values) == 1 else list(values)


def _transposed_size(
    size: Size, kernel: Size, stride: Size, padding: Size, output_padding: Size, dilation: Size
) -> Size:
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1


def _check_channels(input: TensorMeta, weight: TensorMeta, expected: Size) -> None:
    channels = input.shape[1]
    if differ(channels, expected):
        raise RuntimeError(
            f"Given groups, weight of size {list(weight.shape)}, expected input{list(input.shape)} to have {expected} channels, "
            f"but got {channels} channels instead"
        )


def _check_window(
    input: TensorMeta, weight: TensorMeta, padding: Sequence[Size], dilation: Sequence[Size]
) -> None:
    """The window must fit into the padded input. A symbolic size is asked, as PyTorch raises for smaller ones."""
    for size, kernel, pad, step in zip(input.shape[2:], weight.shape[2:], padding, dilation, strict=True):
        if size + 2 * pad < step * (kernel - 1) + 1:
            padded = [extent + 2 * by for extent, by in zip(input.shape[2:], padding, strict=True)]
            raise RuntimeError(
                f"Calculated padded input size per channel: {padded}. Kernel size: {list(weight.shape[2:])}. Kernel size can't "
                "be greater than actual input size"
            )


def fake_convolution(
    input: TensorMeta,
    weight: TensorMeta,
    bias: TensorMeta | None,
    stride: Sequence[Size],
    padding: Sequence[Size],
    dilation: Sequence[Size],
    transposed: bool,
    output_padding: Sequence[Size],
    groups: int,
) -> TensorMeta:
    rank = weight.ndim - 2
    if input.ndim == rank + 1:
        one = input.like(shape=(1, *input.shape))
        result = fake_convolution(
            one, weight, bias, stride, padding, dilation, transposed, output_padding, groups
        )
        return result.like(shape=result.shape[1:])
    if input.ndim != rank + 2:
        raise RuntimeError(
            f"Expected {rank + 1}D (unbatched) or {rank + 2}D (batched) input to conv{rank}d, but got input of size: "
            f"{list(input.shape)}"
        )
    check_same_dtype(input, weight, bias)
    stride, padding, dilation = spread(stride, rank), spread(padding, rank), spread(dilation, rank)
    if transposed:
        _check_channels(input, weight, weight.shape[0])
        channels = weight.shape[1] * groups
        extra = spread(output_padding, rank)
        sizes = [
            _transposed_size(
                input.shape[2 + dim],
                weight.shape[2 + dim],
                stride[dim],
                padding[dim],
                extra[dim],
                dilation[dim],
            )
            for dim in range(rank)
        ]
    else:
        _check_channels(input, weight, weight.shape[1] * groups)
        _check_window(input, weight, padding, dilation)
        channels = weight.shape[0]
        sizes = [
            window_count(
                input.shape[2 + dim], weight.shape[2 + dim], stride[dim], padding[dim], dilation[dim]
            )
            for dim in range(rank)
        ]
    shape = (input.shape[0], channels, *sizes)
    plain = rank not in (2, 3) or (input.is_plain and weight.is_plain)
    return TensorMeta(
        shape, input.dtype, input.device, None if plain else lambda: _conv_strides(shape, input, weight)
    )


def _conv_strides(shape: Any, input: TensorMeta, weight: TensorMeta) -> Any:
    if suggests_channels_last(input) or suggests_channels_last(weight):
        return channels_last_strides(shape)
    return None


# --- kernels ---------------------------------------------------------------------------------------------------------


def windows(input: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Array:
    """(N, C, *out, *kernel): a view of every window of an already padded input."""
    rank = len(kernel)
    steps = input.strides[2:]
    counts = [
        (size - by * (width - 1) - 1) // step + 1
        for size, width, step, by in zip(input.shape[2:], kernel, stride, dilation, strict=True)
    ]
    return np.lib.stride_tricks.as_strided(
        input,
        (*input.shape[:2], *counts, *kernel),
        (
            *input.strides[:2],
            *[steps[dim] * stride[dim] for dim in range(rank)],
            *[steps[dim] * dilation[dim] for dim in range(rank)],
        ),
        writeable=False,
    )


def padded(input: Array, padding: Sequence[int], value: Any = 0) -> Array:
    """The input with ``padding`` cells of ``value`` on both sides of each spatial dimension."""
    if not any(padding):
        return input
    result = np.full(
        (*input.shape[:2], *[size + 2 * by for size, by in zip(input.shape[2:], padding, strict=True)]),
        value,
        input.dtype,
    )
    inner = tuple([slice(by, by + size) for by, size in zip(padding, input.shape[2:], strict=True)])
    result[(slice(None), slice(None), *inner)] = input
    return result


def _convolve(
    input: Array, weight: Array, stride: Sequence[int], dilation: Sequence[int], groups: int
) -> Array:
    """A convolution without padding: one matrix product a group, of (windows, C * kernel) with (C * kernel, outputs)."""
    rank = weight.ndim - 2
    count, outputs = input.shape[0], weight.shape[0]
    if all(size == 1 for size in weight.shape[2:]) and groups == 1:
        seen = input[(slice(None), slice(None), *[slice(None, None, step) for step in stride])]
        flat: Array = np.matmul(weight.reshape(outputs, -1), seen.reshape(count, seen.shape[1], -1))
        return flat.reshape(count, outputs, *seen.shape[2:])
    seen = windows(input, weight.shape[2:], stride, dilation)
    sizes = seen.shape[2 : 2 + rank]
    channels = input.shape[1] // groups
    if channels == 1 and outputs == groups:
        return _depthwise(seen, weight, rank)
    cells = 1
    for size in sizes:
        cells *= size
    # (N, G, C/G, *kernel, *out) -> (N, G, C/G * kernel, cells)
    split = seen.reshape(count, groups, channels, *seen.shape[2:])
    order = (0, 1, 2, *range(3 + rank, 3 + 2 * rank), *range(3, 3 + rank))
    columns = split.transpose(order).reshape(count, groups, -1, cells)
    rows = weight.reshape(groups, outputs // groups, -1)
    product: Array = np.matmul(rows, columns)
    return product.reshape(count, outputs, *sizes)


def _depthwise(seen: Array, weight: Array, rank: int) -> Array:
    """One filter a channel: a sum of scaled views."""
    result = np.zeros(seen.shape[: 2 + rank], seen.dtype)
    for place in np.ndindex(*weight.shape[2:]):
        result += seen[(..., *place)] * weight[(slice(None), 0, *place)].reshape(-1, *(1,) * rank)
    return result


def _convolve_transposed(
    input: Array,
    weight: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """The adjoint: every input element adds its scaled filter to the output."""
    rank = weight.ndim - 2
    count, kernel = input.shape[0], weight.shape[2:]
    outputs = weight.shape[1] * groups
    full = [
        (size - 1) * step + by * (width - 1) + 1 + extra
        for size, step, by, width, extra in zip(
            input.shape[2:], stride, dilation, kernel, output_padding, strict=True
        )
    ]
    rows = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    columns = input.reshape(count, groups, input.shape[1] // groups, -1)
    product = np.matmul(rows, columns).reshape(count, outputs, *kernel, *input.shape[2:])
    result = np.zeros((count, outputs, *full), input.dtype)
    for place in np.ndindex(*kernel):
        target = tuple(
            [
                slice(at * by, at * by + (size - 1) * step + 1, step)
                for at, by, size, step in zip(place, dilation, input.shape[2:], stride, strict=True)
            ]
        )
        result[(slice(None), slice(None), *target)] += product[(slice(None), slice(None), *place)]
    inner = tuple([slice(by, size - by) for by, size in zip(padding, full, strict=True)])
    return np.ascontiguousarray(result[(slice(None), slice(None), *inner)]) if rank else result


def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    rank = weight.ndim - 2
    if input.ndim == rank + 1:
        one = input[None]
        return as_array(
            convolution(one, weight, bias, stride, padding, dilation, transposed, output_padding, groups)[0]
        )
    dtype, wide = input.dtype, compute_type(input.dtype)
    stride, padding, dilation = spread(stride, rank), spread(padding, rank), spread(dilation, rank)
    signal, filters = input.astype(wide, copy=False), weight.astype(wide, copy=False)
    if transposed:
        result = _convolve_transposed(
            signal, filters, stride, padding, spread(output_padding, rank), dilation, groups
        )
    else:
        result = _convolve(padded(signal, padding), filters, stride, dilation, groups)
    if bias is not None:
        result += bias.reshape(-1, *(1,) * rank)
    result = result.astype(dtype, copy=False)
    if rank in (2, 3) and not (input.flags.c_contiguous and weight.flags.c_contiguous):
        return _in_order(result, input, weight)
    return result


def _in_order(result: Array, input: Array, weight: Array) -> Array:
    from fx_ir.ops.arrays import describe, laid_out

    strides = _conv_strides(result.shape, describe(input), describe(weight))
    return result if strides is None else laid_out(result, strides)


# --- the overloads ---------------------------------------------------------------------------------------------------


def _same_padding(weight: Any, stride: Sequence[Any], dilation: Sequence[Any]) -> tuple[list[int], list[int]]:
    """``same``: padding on both sides, and what the right side needs beyond."""
    rank = len(weight.shape) - 2
    if any(step != 1 for step in spread(stride, rank)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [by * (width - 1) for by, width in zip(spread(dilation, rank), weight.shape[2:], strict=True)]
    return [total // 2 for total in totals], [total % 2 for total in totals]


def _fake_forward(
    input: TensorMeta,
    weight: TensorMeta,
    bias: TensorMeta | None = None,
    stride: Sequence[Size] = (1,),
    padding: Any = (0,),
    dilation: Sequence[Size] = (1,),
    groups: int = 1,
) -> TensorMeta:
    if not isinstance(padding, str):
        return fake_convolution(input, weight, bias, stride, padding, dilation, False, [0], groups)
    if padding == "valid":
        return fake_convolution(input, weight, bias, stride, [0], dilation, False, [0], groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    sides, extra = _same_padding(weight, stride, dilation)
    lead = input.ndim - len(extra)
    if any(extra):
        grown = [size + by for size, by in zip(input.shape[lead:], extra, strict=True)]
        input = input.like(shape=(*input.shape[:lead], *grown))
    return fake_convolution(input, weight, bias, stride, sides, dilation, False, [0], groups)


def _forward(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sequence[int] = (1,),
    padding: Any = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Array:
    if padding == "valid":
        padding = [0]
    elif padding == "same":
        padding, extra = _same_padding(weight, stride, dilation)
        if any(extra):
            lead = input.ndim - len(extra)
            input = np.pad(input, [(0, 0)] * lead + [(0, by) for by in extra])
    return convolution(input, weight, bias, stride, padding, dilation, False, [0], groups)


def _fake_transposed(
    input: TensorMeta,
    weight: TensorMeta,
    bias: TensorMeta | None = None,
    stride: Sequence[Size] = (1,),
    padding: Sequence[Size] = (0,),
    output_padding: Sequence[Size] = (0,),
    groups: int = 1,
    dilation: Sequence[Size] = (1,),
) -> TensorMeta:
    return fake_convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _transposed(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Array:
    return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def _declare() -> None:
    head = "Tensor input, Tensor weight, Tensor? bias=None"
    for rank in (1, 2, 3):
        ones, zeros = str([1] * rank), str([0] * rank)
        register(
            f"aten::conv{rank}d({head}, SymInt[{rank}] stride={ones}, SymInt[{rank}] padding={zeros}, "
            f"SymInt[{rank}] dilation={ones}, SymInt groups=1) -> Tensor",
            fake=_fake_forward,
            kernel=_forward,
        )
        register(
            f'aten::conv{rank}d.padding({head}, SymInt[{rank}] stride={ones}, str padding="valid", '
            f"SymInt[{rank}] dilation={ones}, SymInt groups=1) -> Tensor",
            fake=_fake_forward,
            kernel=_forward,
        )
        register(
            f"aten::conv_transpose{rank}d{'' if rank == 1 else '.input'}({head}, SymInt[{rank}] stride={ones}, "
            f"SymInt[{rank}] padding={zeros}, SymInt[{rank}] output_padding={zeros}, SymInt groups=1, "
            f"SymInt[{rank}] dilation={ones}) -> Tensor",
            fake=_fake_transposed,
            kernel=_transposed,
        )
    register(
        "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
        "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
        fake=fake_convolution,
        kernel=convolution,
    )


_declare()
