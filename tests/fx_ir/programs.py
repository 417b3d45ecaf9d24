"""Programs built by hand, for the tests of everything behind the tracer."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fx_ir import dtypes
from fx_ir.contract import Condition, ConstLeaf, InputContract, InputLeaf, IntLeaf, TensorLeaf
from fx_ir.graph import Graph, GraphModule
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops import OPS
from fx_ir.program import ExportedProgram
from fx_ir.provenance import Assumption, Effect
from fx_ir.pytree import tree_structure
from fx_ir.signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from fx_ir.symbols import DetachedEnv, detached_env
from solver.errors import Location
from solver.expr import IntExpr, int_symbol, ne
from solver.parse import parse_bool
from solver.problem import Condition as Obligation
from solver.problem import Problem, SymbolDecl
from tests.fx_ir.ndarray_backend import BACKEND

F32 = dtypes.float32
S0 = int_symbol("s0")


def problem(**symbols: SymbolDecl) -> Problem:
    """A problem of symbols alone."""
    return Problem(name="test", symbols=dict(symbols))


def tensor(env: DetachedEnv, *shape: int | IntExpr, dtype: dtypes.DType = F32) -> TensorMeta:
    """The description of a contiguous tensor."""
    return TensorMeta(
        tuple(size if isinstance(size, int) else env.wrap_int(size) for size in shape), dtype, dtypes.CPU
    )


def call(graph: Graph, name: str, *args: Any, env: DetachedEnv | None = None, **kwargs: Any) -> Node:
    """A call of an operator, its value derived by the operator's rule."""
    op = OPS[name]

    def val(value: Any) -> Any:
        if isinstance(value, Node):
            return value.meta["val"]
        return [val(item) for item in value] if isinstance(value, list) else value

    bound, keywords = op.match(tuple(map(val, args)), {key: val(value) for key, value in kwargs.items()})
    return graph.call_function(op, args, kwargs, meta={"val": op.fake(*bound, **keywords), "location": None})


def leaf(name: str, meta: TensorMeta, path: str | None = None, **facts: Any) -> TensorLeaf:
    """The contract of a tensor input that is described by ``meta``."""
    dims = tuple(size if isinstance(size, int) else size.expr for size in meta.shape)
    return TensorLeaf(name, path or name, meta.dtype, meta.device, dims, **facts)


def assemble(
    module: GraphModule,
    *,
    args: Sequence[Any],
    leaves: Sequence[InputLeaf],
    state: Mapping[str, tuple[InputKind, Any]] | None = None,
    updates: Mapping[str, OutputKind] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    out: Any = None,
    ranges: Mapping[str, tuple[int | None, int | None]] | None = None,
    conditions: Sequence[Condition] = (),
    arg_names: Sequence[str] | None = None,
    obligations: Problem | None = None,
    **rest: Any,
) -> ExportedProgram:
    """A program around a finished graph.

    ``state`` maps qualified names to kind and tensor, in the order of the leading placeholders; ``updates`` maps the
    targets of the leading outputs to their kind; ``out`` is a tree shaped like the result (default: one leaf).
    """
    state, updates = dict(state or {}), dict(updates or {})
    placeholders = module.graph.placeholders
    inputs = [
        InputSpec(kind, TensorArgument(node.name), target, True if kind is InputKind.BUFFER else None)
        for node, (target, (kind, _)) in zip(placeholders, state.items(), strict=False)
    ]
    for item in leaves:
        argument: ArgumentSpec = (
            ConstantArgument(item.name, item.value)
            if isinstance(item, ConstLeaf)
            else TensorArgument(item.name)
        )
        inputs.append(InputSpec(InputKind.USER_INPUT, argument))
    outputs: list[OutputSpec] = []
    held = module.graph.output_node().args[0]
    for index, value in enumerate(held):
        given: ArgumentSpec = (
            TensorArgument(value.name)
            if isinstance(value, Node)
            else ConstantArgument(f"output_{index}", value)
        )
        target, kind = (
            list(updates.items())[index] if index < len(updates) else (None, OutputKind.USER_OUTPUT)
        )
        outputs.append(OutputSpec(kind, given, target))
    contract = InputContract(
        tree_structure((tuple(args), dict(kwargs or {}))),
        tuple(leaves),
        tuple(arg_names if arg_names is not None else [f"a{i}" for i in range(len(args))]),
        ranges or {},
        tuple(conditions),
    )
    constants = {name: value for name, (kind, value) in state.items() if kind is InputKind.CONSTANT_TENSOR}
    return ExportedProgram(
        graph_module=module,
        graph_signature=ExportGraphSignature(inputs, outputs),
        contract=contract,
        out_spec=tree_structure(out),
        backend=BACKEND.name,
        state_dict={name: value for name, (_, value) in state.items() if name not in constants},
        constants=constants,
        problem=obligations,
        **rest,
    )


