"""A program as JSON: names in place of objects, expressions as text, lines in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fx_ir import plain, signature
from fx_ir.archive.limits import FORMAT, VERSION
from fx_ir.contract import Condition, ConstLeaf, Distinct, InputContract, InputLeaf, IntLeaf, TensorLeaf
from fx_ir.errors import ARCHIVE_UNSUPPORTED
from fx_ir.graph import GraphModule
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops.registry import Operator
from fx_ir.printer import source_line
from fx_ir.provenance import Assumption, Effect
from fx_ir.signature import ConstantArgument, ModuleCallEntry
from fx_ir.symbols import program_symbols
from fx_ir.treespec_io import spec_to_json
from solver.errors import Location
from solver.expr import BoolExpr, FloatExpr, IntExpr, written
from solver.problem import SymbolDecl
from solver.records import Guard
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

Json = Any


class Encoder:
    """Encodes one program; the table of locations fills on the way."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self.locations: dict[Location, int] = {}
        self.sources: dict[Location, str] = {}

    def program_json(self, tensors: Mapping[str, Json], examples: Json) -> Json:
        """The whole of ``program.json``."""
        program = self.program
        body = {
            "format": FORMAT,
            "version": VERSION,
            "backend": program.backend_name,
            "graph": self.module(program.graph_module),
            "signature": {
                "inputs": [self.input_spec(spec) for spec in program.graph_signature.input_specs],
                "outputs": [self.output_spec(spec) for spec in program.graph_signature.output_specs],
            },
            "contract": self.contract(program.contract),
            "symbols": {name: symbol(item) for name, item in program_symbols(program).items()},
            "guards": [self.guard(item) for item in program.guards],
            "out_spec": spec_to_json(program.call_spec.out_spec),
            "tensors": dict(tensors),
            "state_dict": list(program.state_dict),
            "constants": list(program.constants),
            "assumptions": [self.assumption(item) for item in program.assumptions],
            "effects": [self.effect(item) for item in program.effects],
            "notes": list(program.notes),
            "modules": [self.module_call(entry) for entry in program.module_call_graph],
            "examples": examples,
        }
        # The source of a line travels with it: the file is not there where the program is loaded.
        body["locations"] = [[at.file, at.line, at.function, self.sources[at]] for at in self.locations]
        return body

    # --- values ------------------------------------------------------------------------------------------------------

    def location(self, at: Location | None, source: str = "") -> int | None:
        if at is None:
            return None
        if at not in self.locations:
            self.locations[at] = len(self.locations)
            self.sources[at] = source or source_line(at)
        return self.locations[at]

    def argument(self, value: Any) -> Json:
        """An argument of a node."""
        return plain.encode(value, self._argument_leaf)

    def _argument_leaf(self, value: Any) -> Json:
        if isinstance(value, Node):
            return {"node": value.name}
        raise ARCHIVE_UNSUPPORTED(what=f"an argument of type {type(value).__qualname__}")

    def value(self, val: Any) -> Json:
        """A node's ``val``."""
        return plain.encode(val, self._value_leaf)

    def _value_leaf(self, val: Any) -> Json:
        if isinstance(val, TensorMeta):
            return {"tensor": self.tensor(val)}
        if isinstance(val, SymInt):
            return {"int": written(val.expr)}
        if isinstance(val, SymFloat):
            return {"real": written(val.expr)}
        if isinstance(val, SymBool):
            return {"truth": written(val.expr)}
        if isinstance(val, tuple):  # a named tuple of results
            return {"tuple": [self.value(item) for item in val]}
        raise ARCHIVE_UNSUPPORTED(what=f"a value of type {type(val).__qualname__}")

    def tensor(self, meta: TensorMeta) -> Json:
        data: dict[str, Json] = {
            "dtype": meta.dtype.name,
            "shape": [self.size(size) for size in meta.shape],
            "device": str(meta.device),
        }
        if not meta.has_layout:
            data["strides"] = "open"  # nobody asked for them, and asking now could need what is not known
        elif not meta.is_plain:
            data["strides"] = [self.size(size) for size in meta.strides]
        offset = meta.settled_offset
        if not (type(offset) is int and offset == 0):
            data["offset"] = self.size(offset)
        if meta.requires_grad:
            data["requires_grad"] = True
        return data

    def size(self, size: Any) -> Json:
        """An int, or the text of an expression."""
        if isinstance(size, SymInt):
            return written(size.expr)
        return written(size) if isinstance(size, (IntExpr, BoolExpr, FloatExpr)) else int(size)

    # --- graphs ------------------------------------------------------------------------------------------------------

    def module(self, module: GraphModule) -> Json:
        return {
            "nodes": [self.node(node) for node in module.graph.nodes],
            "branches": {name: self.module(branch) for name, branch in module.submodules.items()},
        }

    def node(self, node: Node) -> Json:
        data: dict[str, Json] = {"op": node.op, "name": node.name, "target": self.target(node)}
        if node.args:
            data["args"] = [self.argument(value) for value in node.args]
        if node.kwargs:
            data["kwargs"] = {key: self.argument(value) for key, value in node.kwargs.items()}
        if "val" in node.meta:
            data["val"] = self.value(node.meta["val"])
        at = self.location(node.meta.get("location"), node.meta.get("source", ""))
        if at is not None:
            data["at"] = at
        stack = node.meta.get("nn_module_stack")
        if stack:
            data["stack"] = [[path, name] for path, name in stack]
        return data

    def target(self, node: Node) -> str:
        target = node.target
        if node.op != "call_function":
            return str(target)
        if isinstance(target, Operator):
            return target.qualified
        if isinstance(target, HigherOrderOperator):
            return str(target)
        if target in NUMBER_OPS:
            return NUMBER_OPS[target].name
        raise ARCHIVE_UNSUPPORTED(what=f"a node with the target {target!r}")

    # --- signature and contract --------------------------------------------------------------------------------------

    def spec_argument(self, arg: signature.ArgumentSpec, where: str) -> Json:
        data: dict[str, Json] = {"kind": type(arg).__name__, "name": arg.name}
        if isinstance(arg, ConstantArgument):
            data["value"] = self.constant(arg.value, where)
        return data

    def constant(self, value: Any, where: str) -> Json:
        try:
            return plain.encode(value)
        except plain.NotPlain as error:
            raise ARCHIVE_UNSUPPORTED(what=f"{where}: {error}") from None

    def input_spec(self, spec: signature.InputSpec) -> Json:
        return {
            "kind": spec.kind.name,
            "arg": self.spec_argument(spec.arg, f"input {spec.arg.name}"),
            "target": spec.target,
            "persistent": spec.persistent,
        }

    def output_spec(self, spec: signature.OutputSpec) -> Json:
        arg = self.spec_argument(spec.arg, f"output {spec.arg.name}")
        return {"kind": spec.kind.name, "arg": arg, "target": spec.target}

    def contract(self, contract: InputContract) -> Json:
        return {
            "in_spec": spec_to_json(contract.in_spec),
            "arg_names": list(contract.arg_names),
            "leaves": [self.leaf(leaf) for leaf in contract.leaves],
            "ranges": {symbol: list(bounds) for symbol, bounds in contract.ranges.items()},
            "conditions": [self.condition(item) for item in contract.conditions],
            "distinct": [self.distinct(item) for item in contract.distinct],
        }

    def leaf(self, leaf: InputLeaf) -> Json:
        data: dict[str, Json] = {"name": leaf.name, "path": leaf.path}
        if isinstance(leaf, IntLeaf):
            return {"kind": "int", **data, "expr": self.size(leaf.expr)}
        data["at"] = self.location(leaf.location)
        if isinstance(leaf, ConstLeaf):
            return {"kind": "const", **data, "value": self.constant(leaf.value, f"input {leaf.path}")}
        assert isinstance(leaf, TensorLeaf)
        return {
            "kind": "tensor",
            **data,
            "dtype": leaf.dtype.name,
            "device": str(leaf.device),
            "dims": [self.size(size) for size in leaf.dims],
            "requires_grad": leaf.requires_grad,
            "contiguous": leaf.contiguous,
            "strides": None if leaf.strides is None else [self.size(size) for size in leaf.strides],
            "alias_of": leaf.alias_of,
            "offset": leaf.offset,
            "class": leaf.class_name,
        }

    def condition(self, item: Condition) -> Json:
        return {
            "expr": written(item.expr),
            "text": item.text,
            "kind": item.kind,
            "at": self.location(item.location),
        }

    def distinct(self, item: Distinct) -> Json:
        return {
            "first": item.first,
            "second": item.second,
            "at": self.location(item.location),
            "apart": item.apart,
        }

    def guard(self, item: Guard) -> Json:
        return {
            "id": item.id,
            "expr": written(item.expr),
            "at": self.location(item.location),
            "origin": item.origin,
            "kind": item.kind,
            "adopted": item.adopted,
            "message": item.message,
            "verdict": item.verdict,
        }

    # --- provenance --------------------------------------------------------------------------------------------------

    def assumption(self, item: Assumption) -> Json:
        expected = plain.encode(item.expected, lambda value: {"shown": str(value)})
        return {
            "path": item.path,
            "expected": expected,
            "kind": item.kind,
            "at": self.location(item.location),
        }

    def effect(self, item: Effect) -> Json:
        return {
            "kind": item.kind,
            "what": item.what,
            "became": item.became,
            "at": self.location(item.location),
        }

    def module_call(self, entry: ModuleCallEntry) -> Json:
        kept = entry.signature
        if kept is None:
            return {"fqn": entry.fqn}
        return {
            "fqn": entry.fqn,
            "inputs": [self.spec_argument(arg, f"input of {entry.fqn}") for arg in kept.inputs],
            "outputs": [self.spec_argument(arg, f"output of {entry.fqn}") for arg in kept.outputs],
            "in_spec": spec_to_json(kept.in_spec),
            "out_spec": spec_to_json(kept.out_spec),
            "arg_names": kept.forward_arg_names,
        }


def symbol(item: SymbolDecl) -> Json:
    """A symbol's sort, bounds and value in the example."""
    return {"kind": item.kind, "sort": item.sort, "min": item.min, "max": item.max, "hint": item.hint}
