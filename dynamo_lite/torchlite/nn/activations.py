"""Activations as modules."""

from __future__ import annotations

from typing import Any

from dynamo_lite.torchlite.nn import functional as F
from dynamo_lite.torchlite.nn.module import Module


class _Inplace(Module):
    """An activation whose only choice is to work in place."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.relu(input, self.inplace)


class ReLU6(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.relu6(input, self.inplace)


class SiLU(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.selu(input, self.inplace)


class Hardswish(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.hardswish(input, self.inplace)


class Hardsigmoid(_Inplace):
    def forward(self, input: Any) -> Any:
        return F.hardsigmoid(input, self.inplace)


class GELU(Module):
    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Any) -> Any:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    def forward(self, input: Any) -> Any:
        return input.tanh()


class Sigmoid(Module):
    def forward(self, input: Any) -> Any:
        return input.sigmoid()


class LogSigmoid(Module):
    def forward(self, input: Any) -> Any:
        return F.logsigmoid(input)


class Softsign(Module):
    def forward(self, input: Any) -> Any:
        return F.softsign(input)


class Tanhshrink(Module):
    def forward(self, input: Any) -> Any:
        return F.tanhshrink(input)


class ELU(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    def forward(self, input: Any) -> Any:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if not max_val > min_val:
            raise AssertionError("max_val must be larger than min_val")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class Softplus(Module):
    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Any) -> Any:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Threshold(Module):
    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class _WithDim(Module):
    """An activation along one dimension."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_WithDim):
    def forward(self, input: Any) -> Any:
        return F.softmax(input, self.dim)


class Softmin(_WithDim):
    def forward(self, input: Any) -> Any:
        return F.softmin(input, self.dim)


class LogSoftmax(_WithDim):
    def forward(self, input: Any) -> Any:
        return F.log_softmax(input, self.dim)


class GLU(Module):
    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class PReLU(Module):
    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        from dynamo_lite.lowering.table import FUNCTIONS
        from dynamo_lite.torchlite.parameter import Parameter

        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(FUNCTIONS["full"]((num_parameters,), float(init), dtype=dtype, device=device))

    def forward(self, input: Any) -> Any:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    def forward(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    def forward(self, input: Any) -> Any:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    def forward(self, input: Any) -> Any:
        return F.dropout2d(input, self.p, self.training, self.inplace)
