"""Compiled graphs: results, lifetimes of values, assertions, control flow."""

from __future__ import annotations

import gc
import math
import operator
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fx_ir import higher_order
from fx_ir.executor import compile_graph
from fx_ir.graph import Graph, GraphModule
from fx_ir.node import Node
from fx_ir.number_ops import NUMBER_OPS, sym_ite, sym_not
from fx_ir.ops import OPS
from fx_ir.symbols import detached_env
from solver.errors import GuardError, Location, UnsupportedError
from tests.fx_ir.ndarray_backend import BACKEND, NdarrayBackend
from tests.fx_ir.programs import call, size_program, tensor

ENV = detached_env(None)


def run(module: GraphModule | Graph, *values: Any) -> Any:
    owner = module if isinstance(module, GraphModule) else GraphModule(module)
    return compile_graph(owner, BACKEND).run(*values)


def vector(graph: Graph, name: str, *shape: int) -> Node:
    return graph.placeholder(name, meta={"val": tensor(ENV, *(shape or (3,)))})


BINARY = {
    "aten::add.Tensor": np.add, "aten::sub.Tensor": np.subtract, "aten::mul.Tensor": np.multiply, "aten::maximum": np.maximum,
}  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(BINARY)), st.integers(0, 99), st.integers(0, 99)),
        min_size=1,
        max_size=25,
    ),
    st.integers(0, 99),
)
@settings(max_examples=200)
def test_random_graphs_compute_what_numpy_computes(steps: list[tuple[str, int, int]], seed: int) -> None:
    graph = Graph()
    nodes = [vector(graph, "x"), vector(graph, "y")]
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-3, 4, 3).astype(np.float32) for _ in nodes]
    values = list(inputs)
    for name, first, second in steps:
        a, b = first % len(nodes), second % len(nodes)
        nodes.append(call(graph, name, nodes[a], nodes[b]))
        values.append(BINARY[name](values[a], values[b]))
    graph.output((nodes[-1], [nodes[-2]], nodes[0]))
    last, (before,), first_input = run(graph, *inputs)
    np.testing.assert_array_equal(last, values[-1])
    np.testing.assert_array_equal(before, values[-2])
    assert first_input is inputs[0]


class Tracked(np.ndarray):
    """An array that can be referred to weakly."""


class WatchingBackend(NdarrayBackend):
    """Counts how many results of kernels are alive at each kernel's start."""

    name = "watching"

    def __init__(self) -> None:
        self.alive: weakref.WeakSet[Any] = weakref.WeakSet()
        self.most = 0

    def kernel(self, op: Any) -> Any:
        def kernel(a: Any, b: Any, *, alpha: Any = 1) -> Any:
            result = np.add(a, b).view(Tracked)
            self.alive.add(_Handle.of(result))
            self.most = max(self.most, len(self.alive))
            return result

        return kernel


class _Handle:
    """Lives as long as the array that holds it."""

    @staticmethod
    def of(array: Any) -> _Handle:
        handle = _Handle()
        array.handle = handle
        return handle


def test_values_are_freed_after_their_last_use() -> None:
    graph = Graph()
    x = vector(graph, "x")
    node = x
    for _ in range(50):
        node = call(graph, "aten::add.Tensor", node, x)
    graph.output((node,))
    backend = WatchingBackend()
    gc.disable()
    try:
        compile_graph(GraphModule(graph), backend).run(np.ones(3, np.float32))
    finally:
        gc.enable()
    assert backend.most == 2  # the operand and the result


def test_every_number_function_computes_what_python_computes() -> None:
    samples: dict[Any, tuple[Any, ...]] = {
        operator.neg: (5,), operator.pos: (5,), operator.not_: (0,), sym_not: (True,), sym_ite: (False, 1, 2),
        operator.getitem: ([4, 5], 1), abs: (-3,), int: (2.7,), float: (3,), bool: (2,), round: (2.5,), math.floor: (-2.5,),
        math.ceil: (-2.5,), math.trunc: (-2.5,), math.sqrt: (2,), max: (3, 9), min: (3, 9),
    }  # fmt: skip
    for function in NUMBER_OPS:
        arguments = samples.get(function, ([3, 4],) if function.__name__ == "sym_sum" else (17, 3))
        graph = Graph()
        graph.output((graph.call_function(function, arguments),))
        assert run(graph) == (function(*arguments),), function


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        -0.0,
        1e300,
        "a'b\"c\n",
        (1,),
        (),
        [1, [2]],
        {"k": 1},
        slice(1, None, 2),
        2 + 1j,
    ],
)
def test_constants_arrive_as_they_are(value: Any) -> None:
    graph = Graph()
    graph.output((value,))
    (result,) = run(graph)
    assert repr(result) == repr(value)


