"""Gradient modes as context managers and decorators. There is no autograd: they decide what ``requires_grad`` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dynamo_lite import dispatch
from dynamo_lite.lowering import modes
from dynamo_lite.torchlite.decorated import inside

__all__ = [
    "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad", "set_grad_enabled",
]  # fmt: skip

Function = TypeVar("Function", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether results of floating-point operators inherit ``requires_grad``."""
    _asked("mode")
    return modes.grad_enabled()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside :class:`inference_mode`."""
    _asked("mode", "inference")
    return modes.inference_enabled()


def _asked(*modes_asked: dispatch.Asked) -> None:
    recorder = dispatch.recorder()
    if recorder is not None:
        for mode in modes_asked:
            recorder.looked(mode)


class _Mode:
    """A mode that also decorates: each call of the decorated function runs in a fresh one."""

    def _again(self) -> _Mode:
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def __call__(self, function: Function) -> Function:
        return inside(self._again, function)  # type: ignore[return-value]


class no_grad(_Mode):
    """Inside, results never require grad."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self) -> None:
        self.before = modes.set_grad_enabled(False)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad_enabled(self.before)


class enable_grad(_Mode):
    """Inside, results require grad if an argument does."""

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self) -> None:
        self.before = modes.set_grad_enabled(True)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad_enabled(self.before)


class set_grad_enabled(_Mode):
    """Sets the mode at once; as a context manager, until the block ends."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.before = modes.set_grad_enabled(mode)

    def _again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: Function) -> Function:
        modes.set_grad_enabled(self.before)
        return super().__call__(function)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        modes.set_grad_enabled(self.before)


class inference_mode(_Mode):
    """As ``no_grad``, and ``is_inference_mode_enabled`` says so."""

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        made = super().__new__(cls)
        if callable(mode):
            made.mode = True
            return made(mode)
        return made

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _again(self) -> inference_mode:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.before = (
            modes.set_grad_enabled(modes.grad_enabled() and not self.mode),
            modes.inference_enabled(),
        )
        modes.set_inference_enabled(self.mode)

    def __exit__(self, *exc: object) -> None:
        modes.set_grad_enabled(self.before[0])
        modes.set_inference_enabled(self.before[1])
