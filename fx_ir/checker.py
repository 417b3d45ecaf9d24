"""The type checker of programs: order, schemas, re-derived values, signature. Run after every change of a graph."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fx_ir import fake_context
from fx_ir.check_signature import SYMBOLIC, check_signature, expression, fail, length, shown
from fx_ir.graph import GraphModule
from fx_ir.higher_order import HigherOrderOperator
from fx_ir.meta import TensorMeta
from fx_ir.node import Node, map_nodes
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops.registry import Operator, infer
from fx_ir.purity import ASSERTIONS, branch_modules
from fx_ir.symbols import DetachedEnv, Undetermined, detached_env, program_env
from solver import expr as E
from solver.errors import ExportError
from solver.expr import BoolExpr, IntExpr, free_symbols
from solver.sym import SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram


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
    known = env.knowledge
    for branch in module.submodules.values():
        env.knowledge = known.copy()  # what a branch asserts holds nowhere else
        check_module(branch, env)
    env.knowledge = known


def _symbols(val: Any) -> set[str]:
    if isinstance(val, TensorMeta):
        return {
            name
            for size in (*val.shape, val.settled_offset)
            if isinstance(size, SymInt)
            for name in free_symbols(size.expr)
        }
    if isinstance(val, SYMBOLIC):
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
        if isinstance(val, SYMBOLIC):
            return self.env.wrap(val.expr)
        if isinstance(val, TensorMeta):
            strides: Any = None
            if not val.has_layout:
                strides = lambda: tuple(map(self.rebased, val.strides))  # noqa: E731
            elif not val.is_plain:
                strides = tuple(map(self.rebased, val.strides))
            shape = tuple(self.rebased(size) for size in val.shape)
            return TensorMeta(
                shape, val.dtype, val.device, strides, val.requires_grad, self.rebased(val.settled_offset)
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
        """The values that go into and come out of the branch graphs fit; the branches themselves are checked later."""
        given = [group for index, group in enumerate(self.node.args) if index not in target.graph_args]
        groups = [
            map_nodes(list(group), self.value_of) for group in given if isinstance(group, (tuple, list))
        ]
        sliced = {"map_impl": 0, "scan": 1, "associative_scan": 0}.get(target.name)
        if sliced is not None:
            groups[sliced] = list(map(self.slice_of, groups[sliced]))
        if target.name == "associative_scan":
            groups.insert(0, groups[0])  # left and right operand
        wanted = [value for group in groups for value in group]
        for branch in branch_modules(self.node):
            taken = [self.rebased(node.meta.get("val")) for node in branch.graph.placeholders]
            problem = self.difference(_carried(target, wanted, taken), taken)
            if problem:
                fail(
                    self.node,
                    f"{problem}: the call gives {shown(wanted)}, a branch graph takes {shown(taken)}",
                )
        if target.name == "cond":
            self.branch_results()

    def slice_of(self, val: Any) -> Any:
        """What one step of a loop sees of a tensor."""
        if not isinstance(val, TensorMeta) or not val.shape:
            return val
        return val.like(shape=val.shape[1:], strides=None if val.is_plain else lambda: tuple(val.strides[1:]))

    def branch_results(self) -> None:
        """Both branches return as many values, of the same dtypes and numbers of dimensions."""
        first, second = (branch.graph.output_node().args[0] for branch in branch_modules(self.node))
        if length(first) != length(second):
            fail(self.node, f"its branches return {length(first)} and {length(second)} values")
        for a, b in zip(map_nodes(first, _val), map_nodes(second, _val), strict=True):
            if isinstance(a, TensorMeta) and isinstance(b, TensorMeta):
                if (a.dtype, a.ndim) != (b.dtype, b.ndim):
                    fail(self.node, f"its branches return {shown(a)} and {shown(b)}")
            elif isinstance(a, TensorMeta) or isinstance(b, TensorMeta):
                fail(self.node, f"its branches return {shown(a)} and {shown(b)}")

    def compare(self, derived: Any) -> None:
        if "val" not in self.node.meta:
            fail(self.node, "it has no value description (meta['val'])")
        recorded = self.rebased(self.node.meta["val"])
        problem = self.difference(derived, recorded)
        if problem:
            fail(self.node, f"{problem}: its rule gives {shown(derived)}, the graph says {shown(recorded)}")

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
            if not all(map(self.same, derived.shape, recorded.shape)):
                return "another shape"
            return "" if self.same_layout(derived, recorded) else "another layout"
        if isinstance(derived, TensorMeta) or isinstance(recorded, TensorMeta):
            return "another kind of value"
        if derived is None or recorded is None:
            return "" if derived is recorded else "another kind of value"
        return "" if self.same(derived, recorded) else "another value"

    def same_layout(self, a: TensorMeta, b: TensorMeta) -> bool:
        """Equal strides, where a dimension has more than one element and somebody asked for them while tracing."""
        if (a.is_plain and b.is_plain) or not b.has_layout:
            return True
        sizes = [expression(size) for size in b.shape]
        # Strides of a tensor without elements, and of a dimension with one, mean nothing.
        filled = [condition for size in sizes if (condition := E.ge(size, 1)) is not E.TRUE]
        if E.FALSE in filled:
            return True
        triples = zip(sizes, a.strides, b.strides, strict=True)
        return all(
            self.same(one, other, filled) or self.env.known(E.le(size, 1)) for size, one, other in triples
        )

    def same(self, a: Any, b: Any, given: Sequence[BoolExpr] = ()) -> bool:
        """Equality, proved from what is known about the symbols and ``given``."""
        left, right = expression(a), expression(b)
        if left is right:
            return True
        if isinstance(left, IntExpr) and isinstance(right, IntExpr):
            return self.env.proved(E.eq(left, right), given)
        return bool(type(a) is type(b) and not isinstance(a, SYMBOLIC) and a == b)


def _val(node: Node) -> Any:
    return node.meta.get("val")


def _in_order(val: Any) -> list[str]:
    """Symbols of a value, in the order in which it shows them."""
    if isinstance(val, TensorMeta):
        return [name for size in val.shape for name in _in_order(size)]
    if isinstance(val, SYMBOLIC):
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


def _carried(target: HigherOrderOperator, given: list[Any], taken: list[Any]) -> list[Any]:
    """What a step is given; a number that a loop carries is another at each step, so that its first value says nothing."""
    if target.name not in ("while_loop", "scan") or len(given) != len(taken):
        return given
    numbers = (int, SymInt)
    return [
        inside if isinstance(outside, numbers) and isinstance(inside, numbers) else outside
        for outside, inside in zip(given, taken, strict=True)
    ]