def test_sizes_are_read_and_computed_inline() -> None:
    program = size_program()
    compiled = compile_graph(program.graph_module, BACKEND)
    assert "x.shape[0]" in compiled.source and "* 2)" in compiled.source
    for n in (0, 1, 7):
        x = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        flat, total = compiled.run(x, 4)
        np.testing.assert_array_equal(flat, x.reshape(-1))
        assert total == n + 4


def test_a_runtime_assertion_names_the_users_line() -> None:
    graph = Graph()
    x = vector(graph, "x")
    size = graph.call_function(OPS["aten::sym_size.int"], (x, 0), meta={"val": None})
    fine = graph.call_function(operator.gt, (size, 2))
    place = Location("model.py", 41, "forward")
    graph.call_function(OPS["aten::_assert_scalar"], (fine, "u0 > 2 is needed"), meta={"location": place})
    graph.output((x,))
    run(graph, np.ones(3))
    with pytest.raises(GuardError, match="u0 > 2 is needed") as caught:
        run(graph, np.ones(2))
    assert caught.value.location == place and caught.value.id == "runtime-assertion"


def test_a_kernel_that_fails_shows_the_graph_line_in_its_traceback() -> None:
    import traceback

    graph = Graph()
    x = graph.placeholder("x", meta={"val": tensor(ENV, 3)})
    node = call(graph, "aten::add.Tensor", x, x)
    node.meta["location"] = Location("model.py", 99, "forward")
    graph.output((node,))
    with pytest.raises(Exception) as caught:
        run(graph, np.array([{}, {}], dtype=object))
    text = "".join(traceback.format_exception(caught.value))
    assert "model.py:99 in forward" in text


def test_a_missing_kernel_and_a_bad_target_are_named() -> None:
    graph = Graph()
    x = vector(graph, "x")
    graph.output((graph.call_function(OPS["aten::add_.Tensor"], (x, x)),))
    with pytest.raises(UnsupportedError, match=r"aten\.add_\.Tensor has no kernel for ndarray") as caught:
        run(graph, np.ones(3))
    assert caught.value.id == "kernel-missing"
    other = Graph()
    other.output((other.call_function(print, ()),))
    with pytest.raises(UnsupportedError, match="no operator"):
        run(other)
    wrong = Graph()
    wrong.output((wrong.call_function(OPS["aten::relu"], ()),))
    with pytest.raises(UnsupportedError, match="missing argument 'self'"):
        run(wrong)


def test_a_graph_module_is_called_on_tensors() -> None:
    graph = Graph()
    x = vector(graph, "x")
    graph.output((call(graph, "aten::add.Tensor", x, 2),))
    (result,) = GraphModule(graph)(np.ones(3, np.float32))
    np.testing.assert_array_equal(result, np.full(3, 3.0))


# --- control flow ------------------------------------------------------------------------------------------------------


def body(build: Any, *names: str, shape: tuple[int, ...] = ()) -> GraphModule:
    """A branch graph over placeholders of that shape; ``build(graph, *nodes)`` gives what it returns."""
    graph = Graph()
    nodes = [graph.placeholder(name, meta={"val": tensor(ENV, *shape)}) for name in names]
    graph.output(tuple(build(graph, *nodes)))
    return GraphModule(graph)


def with_branches(**branches: GraphModule) -> tuple[Graph, dict[str, Node], GraphModule]:
    graph = Graph()
    module = GraphModule(graph, branches)
    return graph, {}, module


def add(graph: Graph, a: Any, b: Any) -> Node:
    return call(graph, "aten::add.Tensor", a, b)


def mul(graph: Graph, a: Any, b: Any) -> Node:
    return call(graph, "aten::mul.Tensor", a, b)


def test_cond_runs_the_branch_that_the_predicate_chooses() -> None:
    graph, _, module = with_branches(
        true_graph_0=body(lambda g, x: [add(g, x, 1)], "x", shape=(3,)),
        false_graph_0=body(lambda g, x: [mul(g, x, 5)], "x", shape=(3,)),
    )
    x = vector(graph, "x")
    flag = graph.placeholder("flag")
    then, otherwise = graph.get_attr("true_graph_0"), graph.get_attr("false_graph_0")
    chosen = graph.call_function(higher_order.cond, (flag, then, otherwise, (x,)))
    graph.output((graph.call_function(operator.getitem, (chosen, 0)),))
    graph.lint()
    value = np.full(3, 2.0, np.float32)
    for true, false in ((True, False), (np.array(True), np.array(False)), (np.array([1.0]), np.array([0.0]))):
        np.testing.assert_array_equal(run(module, value, true)[0], value + 1)
        np.testing.assert_array_equal(run(module, value, false)[0], value * 5)


