"""Members of ``torch.Tensor`` that somebody has put in the place of PyTorch's: fakes answer as PyTorch has it."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import torch

from dynamo_lite.torch_bridge.errors import TENSOR_PATCHED
from dynamo_lite.torch_bridge.leaves import BY_ATTRIBUTE, BY_METHOD


def refuse_patched_tensors() -> None:
    """Raises ``tensor-class-patched`` where a member that the lowering answers for is not PyTorch's own."""
    for name in _patched():
        raise TENSOR_PATCHED(name=name)


def _patched() -> Iterator[str]:
    for name, value in vars(torch.Tensor).items():
        if name in BY_METHOD or name in BY_ATTRIBUTE:
            function = _function(value)
            if type(function) is FunctionType and not str(function.__module__).startswith("torch"):
                yield name


def _function(value: Any) -> Any:
    if isinstance(value, property):
        return value.fget
    return value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
