"""``Parameter`` and ``Buffer``: tensors that a module takes in when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.fake import is_fake
from dynamo_lite.lowering.errors import PARAMETER_IN_FORWARD, where
from dynamo_lite.torchlite._tensor import Tensor, _set_requires_grad


class Parameter(Tensor):
    """A tensor that is a module's parameter; it shares memory with ``data``."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        made: Parameter = object.__new__(cls)
        if data is None:
            made._array = np.empty((0,), np.float32)
        elif is_fake(data):
            raise PARAMETER_IN_FORWARD(location=where())
        elif isinstance(data, Tensor):
            made._array = data._array
        else:
            raise TypeError(f"Parameter data has to be a Tensor, but got {type(data).__name__}")
        if requires_grad:
            if made.dtype.category < 2:
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            _set_requires_grad(made, True)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        made: Parameter = object.__new__(type(self))
        made._array = self._array.copy(order="K")
        made._requires_grad = self._requires_grad
        made.__dict__.update(self._extra())
        memo[id(self)] = made
        return made

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that is a module's buffer, part of ``state_dict`` if ``persistent``."""

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        made: Buffer = object.__new__(cls)
        made._array = np.empty((0,), np.float32) if data is None else data._array
        made.persistent = persistent
        return made