def linear_program(**rest: Any) -> ExportedProgram:
    """``x @ weight.T + bias`` with a dynamic batch of at least 2, a guard, and a source line."""
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((4, 3)).astype(np.float32)
    bias = rng.standard_normal(4).astype(np.float32)
    obligations = problem(s0=SymbolDecl(min=2, max=None, hint=5, source="x.shape[0]"))
    obligations.guards.append(Obligation("G1", ne(S0, 1), at="model.py:12", origin="aten::add.Tensor"))
    env = detached_env(obligations)
    graph = Graph()
    w = graph.placeholder("p_weight", meta={"val": tensor(env, 4, 3)})
    b = graph.placeholder("p_bias", meta={"val": tensor(env, 4)})
    x = graph.placeholder("x", meta={"val": tensor(env, S0, 3)})
    transposed = call(graph, "aten::t", w)
    product = call(graph, "aten::mm", x, transposed)
    total = call(graph, "aten::add.Tensor", product, b)
    graph.output((total,))
    return assemble(
        GraphModule(graph),
        args=[0],
        arg_names=["x"],
        leaves=[leaf("x", x.meta["val"])],
        state={"weight": (InputKind.PARAMETER, weight), "bias": (InputKind.PARAMETER, bias)},
        ranges={"s0": (2, None)},
        obligations=obligations,
        **rest,
    )


def counter_program() -> ExportedProgram:
    """``self.count += 1; return x * self.count``: one buffer update, one result."""
    env = detached_env(None)
    graph = Graph()
    count = graph.placeholder("b_count", meta={"val": tensor(env, 1)})
    x = graph.placeholder("x", meta={"val": tensor(env, 2)})
    more = call(graph, "aten::add.Tensor", count, 1)
    result = call(graph, "aten::mul.Tensor", x, more)
    graph.output((more, result))
    return assemble(
        GraphModule(graph),
        args=[0],
        leaves=[leaf("x", x.meta["val"])],
        state={"count": (InputKind.BUFFER, np.zeros(1, np.float32))},
        updates={"count": OutputKind.BUFFER_MUTATION},
    )


def size_program() -> ExportedProgram:
    """``x.view(2 * n)`` of an ``x`` with shape ``(n, 2)``, and ``n + k`` for a dynamic integer ``k``."""
    obligations = problem(n=SymbolDecl(min=0, hint=3), k=SymbolDecl(min=0, max=9, hint=4))
    env = detached_env(obligations)
    n, k_symbol = int_symbol("n"), int_symbol("k")
    graph = Graph()
    x = graph.placeholder("x", meta={"val": tensor(env, n, 2)})
    k = graph.placeholder("k", meta={"val": env.wrap_int(k_symbol)})
    doubled = graph.call_function(
        operator.mul, (_size(graph, x, env.wrap_int(n)), 2), meta={"val": env.wrap_int(n * 2)}
    )
    flat = call(graph, "aten::view", x, [doubled])
    rows = graph.find_nodes(op="call_function")[0]
    total = graph.call_function(operator.add, (rows, k), meta={"val": env.wrap_int(n + k_symbol)})
    graph.output((flat, total))
    return assemble(
        GraphModule(graph),
        args=[0, 0],
        arg_names=["x", "k"],
        leaves=[leaf("x", x.meta["val"]), IntLeaf("k", "k", k_symbol)],
        ranges={"n": (0, None), "k": (0, 9)},
        obligations=obligations,
        out=(0, 0),
    )


def _size(graph: Graph, x: Node, val: Any) -> Node:
    return graph.call_function(OPS["aten::sym_size.int"], (x, 0), meta={"val": val})


def rich_program() -> ExportedProgram:
    """Everything that a file keeps: lines, conditions, burned-in values, provenance, examples, module stack."""
    place = Location("model.py", 12, "forward")
    program = linear_program(
        conditions=[Condition(parse_bool("s0 % 2 == 0"), "s0 % 2 == 0", "assumption", place)],
        assumptions=[
            Assumption("self.training", False, "value", place),
            Assumption("global m.py:f", object, "identity"),
        ],
        effects=[Effect("call", "print('x')", place, "dropped")],
        notes=["x.shape[1] is static"],
        example_inputs=((np.ones((4, 3), np.float32),), {}),
    )
    for node in program.graph.nodes:
        if node.op == "call_function":
            node.meta |= {
                "location": place,
                "source": "return self.lin(x)",
                "nn_module_stack": (("", "Net"), ("lin", "Linear")),
            }
    return program
