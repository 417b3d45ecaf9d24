"""What decorators of the library put around a function of the program: interpreted, as the function is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


def inside(
    mode: Callable[[], AbstractContextManager[Any]], function: Callable[..., Any]
) -> Callable[..., Any]:
    """The function, each call of it inside a mode of its own."""

    @functools.wraps(function)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with mode():
            return function(*args, **kwargs)

    return decorated
