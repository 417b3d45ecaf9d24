"""Decompositions: same results, same signature, none of the replaced operators left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir.decompose import FUNCTION_TRACERS, Rule
from fx_ir.graph import Graph, GraphModule
from fx_ir.ops import OPS, PACKETS
from fx_ir.ops.decompositions import default_decompositions
from fx_ir.program import ExportedProgram
from fx_ir.signature import InputKind, OutputKind
from fx_ir.symbols import detached_env
from solver.errors import UnsupportedError
from solver.expr import int_symbol
from solver.problem import SymbolDecl
from tests.fx_ir.programs import assemble, call, counter_program, leaf, problem, tensor

F = np.float32
N = int_symbol("n")


def program_of(build: Any, shape: tuple[Any, ...], **state: Any) -> ExportedProgram:
    """``build(graph, *state, x)`` over an ``x`` whose symbol ``n`` is at least 1."""
    obligations = problem(n=SymbolDecl(min=1, hint=2))
    env = detached_env(obligations)
    graph = Graph()
    nodes = [
        graph.placeholder(f"p_{name}", meta={"val": tensor(env, *value.shape)})
        for name, value in state.items()
    ]
    x = graph.placeholder("x", meta={"val": tensor(env, *shape)})
    graph.output((build(graph, *nodes, x),))
    return assemble(
        GraphModule(graph),
        args=[0],
        leaves=[leaf("x", x.meta["val"])],
        state={name: (InputKind.PARAMETER, value) for name, value in state.items()},
        ranges={"n": (1, None)},
        obligations=obligations,
    )


RNG = np.random.default_rng(1)
W, B, V = (RNG.standard_normal(shape).astype(F) for shape in ((5, 4), (5,), (4,)))
CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "linear": (lambda g, w, b, x: call(g, "aten::linear", x, w, b), (N, 4), {"w": W, "b": B}),
    "linear of more dimensions": (
        lambda g, w, b, x: call(g, "aten::linear", x, w, b),
        (3, N, 4),
        {"w": W, "b": B},
    ),
    "linear without bias": (lambda g, w, x: call(g, "aten::linear", x, w, None), (2, 3, N, 4), {"w": W}),
    "linear of a vector": (lambda g, w, b, x: call(g, "aten::linear", x, w, b), (4,), {"w": W, "b": B}),
    "t": (lambda g, x: call(g, "aten::t", x), (N, 4), {}),
    "transpose": (lambda g, x: call(g, "aten::transpose.int", x, -1, 0), (N, 3, 4), {}),
    "view_as": (lambda g, v, x: call(g, "aten::view_as", v, x), (2, 2), {"v": V}),
    "expand_as": (lambda g, v, x: call(g, "aten::expand_as", v, x), (N, 4), {"v": V}),
    "softmax": (lambda g, x: call(g, "aten::softmax.int", x, -1), (N, 4), {}),
    "log_softmax": (lambda g, x: call(g, "aten::log_softmax.int", x, 0), (N, 4), {}),
    "layer_norm": (lambda g, w, b, x: call(g, "aten::layer_norm", x, [4], w, b), (N, 4), {"w": V, "b": V}),
    "dropout": (lambda g, x: call(g, "aten::dropout", call(g, "aten::relu", x), 0.5, False), (N, 4), {}),
    "silu": (lambda g, x: call(g, "aten::silu", x), (N, 4), {}),
    "rsub": (lambda g, v, x: call(g, "aten::rsub.Tensor", x, v, alpha=2), (N, 4), {"v": V}),
    "square": (lambda g, x: call(g, "aten::square", x), (N, 4), {}),
    "addcmul": (lambda g, v, x: call(g, "aten::addcmul", x, v, v, value=3), (N, 4), {"v": V}),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_results_stay_and_the_operator_goes(name: str) -> None:
    build, shape, state = CASES[name]
    program = program_of(build, shape, **state)
    program.validate()
    decomposed = program.run_decompositions()
    decomposed.validate()
    kept = {"linear of a vector"}
    left = {node.target for node in decomposed.graph.nodes} & default_decompositions().keys()
    assert bool(left) == (name in kept)
    for n in (1, 2, 5):
        x = RNG.standard_normal([n if size is N else size for size in shape]).astype(F)
        np.testing.assert_allclose(decomposed.module()(x), program.module()(x), rtol=2e-5, atol=1e-6)
    assert [str(spec) for spec in decomposed.graph_signature.input_specs] == [
        str(s) for s in program.graph_signature.input_specs
    ]


def test_every_rule_has_a_case() -> None:
    built = {
        node.target
        for build, shape, state in CASES.values()
        for node in program_of(build, shape, **state).graph.nodes
        if node.op == "call_function"
    }
    assert {str(op) for op in default_decompositions()} - {str(op) for op in built} == {
        "aten.reshape_as.default"
    }


def test_state_updates_stay_what_they_are() -> None:
    program = counter_program()
    double = Rule(lambda b, x, other: b.call("aten::sub.Tensor", other, b.call("aten::sub.Tensor", x, x)))
    decomposed = program.run_decompositions({OPS["aten::mul.Tensor"]: double})
    decomposed.validate()
    assert [spec.kind for spec in decomposed.graph_signature.output_specs] == [
        OutputKind.BUFFER_MUTATION,
        OutputKind.USER_OUTPUT,
    ]
    module = decomposed.module()
    module(np.ones(2, F))
    assert module(np.ones(2, F)).tolist() == [2, 2] and module.count.item() == 2


def test_packets_stand_for_their_overloads_and_tables_replace_the_default() -> None:
    program = program_of(lambda g, x: call(g, "aten::silu", call(g, "aten::square", x)), (N, 4))
    rule = Rule(lambda b, x: b.call("aten::mul.Tensor", x, x))
    decomposed = program.run_decompositions({PACKETS["aten::square"]: rule})
    assert [str(node.target) for node in decomposed.graph.nodes if node.op == "call_function"] == [
        "aten.mul.Tensor",
        "aten.silu.default",
    ]
    assert program.run_decompositions({}).graph_module.code == program.graph_module.code


def test_functions_of_tensors_are_traced_by_the_tensor_library(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(lambda g, x: call(g, "aten::square", x), (N, 4))

    def twice(x: Any) -> Any:
        return x + x

    with pytest.raises(UnsupportedError, match="twice cannot be traced") as caught:
        program.run_decompositions({OPS["aten::square"]: twice})
    assert caught.value.id == "no-function-tracer"

    def trace(function: Any, args: Any, kwargs: Any, env: Any) -> GraphModule:
        assert function is twice and kwargs == {}
        graph = Graph()
        x = graph.placeholder("x", meta={"val": args[0]})
        graph.output((call(graph, "aten::add.Tensor", x, x),))
        return GraphModule(graph)

    monkeypatch.setitem(FUNCTION_TRACERS, "ndarray", trace)
    decomposed = program.run_decompositions({OPS["aten::square"]: twice})
    decomposed.validate()
    np.testing.assert_array_equal(decomposed.module()(np.full((3, 4), 3, F)), np.full((3, 4), 6))


def test_lines_and_module_stacks_are_inherited() -> None:
    program = program_of(lambda g, x: call(g, "aten::silu", x), (N, 4))
    (node,) = program.graph.find_nodes(op="call_function")
    node.meta |= {"nn_module_stack": (("act", "SiLU"),), "source": "self.act(x)"}
    for made in program.run_decompositions().graph.find_nodes(op="call_function"):
        assert made.meta["nn_module_stack"] == (("act", "SiLU"),) and made.meta["source"] == "self.act(x)"
