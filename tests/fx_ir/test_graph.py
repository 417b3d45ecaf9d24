"""Graphs: order, users, erasing, dead code, copies, comparison."""

from __future__ import annotations

import operator
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_ir.graph import Graph, GraphModule, same_graph
from fx_ir.names import Namespace
from fx_ir.node import Node, nodes_in
from fx_ir.ops import OPS, register
from fx_ir.symbols import detached_env
from solver.errors import UnsupportedError
from tests.fx_ir.programs import call, linear_program, tensor


def chain(*targets: Any) -> tuple[Graph, list[Node]]:
    """``x`` put through functions of two arguments, each used by the next."""
    graph = Graph()
    nodes = [graph.placeholder("x")]
    for target in targets:
        nodes.append(graph.call_function(target, (nodes[-1], 1)))
    graph.output((nodes[-1],))
    return graph, nodes


def true_users(graph: Graph) -> dict[str, list[str]]:
    """Users counted from the arguments alone."""
    return {
        n.name: sorted({u.name for u in graph.nodes if n in set(nodes_in((u.args, u.kwargs)))})
        for n in graph.nodes
    }


def shown_users(graph: Graph) -> dict[str, list[str]]:
    return {n.name: sorted(u.name for u in n.users) for n in graph.nodes}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "erase", "swap", "move", "arg"]), st.integers(0, 99), st.integers(0, 99)
        ),
        max_size=30,
    )
)
def test_users_stay_true_whatever_is_done(steps: list[tuple[str, int, int]]) -> None:
    graph = Graph()
    x = graph.placeholder("x")
    values = [x]
    for kind, first, second in steps:
        a, b = values[first % len(values)], values[second % len(values)]
        if kind == "add":
            values.append(graph.call_function(operator.add, (a, (b, [a])), {"key": {"k": b}}))
        elif kind == "erase" and a is not x and not a.users:
            graph.erase_node(a)
            values.remove(a)
        elif kind == "swap":
            a.replace_all_uses_with(b, partial(operator.is_not, b))
        elif kind == "arg" and a is not x:
            a.update_arg(0, slice(b, 2, None))
        elif kind == "move" and a is not x and b is not x:
            a.append(b)
    assert shown_users(graph) == true_users(graph)
    assert len(graph.nodes) == len(list(graph.nodes)) == len(list(reversed(graph.nodes))) == len(values)


def test_new_nodes_go_where_they_are_told() -> None:
    graph, nodes = chain(operator.add, operator.mul)
    with graph.inserting_before(nodes[2]):
        first = graph.call_function(operator.sub, (nodes[1], 1))
        second = graph.call_function(operator.sub, (first, 1))
    with graph.inserting_after(nodes[0]):
        third = graph.call_function(operator.neg, (nodes[0],))
    assert [n.name for n in graph.nodes] == ["x", "neg", "add", "sub", "sub_1", "mul", "output"]
    assert (second.next, second.prev, third.prev) == (nodes[2], first, nodes[0])
    graph.lint()


def test_a_used_node_is_not_erased() -> None:
    graph, nodes = chain(operator.add)
    with pytest.raises(UnsupportedError, match="node x: it cannot be erased while add uses it"):
        graph.erase_node(nodes[0])


def test_nodes_may_be_erased_while_iterating() -> None:
    graph, nodes = chain(*[operator.add] * 5)
    graph.output_node().args = ((nodes[0],),)
    for node in reversed(graph.nodes):
        if node.op == "call_function":
            graph.erase_node(node)
    assert [n.name for n in graph.nodes] == ["x", "output"]


