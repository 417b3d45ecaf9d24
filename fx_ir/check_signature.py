"""Does the signature of a program agree with its graph, its state and its contract?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from fx_ir.contract import ConstLeaf, InputLeaf, IntLeaf
from fx_ir.errors import PROGRAM_INVALID
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.printer import format_value
from fx_ir.signature import ConstantArgument, InputKind, OutputKind
from solver import expr as E
from solver.expr import IntExpr
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

_INPUT_ORDER: Final = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.USER_INPUT)
_OUTPUT_ORDER: Final = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.USER_OUTPUT)
SYMBOLIC: Final = (SymInt, SymFloat, SymBool)


def fail(node: Node | str, problem: str) -> NoReturn:
    """Raises ``program-invalid`` at a node."""
    name = node if isinstance(node, str) else node.name
    location = None if isinstance(node, str) else node.meta.get("location")
    raise PROGRAM_INVALID(node=name, problem=problem, location=location)


def expression(value: Any) -> Any:
    """The expression of a symbolic number or an int; anything else as it is."""
    if isinstance(value, SYMBOLIC):
        return value.expr
    return E.constant(value) if type(value) is int else value


def shown(value: Any) -> str:
    """A value's description for a message."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(shown, value))})"
    return format_value(value) or repr(value)


def length(held: Any) -> int | None:
    """How many values a graph returns."""
    return len(held) if isinstance(held, (tuple, list)) else None


def check_signature(program: ExportedProgram) -> None:
    """Placeholders, outputs, state and contract agree with the signature."""
    signature, graph = program.graph_signature, program.graph
    placeholders = graph.placeholders
    names = [spec.arg.name for spec in signature.input_specs]
    if names != [node.name for node in placeholders]:
        fail(
            "inputs",
            f"the signature names {names}, the placeholders are {[node.name for node in placeholders]}",
        )
    order = [_INPUT_ORDER.index(spec.kind) for spec in signature.input_specs if spec.kind in _INPUT_ORDER]
    if order != sorted(order):
        fail("inputs", "they are not in the order parameters, buffers, constants, user inputs")
    state = {**program.state_dict, **program.constants}
    users: list[Node] = []
    for spec, node in zip(signature.input_specs, placeholders, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            users.append(node)
        elif spec.target not in state:
            fail(node, f"there is no parameter, buffer or constant {spec.target!r}")
        else:
            _check_tensor(node, program.backend.describe(state[spec.target]))
    _check_contract(program, users)
    _check_outputs(program, {node.name for node in users})


def _check_tensor(node: Node, given: TensorMeta) -> None:
    val = node.meta.get("val")
    if not isinstance(val, TensorMeta):
        fail(node, "a tensor input has no tensor as its value")
    if val.dtype is not given.dtype or tuple(val.shape) != tuple(given.shape):
        fail(node, f"its tensor is {given!r}, the graph says {shown(val)}")


def _check_contract(program: ExportedProgram, users: Sequence[Node]) -> None:
    leaves = program.contract.leaves
    if [leaf.name for leaf in leaves] != [node.name for node in users]:
        fail(
            "inputs",
            f"the contract names {[leaf.name for leaf in leaves]}, the user inputs are {[n.name for n in users]}",
        )
    if program.contract.in_spec.num_leaves != len(leaves):
        fail("inputs", "the structure of the inputs does not fit their number")
    for leaf, node in zip(leaves, users, strict=True):
        _check_leaf(leaf, node)


def _check_leaf(leaf: InputLeaf, node: Node) -> None:
    val = node.meta.get("val")
    if isinstance(leaf, ConstLeaf):
        if node.users:
            fail(node, "a burned-in input is used in the graph")
    elif isinstance(leaf, IntLeaf):
        if expression(val) is not _expression_of(leaf.expr):
            fail(node, f"the contract says {leaf.expr}, the graph {shown(val)}")
    elif not isinstance(val, TensorMeta):
        fail(node, "a tensor input has no tensor as its value")
    else:
        sizes = [expression(size) for size in val.shape]
        if (
            val.dtype is not leaf.dtype
            or val.device != leaf.device
            or sizes != [_expression_of(d) for d in leaf.dims]
        ):
            fail(
                node,
                f"the contract says {leaf.dtype.short}[{', '.join(map(str, leaf.dims))}], the graph {shown(val)}",
            )


def _expression_of(size: int | IntExpr) -> IntExpr:
    return E.constant(size) if isinstance(size, int) else size


def _check_outputs(program: ExportedProgram, users: set[str]) -> None:
    specs = program.graph_signature.output_specs
    held = program.graph.output_node().args[0]
    if not isinstance(held, (tuple, list)) or len(held) != len(specs):
        fail("output", f"the graph returns {length(held)} values, the signature names {len(specs)}")
    order = [_OUTPUT_ORDER.index(spec.kind) for spec in specs if spec.kind in _OUTPUT_ORDER]
    if order != sorted(order):
        fail("output", "outputs are not in the order mutated buffers, mutated inputs, user outputs")
    targets: Mapping[OutputKind, set[str]] = {
        OutputKind.BUFFER_MUTATION: set(program.graph_signature.buffers),
        OutputKind.USER_INPUT_MUTATION: users,
    }
    for spec, value in zip(specs, held, strict=True):
        if isinstance(value, Node):
            if value.name != spec.arg.name:
                fail("output", f"the graph returns {value.name} where the signature says {spec.arg.name}")
        elif not isinstance(spec.arg, ConstantArgument):
            fail(
                "output", f"the graph returns the constant {value!r} where the signature says {spec.arg.name}"
            )
        if spec.kind in targets and spec.target not in targets[spec.kind]:
            fail("output", f"{spec.arg.name} updates {spec.target!r}, which is not there")
    count = sum(spec.kind is OutputKind.USER_OUTPUT for spec in specs)
    if program.call_spec.out_spec.num_leaves != count:
        fail(
            "output",
            f"the structure returned has {program.call_spec.out_spec.num_leaves} leaves, the signature {count}",
        )
