"""Which calls matter even if nobody uses their value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fx_ir.higher_order import HigherOrderOperator
from fx_ir.ops.registry import Operator

if TYPE_CHECKING:
    from fx_ir.graph import GraphModule
    from fx_ir.node import Node

ASSERTIONS: Final = frozenset(
    {
        "_assert_async",
        "_assert_scalar",
        "_assert_tensor_metadata",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
    }
)


def is_impure_call(node: Node) -> bool:
    """True for calls that assert, draw random numbers, write to an argument, or hold a graph that does."""
    target = node.target
    if isinstance(target, Operator):
        return target.random or target.is_inplace or target.schema.is_mutable or target.name in ASSERTIONS
    if isinstance(target, HigherOrderOperator):
        return any(_is_impure_graph(module) for module in branch_modules(node))
    return False


def branch_modules(node: Node) -> list[GraphModule]:
    """The branch graphs of a higher-order call, in the order of its arguments."""
    owner = node.graph.owning_module
    target = node.target
    if owner is None or not isinstance(target, HigherOrderOperator):
        return []
    return [owner.submodules[node.args[index].target] for index in target.graph_args]


def _is_impure_graph(module: GraphModule) -> bool:
    return any(node.op == "call_function" and is_impure_call(node) for node in module.graph.nodes)
