"""The type checker of programs: order, schemas, re-derived values, signature. Run after every change of a graph."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from fx_ir import fake_context
from fx_ir.contract import ConstLeaf, InputLeaf, IntLeaf
from fx_ir.errors import PROGRAM_INVALID
from fx_ir.graph import GraphModule
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, map_nodes
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops.registry import Operator, infer
from fx_ir.printer import format_value
from fx_ir.purity import ASSERTIONS, branch_modules
from fx_ir.signature import ConstantArgument, InputKind, OutputKind
from fx_ir.symbols import DetachedEnv, Undetermined, detached_env, program_env
from solver import expr as E
from solver.errors import ExportError
from solver.expr import IntExpr, free_symbols
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

_INPUT_ORDER: Final = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.USER_INPUT)
_OUTPUT_ORDER: Final = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.USER_OUTPUT)
_SYMBOLIC: Final = (SymInt, SymFloat, SymBool)


def check(program: ExportedProgram | GraphModule) -> None:
    """Checks a program or a bare graph module. Raises ``graph-invalid`` or ``program-invalid`` with the node's name."""
    if isinstance(program, GraphModule):
        check_module(program, detached_env(None))
    else:
        check_program(program)


def check_program(program: ExportedProgram) -> None:
    """The whole check of a program."""
    check_signature(program)
    check_module(program.graph_module, program_env(program))


def fail(node: Node | str, problem: str) -> NoReturn:
    name = node if isinstance(node, str) else node.name
    location = None if isinstance(node, str) else node.meta.get("location")
    raise PROGRAM_INVALID(node=name, problem=problem, location=location)


# --- graphs ------------------------------------------------------------------------------------------------------------


def check_module(module: GraphModule, env: DetachedEnv) -> None:
    """Order, users, schemas and values of a graph and its branches."""
    module.graph.lint()
    seen: set[str] = set()
    for node in module.graph.nodes:
        if node.op == "placeholder":
            seen |= _symbols(node.meta.get("val"))
    for node in module.graph.nodes:
        if node.op == "call_function":
            _Step(node, env, seen).check()
            seen |= _symbols(node.meta.get("val"))
    for branch in module.submodules.values():
        check_module(branch, env)


def _symbols(val: Any) -> set[str]:
    if isinstance(val, TensorMeta):
        return {
            name
            for size in (*val.shape, val.offset)
            if isinstance(size, SymInt)
            for name in free_symbols(size.expr)
        }
    if isinstance(val, _SYMBOLIC):
        return set(free_symbols(val.expr))
    if isinstance(val, (tuple, list)):
        return {name for item in val for name in _symbols(item)}
    return set()


class _Step:
    """One call: its arguments against the schema, its value against the rule."""

    def __init__(self, node: Node, env: DetachedEnv, seen: set[str]) -> None:
        self.node = node
        self.env = env
        self.seen = seen

    def check(self) -> None:
        target = self.node.target
        if isinstance(target, Operator):
            self.operator(target)
        elif isinstance(target, HigherOrderOperator):
            self.higher_order(target)
        elif target in NUMBER_OPS:
            self.number()
        else:
            fail(self.node, f"its target {target!r} is no operator of the table")

    def value_of(self, node: Node) -> Any:
        """A node's recorded value, its symbols in the checking environment."""
        if "val" not in node.meta:
            fail(self.node, f"its argument {node.name} has no value description (meta['val'])")
        return self.rebased(node.meta["val"])

    def rebased(self, val: Any) -> Any:
        if isinstance(val, _SYMBOLIC):
            return self.env.wrap(val.expr)
        if isinstance(val, TensorMeta):
            strides = None if val.is_plain else tuple(self.rebased(stride) for stride in val.strides)
            shape = tuple(self.rebased(size) for size in val.shape)
            return TensorMeta(
                shape, val.dtype, val.device, strides, val.requires_grad, self.rebased(val.offset)
            )
        if isinstance(val, (tuple, list)):
            return type(val)([self.rebased(item) for item in val]) if type(val) in (tuple, list) else val
        return val

    def operator(self, target: Operator) -> None:
        node = self.node
        if target.is_inplace or target.schema.is_mutable:
            fail(node, f"{target} writes to an argument; a program's graph is functional")
        args = map_nodes(node.args, self.value_of)
        kwargs = map_nodes(dict(node.kwargs), self.value_of)
        try:
            bound, keywords = target.match(args, kwargs)
        except TypeError as error:
            fail(node, f"its arguments do not fit {target}: {error}")
        if target.name in ASSERTIONS:
            self.env.learn(bound[0])  # what is asserted holds from here on
            return
        self.env.make_unbacked = self.supply()
        self.env.origin = target.qualified
        try:
            with fake_context.activate(self.env):
                derived = infer(target, bound, keywords)
        except Undetermined as error:
            fail(node, f"{error.message} (asked by {target})")
        except ExportError:
            raise
        except Exception as error:
            fail(node, f"the rule of {target} refuses its arguments: {error}")
        finally:
            self.env.make_unbacked = None
        self.compare(derived)

    def supply(self) -> Any:
        """Hands out, in order, the recorded value's symbols that nothing before has introduced."""
        fresh = [name for name in _in_order(self.node.meta.get("val")) if name not in self.seen]
        queue = iter(dict.fromkeys(fresh))

        def make(kind: str) -> Any:
            name = next(queue, None)
            if name is None:
                fail(
                    self.node,
                    f"{self.node.target} makes a size that depends on data, but its value names no new symbol",
                )
            if kind == "float":
                return self.env.wrap(E.float_symbol(name))
            return self.env.wrap(E.bool_symbol(name) if kind == "bool" else E.int_symbol(name))

        return make

    def number(self) -> None:
        node = self.node
        args = map_nodes(node.args, self.value_of)
        kwargs = map_nodes(dict(node.kwargs), self.value_of)
        try:
            derived = _symbolic(node.target)(*args, **kwargs)
        except Undetermined as error:
            fail(node, error.message)
        except Exception as error:
            fail(node, f"it cannot be computed from its arguments: {error}")
        self.compare(derived)

    def higher_order(self, target: HigherOrderOperator) -> None:
        node = self.node
        branches = branch_modules(node)
        operands: Sequence[Any] = [
            item
            for group in node.args[len(target.graph_args) :]
            if isinstance(group, (tuple, list))
            for item in group
        ]
        for branch in branches:
            wanted = len(branch.graph.placeholders)
            given = (
                2 * len(node.args[1]) + len(node.args[2])
                if target.name == "associative_scan"
                else len(operands)
            )
            if wanted != given:
                fail(node, f"a branch graph takes {wanted} values, the call gives {given}")
        if target.name == "cond":
            lengths = {_length(branch.graph.output_node().args[0]) for branch in branches}
            if len(lengths) != 1:
                fail(node, f"its branches return {sorted(map(str, lengths))} values")

    def compare(self, derived: Any) -> None:
        if "val" not in self.node.meta:
            fail(self.node, "it has no value description (meta['val'])")
        recorded = self.rebased(self.node.meta["val"])
        problem = self.difference(derived, recorded)
        if problem:
            fail(self.node, f"{problem}: its rule gives {_shown(derived)}, the graph says {_shown(recorded)}")

    def difference(self, derived: Any, recorded: Any) -> str:
        """What differs between a derived and a recorded value; empty if nothing does."""
        if isinstance(derived, (tuple, list)) and isinstance(recorded, (tuple, list)):
            if len(derived) != len(recorded):
                return "another number of results"
            return next(filter(None, map(self.difference, derived, recorded)), "")
        if isinstance(derived, TensorMeta) and isinstance(recorded, TensorMeta):
            if derived.dtype is not recorded.dtype:
                return "another dtype"
            if derived.device != recorded.device:
                return "another device"
            if len(derived.shape) != len(recorded.shape):
                return "another number of dimensions"
            return "" if all(map(self.same, derived.shape, recorded.shape)) else "another shape"
        if isinstance(derived, TensorMeta) or isinstance(recorded, TensorMeta):
            return "another kind of value"
        if derived is None or recorded is None:
            return "" if derived is recorded else "another kind of value"
        return "" if self.same(derived, recorded) else "another value"

    def same(self, a: Any, b: Any) -> bool:
        """Equality, decided by what is known about the symbols."""
        left, right = _expression(a), _expression(b)
        if left is right:
            return True
        if isinstance(left, IntExpr) and isinstance(right, IntExpr):
            return self.env.known(E.eq(left, right)) is True
        return bool(type(a) is type(b) and not isinstance(a, _SYMBOLIC) and a == b)


