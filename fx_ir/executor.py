"""Runs graphs: a graph becomes the source of one Python function, compiled for one tensor library.

Kernels are globals of that function, the layout of every call is settled when the source is written, values are deleted
after their last use, arithmetic on sizes is written inline, branch graphs are functions beside it.
"""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from fx_ir import control_flow
from fx_ir.backend import Backend, backend_of
from fx_ir.dtypes import Device, DType, Layout, MemoryFormat
from fx_ir.errors import GRAPH_INVALID
from fx_ir.graph import GraphModule
from fx_ir.guard_errors import ASSERTION
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.node import Node, nodes_in
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops.registry import Operator
from fx_ir.purity import branch_modules
from solver.errors import Location

Run = Callable[..., Any]
_COUNTER: Final = itertools.count()
_INLINE: Final = (int, bool, str, type(None))


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """``run`` takes the native values of the placeholders by position and returns what the output node holds."""

    run: Run
    source: str


def compile_graph(module: GraphModule, backend: Backend) -> CompiledGraph:
    """Compiles a graph with its branch graphs. Raises ``kernel-missing`` or ``graph-invalid``."""
    writer = _Writer(backend)
    name = writer.function(module, "forward")
    source = "\n".join(writer.lines)
    filename = f"<graph {next(_COUNTER)}>"
    # Tracebacks then show the line of the graph, with the user's line behind it.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    writer.namespace["__name__"] = __name__  # code of these packages, as every frame shows
    exec(compile(source, filename, "exec"), writer.namespace)
    return CompiledGraph(backend.quietly(writer.namespace[name]), source)


def run_graph_module(module: GraphModule, args: tuple[Any, ...]) -> Any:
    """Runs a graph module on tensors, plain numbers and the like; tensors come out where tensors are computed."""
    backend = backend_of(args)
    natives = [backend.unwrap(value) if backend.is_tensor(value) else value for value in args]
    result = compile_graph(module, backend).run(*natives)
    held = module.graph.output_node().args[0]
    return _wrapped(backend, held, result)


def _wrapped(backend: Backend, held: Any, result: Any) -> Any:
    from fx_ir.meta import TensorMeta

    if isinstance(held, Node):
        val = held.meta.get("val")
        return backend.wrap(result, val) if isinstance(val, TensorMeta) else result
    if isinstance(held, (tuple, list)):
        return type(held)(_wrapped(backend, item, value) for item, value in zip(held, result, strict=True))
    if isinstance(held, dict):
        return {key: _wrapped(backend, item, result[key]) for key, item in held.items()}
    return result


