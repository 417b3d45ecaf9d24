"""A few of ``torch.nn.utils``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite.grad_mode import no_grad


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters, one after the other, as one vector."""
    return FUNCTIONS["cat"]([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Writes consecutive parts of a vector to parameters."""
    start = 0
    with no_grad():
        for parameter in parameters:
            count = parameter.numel()
            parameter.copy_(vec[start : start + count].view_as(parameter))
            start += count
