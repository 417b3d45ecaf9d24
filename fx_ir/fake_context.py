"""Who gives an unbacked size to a fake rule: a holder, one a thread.

An operator whose output size depends on data (``nonzero``, ``item``) asks :func:`current` for a symbol. The tracer
activates an object that makes one; without it such a rule cannot be applied.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class FakeContext(Protocol):
    """What a fake rule may ask of the trace in progress."""

    @property
    def env(self) -> Any:
        """The shape environment."""

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        """A new unbacked number: ``kind`` is ``int``, ``float`` or ``bool``; ``max`` may be a symbolic int."""


class _Holder(threading.local):
    active: FakeContext | None = None


_HOLDER = _Holder()


def current() -> FakeContext:
    """The active context; RuntimeError outside a trace."""
    active = _HOLDER.active
    if active is None:
        raise RuntimeError("an output whose size depends on data needs a trace in progress")
    return active


@contextmanager
def activate(context: FakeContext) -> Iterator[FakeContext]:
    """Makes ``context`` the one that fake rules see, and the previous one again afterwards."""
    previous = _HOLDER.active
    _HOLDER.active = context
    try:
        yield context
    finally:
        _HOLDER.active = previous