class _Writer:
    """Writes functions. Local names are the nodes' own; ours begin with two underscores and a digit."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.lines: list[str] = []
        self.namespace: dict[str, Any] = {"math": math, "__builtins__": __builtins__}
        self.kernels: dict[Operator, str] = {}
        self.functions: dict[int, str] = {}
        self.taken: set[str] = set()

    # --- functions ---------------------------------------------------------------------------------------------------

    def function(self, module: GraphModule, wish: str) -> str:
        """Writes a graph (once) and the branches that it needs; returns the function's name."""
        known = self.functions.get(id(module))
        if known is not None:
            return known
        name = self.fresh(wish)
        self.functions[id(module)] = name
        for node in module.graph.nodes:
            for branch in branch_modules(node) if node.op == "call_function" else ():
                self.function(branch, "branch")
        parameters = ", ".join(node.name for node in module.graph.nodes if node.op == "placeholder")
        body = [line for node, dead in _with_last_uses(module) for line in self.node(node, dead)]
        self.lines += [f"def {name}({parameters}):", *(f"    {line}" for line in body or ["pass"])]
        return name

    def fresh(self, wish: str) -> str:
        return f"__{len(self.namespace) + len(self.functions)}_{wish}"

    def bind(self, value: Any, wish: str) -> str:
        """A global name for an object."""
        name = self.fresh(wish)
        self.namespace[name] = value
        return name

    # --- nodes -------------------------------------------------------------------------------------------------------

    def node(self, node: Node, dead: list[str]) -> Iterator[str]:
        if node.op == "output":
            yield f"return {self.argument(node.args[0]) if node.args else None}"
            return
        if node.op == "call_function":
            yield from self.call(node)
        if dead:
            yield f"del {', '.join(dead)}"

    def call(self, node: Node) -> Iterator[str]:
        target = node.target
        location = node.meta.get("location")
        comment = "" if location is None else f"  # {location}".replace("\n", " ")
        if isinstance(target, HigherOrderOperator):
            yield from control_flow.WRITERS[target.name](self, node)
            if self.backend.joined is not None:
                joined = self.bind(self.backend.joined, "joined")
                operands = [source for source in node.all_input_nodes if source.op != "get_attr"]
                yield f"{node.name} = {joined}({node.name}, {self.argument(operands)})"
            return
        if isinstance(target, Operator):
            special = _SPECIAL.get(target.name)
            if special is not None and target.namespace == "aten":
                yield from special(self, node)
                return
            expression = self.kernel_call(target, node)
        else:
            expression = self.number_call(node)
        yield f"{node.name} = {expression}{comment}" if node.users else f"{expression}{comment}"

    def kernel_call(self, target: Operator, node: Node) -> str:
        kernel = self.kernels.get(target)
        if kernel is None:
            kernel = self.kernels[target] = self.bind(self.backend.kernel(target), target.name)
        try:
            args, kwargs = target.bind(node.args, node.kwargs)
        except TypeError as error:
            raise GRAPH_INVALID(
                node=node.name, problem=str(error), location=node.meta.get("location")
            ) from None
        written = [self.argument(value) for value in args]
        written += [f"{key}={self.argument(value)}" for key, value in kwargs.items()]
        return f"{kernel}({', '.join(written)})"

    def number_call(self, node: Node) -> str:
        known = NUMBER_OPS.get(node.target)
        arguments = [self.argument(value) for value in node.args]
        if known is None:
            raise GRAPH_INVALID(node=node.name, problem=f"its target {node.target!r} is no operator")
        if node.kwargs or known.template.count("{") != len(arguments):
            arguments += [f"{key}={self.argument(value)}" for key, value in node.kwargs.items()]
            return f"{self.bind(known.function, 'function')}({', '.join(arguments)})"
        return known.template.format(*arguments)

    def argument(self, value: Any) -> str:
        """An argument as source."""
        kind = type(value)
        if kind is Node:
            name: str = value.name
            return name
        if kind in _INLINE:
            return repr(value)
        if kind is float and math.isfinite(value):
            return repr(value)
        if kind is list:
            return f"[{', '.join(map(self.argument, value))}]"
        if kind is tuple:
            return f"({', '.join(map(self.argument, value))}{',' if len(value) == 1 else ''})"
        if kind is dict:
            return f"{{{', '.join(f'{key!r}: {self.argument(item)}' for key, item in value.items())}}}"
        if kind is slice:
            return f"slice({', '.join(map(self.argument, (value.start, value.stop, value.step)))})"
        if isinstance(value, (DType, Device, Layout, MemoryFormat)):
            return self.bind(self.backend.constant(value), "constant")
        return self.bind(value, "constant")

    def failure(self, message: str, location: Location | None) -> str:
        """The name of a function that raises the run-time assertion's error."""

        def fail() -> NoReturn:
            raise ASSERTION(message=message, location=location)

        return self.bind(fail, "fail")


def _with_last_uses(module: GraphModule) -> list[tuple[Node, list[str]]]:
    """Each node but placeholders with the names that nothing needs after it."""
    seen: set[Node] = set()
    result: list[tuple[Node, list[str]]] = []
    for node in reversed(module.graph.nodes):
        if node.op == "placeholder":
            continue
        dead: list[str] = []
        for source in nodes_in((node.args, node.kwargs)):
            if source not in seen:
                seen.add(source)
                if source.op != "get_attr":
                    dead.append(source.name)
        result.append((node, dead if node.op != "output" else []))
    result.reverse()
    return result


# --- operators that are written inline -------------------------------------------------------------------------------


def _sym_size(writer: _Writer, node: Node) -> Iterator[str]:
    tensor, dim = node.args
    yield f"{node.name} = {writer.argument(tensor)}.shape[{writer.argument(dim)}]"


def _assert_scalar(writer: _Writer, node: Node) -> Iterator[str]:
    condition, *rest = node.args
    message = rest[0] if rest else node.kwargs.get("assert_msg", "a runtime assertion failed")
    fail = writer.failure(str(message), node.meta.get("location"))
    yield f"if not {writer.argument(condition)}: {fail}()"


def _constrain_range(writer: _Writer, node: Node) -> Iterator[str]:
    size = writer.argument(node.args[0])
    low = node.kwargs.get("min")
    high = node.kwargs.get("max")
    if low is None and node.target.name == "sym_constrain_range_for_size":
        low = 0
    fail = writer.failure(f"a size that depends on data is outside {low}..{high}", node.meta.get("location"))
    if low is not None:
        yield f"if {size} < {writer.argument(low)}: {fail}()"
    if high is not None:
        yield f"if {size} > {writer.argument(high)}: {fail}()"


_SPECIAL: Final[dict[str, Callable[[_Writer, Node], Iterator[str]]]] = {
    "sym_size": _sym_size,
    "_assert_scalar": _assert_scalar,
    "sym_constrain_range": _constrain_range,
    "sym_constrain_range_for_size": _constrain_range,
}
