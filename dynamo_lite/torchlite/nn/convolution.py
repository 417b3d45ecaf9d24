"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite.nn import functional as F
from dynamo_lite.torchlite.nn import init
from dynamo_lite.torchlite.nn.module import Module
from dynamo_lite.torchlite.parameter import Parameter

_empty = FUNCTIONS["empty"]


def _expanded(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


class _Conv(Module):
    """What convolutions of every rank share."""

    rank: int = 0
    transposed: bool = False
    convolve: Callable[..., Any]
    output_padding: tuple[int, ...] = ()
    weight: Any
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _expanded(kernel_size, self.rank)
        self.stride = _expanded(stride, self.rank)
        self.padding = padding if isinstance(padding, str) else _expanded(padding, self.rank)
        self.dilation = _expanded(dilation, self.rank)
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(
            _empty((first, second // groups, *self.kernel_size), dtype=dtype, device=device)
        )
        if bias:
            self.bias = Parameter(_empty(out_channels, dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def _padded(self, input: Any) -> Any:
        """The input padded as ``padding_mode`` says, for what the operator cannot pad itself."""
        sides = [size for size in reversed(self.padding) for _ in range(2)]
        return F.pad(input, sides, mode=self.padding_mode)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        )
        if self.padding != (0,) * self.rank:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.rank:
            text += f", dilation={self.dilation}"
        if any(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def forward(self, input: Any) -> Any:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._padded(input), 0
        return self.convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Convolution over (batch, channels, length)."""

    rank = 1
    convolve = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Convolution over (batch, channels, height, width)."""

    rank = 2
    convolve = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Convolution over (batch, channels, depth, height, width)."""

    rank = 3
    convolve = staticmethod(F.conv3d)


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )
        self.output_padding = _expanded(output_padding, self.rank)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        extra = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return self.convolve(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )

    def _output_padding(self, input: Any, output_size: Any) -> list[Any]:
        """What must be added on one side to reach ``output_size``, the spatial sizes or the whole shape.

        Without it a dimension has ``(n - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1`` elements; strides decide how much
        more is possible.
        """
        wanted = list(output_size)[-self.rank :] if len(output_size) >= self.rank + 1 else list(output_size)
        if len(wanted) != self.rank:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {self.rank} or {input.dim()} "
                f"elements (got {len(output_size)})"
            )
        padding_of: Any = self.padding  # numbers: transposed convolutions take no names for it
        least: list[Any] = [
            (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1
            for size, stride, padding, dilation, kernel in zip(
                input.shape[-self.rank :],
                self.stride,
                padding_of,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
        ]
        for size, low, stride in zip(wanted, least, self.stride, strict=True):
            if size < low or size > low + stride - 1:
                most = [low + stride - 1 for low, stride in zip(least, self.stride, strict=True)]
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes range from {least} to {most} (for an input of "
                    f"{input.shape[-self.rank :]})"
                )
        return [size - low for size, low in zip(wanted, least, strict=True)]


class ConvTranspose1d(_ConvTranspose):
    """The transpose of :class:`Conv1d`."""

    rank = 1
    convolve = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The transpose of :class:`Conv2d`."""

    rank = 2
    convolve = staticmethod(F.conv_transpose2d)
