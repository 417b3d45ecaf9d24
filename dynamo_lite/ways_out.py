"""``check``, and the two ways out for functions that strict mode cannot analyse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dynamo_lite import dispatch
from dynamo_lite.lowering.leaf import leaf

P = ParamSpec("P")
R = TypeVar("R")


def _check(cond: Any, message: Any = None) -> None:
    """States a fact: about a size that depends on data it becomes an inline assertion, about another size a guard.

    ``message`` is a string or a function that returns one. Outside export a false ``cond`` raises RuntimeError.
    """
    target: Any = dispatch.recorder()
    if target is not None:
        target.check(cond, message)
    elif not cond:
        text = message() if callable(message) else message
        raise RuntimeError(text or "Expected cond to be True, but got False")


check = leaf("dl.check", lambda args, kwargs: _check(*args, **kwargs), _check.__doc__, _check)


class WayOut:
    """A function that strict mode calls natively. ``bake`` says whether its result is burned in as a constant."""

    __slots__ = ("__dict__", "bake", "function")

    def __init__(self, function: Callable[..., Any], bake: bool) -> None:
        self.function = function
        self.bake = bake
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def assume_constant(fn: Callable[P, R]) -> Callable[P, R]:
    """Marks ``fn``: while tracing it is run natively and its result is burned in. Each use is listed in ``effects``."""
    return WayOut(fn, bake=True)


def allow_call(fn: Callable[P, R]) -> Callable[P, R]:
    """Marks ``fn``: while tracing it is run natively, tensors and all. Each use is listed in ``effects``."""
    return WayOut(fn, bake=False)
