"""Functionalisation while recording: in-place updates become new values that every alias sees.

A recorded tensor value belongs to a :class:`Storage`. A view remembers how it was made (:class:`Alias`). Writing to a value
gives it a new node, writes that node back through the chain of views to the root, and raises the storage's generation; any
other alias notices that its generation is old and is made again, from its parent, when it is next read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fx_ir.node import Node
from fx_ir.ops.registry import Operator


class Storage:
    """What aliases share. ``generation`` counts the writes."""

    __slots__ = ("generation",)

    def __init__(self) -> None:
        self.generation = 0


class Alias:
    """How a view was made: ``operator(parent, *args, **kwargs)``, its ``index``-th output if it has several."""

    __slots__ = ("args", "index", "kwargs", "operator", "parent")

    def __init__(
        self,
        parent: Value,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        index: int | None,
    ) -> None:
        self.parent = parent
        self.operator = operator
        self.args = args
        self.kwargs = kwargs
        self.index = index


class Value(Protocol):
    """A tensor value under recording."""

    node: Node
    memory: Storage
    view_of: Alias | None
    generation: int
    viewed: bool


class Maker(Protocol):
    """What the recorder offers here."""

    def regenerate(self, alias: Alias) -> Node:
        """Records the view anew on its parent's present value."""

    def scatter(self, alias: Alias, new: Node) -> Node:
        """Records the parent's value with ``new`` written through the view."""

    def keeps(self, node: Node) -> bool:
        """False for a node that must not be remembered outside the branch being recorded."""


def current(value: Value, maker: Maker) -> Node:
    """The node that holds the value now."""
    if value.generation == value.memory.generation or value.view_of is None:
        return value.node
    node = maker.regenerate(value.view_of)
    if maker.keeps(node):
        value.node = node
        value.generation = value.memory.generation
    return node


def write(value: Value, new: Node, maker: Maker) -> None:
    """Makes ``new`` the value's content, seen by all aliases."""
    chain: list[tuple[Value, Node]] = [(value, new)]
    while value.view_of is not None:
        new = maker.scatter(value.view_of, new)
        value = value.view_of.parent
        chain.append((value, new))
    generation = value.memory.generation + 1
    value.memory.generation = generation
    for owner, node in chain:
        owner.node = node
        owner.generation = generation


def root_of(value: Value) -> Value:
    """The value that owns the storage."""
    while value.view_of is not None:
        value = value.view_of.parent
    return value


Scatter = Callable[..., Any]
