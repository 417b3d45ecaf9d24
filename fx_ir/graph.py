"""The graph: an ordered list of nodes in single assignment, and the module that holds it with its branch graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fx_ir.errors import GRAPH_INVALID
from fx_ir.names import Namespace, target_base_name
from fx_ir.node import OPS, Argument, Node, Op, map_nodes, nodes_in


class NodeList:
    """A view of a graph's nodes in order."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph._count

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._next
        while node is not root:
            following = node._next
            yield node
            # A node erased by the loop body leads nowhere any more; the one noted before it does.
            node = node._next if node._next is not node else following

    def __reversed__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev
        while node is not root:
            before = node._prev
            yield node
            node = node._prev if node._prev is not node else before


class Graph:
    """An ordered list of nodes, with FX's members.

    New nodes go to the end, or where :meth:`inserting_before` and :meth:`inserting_after` say.
    """

    __slots__ = ("_count", "_insert_before", "_names", "_root", "owning_module")

    def __init__(self, owning_module: GraphModule | None = None) -> None:
        root = Node(self, "", "output", "root", (), {})
        root._prev = root._next = root
        self._root = root
        self._insert_before = root
        self._count = 0
        self._names = Namespace()
        self.owning_module = owning_module

    @property
    def nodes(self) -> NodeList:
        return NodeList(self)

    def create_node(
        self,
        op: Op,
        target: Any,
        args: tuple[Argument, ...] = (),
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Node:
        """Makes a node at the insertion point; ``name`` is a wish, ``meta`` is kept as it is (not copied)."""
        if name is None:
            name = target if op != "call_function" else target_base_name(target)
        node = Node(self, self._names.create(name), op, target, args, {} if kwargs is None else kwargs, meta)
        place = self._insert_before
        before = place._prev
        before._next = node
        node._prev = before
        node._next = place
        place._prev = node
        self._count += 1
        return node

    def placeholder(self, name: str, *, meta: dict[str, Any] | None = None) -> Node:
        """An input; its target is the name asked for, its name may differ if that was taken."""
        return self.create_node("placeholder", name, (), None, name, meta)

    def call_function(
        self,
        the_function: Any,
        args: tuple[Argument, ...] = (),
        kwargs: dict[str, Argument] | None = None,
        *,
        name: str | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Node:
        """A call of an operator, a higher-order operator or a function on numbers."""
        return self.create_node("call_function", the_function, args, kwargs, name, meta)

    def get_attr(self, qualified_name: str, *, meta: dict[str, Any] | None = None) -> Node:
        """A branch graph of the owning module."""
        return self.create_node("get_attr", qualified_name, (), None, qualified_name.replace(".", "_"), meta)

    def output(self, result: Argument, *, meta: dict[str, Any] | None = None) -> Node:
        """The end of the graph; ``result`` is a tuple of what it returns."""
        return self.create_node("output", "output", (result,), None, "output", meta)

    @property
    def placeholders(self) -> list[Node]:
        return [node for node in self.nodes if node.op == "placeholder"]

    def output_node(self) -> Node:
        """The output node. Raises ``graph-invalid`` where there is none."""
        last = self._root._prev
        if last is self._root or last.op != "output":
            raise GRAPH_INVALID(node="output", problem="the graph has no output node at its end")
        return last

    def find_nodes(self, *, op: Op, target: Any = None) -> list[Node]:
        """Nodes of an op (and target), in order."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def erase_node(self, to_erase: Node) -> None:
        """Removes a node that nobody uses. Raises ``graph-invalid`` if somebody does."""
        if to_erase.users:
            users = ", ".join(user.name for user in to_erase.users)
            raise GRAPH_INVALID(node=to_erase.name, problem=f"it cannot be erased while {users} uses it")
        if to_erase._next is to_erase:
            return
        if self._insert_before is to_erase:
            self._insert_before = to_erase._next
        to_erase._rebind((), {})
        to_erase._unlink()
        to_erase._next = to_erase._prev = to_erase
        self._names.release(to_erase.name)
        self._count -= 1

    @contextmanager
    def inserting_before(self, node: Node | None = None) -> Iterator[None]:
        """New nodes go before ``node`` (None: to the front) for the block."""
        before = self._insert_before
        self._insert_before = self._root._next if node is None else node
        try:
            yield
        finally:
            self._insert_before = before

    @contextmanager
    def inserting_after(self, node: Node | None = None) -> Iterator[None]:
        """New nodes go after ``node`` (None: to the end) for the block."""
        before = self._insert_before
        self._insert_before = self._root if node is None else node._next
        try:
            yield
        finally:
            self._insert_before = before

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument]) -> Node:
        """A copy of another graph's node at the insertion point; ``arg_transform`` maps the nodes it uses."""
        args = map_nodes(node._args, arg_transform)
        kwargs = map_nodes(node._kwargs, arg_transform)
        return self.create_node(node.op, node.target, args, kwargs, node.name, dict(node.meta))

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Removes pure nodes that nobody uses; True if there were any.

        Random, asserting and mutating nodes stay. ``is_impure_node`` replaces :meth:`Node.is_impure`.
        """
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = self._count
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._count != before

    def rename_canonically(self) -> None:
        """Gives every node but the placeholders the name its target and position determine."""
        names = Namespace()
        for node in self.nodes:
            if node.op == "placeholder":
                names.claim(node.name)
        for node in self.nodes:
            if node.op == "call_function":
                node.name = names.create(target_base_name(node.target))
            elif node.op != "placeholder":
                node.name = names.create(node.target.replace(".", "_"))
        self._names = names

    def lint(self) -> None:
        """Checks the order, uniqueness of names, and that ``users`` is exactly true. Raises ``graph-invalid``."""
        seen: dict[Node, None] = {}
        names: set[str] = set()
        for node in self.nodes:
            _lint_node(self, node, seen, names)
            seen[node] = None
            names.add(node.name)
        used: dict[Node, dict[Node, None]] = {node: {} for node in seen}
        for node in seen:
            for source in nodes_in((node._args, node._kwargs)):
                used[source][node] = None
        for node, users in used.items():
            if users.keys() != node.users.keys():
                raise GRAPH_INVALID(
                    node=node.name, problem="its users list does not agree with the arguments of the graph"
                )

    def python_code(self) -> str:
        """Readable Python text of the graph."""
        from fx_ir.printer import graph_source

        return graph_source(self)

    def print_tabular(self) -> None:
        """One row a node, on standard output."""
        for node in self.nodes:
            print(f"{node.op:<14} {node.name:<24} {node.target!s:<36} {node._args!r} {node._kwargs!r}")

    def __str__(self) -> str:
        from fx_ir.printer import format_graph

        return format_graph(self)


def _lint_node(graph: Graph, node: Node, seen: Mapping[Node, None], names: set[str]) -> None:
    def fail(problem: str) -> None:
        raise GRAPH_INVALID(node=node.name, problem=problem, location=node.meta.get("location"))

    if node.op not in OPS:
        fail(f"unknown op {node.op!r}")
    if node.graph is not graph:
        fail("it belongs to another graph")
    if node.name in names:
        fail("its name is used twice")
    if not node.name.isidentifier():
        fail("its name is not a Python identifier")
    before = node._prev.op if node._prev is not graph._root else "placeholder"
    if node.op == "placeholder" and before != "placeholder":
        fail("it is a placeholder after the first computed value")
    if before == "output":
        fail("it comes after the output")
    for source in nodes_in((node._args, node._kwargs)):
        if source.graph is not graph:
            fail(f"its argument {source.name} belongs to another graph")
        if source not in seen:
            fail(f"it uses {source.name} before that is computed")
    if (
        node.op == "get_attr"
        and graph.owning_module is not None
        and node.target not in graph.owning_module.submodules
    ):
        fail(f"the owning module has no branch graph {node.target!r}")


class GraphModule:
    """A graph with the branch graphs that its ``get_attr`` nodes name.

    Calling it runs the graph on the tensors given (of any registered backend) and returns what the output node holds.
    """

    def __init__(self, graph: Graph, submodules: Mapping[str, GraphModule] | None = None) -> None:
        self.graph = graph
        self.submodules: dict[str, GraphModule] = dict(submodules or {})
        self.meta: dict[str, Any] = {}
        graph.owning_module = self

    def add_submodule(self, name: str, module: GraphModule) -> None:
        """Adds a branch graph under a name without dots."""
        self.submodules[name] = module

    def __getattr__(self, name: str) -> GraphModule:
        submodules: dict[str, GraphModule] = self.__dict__.get("submodules", {})
        if name in submodules:
            return submodules[name]
        raise AttributeError(f"GraphModule has no branch graph or attribute {name!r}")

    def modules(self) -> Iterator[GraphModule]:
        """This module and, depth first, its branch graphs."""
        yield self
        for module in self.submodules.values():
            yield from module.modules()

    def __call__(self, *args: Any) -> Any:
        from fx_ir.executor import run_graph_module

        return run_graph_module(self, args)

    @property
    def code(self) -> str:
        return self.graph.python_code()

    def print_readable(self, print_output: bool = True) -> str:
        """The text of the graph and its branches; printed unless told otherwise."""
        from fx_ir.printer import module_text

        text = module_text(self)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        return self.print_readable(print_output=False)


def same_graph(a: Graph | GraphModule, b: Graph | GraphModule, *, limit: int = 20) -> list[str]:
    """See :func:`fx_ir.structure.same_graph`."""
    from fx_ir.structure import same_graph as compare

    return compare(a, b, limit=limit)
