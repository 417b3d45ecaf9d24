"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite.nn import functional as F
from dynamo_lite.torchlite.nn import init
from dynamo_lite.torchlite.nn.module import Module
from dynamo_lite.torchlite.parameter import Parameter
from fx_ir.dtypes import int64

_empty = FUNCTIONS["empty"]
_zeros = FUNCTIONS["zeros"]
_ones = FUNCTIONS["ones"]
_tensor = FUNCTIONS["tensor"]


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class _Affine(Module):
    """A layer with an optional scale and shift."""

    weight: Any
    bias: Any

    def _make_affine(self, shape: Any, affine: bool, bias: bool, dtype: Any, device: Any) -> None:
        if affine:
            self.weight = Parameter(_empty(shape, dtype=dtype, device=device))
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = Parameter(_empty(shape, dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)

    def _reset_affine(self) -> None:
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def reset_parameters(self) -> None:
        self._reset_affine()


class LayerNorm(_Affine):
    """Normalises over the last dimensions."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, bias, dtype, device)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={bias}"


class RMSNorm(_Affine):
    """Divides by the root of the mean square over the last dimensions."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(_ones(self.normalized_shape, dtype=dtype, device=device))
        else:
            self.register_parameter("weight", None)

    def reset_parameters(self) -> None:
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, input: Any) -> Any:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalises over groups of channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_affine(num_channels, affine, True, dtype, device)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class _BatchNorm(_Affine):
    """Normalises each channel over the batch, with running statistics."""

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._make_affine(num_features, affine, True, dtype, device)
        if track_running_stats:
            self.register_buffer("running_mean", _zeros(num_features, dtype=dtype, device=device))
            self.register_buffer("running_var", _ones(num_features, dtype=dtype, device=device))
            self.register_buffer("num_batches_tracked", _tensor(0, dtype=int64))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        self._reset_affine()

    def _check_input_dim(self, input: Any) -> None:
        if input.dim() not in self.ranks:
            ranks = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {ranks} input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Any:
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            self.training or self.running_mean is None,
            factor,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, channels, length)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (batch, channels, height, width)."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (batch, channels, depth, height, width)."""

    ranks = (5,)
