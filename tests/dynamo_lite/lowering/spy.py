"""A recorder that only writes down what it is asked, and answers with descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dynamo_lite.torchlite  # noqa: F401  the tensors that are described here
from dynamo_lite import dispatch
from dynamo_lite.torchlite._tensor import Tensor, describe
from dynamo_lite.torchlite.library import MetaTensor
from fx_ir import fake_context
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import Operator, infer


class Unknown:
    """An unbacked number."""


class Spy:
    """``calls`` holds ``(operator, positional arguments, keyword arguments)``, ``lifted`` the real tensors met,
    ``seen`` what the program asked to know of them."""

    env: Any = None

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.lifted: list[Any] = []
        self.seen: set[str] = set()

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.calls]

    def call(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        self.calls.append((str(op), args, dict(kwargs)))
        described = tuple(self._meta(arg) for arg in args)
        return self._tensors(
            infer(op, described, {name: self._meta(value) for name, value in kwargs.items()})
        )

    def fake_of(self, value: Any) -> Any:
        if type(value) is MetaTensor:
            return value
        self.lifted.append(value)
        return MetaTensor(describe(value))

    def looked(self, what: str) -> None:
        self.seen.add(what)

    def known(self, tensor: Any) -> None:
        """Nothing is."""

    def going_on(self, condition: Any) -> None:
        """Every decision is one."""

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        return Unknown()

    def _meta(self, value: Any) -> Any:
        if type(value) is MetaTensor:
            return value.meta
        if isinstance(value, Tensor):
            return describe(value)
        return [self._meta(item) for item in value] if isinstance(value, (list, tuple)) else value

    def _tensors(self, value: Any) -> Any:
        if isinstance(value, TensorMeta):
            return MetaTensor(value)
        return (
            type(value)([self._tensors(item) for item in value])
            if isinstance(value, (list, tuple))
            else value
        )


@contextmanager
def spying() -> Iterator[Spy]:
    """Everything in the block goes to the recorder given."""
    spy = Spy()
    with dispatch.recording(spy), fake_context.activate(spy):
        yield spy
