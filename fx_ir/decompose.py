"""The same program over more elementary operators.

A decomposition is a :class:`Rule` (written over ``call``, below) or any Python function of tensors, which the program's tensor
library traces. What a rule produces is decomposed in turn; names, lines and module stacks come from the node that is replaced.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fx_ir.errors import NO_FUNCTION_TRACER
from fx_ir.graph import Graph, GraphModule
from fx_ir.node import Node, map_nodes
from fx_ir.ops.registry import OPS, Operator, Packet, infer
from fx_ir.signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    ModuleCallEntry,
    OutputSpec,
)
from fx_ir.symbols import DetachedEnv, program_env

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

# Tensor library -> trace(function, args, kwargs, env): the graph of a Python function, tensors given as TensorMeta.
FUNCTION_TRACERS: Final[dict[str, Callable[..., GraphModule]]] = {}
MAX_DEPTH: Final = 50


@dataclass(frozen=True, slots=True)
class Rule:
    """``expand(build, *args, **kwargs)`` with nodes for tensors; returns a node, a tuple of nodes, or NotImplemented."""

    expand: Callable[..., Any]


class Builder:
    """What rules build with: operators by qualified name, and sizes."""

    def __init__(self, graph: Graph, env: DetachedEnv, rules: Mapping[Operator, Any], backend: str) -> None:
        self.graph = graph
        self.env = env
        self.rules = rules
        self.backend = backend
        self.meta: dict[str, Any] = {}
        self.depth = 0

    def call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The value of an operator on nodes and plain values, itself decomposed where a rule says so."""
        return self.apply(OPS[name], args, kwargs)

    def size(self, x: Node, dim: int) -> Any:
        """A size of a tensor: an int, or the node that reads it."""
        size = x.meta["val"].shape[dim]
        if isinstance(size, int):
            return size
        return self.node(OPS["aten::sym_size.int"], (x, dim % x.meta["val"].ndim), {}, size)

    def node(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], val: Any) -> Node:
        return self.graph.call_function(target, args, kwargs, meta={**self.meta, "val": val})

    def apply(self, op: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], val: Any = None) -> Any:
        """Expands a call, or records it with its value (``val``: one that is known already)."""
        rule = self.rules.get(op)
        if rule is not None and self.depth < MAX_DEPTH:
            self.depth += 1
            try:
                bound, keywords = op.bind(args, kwargs)
                expanded = self.expand(rule, bound, keywords)
            finally:
                self.depth -= 1
            if expanded is not NotImplemented:
                return expanded
        if val is None:
            bound, keywords = op.match(map_nodes(args, _val), map_nodes(kwargs, _val))
            self.env.origin = op.qualified
            val = infer(op, bound, keywords)
        return self.node(op, args, kwargs, val)

    def expand(self, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(rule, Rule):
            return rule.expand(self, *args, **kwargs)
        tracer = FUNCTION_TRACERS.get(self.backend)
        if tracer is None:
            raise NO_FUNCTION_TRACER(name=getattr(rule, "__qualname__", repr(rule)), backend=self.backend)
        traced = tracer(rule, map_nodes(args, _val), map_nodes(kwargs, _val), self.env)
        given: list[Node] = []
        map_nodes((args, kwargs), given.append)
        return self.inline(traced, given)

    def inline(self, module: GraphModule, given: list[Node]) -> Any:
        """Copies a graph's computed nodes here, its placeholders replaced by the nodes given."""
        owner = self.graph.owning_module
        made: dict[Node, Any] = dict(zip(module.graph.placeholders, given, strict=True))
        for node in module.graph.nodes:
            if node.op == "get_attr" and owner is not None:
                name = f"{node.target}_{len(owner.submodules)}"
                owner.add_submodule(name, module.submodules[node.target])
                made[node] = self.graph.get_attr(name)
            elif node.op == "call_function":
                args, kwargs = (
                    map_nodes(node.args, made.__getitem__),
                    map_nodes(dict(node.kwargs), made.__getitem__),
                )
                if isinstance(node.target, Operator):
                    made[node] = self.apply(node.target, args, kwargs, node.meta["val"])
                else:
                    made[node] = self.node(node.target, args, kwargs, node.meta.get("val"))
        held = map_nodes(module.graph.output_node().args[0], made.__getitem__)
        return held[0] if isinstance(held, tuple) and len(held) == 1 else held


def _val(node: Node) -> Any:
    return node.meta["val"]


def run_decompositions(program: ExportedProgram, table: Mapping[Any, Any] | None = None) -> ExportedProgram:
    """A program that computes the same without the operators of ``table`` (None: :func:`default_decompositions`).

    Keys are operators or packets, as ``ops.aten.linear`` gives them. Raises ``no-function-tracer``.
    """
    from fx_ir.ops.decompositions import default_decompositions
    from fx_ir.program import ExportedProgram

    rules: dict[Operator, Any] = {}
    for key, rule in (default_decompositions() if table is None else table).items():
        key = getattr(key, "operator", key)
        for op in key.overloads if isinstance(key, Packet) else (key,):
            rules[op] = rule
    module, made = _rebuild(program.graph_module, rules, program_env(program), program.backend_name)
    return ExportedProgram(
        graph_module=module,
        graph_signature=_renamed(program.graph_signature, module.graph),
        contract=program.contract,
        out_spec=program.call_spec.out_spec,
        backend=program.backend_name,
        state_dict=program.state_dict,
        constants=program.constants,
        guards=program.guards,
        problem=program.problem,
        proof=program._proof,
        assumptions=program.assumptions,
        effects=program.effects,
        example_inputs=program.example_inputs,
        module_call_graph=[_renamed_call(entry, made) for entry in program.module_call_graph],
        notes=program.notes,
    )


def _rebuild(
    old: GraphModule, rules: Mapping[Operator, Any], env: DetachedEnv, backend: str
) -> tuple[GraphModule, dict[str, str]]:
    """The new graph, and what nodes of the old are called in it (nothing: those that have no single counterpart)."""
    graph = Graph()
    branches = {name: _rebuild(branch, rules, env, backend)[0] for name, branch in old.submodules.items()}
    module = GraphModule(graph, branches)
    builder = Builder(graph, env, rules, backend)
    made: dict[Node, Any] = {}
    for node in old.graph.nodes:
        if node.op == "call_function" and (node.target in rules or _is_item(node, made)):
            builder.meta = {key: value for key, value in node.meta.items() if key != "val"}
            args, kwargs = (
                map_nodes(node.args, made.__getitem__),
                map_nodes(dict(node.kwargs), made.__getitem__),
            )
            if node.target in rules:
                made[node] = builder.apply(node.target, args, kwargs, node.meta["val"])
            else:
                made[node] = args[0][args[1]]
        else:
            made[node] = graph.node_copy(node, made.__getitem__)
    graph.eliminate_dead_code()
    graph.rename_canonically()
    alive = set(graph.nodes)
    return module, {
        node.name: new.name for node, new in made.items() if isinstance(new, Node) and new in alive
    }


def _renamed_call(entry: ModuleCallEntry, names: Mapping[str, str]) -> ModuleCallEntry:
    """A module's kept signature with the nodes' new names."""
    kept = entry.signature
    if kept is None:
        return entry

    def renamed(arguments: list[ArgumentSpec]) -> list[ArgumentSpec]:
        return [
            arg if isinstance(arg, ConstantArgument) else replace(arg, name=names.get(arg.name, ""))
            for arg in arguments
        ]

    signature = replace(kept, inputs=renamed(kept.inputs), outputs=renamed(kept.outputs))
    return ModuleCallEntry(entry.fqn, signature)


def _is_item(node: Node, made: Mapping[Node, Any]) -> bool:
    """True for the selection of one result of a node that became several."""
    return node.target is operator.getitem and isinstance(made.get(node.args[0]), (tuple, list))


def _renamed(signature: ExportGraphSignature, graph: Graph) -> ExportGraphSignature:
    """The signature with the outputs' new names."""
    held = graph.output_node().args[0]
    outputs: list[OutputSpec] = []
    for spec, value in zip(signature.output_specs, held, strict=True):
        if isinstance(value, Node) and not isinstance(spec.arg, ConstantArgument):
            spec = replace(spec, arg=replace(spec.arg, name=value.name))
        outputs.append(spec)
    return ExportGraphSignature(list(signature.input_specs), outputs)
