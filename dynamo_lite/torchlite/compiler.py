"""``torch.compiler``: what model code asks about the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dynamo_lite import dispatch
from dynamo_lite.ways_out import allow_call, assume_constant

Function = TypeVar("Function", bound=Callable[..., Any])

assume_constant_result = assume_constant
allow_in_graph = allow_call


def is_exporting() -> bool:
    """True while a model is being captured."""
    return dispatch.recorder() is not None


def is_compiling() -> bool:
    """True while a model is being captured."""
    return dispatch.recorder() is not None


def is_dynamo_compiling() -> bool:
    """Always False: TorchDynamo is not at work."""
    return False


def disable(fn: Function | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Gives the function back: there is no compiler to keep away."""
    return fn if fn is not None else lambda function: function
