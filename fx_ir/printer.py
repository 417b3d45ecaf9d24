"""Programs as text, in the form that PyTorch prints them: typed values, source lines, signature, ranges."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from fx_ir.graph import Graph, GraphModule
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, nodes_in
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops.registry import Operator
from solver.errors import Location
from solver.expr import in_a_line
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

INDENT: Final = "    "


def _size(size: int | SymInt) -> str:
    """Of a symbolic size the expression: ``str`` of the size itself asks for its value and so adds a guard."""
    return in_a_line(size.expr) if isinstance(size, SymInt) else str(size)


def format_value(val: Any) -> str:
    """A value's description: ``f32[s0, 4]``, ``Sym(2*s0 + 1)``; empty for what has none."""
    if isinstance(val, TensorMeta):
        return f"{val.dtype.short}[{', '.join(map(_size, val.shape))}]"
    if isinstance(val, (SymInt, SymFloat, SymBool)):
        return f"Sym({in_a_line(val.expr)})"
    if isinstance(val, bool | int | float):
        return f"Sym({val})"
    return ""


def format_target(target: Any) -> str:
    """A target as PyTorch spells it: ``torch.ops.aten.add.Tensor``, ``operator.add``."""
    if isinstance(target, (Operator, HigherOrderOperator)):
        return f"torch.ops.{target}"
    known = NUMBER_OPS.get(target)
    if known is not None:
        return known.name
    return getattr(target, "__qualname__", str(target))


def format_argument(value: Any) -> str:
    """An argument as Python source."""
    if isinstance(value, Node):
        return value.name
    if isinstance(value, list):
        return f"[{', '.join(map(format_argument, value))}]"
    if isinstance(value, tuple):
        inner = ", ".join(map(format_argument, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {format_argument(item)}' for key, item in value.items())}}}"
    if isinstance(value, slice):
        return f"slice({', '.join(map(format_argument, (value.start, value.stop, value.step)))})"
    return repr(value)


def format_call(node: Node) -> str:
    """The right-hand side of a node's assignment."""
    arguments = [format_argument(value) for value in node.args]
    known = NUMBER_OPS.get(node.target) if node.op == "call_function" else None
    if known is not None and not node.kwargs and known.template.count("{") == len(arguments):
        text = known.template.format(*arguments)
        return text[1:-1] if text.startswith("(") and text.endswith(")") else text
    if node.op == "get_attr":
        return f"self.{node.target}"
    arguments += [f"{key} = {format_argument(value)}" for key, value in node.kwargs.items()]
    return f"{format_target(node.target)}({', '.join(arguments)})"


def format_node(node: Node) -> str:
    """One line a node, as FX's ``format_node``."""
    head = f"%{node.name} : [num_users={len(node.users)}] = {node.op}[target={format_target(node.target)}]"
    if node.op == "placeholder":
        return f"%{node.name} : [num_users={len(node.users)}] = placeholder[target={node.target}]"
    if node.op == "get_attr":
        return f"%{node.name} : [num_users={len(node.users)}] = get_attr[target={node.target}]"
    if node.op == "output":
        return f"return {format_argument(node.args[0]) if node.args else None}"
    keywords = ", ".join(f"{key}: {_percent(value)}" for key, value in node.kwargs.items())
    return f"{head}(args = {_percent(node.args)}, kwargs = {{{keywords}}})"


def _percent(value: Any) -> str:
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, list):
        return f"[{', '.join(map(_percent, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_percent, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def format_graph(graph: Graph) -> str:
    """All nodes, one line each."""
    return "\n".join(["graph():", *(f"{INDENT}{format_node(node)}" for node in graph.nodes)])


def source_line(location: Location) -> str:
    """The text of the user's line, empty where it is not to be had."""
    return linecache.getline(location.file, location.line).strip()


def location_comment(node: Node) -> str:
    """``# File: model.py:12 in forward, code: return self.lin(x)``."""
    location = node.meta.get("location")
    if location is None:
        return "# No stacktrace found for following nodes"
    code = node.meta.get("source") or source_line(location)
    return f"# File: {location.file}:{location.line} in {location.function}" + (
        f", code: {code}" if code else ""
    )


def _last_uses(graph: Graph) -> Mapping[Node, list[str]]:
    """For each node the names that nobody needs after it, in the order of its arguments."""
    last: dict[Node, Node] = {}
    for node in graph.nodes:
        for source in nodes_in((node.args, node.kwargs)):
            last[source] = node
    freed: dict[Node, list[str]] = {}
    for source, user in last.items():
        freed.setdefault(user, []).append(source.name)
    order = {node: [n.name for n in node.all_input_nodes] for node in freed}
    return {user: sorted(names, key=order[user].index) for user, names in freed.items()}


def _typed(node: Node) -> str:
    described = format_value(node.meta.get("val"))
    return f'{node.name}: "{described}"' if described else node.name


def graph_source(graph: Graph) -> str:
    """The graph as the text of a ``forward`` method."""
    placeholders = [_typed(node) for node in graph.nodes if node.op == "placeholder"]
    lines = [f"def forward({', '.join(['self', *placeholders])}):"]
    freed = _last_uses(graph)
    comment: str | None = None
    for node in graph.nodes:
        if node.op == "placeholder":
            continue
        if node.op == "output":
            lines.append(f"{INDENT}return {format_argument(node.args[0]) if node.args else None}")
            continue
        now = location_comment(node)
        if node.op != "get_attr" and now != comment:
            if comment is not None:
                lines.append("")
            lines.append(f"{INDENT}{now}")
            comment = now
        gone = freed.get(node, [])
        tail = f";  {' = '.join(gone)} = None" if gone else ""
        lines.append(f"{INDENT}{_typed(node)} = {format_call(node)}{tail}")
    return "\n".join(lines)


def module_text(module: GraphModule, name: str = "GraphModule") -> str:
    """The graph and its branch graphs as nested classes."""
    body = [graph_source(module.graph)]
    body += [module_text(branch, key) for key, branch in module.submodules.items()]
    return f"class {name}(torch.nn.Module):\n" + textwrap.indent("\n\n".join(body), INDENT)


def format_ranges(ranges: Mapping[str, tuple[int | None, int | None]]) -> str:
    """``{s0: VR[2, int_oo]}``."""
    parts = []
    for symbol, (low, high) in ranges.items():
        lower = "-int_oo" if low is None else low
        parts.append(f"{symbol}: VR[{lower}, {'int_oo' if high is None else high}]")
    return f"{{{', '.join(parts)}}}"


def _section(title: str, lines: Iterable[object]) -> str:
    shown = [f"{INDENT}{line}" for line in lines]
    return "\n".join([title, *shown, ""]) if shown else ""


def _cut(text: str, most: int = 1000) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


def program_text(program: ExportedProgram) -> str:
    """The whole program: graph, signature, ranges, and what it takes for granted."""
    conditions = [f"{_cut(c.text)}  ({c.kind})" for c in program.contract.conditions]
    parts = [
        "ExportedProgram:",
        textwrap.indent(module_text(program.graph_module), INDENT),
        "",
        "Graph signature:",
        *(f"{INDENT}{line}".rstrip() for line in str(program.graph_signature).strip("\n").split("\n")),
        "",
        f"Range constraints: {format_ranges(program.range_constraints)}",
        _section("Conditions:", conditions),
        _section("Assumptions:", program.assumptions),
        _section("Effects:", program.effects),
    ]
    return "\n".join(part for part in parts if part is not None).rstrip("\n") + "\n"
