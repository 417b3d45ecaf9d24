"""One value of a graph: what computes it, from what, and who uses it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from fx_ir.graph import Graph

Op = Literal["placeholder", "call_function", "get_attr", "output"]
Argument = Any  # Node | int | float | complex | bool | str | None | DType | Device | tuple | list | dict | slice of these
OPS: Final = ("placeholder", "call_function", "get_attr", "output")
_PLAIN: Final = frozenset({int, float, bool, str, type(None)})


class Node:
    """A node of a graph, with FX's members.

    ``args`` and ``kwargs`` hold nodes, plain values and containers of these; containers are never changed in place
    (assign ``node.args`` or use :meth:`update_arg`, so that ``users`` stays true). ``meta`` holds ``val`` (the
    description of the value), ``nn_module_stack`` and ``location``. ``users`` keeps the order in which uses were made.
    """

    __slots__ = ("_args", "_kwargs", "_next", "_prev", "graph", "meta", "name", "op", "target", "users")

    graph: Graph
    name: str
    op: Op
    target: Any
    meta: dict[str, Any]
    users: dict[Node, None]
    _args: tuple[Argument, ...]
    _kwargs: dict[str, Argument]
    _prev: Node
    _next: Node

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: Op,
        target: Any,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users = {}
        self.meta = {} if meta is None else meta
        self._args = args
        self._kwargs = kwargs
        for value in args:
            if type(value) not in _PLAIN:
                _add_use(value, self)
        if kwargs:
            for value in kwargs.values():
                if type(value) not in _PLAIN:
                    _add_use(value, self)

    @property
    def args(self) -> tuple[Argument, ...]:
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._rebind(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> Mapping[str, Argument]:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Argument]) -> None:
        self._rebind(self._args, dict(kwargs))

    @property
    def next(self) -> Node:
        """The node after this one; the graph's root after the last."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one; the graph's root before the first."""
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        """Nodes among the arguments, each once, in the order of their first use."""
        return list(dict.fromkeys(nodes_in((self._args, self._kwargs))))

    def update_arg(self, index: int, arg: Argument) -> None:
        """Replaces one positional argument."""
        args = list(self._args)
        args[index] = arg
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replaces one keyword argument."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old: Node, new: Argument) -> None:
        """Uses ``new`` wherever ``old`` was among the arguments."""

        def swap(node: Node) -> Argument:
            return new if node is old else node

        self._rebind(map_nodes(self._args, swap), map_nodes(self._kwargs, swap))

    def replace_all_uses_with(
        self, new: Node, where: Callable[[Node], bool] = lambda user: True
    ) -> list[Node]:
        """Makes the users of this node (for which ``where`` holds) use ``new``; returns those users."""
        changed = [user for user in self.users if user is not new and where(user)]
        for user in changed:
            user.replace_input_with(self, new)
        return changed

    def prepend(self, node: Node) -> None:
        """Moves ``node`` to the place before this one."""
        if node is not self:
            node._unlink()
            node._link_before(self)

    def append(self, node: Node) -> None:
        """Moves ``node`` to the place after this one."""
        if node is not self:
            node._unlink()
            node._link_before(self._next)

    def is_impure(self) -> bool:
        """True when the node matters even if nobody uses its value."""
        if self.op == "call_function":
            from fx_ir.purity import is_impure_call

            return is_impure_call(self)
        return self.op in ("placeholder", "output")

    def format_node(self) -> str:
        """One line, as FX prints it."""
        from fx_ir.printer import format_node

        return format_node(self)

    def _rebind(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in nodes_in((self._args, self._kwargs)):
            node.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        for node in nodes_in((args, kwargs)):
            node.users[self] = None

    def _link_before(self, place: Node) -> None:
        before = place._prev
        before._next = self
        self._prev = before
        self._next = place
        place._prev = self

    def _unlink(self) -> None:
        self._prev._next = self._next
        self._next._prev = self._prev

    # Arithmetic on a node builds nodes only through a graph; indexing a multi-output node is common enough to be offered.
    def __getitem__(self, index: int) -> Node:
        return self.graph.call_function(operator.getitem, (self, index))

    def __iter__(self) -> Iterator[Node]:
        raise TypeError(f"node {self.name} is one value and cannot be iterated")

    def __repr__(self) -> str:
        return self.name


def _add_use(value: Argument, user: Node) -> None:
    kind = type(value)
    if kind is Node:
        value.users[user] = None
    elif kind not in _PLAIN:
        for node in nodes_in(value):
            node.users[user] = None


def nodes_in(value: Argument) -> Iterator[Node]:
    """Every node in a nest of arguments, in order, with repetitions."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from nodes_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from nodes_in(item)
    elif isinstance(value, slice):
        yield from nodes_in((value.start, value.stop, value.step))


def map_nodes(value: Any, change: Callable[[Node], Any]) -> Any:
    """The same nest of arguments with every node replaced by ``change(node)``."""
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple):
        items = [map_nodes(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [map_nodes(item, change) for item in value]
    if isinstance(value, dict):
        return {key: map_nodes(item, change) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(map_nodes(part, change) for part in (value.start, value.stop, value.step)))
    return value


map_arg = map_nodes
