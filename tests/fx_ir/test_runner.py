"""Program modules: state from call to call, mutated inputs, what is returned, sharing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir import dtypes
from fx_ir.backend import register_backend
from fx_ir.contract import ConstLeaf, InputLeaf
from fx_ir.graph import Graph, GraphModule
from fx_ir.program import ExportedProgram
from fx_ir.signature import InputKind, OutputKind
from fx_ir.symbols import detached_env
from solver.errors import GuardError, InputError, UnsupportedError
from tests.fx_ir.ndarray_backend import NdarrayBackend
from tests.fx_ir.programs import assemble, call, counter_program, leaf, linear_program, size_program, tensor

ENV = detached_env(None)
F = np.float32


def build(inputs: dict[str, tuple[int, ...]], make: Any, **options: Any) -> ExportedProgram:
    """A program over user inputs (after the state in ``options``); ``make(graph, *nodes)`` gives all outputs."""
    graph = Graph()
    state = [
        graph.placeholder(f"s_{name}", meta={"val": tensor(ENV, *value.shape)})
        for name, (_, value) in options.get("state", {}).items()
    ]
    users = [graph.placeholder(name, meta={"val": tensor(ENV, *shape)}) for name, shape in inputs.items()]
    graph.output(tuple(make(graph, *state, *users)))
    program = assemble(
        GraphModule(graph),
        args=[0] * len(users),
        leaves=[leaf(node.name, node.meta["val"]) for node in users],
        **options,
    )
    program.validate()
    return program


def test_a_program_is_called_through_its_module() -> None:
    program = linear_program()
    x = np.arange(6, dtype=F).reshape(2, 3)
    expected = x @ program.state_dict["weight"].T + program.state_dict["bias"]
    np.testing.assert_allclose(program.module()(x), expected, rtol=1e-6)
    with pytest.raises(UnsupportedError, match=r"module\(\)") as caught:
        program(x)
    assert caught.value.id == "program-called"


def test_state_goes_from_call_to_call_and_not_to_the_program() -> None:
    program = counter_program()
    first, second = program.module(), program.module()
    x = np.ones(2, F)
    assert [first(x)[0].item() for _ in range(3)] == [1, 2, 3]
    assert second(x)[0].item() == 1
    assert first.count.item() == 3 and second.state_dict()["count"].item() == 1
    assert program.state_dict["count"].item() == 0


def test_parameters_are_shared_with_the_program() -> None:
    program = linear_program()
    module = program.module()
    assert module.weight is program.state_dict["weight"]
    x = np.ones((2, 3), F)
    before = module(x)
    program.state_dict["bias"] += 1
    np.testing.assert_allclose(module(x), before + 1, rtol=1e-6)


def test_two_buffers_that_change_places() -> None:
    state = {"a": (InputKind.BUFFER, np.array([1.0], F)), "b": (InputKind.BUFFER, np.array([2.0], F))}
    updates = {"a": OutputKind.BUFFER_MUTATION, "b": OutputKind.BUFFER_MUTATION}
    program = build({"x": (1,)}, lambda g, a, b, x: [b, a, x], state=state, updates=updates)
    module = program.module()
    x = np.zeros(1, F)
    seen = []
    for _ in range(3):
        module(x)
        seen.append((module.a.item(), module.b.item()))
    assert seen == [(2, 1), (1, 2), (2, 1)]


def test_a_buffer_that_takes_an_input_does_not_follow_it() -> None:
    state = {"a": (InputKind.BUFFER, np.zeros(2, F))}
    for view in (lambda g, x: x, lambda g, x: call(g, "aten::view", x, [2])):
        program = build(
            {"x": (2,)},
            lambda g, a, x, view=view: [view(g, x), a],
            state=state,
            updates={"a": OutputKind.BUFFER_MUTATION},
        )
        module = program.module()
        x = np.ones(2, F)
        module(x)
        x += 5
        np.testing.assert_array_equal(module.a, [1, 1])


def test_mutated_inputs_are_written_back_and_returned_as_themselves() -> None:
    def make(graph: Graph, x: Any, y: Any) -> list[Any]:
        more = call(graph, "aten::add.Tensor", x, 1)
        return [more, x, more, call(graph, "aten::mul.Tensor", more, 2)]

    updates = {"x": OutputKind.USER_INPUT_MUTATION, "y": OutputKind.USER_INPUT_MUTATION}
    program = build({"x": (2,), "y": (2,)}, make, updates=updates, out=(0, 0))
    x, y = np.array([1, 2], F), np.zeros(2, F)
    returned, doubled = program.module()(x, y)
    np.testing.assert_array_equal(x, [2, 3])
    np.testing.assert_array_equal(y, [1, 2])  # what x was, although x is written first
    assert returned is x
    np.testing.assert_array_equal(doubled, [4, 6])
    assert program.module().updates_state and not linear_program().module().updates_state


def test_what_goes_in_comes_out_as_the_same_object() -> None:
    state = {"w": (InputKind.PARAMETER, np.ones(2, F)), "b": (InputKind.BUFFER, np.ones(2, F))}
    program = build({"x": (2,)}, lambda g, w, b, x: [x, w, b], state=state, out=(0, 0, 0))
    x = np.zeros(2, F)
    out = program.module()(x)
    assert out[0] is x and out[1] is program.state_dict["w"] and out[2] is program.state_dict["b"]


def test_a_constant_that_is_returned_is_itself_as_a_parameter_is() -> None:
    state = {"c": (InputKind.CONSTANT_TENSOR, np.ones(2, F))}
    program = build(
        {"x": (2,)}, lambda g, c, x: [c, call(g, "aten::view", c, [1, 2])], state=state, out=(0, 0)
    )
    whole, view = program.module()(np.zeros(2, F))
    assert whole is program.constants["c"] and np.shares_memory(view, whole)


@pytest.mark.parametrize("out", [0, (0, 0), [0, 0], {"p": 0, "q": 0}, [{"p": (0,)}, 0]])
def test_results_have_the_structure_of_the_model(out: Any) -> None:
    from fx_ir.pytree import tree_leaves, tree_structure

    count = len(tree_leaves(out))
    program = build(
        {"x": (1,)}, lambda g, x: [call(g, "aten::add.Tensor", x, i) for i in range(count)], out=out
    )
    result = program.module()(np.zeros(1, F))
    assert tree_structure(result) == tree_structure(out)
    assert [value.item() for value in tree_leaves(result)] == list(range(count))


def test_burned_in_inputs_and_constant_outputs() -> None:
    graph = Graph()
    x = graph.placeholder("x", meta={"val": tensor(ENV, 2)})
    graph.placeholder("y", meta={"val": None})
    graph.output((call(graph, "aten::add.Tensor", x, 10), 7, None, "text"))
    leaves: list[InputLeaf] = [leaf("x", x.meta["val"]), ConstLeaf("y", "y", None)]
    program = assemble(GraphModule(graph), args=[0, 0], leaves=leaves, out=(0, 0, 0, 0), arg_names=["x", "y"])
    program.validate()
    module = program.module()
    assert module(np.ones(2, F), None)[1:] == (7, None, "text")
    assert program.graph_signature.user_inputs == ("x", None)
    assert program.graph_signature.user_outputs[1:] == (7, None, "text")
    with pytest.raises(GuardError, match="argument y is missing"):
        module(np.ones(2, F))
    with pytest.raises(GuardError, match="y: expected the value None"):
        module(np.ones(2, F), y=np.ones(2, F))


def test_dynamic_integers_reach_the_graph() -> None:
    module = size_program().module()
    flat, total = module(np.ones((6, 2), F), 5)
    assert flat.shape == (12,) and total == 11


def test_loading_state_checks_names_and_kinds() -> None:
    module = linear_program().module()
    new = {"weight": np.zeros((4, 3), F), "bias": np.arange(4, dtype=F)}
    module.load_state_dict(new)
    np.testing.assert_array_equal(module(np.ones((2, 3), F)), [[0, 1, 2, 3]] * 2)
    module.bias = np.ones(4, F)
    np.testing.assert_array_equal(module(np.ones((2, 3), F)), np.ones((2, 4)))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"weight": new["weight"]}, "state-unknown"),
        ({**new, "more": new["bias"]}, "state-unknown"),
        ({**new, "bias": np.zeros(5, F)}, "state-mismatch"),
        ({**new, "bias": np.zeros(4)}, "state-mismatch"),
        ({**new, "bias": [0] * 4}, "state-mismatch"),
    ]
    for wrong, id in cases:
        with pytest.raises(InputError) as caught:
            module.load_state_dict(wrong)
        assert caught.value.id == id
    with pytest.raises(InputError):
        module.other = 3
    with pytest.raises(UnsupportedError):
        module.train()


def test_state_is_seen_as_attributes_of_attributes() -> None:
    weight = np.ones(2, F)
    program = build(
        {"x": (2,)},
        lambda g, w, x: [call(g, "aten::mul.Tensor", w, x)],
        state={"encoder.0.w": (InputKind.PARAMETER, weight)},
    )
    module = program.module()
    assert getattr(module.encoder, "0").w is weight
    with pytest.raises(AttributeError, match=r"no parameter, buffer or constant 'encoder\.v'"):
        module.encoder.v  # noqa: B018


def test_tied_tensors_stay_tied() -> None:
    weight = np.ones(2, F)
    program = build(
        {"x": (2,)},
        lambda g, w, x: [call(g, "aten::mul.Tensor", w, x)],
        state={"w": (InputKind.PARAMETER, weight)},
    )
    program.state_dict["tied"] = weight
    module = program.module()
    module.tied = np.full(2, 3, F)
    np.testing.assert_array_equal(module(np.ones(2, F)), [3, 3])


class OtherBackend(NdarrayBackend):
    """A second library whose tensors are tuples of one array."""

    name = "boxed"

    def is_tensor(self, obj: object) -> bool:
        return isinstance(obj, tuple)

    def describe(self, obj: Any) -> Any:
        return super().describe(obj[0])

    def unwrap(self, obj: Any) -> Any:
        return obj[0]

    def wrap(self, native: Any, meta: Any = None) -> Any:
        return (native,)

    def from_numpy(self, array: Any, meta: Any, *, parameter: bool = False) -> Any:
        return (array.copy(),)


def test_a_program_runs_on_another_library() -> None:
    register_backend(OtherBackend())
    program = linear_program()
    x = np.ones((2, 3), F)
    (result,) = program.module(backend="boxed")((x,))
    np.testing.assert_array_equal(result, program.module()(x))
    with pytest.raises(InputError, match="no tensor library 'absent'"):
        program.module(backend="absent")
    assert program.backend.describe(x).dtype is dtypes.float32


def test_a_program_without_state_updates_runs_in_several_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    program = linear_program()
    module = program.module()
    inputs = [np.full((2 + i % 5, 3), i, F) for i in range(64)]
    expected = [module(x) for x in inputs]
    with ThreadPoolExecutor(8) as pool:
        for result, wanted in zip(pool.map(module, inputs), expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
