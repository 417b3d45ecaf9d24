"""``torch.overrides``: tensors here cannot be overridden."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    return False


def is_tensor_like(inp: Any) -> bool:
    from dynamo_lite.lowering.access import is_tensor

    return is_tensor(inp)
