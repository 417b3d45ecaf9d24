"""Thread-local modes that a tensor call looks at: gradient mode, inference mode, default dtype."""

from __future__ import annotations

import threading
from typing import Final

from solver.sym import SymBool


class _Modes(threading.local):
    grad: bool = True
    inference: bool = False


_MODES: Final = _Modes()


def _flag(value: object) -> bool:
    if issubclass(type(value), SymBool):
        return bool(value)
    if type(value) is not bool:
        raise TypeError(f"argument 'enabled' must be bool, not {type(value).__name__}")
    return value


def grad_enabled() -> bool:
    """Whether results of floating-point operators inherit ``requires_grad``."""
    return _MODES.grad


def set_grad_enabled(on: bool) -> bool:
    """Sets the gradient mode of this thread and returns the one before."""
    before = _MODES.grad
    _MODES.grad = _flag(on)
    return before


def inference_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return _MODES.inference


def set_inference_enabled(on: bool) -> bool:
    """Sets inference mode of this thread and returns the one before."""
    before = _MODES.inference
    _MODES.inference = _flag(on)
    return before
