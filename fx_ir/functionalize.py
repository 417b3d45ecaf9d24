"""Functionalisation while recording: in-place updates become new values that every alias sees.

A recorded tensor value belongs to a :class:`Storage`. A view remembers how it was made (:class:`Alias`). Writing to a value
gives it a new node, writes that node back through the chain of views to the root, and raises the storage's generation; any
other alias notices that its generation is old and is made again, from its parent, when it is next read.

Some operators give a view or a copy, depending on the layout (``reshape``, ``contiguous``, ``to``). Asking which may cost a
guard, so it is asked only when something is written to the storage: until then the value is an *unsure* alias.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import getitem
from typing import Any, Protocol

from fx_ir.node import Node
from fx_ir.ops.registry import Operator


class Storage:
    """What aliases share. ``generation`` counts the writes; ``unsure`` are the values that may turn out to be copies.

    ``conjugated``: a conjugate was taken of it, or it is one; in PyTorch the two share memory.
    """

    __slots__ = ("conjugated", "generation", "unsure")

    def __init__(self, generation: int = 0) -> None:
        self.conjugated = False
        self.generation = generation
        self.unsure: list[Value] = []


class Alias:
    """How a view was made: ``operator(parent, *args, **kwargs)``, its ``index``-th output if it has several.

    ``shares`` tells whether it is a view at all, where that is not sure.
    """

    __slots__ = ("args", "index", "kwargs", "operator", "parent", "shares")

    def __init__(
        self,
        parent: Value,
        operator: Operator,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        index: int | None,
        shares: Callable[[], bool] | None = None,
    ) -> None:
        self.parent = parent
        self.operator = operator
        self.args = args
        self.kwargs = kwargs
        self.index = index
        self.shares = shares


class Value(Protocol):
    """A tensor value under recording. ``memory`` counts for a root only; ask :func:`storage_of`."""

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


def root_of(value: Value) -> Value:
    """The value that owns the storage."""
    while value.view_of is not None:
        value = value.view_of.parent
    return value


def storage_of(value: Value) -> Storage:
    """The storage of a value."""
    return root_of(value).memory


def current(value: Value, maker: Maker) -> Node:
    """The node that holds the value now."""
    if value.view_of is None:
        return value.node
    generation = storage_of(value).generation
    if value.generation == generation:
        return value.node
    node = maker.regenerate(value.view_of)
    if maker.keeps(node):
        value.node = node
        value.generation = generation
    return node


def viewed(node: Node) -> Node:
    """What a node is a view of, however many times over; itself if it is none."""
    while node.op == "call_function" and node.args and isinstance(node.args[0], Node):
        views = isinstance(node.target, Operator) and node.target.view is not None
        if not views and node.target is not getitem:
            break
        node = node.args[0]
    return node


def settle(value: Value) -> bool:
    """Decides every unsure alias of the value's storage; True if there was any. Copies get a storage of their own."""
    memory = storage_of(value)
    waiting, memory.unsure = memory.unsure, []
    for unsure in waiting:
        alias = unsure.view_of
        if alias is None or alias.shares is None:
            continue
        if alias.shares():
            alias.shares = None
        else:
            # Its own views keep their generations: what was stale stays so, what was current too.
            unsure.view_of = None
            unsure.memory = Storage(memory.generation)
            unsure.memory.conjugated = memory.conjugated
    return bool(waiting)


def write(value: Value, new: Node, maker: Maker) -> None:
    """Makes ``new`` the value's content, seen by all aliases. Call :func:`settle` first.

    A view that was written is made again too: as in eager it keeps its layout, and shares memory with the rest.
    """
    while value.view_of is not None:
        new = maker.scatter(value.view_of, new)
        value = value.view_of.parent
    memory = value.memory
    memory.generation += 1
    value.node = new
    value.generation = memory.generation