def test_while_loop_carries_values() -> None:
    def more(graph: Graph, i: Node, total: Node, step: Node) -> list[Any]:
        return [call(graph, "aten::lt.Scalar", i, 5)]

    def turn(graph: Graph, i: Node, total: Node, step: Node) -> list[Any]:
        return [add(graph, i, step), add(graph, total, i)]

    graph, _, module = with_branches(c=body(more, "i", "t", "s"), b=body(turn, "i", "t", "s"))
    i, total, step = (graph.placeholder(n, meta={"val": tensor(ENV)}) for n in ("i", "t", "s"))
    loop = graph.call_function(
        higher_order.while_loop, (graph.get_attr("c"), graph.get_attr("b"), (i, total), (step,))
    )
    graph.output((graph.call_function(operator.getitem, (loop, 1)),))
    zero, one, seven, nine = (np.array(value, np.float32) for value in (0, 1, 7, 9))
    assert run(module, zero, zero, one)[0] == 0 + 1 + 2 + 3 + 4
    assert run(module, nine, seven, one)[0] == 7


@pytest.mark.parametrize("count", [0, 1, 4])
def test_map_stacks_what_the_body_gives(count: int) -> None:
    graph, _, module = with_branches(
        b=body(lambda g, x, y: [mul(g, x, y), add(g, x, 1)], "x", "y", shape=(2,))
    )
    xs = graph.placeholder("xs", meta={"val": tensor(ENV, count, 2)})
    y = graph.placeholder("y", meta={"val": tensor(ENV, 2)})
    mapped = graph.call_function(higher_order.map_impl, (graph.get_attr("b"), [xs], [y]))
    graph.output(tuple(graph.call_function(operator.getitem, (mapped, i)) for i in range(2)))
    values, factor = (
        np.arange(2 * count, dtype=np.float32).reshape(count, 2),
        np.array([2.0, 3.0], np.float32),
    )
    first, second = run(module, values, factor)
    np.testing.assert_array_equal(first, values * factor)
    np.testing.assert_array_equal(second, values + 1)
    assert first.shape == (count, 2)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_scan_gives_the_carry_and_the_steps(count: int) -> None:
    def turn(graph: Graph, carry: Node, x: Node) -> list[Any]:
        total = add(graph, carry, x)
        return [total, mul(graph, total, 2)]

    graph, _, module = with_branches(b=body(turn, "c", "x"))
    init = graph.placeholder("init", meta={"val": tensor(ENV)})
    xs = graph.placeholder("xs", meta={"val": tensor(ENV, count)})
    scanned = graph.call_function(higher_order.scan, (graph.get_attr("b"), [init], [xs], []))
    graph.output(tuple(graph.call_function(operator.getitem, (scanned, i)) for i in range(2)))
    values = np.arange(1, count + 1, dtype=np.float32)
    carry, steps = run(module, np.array(10.0, np.float32), values)
    assert carry == 10 + values.sum()
    np.testing.assert_array_equal(steps, 2 * (10 + np.cumsum(values)))


@pytest.mark.parametrize("count", [0, 1, 6])
def test_associative_scan_is_cumulative(count: int) -> None:
    graph, _, module = with_branches(b=body(lambda g, a, b: [mul(g, a, b)], "a", "b"))
    xs = graph.placeholder("xs", meta={"val": tensor(ENV, count)})
    scanned = graph.call_function(higher_order.associative_scan, (graph.get_attr("b"), [xs], []))
    graph.output((graph.call_function(operator.getitem, (scanned, 0)),))
    values = np.arange(1, count + 1, dtype=np.float32)
    np.testing.assert_array_equal(run(module, values)[0], np.cumprod(values))


def test_branches_of_branches_with_one_name_stay_apart() -> None:
    def nested(amount: int) -> GraphModule:
        graph, _, module = with_branches(
            true_graph_0=body(lambda g, x: [add(g, x, amount)], "x"),
            false_graph_0=body(lambda g, x: [add(g, x, -amount)], "x"),
        )
        x = graph.placeholder("x", meta={"val": tensor(ENV)})
        positive = graph.call_function(OPS["aten::gt.Scalar"], (x, 0))
        chosen = graph.call_function(
            higher_order.cond,
            (positive, graph.get_attr("true_graph_0"), graph.get_attr("false_graph_0"), (x,)),
        )
        graph.output((graph.call_function(operator.getitem, (chosen, 0)),))
        return module

    graph, _, module = with_branches(true_graph_0=nested(10), false_graph_0=nested(100))
    flag, x = graph.placeholder("flag"), graph.placeholder("x")
    chosen = graph.call_function(
        higher_order.cond, (flag, graph.get_attr("true_graph_0"), graph.get_attr("false_graph_0"), (x,))
    )
    graph.output((graph.call_function(operator.getitem, (chosen, 0)),))
    results = [
        float(run(module, flag, np.array(value, np.float32))[0])
        for flag in (True, False)
        for value in (1, -1)
    ]
    assert results == [11, -11, 101, -101]
