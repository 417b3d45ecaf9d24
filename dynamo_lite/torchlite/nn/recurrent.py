"""Recurrent layers and cells."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite.nn import functional as F
from dynamo_lite.torchlite.nn import init
from dynamo_lite.torchlite.nn.module import Module
from dynamo_lite.torchlite.parameter import Parameter

_empty = FUNCTIONS["empty"]
_zeros = FUNCTIONS["zeros"]
_lstm = FUNCTIONS["lstm"]
_gru = FUNCTIONS["gru"]


class _Recurrent(Module):
    """What LSTM and GRU share: flat weights, named as in PyTorch."""

    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self._flat_weights_names: list[str] = []
        directions = 2 if bidirectional else 1
        rows = self.gates * hidden_size
        for layer in range(num_layers):
            columns = input_size if layer == 0 else hidden_size * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, columns),
                    "weight_hh": (rows, hidden_size),
                }
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                for kind, shape in shapes.items():
                    name = f"{kind}_l{layer}{suffix}"
                    setattr(self, name, Parameter(_empty(shape, dtype=dtype, device=device)))
                    self._flat_weights_names.append(name)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Nothing to do here: kept for code that calls it."""

    def _initial(self, input: Any) -> Any:
        batch = input.size(0 if self.batch_first else 1)
        directions = 2 if self.bidirectional else 1
        return _zeros((self.num_layers * directions, batch, self.hidden_size), dtype=input.dtype)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += ", bias=False"
        if self.batch_first:
            text += ", batch_first=True"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional:
            text += ", bidirectional=True"
        return text


class LSTM(_Recurrent):
    """Long short-term memory over (length, batch, width)."""

    gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = None if hx is None else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        if hx is None:
            zeros = self._initial(input)
            hx = (zeros, zeros)
        output, hidden, cell = _lstm(
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if batched:
            return output, (hidden, cell)
        return output.squeeze(0 if self.batch_first else 1), (hidden.squeeze(1), cell.squeeze(1))


class GRU(_Recurrent):
    """Gated recurrent units over (length, batch, width)."""

    gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            hx = None if hx is None else hx.unsqueeze(1)
        if hx is None:
            hx = self._initial(input)
        output, hidden = _gru(
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if batched:
            return output, hidden
        return output.squeeze(0 if self.batch_first else 1), hidden.squeeze(1)


class _Cell(Module):
    """One step of a recurrent layer."""

    gates: ClassVar[int]
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(_empty((rows, input_size), dtype=dtype, device=device))
        self.weight_hh = Parameter(_empty((rows, hidden_size), dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(_empty(rows, dtype=dtype, device=device)) if bias else None
            )
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class LSTMCell(_Cell):
    """One step of long short-term memory: the new hidden and cell state."""

    gates = 4

    def forward(self, input: Any, hx: Any = None) -> Any:
        if hx is None:
            zeros = _zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype)
            hx = (zeros, zeros)
        gates = F.linear(input, self.weight_ih, self.bias_ih) + F.linear(hx[0], self.weight_hh, self.bias_hh)
        entry, forget, candidate, exit_gate = gates.chunk(4, -1)
        cell = forget.sigmoid() * hx[1] + entry.sigmoid() * candidate.tanh()
        return exit_gate.sigmoid() * cell.tanh(), cell


class GRUCell(_Cell):
    """One step of gated recurrent units: the new hidden state."""

    gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        if hx is None:
            hx = _zeros((*input.shape[:-1], self.hidden_size), dtype=input.dtype)
        reset, update, new = F.linear(input, self.weight_ih, self.bias_ih).chunk(3, -1)
        reset_h, update_h, new_h = F.linear(hx, self.weight_hh, self.bias_hh).chunk(3, -1)
        candidate = (new + (reset + reset_h).sigmoid() * new_h).tanh()
        gate = (update + update_h).sigmoid()
        return candidate + gate * (hx - candidate)
