"""Files: round trips, and every kind of bad file."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fx_ir import dtypes, pytree
from fx_ir.archive import load, save, weights
from fx_ir.contract import ConstLeaf, Distinct
from fx_ir.graph import Graph, GraphModule, same_graph
from fx_ir.ops import OPS, PACKETS, register
from fx_ir.program import ExportedProgram
from fx_ir.signature import InputKind
from fx_ir.symbols import detached_env
from solver.errors import GuardError, InputError
from tests.fx_ir.programs import (
    assemble,
    call,
    counter_program,
    leaf,
    linear_program,
    rich_program,
    size_program,
    tensor,
)

F = np.float32
ENV = detached_env(None)


def through_memory(program: ExportedProgram) -> ExportedProgram:
    stream = io.BytesIO()
    save(program, stream)
    return load(stream)


@pytest.mark.parametrize("make", [linear_program, counter_program, size_program, rich_program])
def test_what_is_loaded_is_what_was_saved(make: Any) -> None:
    program = make()
    loaded = through_memory(program)
    loaded.validate()
    assert same_graph(program.graph_module, loaded.graph_module) == []
    assert str(loaded) == str(program)
    assert loaded.explain() == program.explain()
    assert loaded.contract == program.contract and loaded.call_spec == program.call_spec
    assert str(loaded.graph_signature) == str(program.graph_signature)
    assert loaded.range_constraints == program.range_constraints
    assert loaded.effects == program.effects and loaded.notes == program.notes
    assert list(map(str, loaded.assumptions)) == list(map(str, program.assumptions))
    for before, after in zip(program.graph.nodes, loaded.graph.nodes, strict=True):
        assert before.meta.get("location") == after.meta.get("location")
        assert before.meta.get("nn_module_stack", ()) == after.meta["nn_module_stack"]


def test_what_is_loaded_computes_checks_and_proves_the_same() -> None:
    program = rich_program()
    loaded = through_memory(program)
    x = np.arange(12, dtype=F).reshape(4, 3)
    np.testing.assert_array_equal(loaded.module()(x), program.module()(x))
    for bad in (x[:3], x[:0], x[:, :2], x.astype(np.float64), None):
        with pytest.raises(GuardError) as first:
            program.module()(bad)
        with pytest.raises(GuardError) as second:
            loaded.module()(bad)
        assert str(first.value) == str(second.value)
    assert program.proof is not None and loaded.proof is not None
    ours, theirs = program.proof.guards, loaded.proof.guards
    assert (
        [(g.id, g.expr, g.verdict, g.at) for g in ours]
        == [(g.id, g.expr, g.verdict, g.at) for g in theirs]
        != []
    )
    assert loaded.example_inputs is not None
    np.testing.assert_array_equal(loaded.example_inputs[0][0], np.ones((4, 3)))


def test_saving_twice_gives_the_same_bytes() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    save(rich_program(), first)
    save(rich_program(), second)
    assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize(
    "value",
    [float("nan"), -0.0, True, 1, 'it\'s "x"\n', None, (1, [2.5]), {"k": 1 + 2j}, dtypes.bfloat16, b"\x00"],
)
def test_burned_in_values_survive_exactly(value: Any) -> None:
    graph = Graph()
    x = graph.placeholder("x", meta={"val": tensor(ENV, 2)})
    graph.placeholder("n", meta={"val": None})
    graph.output((call(graph, "aten::add.Tensor", x, 1),))
    program = assemble(
        GraphModule(graph), args=[0, 0], leaves=[leaf("x", x.meta["val"]), ConstLeaf("n", "n", value)]
    )
    loaded = through_memory(program)
    assert repr(loaded.contract.leaves[1]) == repr(program.contract.leaves[1])
    loaded.module()(np.ones(2, F), value)
    with pytest.raises(GuardError):
        loaded.module()(np.ones(2, F), object())


def test_tied_weights_are_stored_once_and_stay_tied() -> None:
    program = linear_program()
    program.state_dict["head.weight"] = program.state_dict["weight"]
    stream = io.BytesIO()
    save(program, stream)
    with zipfile.ZipFile(stream) as archive:
        names = json.loads(archive.read("weights.safetensors")[8:].split(b"}}")[0] + b"}}")
    assert sorted(names) == ["bias", "weight"]
    loaded = load(stream)
    assert loaded.state_dict["head.weight"] is loaded.state_dict["weight"]


def test_a_transposed_weight_keeps_its_layout() -> None:
    program = linear_program()
    program.state_dict["weight"] = np.asfortranarray(program.state_dict["weight"])
    loaded = through_memory(program)
    assert loaded.state_dict["weight"].strides == program.state_dict["weight"].strides
    np.testing.assert_array_equal(loaded.state_dict["weight"], program.state_dict["weight"])


def test_loaded_tensors_may_be_written_without_touching_the_file(tmp_path: Path) -> None:
    file = tmp_path / "m.dlp"
    save(linear_program(), file)
    before = file.read_bytes()
    loaded = load(file)
    loaded.state_dict["weight"] += 1
    assert file.read_bytes() == before
    assert not np.array_equal(load(file).state_dict["weight"], loaded.state_dict["weight"])


def test_weights_are_mapped_and_aligned(tmp_path: Path) -> None:
    file = tmp_path / "m.dlp"
    save(linear_program(), file)
    for tensor_ in load(file).state_dict.values():
        assert tensor_.ctypes.data % tensor_.itemsize == 0
        assert not tensor_.flags.owndata


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # a busy machine is no failure
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=5).filter(lambda name: name != "__metadata__"),
        st.tuples(
            st.sampled_from([d.numpy for d in dtypes.ALL]),
            hnp.arrays(np.int8, hnp.array_shapes(min_dims=0, min_side=0, max_side=3)),
        ).map(lambda pair: pair[1].astype(pair[0])),
        max_size=4,
    )
)
def test_arrays_of_every_dtype_survive(arrays: dict[str, Any]) -> None:
    data = b"".join(bytes(chunk) for chunk in weights.chunks(arrays))
    again = weights.read(data, "file")
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype and again[name].shape == array.shape
        assert again[name].tobytes() == array.tobytes()


def test_the_weights_are_read_by_the_safetensors_package() -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    arrays: dict[str, Any] = {
        "a": np.arange(6, dtype=F).reshape(2, 3),
        "b": np.array(3, np.int64),
        "c": np.ones(2, bool),
    }
    theirs = safetensors.load(b"".join(bytes(chunk) for chunk in weights.chunks(arrays)))
    for name, array in arrays.items():
        np.testing.assert_array_equal(theirs[name], array)
    ours = weights.read(safetensors.save(arrays), "file")
    assert {name: array.tolist() for name, array in ours.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }


def test_bfloat16_state() -> None:
    graph = Graph()
    w = graph.placeholder("w", meta={"val": tensor(ENV, 2, dtype=dtypes.bfloat16)})
    x = graph.placeholder("x", meta={"val": tensor(ENV, 2, dtype=dtypes.bfloat16)})
    graph.output((call(graph, "aten::mul.Tensor", w, x),))
    value = np.array([1.5, -2], ml_dtypes.bfloat16)
    program = assemble(
        GraphModule(graph),
        args=[0],
        leaves=[leaf("x", x.meta["val"])],
        state={"w": (InputKind.PARAMETER, value)},
    )
    loaded = through_memory(program)
    assert loaded.state_dict["w"].dtype == value.dtype
    np.testing.assert_array_equal(loaded.module()(value), value * value)


class Token(NamedTuple):
    ids: Any
    mask: Any


def test_registered_classes_are_found_by_name_or_missed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named tuple class registers itself where its module holds it."""
    graph = Graph()
    nodes = [graph.placeholder(name, meta={"val": tensor(ENV, 2)}) for name in ("a", "b")]
    graph.output((call(graph, "aten::add.Tensor", *nodes),))
    program = assemble(
        GraphModule(graph),
        args=[Token(0, 0)],
        leaves=[leaf(n.name, n.meta["val"]) for n in nodes],
        arg_names=["token"],
    )
    program.contract.distinct = (Distinct(0, 1),)
    stream = io.BytesIO()
    save(program, stream)
    assert load(stream).contract == program.contract
    cls = Token
    definition = pytree.REGISTRY.pop(cls)
    name = definition.serialized_type_name
    assert name is not None
    del pytree.BY_SERIALIZED_NAME[name]
    assert load(stream).contract == program.contract
    del pytree.REGISTRY[cls], pytree.BY_SERIALIZED_NAME[name]
    monkeypatch.delitem(globals(), "Token")
    try:
        with pytest.raises(InputError, match="Token") as caught:
            load(stream)
        assert caught.value.id == "pytree-unknown-class" and "register" in caught.value.hint
    finally:
        pytree.REGISTRY[cls] = definition
        pytree.BY_SERIALIZED_NAME[name] = definition


