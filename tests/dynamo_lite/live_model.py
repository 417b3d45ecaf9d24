"""A module whose forward is decorated, for tests of decorated calls."""

from __future__ import annotations

from typing import Any

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn

SCALE = 2
ROWS = {"x": {0: Dim("n", min=1, max=64)}}


def model_class(strict: bool, on_mismatch: str = "error", offset: int = 5) -> Any:
    """A class with a decorated forward that reads a parameter, a buffer, attributes, a closure variable and a global."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.drop = nn.Dropout(0.5)
            self.register_buffer("total", torch.zeros(3))
            self.register_buffer("mean", torch.zeros(3))
            self.factor = 3
            self.eval()

        @dl.exported(dynamic_shapes=ROWS, strict=strict, on_mismatch=on_mismatch)
        def forward(self, x: Any, shift: Any = None) -> Any:
            y = self.drop(self.lin(x)) * self.factor + offset * SCALE
            self.total.add_(y.sum(0))
            self.mean = self.total / self.factor
            return y + self.mean if shift is None else y + shift

    return Model


def eager(model: Any, *args: Any) -> Any:
    """The undecorated forward."""
    return type(model).forward.function(model, *args)
