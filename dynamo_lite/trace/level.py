"""One graph under construction: the program's own, or that of a branch, which captures what it uses from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dynamo_lite.trace.sizes import Operand, SizeNodes
from fx_ir.graph import Graph, GraphModule
from fx_ir.node import Node
from fx_ir.number_ops import NUMBER_OPS
from solver.expr import Expr

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer


class Level:
    """``captured`` maps nodes of the enclosing graph to this graph's placeholders, in the order of first use."""

    __slots__ = ("captured", "graph", "module", "parent", "sizes", "tracer")

    def __init__(self, tracer: Tracer, parent: Level | None) -> None:
        self.tracer = tracer
        self.parent = parent
        self.graph = Graph()
        self.module = GraphModule(self.graph)
        self.sizes = SizeNodes(self)
        self.captured: dict[Node, Node] = {}

    def own(self, node: Node) -> Node:
        """``node`` as it is known in this graph: itself, or the placeholder through which it is captured."""
        if node.graph is self.graph:
            return node
        held = self.captured.get(node)
        if held is None:
            parent = self.parent
            assert parent is not None, f"node {node.name} belongs to a branch that has ended"
            outer = parent.own(node)
            held = self.captured.get(outer)
            if held is None:
                held = self._new_placeholder(outer)
            self.captured[outer] = held
        return held

    def _new_placeholder(self, outer: Node) -> Node:
        first = next((n for n in self.graph.nodes if n.op != "placeholder"), None)
        meta = {"val": outer.meta["val"]}
        if first is None:
            return self.graph.placeholder(outer.name, meta=meta)
        with self.graph.inserting_before(first):
            return self.graph.placeholder(outer.name, meta=meta)

    def number(self, function: Callable[..., Any], args: Iterable[Operand], value: Expr) -> Operand:
        """A node of size arithmetic; folded where every argument is a constant."""
        operands = tuple(args)
        if not any(isinstance(arg, Node) for arg in operands):
            folded: Operand = NUMBER_OPS[function].function(*operands)
            return folded
        meta = self.tracer.node_meta(self.tracer.env.wrap(value))
        return self.graph.call_function(function, operands, meta=meta)

    def symbol(self, name: str, value: Expr) -> Operand:
        """The node that holds a symbol, made from what defines it."""
        definitions = self.tracer.definitions
        if self.parent is not None and definitions[name].node.graph is not self.graph:
            outer = self.parent.sizes.of(value)
            return self.own(outer) if isinstance(outer, Node) else outer
        return definitions.node(name, self)
