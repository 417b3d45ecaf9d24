"""Structural comparison of graphs: what differs, node by node."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from fx_ir.dtypes import Device, DType
from fx_ir.graph import Graph, GraphModule
from fx_ir.meta import TensorMeta
from fx_ir.names import Namespace, target_base_name
from fx_ir.node import Node
from fx_ir.plain import same_plain
from fx_ir.printer import format_target, format_value


def canonical_names(graph: Graph) -> dict[Node, str]:
    """The names that nodes have after canonical naming: by target and position; placeholders keep theirs."""
    names = Namespace()
    given: dict[Node, str] = {}
    for node in graph.nodes:
        if node.op == "placeholder":
            names.claim(node.name)
            given[node] = node.name
    for node in graph.nodes:
        if node.op == "call_function":
            given[node] = names.create(target_base_name(node.target))
        elif node.op != "placeholder":
            given[node] = names.create(node.target.replace(".", "_"))
    return given


def same_graph(a: Graph | GraphModule, b: Graph | GraphModule, *, limit: int = 20) -> list[str]:
    """The differences between two graphs and their branch graphs, one sentence each; empty when they are equal.

    Compared are ops, targets, arguments, canonical names and the descriptions of values (dtype, sizes, device); what
    they were traced from (module stack, lines) is not.
    """
    first = a if isinstance(a, Graph) else a.graph
    second = b if isinstance(b, Graph) else b.graph
    differences = list(_compare(first, second))
    left, right = first.owning_module, second.owning_module
    if left is not None and right is not None:
        if list(left.submodules) != list(right.submodules):
            differences.append(f"branch graphs {list(left.submodules)} and {list(right.submodules)}")
        for name in left.submodules:
            if name in right.submodules:
                inner = same_graph(left.submodules[name], right.submodules[name], limit=limit)
                differences += [f"{name}: {text}" for text in inner]
    return differences[:limit]


def _compare(a: Graph, b: Graph) -> list[str]:
    names_a, names_b = canonical_names(a), canonical_names(b)
    found: list[str] = []
    for left, right in zip_longest(a.nodes, b.nodes):
        if left is None or right is None:
            extra, where = (right, "second") if left is None else (left, "first")
            found.append(f"{extra.name} ({format_target(extra.target)}) is in the {where} graph only")
            continue
        label = names_a[left]
        if (left.op, left.target) != (right.op, right.target):
            found.append(
                f"{label}: {left.op} {format_target(left.target)} and {right.op} {format_target(right.target)}"
            )
        elif names_a[left] != names_b[right]:
            found.append(f"names {names_a[left]} and {names_b[right]}")
        elif not _same(left.args, right.args, names_a, names_b) or not _same(
            left.kwargs, right.kwargs, names_a, names_b
        ):
            found.append(f"{label}: arguments {left.args} {left.kwargs} and {right.args} {right.kwargs}")
        else:
            one, other = describe(left.meta.get("val")), describe(right.meta.get("val"))
            if one != other:
                found.append(f"{label}: values {one} and {other}")
    return found


def describe(val: Any) -> str:
    """A value's description with everything that two captures must agree on."""
    if isinstance(val, TensorMeta):
        return f"{format_value(val)} on {val.device}"
    if isinstance(val, (tuple, list)):
        return f"({', '.join(map(describe, val))})"
    return format_value(val) or repr(val)


def _same(a: Any, b: Any, names_a: dict[Node, str], names_b: dict[Node, str]) -> bool:
    if isinstance(a, Node) or isinstance(b, Node):
        return isinstance(a, Node) and isinstance(b, Node) and names_a[a] == names_b[b]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y, names_a, names_b) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_same(a[key], b[key], names_a, names_b) for key in a)
    if isinstance(a, slice) and isinstance(b, slice):
        parts = ((a.start, b.start), (a.stop, b.stop), (a.step, b.step))
        return all(_same(x, y, names_a, names_b) for x, y in parts)
    if isinstance(a, (DType, Device)):
        return bool(a == b)
    return same_plain(a, b)
