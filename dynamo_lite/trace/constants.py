"""Constants that a model makes when it first needs them and keeps: tensors that depend on nothing but the program."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.fake import FakeTensor, is_fake
from fx_ir.functionalize import root_of
from fx_ir.node import Node
from fx_ir.ops.registry import Operator

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

CONTAINERS_READ: Final = (list, tuple, set, dict, deque)
"""Of their subclasses too no code of the program runs: they are read as these are."""
_ITEMS: Final[dict[type, Any]] = {dict: dict.values}
_DEPTH: Final = 3  # how far containers are searched for tensors


def held_tensors(tracer: Tracer, value: Any, depth: int = _DEPTH) -> Iterator[FakeTensor]:
    """The tensors of the trace that ``value`` is, or holds in containers."""
    held = tracer.library.bare(value)
    if is_fake(held):
        yield held
    elif depth:
        base: Any = next((each for each in CONTAINERS_READ if issubclass(type(value), each)), None)
        items: Iterable[Any] = () if base is None else _ITEMS.get(base, base.__iter__)(value)
        for item in items:
            yield from held_tensors(tracer, item, depth - 1)


def stray_tensor(tracer: Tracer, value: Any) -> FakeTensor | None:
    """A tensor in ``value`` that would be lost if it were not kept; None if each call makes them anew, equal."""
    return next((fake for fake in held_tensors(tracer, value) if not is_constant(tracer, fake)), None)


def is_constant(tracer: Tracer, fake: FakeTensor) -> bool:
    """Whether a tensor comes of numbers in the program alone: of no input, size, state, draw or operator of a user's."""
    root: Any = root_of(fake)
    if fake.meta.requires_grad:
        return False  # a leaf that gradients would gather in
    if root.node.graph is not tracer.top.graph:
        return False
    own = {entry.placeholder for entry in tracer.state.entries if id(entry.tensor) in tracer.state.made}
    waiting: list[Node] = [tracer.node_of(fake)]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or node in own:
            continue
        seen.add(node)
        target = node.target
        if not isinstance(target, Operator) or target.random or target.namespace != "aten":
            return False
        waiting += node.all_input_nodes
    return True