def test_dead_code_goes_but_effects_stay() -> None:
    graph = Graph()
    env = detached_env(None)
    x = graph.placeholder("x", meta={"val": tensor(env, 3)})
    dead = call(graph, "aten::add.Tensor", x, 1)
    call(graph, "aten::mul.Tensor", dead, 2)
    kept = call(graph, "aten::add.Tensor", x, 3)
    random = register(
        "graph_tests::draw(Tensor self) -> Tensor", fake=lambda self: self, kernel=None, random=True
    )
    write = register("graph_tests::write(Tensor(a!) self) -> ()", fake=lambda self: None, kernel=None)
    graph.call_function(random, (x,))
    graph.call_function(write, (x,))
    graph.call_function(OPS["aten::_assert_scalar"], (True, "text"))
    graph.output((kept,))
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "add_1", "draw", "write", "_assert_scalar", "output"]
    assert not graph.eliminate_dead_code()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (
            lambda g, n: n[1].append(n[2]) or n[2].append(n[1]),
            "uses add before that is computed|uses mul before",
        ),
        (lambda g, n: setattr(n[2], "name", "add"), "its name is used twice"),
        (lambda g, n: n[0].users.clear(), "its users list does not agree"),
        (lambda g, n: n[0].users.update({n[2]: None}), "its users list does not agree"),
        (lambda g, n: setattr(n[1], "name", "1"), "not a Python identifier"),
        (lambda g, n: n[1].append(n[0]), "placeholder after the first|before that is computed"),
        (lambda g, n: n[1].update_arg(0, Graph().placeholder("y")), "belongs to another graph"),
        (lambda g, n: setattr(n[1], "op", "call_method"), "unknown op 'call_method'"),
    ],
)
def test_lint_finds(damage: Any, problem: str) -> None:
    graph, nodes = chain(operator.add, operator.mul)
    graph.lint()
    damage(graph, nodes)
    with pytest.raises(UnsupportedError, match=problem) as caught:
        graph.lint()
    assert caught.value.id == "graph-invalid"


def test_names_are_unique_and_never_reserved() -> None:
    names = Namespace()
    given_names = [
        names.create(c) for c in ("add", "add", "sum", "add_1", "sum", "1x", "a.b", "class", "add")
    ]
    assert given_names == ["add", "add_1", "sum_1", "add_2", "sum_2", "_1x", "a_b", "class_1", "add_3"]


@given(
    st.lists(st.sampled_from(["add", "add_1", "add_2", "sum", "sum_1", "x", "x_1", "x_9", "if"]), max_size=40)
)
def test_names_never_repeat(wishes: list[str]) -> None:
    names = Namespace()
    made = [names.create(wish) for wish in wishes]
    assert len(set(made)) == len(made) and "sum" not in made and "if" not in made


def test_canonical_names_depend_on_order_alone() -> None:
    graph, nodes = chain(operator.add, operator.add, operator.mul)
    graph.erase_node(graph.output_node())
    graph.erase_node(nodes[3])
    graph.output((nodes[2],))
    nodes[1].name = "odd"
    graph.rename_canonically()
    assert [n.name for n in graph.nodes] == ["x", "add", "add_1", "output"]


def test_equal_graphs_have_no_differences_and_others_say_where() -> None:
    first, second = linear_program(), linear_program()
    assert same_graph(first.graph_module, second.graph_module) == []
    add = second.graph.find_nodes(op="call_function")[-1]
    add.name = "renamed"
    assert same_graph(first.graph_module, second.graph_module) == []
    add.kwargs = {"alpha": 2}
    assert "alpha" in same_graph(first.graph_module, second.graph_module)[0]
    add.kwargs = {}
    add.target = OPS["aten::sub.Tensor"]
    found = same_graph(first.graph_module, second.graph_module)
    assert (
        found[0] == "add: call_function torch.ops.aten.add.Tensor and call_function torch.ops.aten.sub.Tensor"
    )


def test_arguments_that_python_calls_equal_differ() -> None:
    graphs = [chain(operator.add)[0] for _ in range(2)]
    graphs[1].find_nodes(op="call_function")[0].update_arg(1, True)
    assert len(same_graph(*graphs)) == 1


def test_branch_graphs_are_compared() -> None:
    outer = [
        GraphModule(chain(operator.add)[0], {"body": GraphModule(chain(target)[0])})
        for target in (operator.mul, operator.sub)
    ]
    assert [text.split(":")[0] for text in same_graph(*outer)] == ["body", "body"]


def test_a_graph_can_be_copied_node_by_node() -> None:
    source, _ = chain(operator.add, operator.mul)
    copy = Graph()
    made: dict[Node, Node] = {}
    for node in source.nodes:
        made[node] = copy.node_copy(node, lambda old: made[old])
    copy.lint()
    assert same_graph(source, copy) == [] and all(n.graph is copy for n in copy.nodes)


def test_making_a_node_is_cheap() -> None:
    graph = Graph()
    node = graph.placeholder("x")
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(1000):
            node = graph.call_function(operator.add, (node, 1), meta={})
        best = min(best, (time.perf_counter() - start) / 1000)
    assert best < 20e-6, "an order of magnitude above what is aimed at"
