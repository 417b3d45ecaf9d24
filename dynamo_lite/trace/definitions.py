"""Which node tells the value of a symbol."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dynamo_lite.trace.sizes import Operand
from fx_ir.dtypes import bool_, uint8
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.registry import OPS
from fx_ir.ops.shapes import same
from solver.expr import Expr, IntExpr, int_symbol
from solver.sym import SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.level import Level
    from dynamo_lite.trace.tracer import Tracer

SYM_SIZE = "aten::sym_size.int"
_OF_ONE: Final = frozenset({"nonzero", "nonzero_numpy", "where", "item"})  # they look at one tensor alone


@dataclass(frozen=True, slots=True)
class Definition:
    """The symbol is ``node`` itself, or (``dim`` given) found from ``size(node, dim) == scale * symbol + shift``."""

    node: Node
    dim: int | None = None
    scale: int = 1
    shift: int = 0


class Definitions:
    """Symbol names and where they come from; the first definition counts."""

    __slots__ = ("_found", "_known", "_tracer", "expected")

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._known: dict[str, Definition] = {}
        self._found: dict[tuple[bool, Node], SymInt] = {}
        self.expected: list[tuple[str, Any]] = []  # new symbols that the node being recorded will define

    def expect(self, name: str, number: Any) -> None:
        """The node that is being recorded defines a new symbol."""
        self.expected.append((name, number))

    def made(self, result: Any, node: Node) -> None:
        """``node`` was recorded: the symbols expected of it are ``result`` itself, or sizes of it or of its parts."""
        expected, self.expected = self.expected, []
        if len(expected) == 1:
            self._again(node, expected[0][1])
        for name, made in expected:
            if result is made:
                self.by_value(name, node)
                continue
            outputs = result if isinstance(result, (tuple, list)) else (result,)
            for index, meta in enumerate(outputs):
                if meta is made and name not in self:
                    self.by_value(name, self._part(node, index, meta))
                if not isinstance(meta, TensorMeta):
                    continue
                holder = node if meta is result else None
                for dim, size in enumerate(meta.shape):
                    if isinstance(size, SymInt) and name not in self:
                        holder = self._part(node, index, meta) if holder is None else holder
                        self.by_size(holder, dim, size.expr)

    def _part(self, node: Node, index: int, value: Any) -> Node:
        """One result of several."""
        graph = self._tracer.level.graph
        return graph.call_function(operator.getitem, (node, index), meta=self._tracer.node_meta(value))

    def _again(self, node: Node, number: Any) -> None:
        """A number that was found in the same value before (its content, how many of its elements are true) is that one."""
        source = _source(node)
        if source is None or type(number) is not self._tracer.env.int_type:
            return
        before = self._found.setdefault((node.target.name == "item", source), number)
        if before is not number:
            self._tracer.env.learn(number == before)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> Definition:
        return self._known[name]

    def by_value(self, name: str, node: Node) -> None:
        """``node`` is the symbol."""
        self._known.setdefault(name, Definition(node))

    def by_size(self, node: Node, dim: int, size: Expr) -> None:
        """Size ``dim`` of ``node`` is ``size``: defines its symbol if it is linear in a single unknown one."""
        if not isinstance(size, IntExpr) or len(size.terms) != 1:
            return
        ((mono, scale),) = size.terms.items()
        atom = mono.atoms[0]
        if len(mono.atoms) == 1 and atom.op == "symbol" and scale > 0:
            known = self._known.get(atom.name)
            # A size that is the symbol itself tells it more simply than a derived one.
            if known is None or (known.dim is not None and known.scale != 1 and scale == 1):
                self._known[atom.name] = Definition(node, dim, scale, size.const)

    def node(self, name: str, level: Level) -> Operand:
        """The symbol's value in the graph of ``level``, which holds its definition."""
        found = self._known[name]
        if found.dim is None:
            return level.own(found.node)
        symbol = int_symbol(name)
        size = level.sizes.known_size(found.node, found.dim)
        if size is None:
            expr = symbol * found.scale + found.shift
            meta = self._tracer.node_meta(self._tracer.env.wrap(expr))
            size = level.graph.call_function(OPS[SYM_SIZE], (level.own(found.node), found.dim), meta=meta)
            level.sizes.remember_size(found.node, found.dim, size)
        value: Operand = size
        if found.shift:
            value = level.number(operator.sub, (value, found.shift), symbol * found.scale)
        if found.scale != 1:
            value = level.number(operator.floordiv, (value, found.scale), symbol)
        return value


def _source(node: Any) -> Node | None:
    """The one value that tells the new number of a node; None where several do."""
    if node.target.name in _OF_ONE and len(node.args) == 1:
        return node.args[0]  # type: ignore[no-any-return]
    if node.target.name == "masked_select":
        shapes = [arg.meta["val"].shape for arg in node.args]
        return node.args[1] if len(shapes[0]) == len(shapes[1]) and all(map(same, *shapes)) else None
    if node.target.name != "index":
        return None
    masks = [
        index for index in node.args[1] if index is not None and index.meta["val"].dtype in (bool_, uint8)
    ]
    return masks[0] if len(masks) == 1 else None