def _expression(value: Any) -> Any:
    if isinstance(value, _SYMBOLIC):
        return value.expr
    return E.constant(value) if type(value) is int else value


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(_shown, value))})"
    return format_value(value) or repr(value)


def _length(held: Any) -> int | None:
    return len(held) if isinstance(held, (tuple, list)) else None


def _in_order(val: Any) -> list[str]:
    """Symbols of a value, in the order in which it shows them."""
    if isinstance(val, TensorMeta):
        return [name for size in val.shape for name in _in_order(size)]
    if isinstance(val, _SYMBOLIC):
        return sorted(free_symbols(val.expr))
    return [name for item in val for name in _in_order(item)] if isinstance(val, (tuple, list)) else []


def _symbolic(function: Any) -> Any:
    """The function over symbolic numbers for one over plain numbers."""
    import builtins
    import math

    from fx_ir import number_ops
    from solver import sym

    table = {
        builtins.max: sym.sym_max,
        builtins.min: sym.sym_min,
        builtins.float: sym.sym_float,
        builtins.int: sym.sym_int,
        builtins.round: sym.sym_round,
        math.floor: sym.sym_floor,
        math.ceil: sym.sym_ceil,
        math.trunc: sym.sym_trunc,
        math.sqrt: sym.sym_sqrt,
        number_ops.sym_not: sym.sym_not,
        operator.not_: sym.sym_not,
        number_ops.sym_ite: sym.sym_ite,
        operator.and_: sym.sym_and,
        operator.or_: sym.sym_or,
    }
    return table.get(function, function)


# --- signature ---------------------------------------------------------------------------------------------------------


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
        fail(node, f"its tensor is {given!r}, the graph says {_shown(val)}")


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
        if _expression(val) is not _expression_of(leaf.expr):
            fail(node, f"the contract says {leaf.expr}, the graph {_shown(val)}")
    elif not isinstance(val, TensorMeta):
        fail(node, "a tensor input has no tensor as its value")
    else:
        sizes = [_expression(size) for size in val.shape]
        if (
            val.dtype is not leaf.dtype
            or val.device != leaf.device
            or sizes != [_expression_of(d) for d in leaf.dims]
        ):
            fail(
                node,
                f"the contract says {leaf.dtype.short}[{', '.join(map(str, leaf.dims))}], the graph {_shown(val)}",
            )


def _expression_of(size: int | IntExpr) -> IntExpr:
    return E.constant(size) if isinstance(size, int) else size


def _check_outputs(program: ExportedProgram, users: set[str]) -> None:
    specs = program.graph_signature.output_specs
    held = program.graph.output_node().args[0]
    if not isinstance(held, (tuple, list)) or len(held) != len(specs):
        fail("output", f"the graph returns {_length(held)} values, the signature names {len(specs)}")
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
