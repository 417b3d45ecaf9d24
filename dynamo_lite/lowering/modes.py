"""Thread-local modes that a tensor call looks at: gradient mode, inference mode, default dtype."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from solver.sym import SymBool


class _Modes(threading.local):
    grad: bool = True
    inference: bool = False
    fixed: bool = False


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


def is_fixed() -> bool:
    """Whether the gradient mode does not depend on the one around the program: an autograd function's forward runs."""
    return _MODES.fixed


@contextmanager
def gradients_fixed_off() -> Iterator[None]:
    """Gradients off in the block, whatever is around the program."""
    before, fixed = set_grad_enabled(False), _MODES.fixed
    _MODES.fixed = True
    try:
        yield
    finally:
        _MODES.fixed = fixed
        set_grad_enabled(before)


def inference_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return _MODES.inference


def set_inference_enabled(on: bool) -> bool:
    """Sets inference mode of this thread and returns the one before."""
    before = _MODES.inference
    _MODES.inference = _flag(on)
    return before