def test_an_operator_that_is_not_registered_is_named() -> None:
    custom = register(
        "archive_tests::twice(Tensor self) -> Tensor", fake=lambda self: self, kernel=lambda self: self * 2
    )
    graph = Graph()
    x = graph.placeholder("x", meta={"val": tensor(ENV, 2)})
    graph.output((graph.call_function(custom, (x,), meta={"val": x.meta["val"]}),))
    program = assemble(GraphModule(graph), args=[0], leaves=[leaf("x", x.meta["val"])])
    stream = io.BytesIO()
    save(program, stream)
    np.testing.assert_array_equal(load(stream).module()(np.ones(2, F)), [2, 2])
    del OPS["archive_tests::twice"], PACKETS["archive_tests::twice"]
    with pytest.raises(
        InputError, match="the operator archive_tests::twice, which is not registered"
    ) as caught:
        load(stream)
    assert caught.value.id == "archive-unknown-operator"


def test_a_program_of_a_library_that_is_not_here_is_loaded_for_one_that_is() -> None:
    stream = io.BytesIO()
    program = linear_program()
    save(program, stream)
    with zipfile.ZipFile(stream) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(parts["program.json"])
    parts["program.json"] = json.dumps({**body, "backend": "elsewhere"}).encode()
    moved = io.BytesIO()
    with zipfile.ZipFile(moved, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    loaded = load(moved, backend="ndarray")
    np.testing.assert_array_equal(loaded.module()(np.ones((2, 3), F)), program.module()(np.ones((2, 3), F)))
    assert "saved from the tensor library 'elsewhere', which is not here" in load(moved).notes[-1]
    with pytest.raises(InputError, match="no tensor library 'elsewhere'"):
        load(moved, backend="elsewhere")
