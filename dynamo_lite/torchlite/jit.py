"""``torch.jit``: what code asks while it is not scripted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False


def ignore(drop: bool = False, **_: Any) -> Any:
    """Gives the function back: nothing is scripted here."""
    return drop if callable(drop) else lambda function: function


def export(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


unused = ignore
