"""Printed programs, as golden text and beside PyTorch's own."""

from __future__ import annotations

import operator
import textwrap
from typing import Any

import pytest

from fx_ir import dtypes, higher_order
from fx_ir.contract import Condition
from fx_ir.graph import Graph, GraphModule
from fx_ir.ops import OPS
from fx_ir.printer import format_call, format_ranges, format_value
from fx_ir.provenance import Assumption, Effect
from fx_ir.symbols import detached_env
from solver.errors import Location
from solver.expr import floordiv, int_symbol
from solver.parse import parse_bool
from solver.problem import SymbolDecl
from tests.fx_ir.programs import call, counter_program, linear_program, problem, size_program, tensor

ENV = detached_env(None)


def test_a_program_reads_like_pytorchs() -> None:
    place = Location("model.py", 12, "forward")
    program = linear_program(
        conditions=[Condition(parse_bool("s0 % 2 == 0"), "s0 % 2 == 0", "assumption")],
        assumptions=[Assumption("self.training", False, "value", Location("model.py", 9, "forward"))],
        effects=[Effect("call", "print('hi')", place, "dropped")],
    )
    for node in program.graph.nodes:
        if node.name in ("t", "mm"):
            node.meta |= {"location": place, "source": "return x @ self.w.t() + self.b"}
        elif node.name == "add":
            node.meta |= {"location": Location("lib.py", 3, "scale")}
    assert str(program) == textwrap.dedent("""\
        ExportedProgram:
            class GraphModule(torch.nn.Module):
                def forward(self, p_weight: "f32[4, 3]", p_bias: "f32[4]", x: "f32[s0, 3]"):
                    # File: model.py:12 in forward, code: return x @ self.w.t() + self.b
                    t: "f32[3, 4]" = torch.ops.aten.t.default(p_weight);  p_weight = None
                    mm: "f32[s0, 4]" = torch.ops.aten.mm.default(x, t);  x = t = None

                    # File: lib.py:3 in scale
                    add: "f32[s0, 4]" = torch.ops.aten.add.Tensor(mm, p_bias);  mm = p_bias = None
                    return (add,)

        Graph signature:
            # inputs
            p_weight: PARAMETER target='weight'
            p_bias: PARAMETER target='bias'
            x: USER_INPUT

            # outputs
            add: USER_OUTPUT

        Range constraints: {s0: VR[2, int_oo]}
        Conditions:
            s0 % 2 == 0  (assumption)

        Assumptions:
            self.training == False  (read at model.py:9 in forward)

        Effects:
            call: print('hi') -> dropped  (at model.py:12 in forward)
        """)


def test_sizes_are_computed_in_plain_sight() -> None:
    text = size_program().graph_module.print_readable(print_output=False)
    assert text.splitlines()[1:] == [
        '    def forward(self, x: "f32[n, 2]", k: "Sym(k)"):',
        "        # No stacktrace found for following nodes",
        '        sym_size_int: "Sym(n)" = torch.ops.aten.sym_size.int(x, 0)',
        '        mul: "Sym(2*n)" = sym_size_int * 2',
        '        view: "f32[2*n]" = torch.ops.aten.view.default(x, [mul]);  x = mul = None',
        '        add: "Sym(k + n)" = sym_size_int + k;  sym_size_int = k = None',
        "        return (view, add)",
    ]


