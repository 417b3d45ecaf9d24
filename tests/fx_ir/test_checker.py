"""The checker passes what is right and names the node of what is wrong."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fx_ir import dtypes, higher_order
from fx_ir.checker import check
from fx_ir.graph import Graph, GraphModule
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops import OPS
from fx_ir.program import ExportedProgram
from fx_ir.signature import InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
from fx_ir.symbols import DetachedEnv, detached_env
from solver.errors import ExportError
from solver.expr import int_symbol
from solver.problem import SymbolDecl
from tests.fx_ir.programs import call, counter_program, linear_program, problem, size_program, tensor


def refusal(subject: ExportedProgram | GraphModule) -> ExportError:
    with pytest.raises(ExportError) as caught:
        check(subject)
    assert caught.value.id in ("program-invalid", "graph-invalid")
    return caught.value


@pytest.mark.parametrize("make", [linear_program, counter_program, size_program])
def test_right_programs_pass(make: Callable[[], ExportedProgram]) -> None:
    program = make()
    program.validate()
    check(program.graph_module) if make is counter_program else check(program)


def meta_of(node: Node, **changes: Any) -> TensorMeta:
    val: TensorMeta = node.meta["val"]
    parts: dict[str, Any] = {
        "shape": val.shape,
        "dtype": val.dtype,
        "device": val.device,
        "strides": None,
    } | changes
    return TensorMeta(parts["shape"], parts["dtype"], parts["device"], parts["strides"])


def damages() -> dict[str, tuple[Callable[[ExportedProgram, dict[str, Node]], object], str]]:
    """What is done to ``x @ weight.t() + bias``, and what must be said of it."""
    return {
        "dtype": (lambda p, n: n["mm"].meta.update(val=meta_of(n["mm"], dtype=dtypes.float64)), "node mm: another dtype"),
        "shape": (lambda p, n: n["mm"].meta.update(val=meta_of(n["mm"], shape=(5, 4))), "node mm: another shape"),
        "symbol": (
            lambda p, n: n["add"].meta.update(val=meta_of(n["add"], shape=(n["x"].meta["val"].shape[0] + 1, 4))),
            r"node add: another shape: its rule gives f32\[s0, 4\], the graph says f32\[s0 \+ 1, 4\]",
        ),
        "rank": (lambda p, n: n["add"].meta.update(val=meta_of(n["add"], shape=(4,))), "node add: another number of dim"),
        "layout": (lambda p, n: n["t"].meta.update(val=meta_of(n["t"])), "node t: another layout"),
        "missing val": (lambda p, n: n["t"].meta.clear(), "node t: it has no value description"),
        "arguments": (lambda p, n: setattr(n["mm"], "args", (n["x"],)), "node mm: its arguments do not fit aten.mm.default"),
        "types": (lambda p, n: n["add"].update_arg(1, "text"), "node add: its arguments do not fit aten.add.Tensor"),
        "rule": (lambda p, n: n["mm"].update_arg(1, n["p_weight"]), "node mm: the rule of aten.mm.default refuses"),
        "in place": (lambda p, n: setattr(n["add"], "target", OPS["aten::add_.Tensor"]), "node add: .* writes to an argument"),
        "target": (lambda p, n: setattr(n["add"], "target", print), "node add: its target .* is no operator"),
        "order": (lambda p, n: n["add"].append(n["mm"]), "node add: it uses mm before that is computed"),
        "users": (lambda p, n: n["mm"].users.clear(), "node mm: its users list"),
        "state": (lambda p, n: p.state_dict.pop("bias"), "node p_bias: there is no parameter, buffer or constant 'bias'"),
        "state kind": (lambda p, n: p.state_dict.update(bias=np.ones(5, np.float32)), r"node p_bias: its tensor is f32\[5\]"),
        "inputs": (lambda p, n: p.graph_signature.input_specs.reverse(), "node inputs: the signature names"),
        "output name": (lambda p, n: setattr(n["add"], "name", "sum_1"), "node output: the graph returns sum_1"),
        "outputs": (lambda p, n: p.graph_signature.output_specs.clear(), "node output: the graph returns 1 values"),
        "returned": (lambda p, n: n["output"].update_arg(0, (3,)), "node output: the graph returns the constant 3"),
        "update": (
            lambda p, n: p.graph_signature.output_specs.__setitem__(
                0, OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument("add"), "weight")
            ),
            "node output: add updates 'weight'",
        ),
        "kinds": (
            lambda p, n: p.graph_signature.input_specs.__setitem__(
                0, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument("p_weight"), "weight")
            ),
            "node inputs: they are not in the order",
        ),
        "contract": (lambda p, n: setattr(p.contract, "leaves", ()), "node inputs: the contract names"),
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(damages()))
def test_each_damage_is_named_with_its_node(name: str) -> None:
    damage, words = damages()[name]
    program = linear_program()
    nodes = {node.name: node for node in program.graph.nodes}
    damage(program, nodes)
    with pytest.raises(ExportError, match=words) as caught:
        check(program)
    assert caught.value.id in ("program-invalid", "graph-invalid")


def test_sizes_that_data_decides_are_introduced_once() -> None:
    def build(shape: Any) -> GraphModule:
        graph = Graph()
        x = graph.placeholder("x", meta={"val": tensor(env, 3)})
        graph.output(
            (
                graph.call_function(
                    OPS["aten::nonzero"], (x,), meta={"val": tensor(env, *shape, dtype=dtypes.int64)}
                ),
            )
        )
        return GraphModule(graph)

    env = detached_env(None)
    check(build((int_symbol("u0"), 1)))
    assert "names no new symbol" in refusal(build((2, 1))).message
    assert "another shape" in refusal(build((int_symbol("u0") + 1, 1))).message


def test_what_is_asserted_holds_from_there_on() -> None:
    obligations = problem(u0=SymbolDecl("unbacked", min=0))
    env = detached_env(obligations)
    u0 = int_symbol("u0")

    def build(asserted: bool) -> GraphModule:
        graph = Graph()
        x = graph.placeholder("x", meta={"val": tensor(env, u0)})
        y = graph.placeholder("y", meta={"val": tensor(env, 4)})
        size = graph.call_function(OPS["aten::sym_size.int"], (x, 0), meta={"val": env.wrap_int(u0)})
        test = graph.call_function(operator.eq, (size, 4), meta={"val": env.wrap_int(u0) == 4})
        if asserted:
            graph.call_function(OPS["aten::_assert_scalar"], (test, "u0 == 4"), meta={"val": None})
        total = graph.call_function(OPS["aten::add.Tensor"], (x, y), meta={"val": tensor(env, 4)})
        graph.output((total,))
        return GraphModule(graph)

    from fx_ir.checker import check_module

    check_module(build(True), detached_env(obligations))
    with pytest.raises(ExportError, match="nothing in the program decides"):
        check_module(build(False), detached_env(obligations))


def test_numbers_are_derived_again() -> None:
    program = size_program()
    nodes = {node.name: node for node in program.graph.nodes}
    nodes["mul"].update_arg(1, 3)
    assert (
        r"node mul: another value: its rule gives Sym(3*n), the graph says Sym(2*n)"
        in refusal(program).message
    )


def branch(
    env: DetachedEnv, *shape: int, dtype: dtypes.DType = dtypes.float32, count: int = 1
) -> GraphModule:
    graph = Graph()
    x = graph.placeholder("x", meta={"val": tensor(env, *shape, dtype=dtype)})
    graph.output(tuple(call(graph, "aten::neg", x) for _ in range(count)))
    return GraphModule(graph)


@pytest.mark.parametrize(
    ("then", "otherwise", "words"),
    [
        ({"shape": (3,)}, {"shape": (3,)}, ""),
        ({"shape": (3,)}, {"shape": (4,)}, "another shape"),
        ({"shape": (3,)}, {"shape": (3,), "dtype": dtypes.int64}, "another dtype"),
        ({"shape": (3,)}, {"shape": (3,), "count": 2}, "return 1 and 2 values"),
    ],
)
def test_branches_fit_their_call(then: dict[str, Any], otherwise: dict[str, Any], words: str) -> None:
    env = detached_env(None)
    branches = [branch(env, *options.pop("shape"), **options) for options in (dict(then), dict(otherwise))]
    graph = Graph()
    module = GraphModule(graph, dict(zip(("true_graph_0", "false_graph_0"), branches, strict=True)))
    x = graph.placeholder("x", meta={"val": tensor(env, 3)})
    flag = graph.placeholder("flag", meta={"val": tensor(env, dtype=dtypes.bool_)})
    val = (x.meta["val"],)
    chosen = graph.call_function(
        higher_order.cond,
        (flag, graph.get_attr("true_graph_0"), graph.get_attr("false_graph_0"), (x,)),
        meta={"val": val},
    )
    graph.output((graph.call_function(operator.getitem, (chosen, 0), meta={"val": val[0]}),))
    if words:
        assert words in refusal(module).message
    else:
        check(module)


UNARY = ("aten::neg", "aten::relu", "aten::exp", "aten::t")


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*UNARY, "aten::mm", "aten::add.Tensor"]), st.integers(0, 99), st.integers(0, 99)
        ),
        max_size=12,
    ),
    st.data(),
)
@settings(max_examples=100)
def test_every_changed_value_is_found(steps: list[tuple[str, int, int]], data: st.DataObject) -> None:
    env = detached_env(problem(n=SymbolDecl(min=2, hint=3)))
    graph = Graph()
    nodes = [graph.placeholder("x", meta={"val": tensor(env, int_symbol("n"), int_symbol("n"))})]
    for name, first, second in steps:
        a, b = nodes[first % len(nodes)], nodes[second % len(nodes)]
        nodes.append(call(graph, name, a) if name in UNARY else call(graph, name, a, b))
    graph.output((nodes[-1],))
    from fx_ir.checker import check_module

    check_module(GraphModule(graph), env)
    if len(nodes) > 1:
        victim = nodes[data.draw(st.integers(1, len(nodes) - 1))]
        victim.meta["val"] = meta_of(victim, shape=(victim.meta["val"].shape[0], 7))
        with pytest.raises(ExportError) as caught:
            check_module(GraphModule(graph), env)
        assert caught.value.message.startswith(f"node {victim.name}:") or victim.users
