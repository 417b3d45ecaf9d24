"""Dimensions that turned out static when tracing had ended: the graph is made as if they had been so from the start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dynamo_lite.trace.tracer import Tracer
from fx_ir.graph import GraphModule
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, map_nodes
from solver.shape_env import ShapeEnv
from solver.sym import SymBool, SymFloat, SymInt

_SYMBOLIC = (SymInt, SymFloat, SymBool)


def settle(tracer: Tracer, held: list[Any]) -> list[Any]:
    """Puts the sizes of ``env.static`` into every value of the graph; what thereby is a plain number is no node any more.

    ``held`` is what the graph is going to return; so it comes back. Nothing happens where no dimension turned out static.
    """
    env = tracer.env
    if not env.static:
        return held
    plain: dict[Node, Any] = {}
    for module in tracer.top.module.modules():
        plain |= _settle_graph(module, env)
    if not plain:
        return held

    def swap(value: Any) -> Any:
        return map_nodes(value, lambda node: plain.get(node, node))

    tracer.calls.kept[:] = [
        replace(call, inputs=swap(call.inputs), outputs=swap(call.outputs)) for call in tracer.calls.kept
    ]
    return [swap(value) for value in held]


def _settle_graph(module: GraphModule, env: ShapeEnv) -> dict[Node, Any]:
    """Gives every node its value with static sizes. Calls that have become plain numbers go; they are returned."""
    plain: dict[Node, Any] = {}
    for node in module.graph.nodes:
        before = node.meta.get("val")
        after = node.meta["val"] = _settled(before, env)
        if isinstance(before, _SYMBOLIC) and not isinstance(after, _SYMBOLIC):
            plain[node] = after
    for node, value in plain.items():
        for user in list(node.users):
            user.replace_input_with(node, value)
    for node in plain:
        if node.op == "call_function":
            module.graph.erase_node(node)
    return plain


def _settled(val: Any, env: ShapeEnv) -> Any:
    if isinstance(val, _SYMBOLIC):
        return env.wrap(env.final(val.expr))
    if isinstance(val, TensorMeta):
        return _settled_meta(val, env)
    if type(val) in (tuple, list):
        return type(val)(_settled(item, env) for item in val)
    return val


def _settled_meta(val: TensorMeta, env: ShapeEnv) -> TensorMeta:
    strides: Any = None
    if not val.has_layout:
        strides = lambda: _settled(tuple(val.strides), env)  # noqa: E731
    elif not val.is_plain:
        strides = _settled(tuple(val.strides), env)
    shape = _settled(tuple(val.shape), env)
    return TensorMeta(
        shape, val.dtype, val.device, strides, val.requires_grad, _settled(val.settled_offset, env)
    )