def test_branch_graphs_are_nested_classes() -> None:
    def body(name: str) -> GraphModule:
        inner = Graph()
        x = inner.placeholder("x", meta={"val": tensor(ENV, 3)})
        inner.output((call(inner, name, x),))
        return GraphModule(inner)

    graph = Graph()
    module = GraphModule(graph, {"true_graph_0": body("aten::sin"), "false_graph_0": body("aten::cos")})
    flag = graph.placeholder("flag", meta={"val": tensor(ENV, dtype=dtypes.bool_)})
    x = graph.placeholder("x", meta={"val": tensor(ENV, 3)})
    branches = [graph.get_attr("true_graph_0"), graph.get_attr("false_graph_0")]
    chosen = graph.call_function(higher_order.cond, (flag, *branches, (x,)), meta={"val": (x.meta["val"],)})
    graph.output((graph.call_function(operator.getitem, (chosen, 0), meta={"val": x.meta["val"]}),))
    lines = module.print_readable(print_output=False).splitlines()
    assert (
        '        def forward(self, x: "f32[3]"):' in lines
        and "    class true_graph_0(torch.nn.Module):" in lines
    )
    assert "        true_graph_0 = self.true_graph_0" in lines
    assert (
        "        cond = torch.ops.higher_order.cond(flag, true_graph_0, false_graph_0, (x,));"
        "  flag = true_graph_0 = false_graph_0 = x = None"
    ) in lines
    assert '        getitem: "f32[3]" = cond[0];  cond = None' in lines
    assert compile("class torch:\n class nn: Module = object\n" + "\n".join(lines), "text", "exec")


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        (([1, 2], (3,), None, True), {}, "torch.ops.aten.relu.default([1, 2], (3,), None, True)"),
        (("it's", float("inf"), {"k": 1}), {}, "torch.ops.aten.relu.default(\"it's\", inf, {'k': 1})"),
        (
            (),
            {"dtype": dtypes.float32, "device": dtypes.CPU},
            "torch.ops.aten.relu.default(dtype = torch.float32, device = device(type='cpu'))",
        ),
        ((slice(1, None, 2),), {}, "torch.ops.aten.relu.default(slice(1, None, 2))"),
    ],
)
def test_arguments_are_python(args: Any, kwargs: Any, text: str) -> None:
    assert format_call(Graph().call_function(OPS["aten::relu"], args, kwargs)) == text


def test_values_and_ranges() -> None:
    env = detached_env(problem(s=SymbolDecl(min=0, hint=2)))
    s = int_symbol("s")
    assert format_value(tensor(env, s * 2 + 1, 4, dtype=dtypes.bfloat16)) == "bf16[2*s + 1, 4]"
    assert (
        format_value(tensor(env)) == "f32[]"
        and format_value(env.wrap_int(s)) == "Sym(s)"
        and format_value(None) == ""
    )
    assert format_value(env.wrap_int(s) > 3) == "Sym(s >= 4)"
    assert format_ranges({"a": (None, 3), "b": (0, None)}) == "{a: VR[-int_oo, 3], b: VR[0, int_oo]}"


def test_sizes_longer_than_anyone_reads_are_summed_up() -> None:
    """Two sizes are written alike only if they are equal."""
    env = detached_env(problem(s=SymbolDecl(min=0, hint=2)))
    size = int_symbol("s")
    shown = []
    for _ in range(60):
        size = floordiv(size, 2) + floordiv(size, 3)
        shown.append(format_value(tensor(env, size)))
    assert max(map(len, shown)) < 600 and len(set(shown)) == 60
    assert shown[0] == "f32[s//2 + s//3]"


def test_a_graph_prints_a_line_a_node_as_fx_does() -> None:
    assert str(counter_program().graph).splitlines() == [
        "graph():",
        "    %b_count : [num_users=1] = placeholder[target=b_count]",
        "    %x : [num_users=1] = placeholder[target=x]",
        "    %add : [num_users=2] = call_function[target=torch.ops.aten.add.Tensor](args = (%b_count, 1), kwargs = {})",
        "    %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %add), kwargs = {})",
        "    return (add, mul)",
    ]


@pytest.mark.torch
def test_text_is_that_of_pytorch() -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(4, 3))
            self.register_buffer("scale", torch.ones(4))

        def forward(self, x: Any) -> Any:
            return (torch.relu(x @ self.weight.t()) * self.scale).sum(0, keepdim=True)

    theirs = torch.export.export(Net(), (torch.ones(5, 3),))
    graph = Graph()
    nodes = {
        name: graph.placeholder(name, meta={"val": tensor(ENV, *shape)})
        for name, shape in {"p_weight": (4, 3), "b_scale": (4,), "x": (5, 3)}.items()
    }
    product = call(graph, "aten::matmul", nodes["x"], call(graph, "aten::t", nodes["p_weight"]))
    scaled = call(graph, "aten::mul.Tensor", call(graph, "aten::relu", product), nodes["b_scale"])
    graph.output((call(graph, "aten::sum.dim_IntList", scaled, [0], True),))
    text = theirs.graph_module.print_readable(print_output=False)
    expected = [line for line in text.splitlines() if line.strip() and "#" not in line]
    ours = GraphModule(graph).print_readable(print_output=False)
    assert [line for line in ours.splitlines() if line.strip() and "#" not in line] == expected
    assert str(graph).splitlines() == str(theirs.graph).strip().splitlines()
