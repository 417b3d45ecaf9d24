"""Files: round trips, and every kind of bad file."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fx_ir import dtypes, pytree
from fx_ir.archive import load, save, weights
from fx_ir.contract import Condition, ConstLeaf, Distinct
from fx_ir.graph import Graph, GraphModule, same_graph
from fx_ir.ops import OPS, PACKETS, register
from fx_ir.program import ExportedProgram
from fx_ir.provenance import Assumption, Effect
from fx_ir.signature import InputKind
from fx_ir.symbols import detached_env
from solver.errors import ExportError, GuardError, InputError, Location
from solver.parse import parse_bool
from tests.fx_ir.programs import assemble, call, counter_program, leaf, linear_program, size_program, tensor

F = np.float32
ENV = detached_env(None)


def through_memory(program: ExportedProgram) -> ExportedProgram:
    stream = io.BytesIO()
    save(program, stream)
    return load(stream)


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
        example_inputs=((np.ones((4, 3), F),), {}),
    )
    for node in program.graph.nodes:
        if node.op == "call_function":
            node.meta |= {
                "location": place,
                "source": "return self.lin(x)",
                "nn_module_stack": (("", "Net"), ("lin", "Linear")),
            }
    return program


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


def test_registered_classes_are_found_by_name_or_missed_by_name() -> None:
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
    definition = pytree.REGISTRY.pop(Token)
    name = definition.serialized_type_name
    assert name is not None
    del pytree.BY_SERIALIZED_NAME[name]
    try:
        with pytest.raises(InputError, match="Token") as caught:
            load(stream)
        assert caught.value.id == "pytree-unknown-class" and "register" in caught.value.hint
    finally:
        pytree.REGISTRY[Token] = definition
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


# --- bad files and arguments -------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.dlp"
    save(rich_program(), path)
    return path


def refusal(file: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        load(file)
    assert caught.value.hint and caught.value.id
    return caught.value


def rewrite(file: Path, change: Any, **entries: Any) -> None:
    """Writes the archive anew with ``program.json`` changed and entries replaced (None: left out)."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(parts["program.json"])
    change(body)
    parts["program.json"] = json.dumps(body).encode()
    parts.update({name.replace("__", "."): data for name, data in entries.items()})
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            if data is not None:
                archive.writestr(name, data)


def test_wrong_arguments_are_told_what_is_wanted(tmp_path: Path) -> None:
    program = linear_program()
    for wrong in (program, 3, None, [1]):
        with pytest.raises(InputError, match="load wants the path") as caught:
            load(wrong)  # type: ignore[arg-type]
        assert caught.value.id == "archive-argument"
    with pytest.raises(InputError, match="save wants an ExportedProgram"):
        save("model", tmp_path / "x.dlp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="save wants a path"):
        save(program, 3)  # type: ignore[arg-type]


def test_missing_empty_and_foreign_files(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.dlp").id == "archive-missing"
    assert refusal(tmp_path).id == "archive-missing"
    for name, data in {"empty": b"", "text": b"hello world" * 9, "pickle": b"\x80\x04N."}.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert refusal(path).id == "archive-foreign"
        assert refusal(io.BytesIO(data)).id == "archive-foreign"
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "program.json" in refusal(other).message
    assert refusal(io.StringIO("text")).id == "archive-foreign"


def test_every_truncation_is_refused(file: Path) -> None:
    data = file.read_bytes()
    for length in sorted({*range(0, len(data), max(1, len(data) // 60)), len(data) - 1}):
        assert refusal(io.BytesIO(data[:length])).id in ("archive-foreign", "archive-bad")


def test_damage_is_refused_or_harmless(file: Path) -> None:
    data = bytearray(file.read_bytes())
    reference = str(load(io.BytesIO(bytes(data))))
    rng = random.Random(7)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 4))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            loaded = load(io.BytesIO(bytes(damaged)))
        except InputError:
            continue
        assert str(loaded) == reference  # only bytes that mean nothing (dates, padding) were hit


def mutations(value: Any, rng: random.Random) -> Any:
    """The value with one random part replaced, dropped or repeated."""
    junk: list[Any] = [
        None,
        -1,
        2**70,
        0.5,
        "x",
        "__import__('os')",
        [],
        {},
        True,
        "aten::relu",
        {"node": "nope"},
    ]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutations(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:index] + value[index + 1 :]
        return [*value[:index], mutations(value[index], rng), *value[index + 1 :]]
    return rng.choice(junk)


@pytest.mark.parametrize("make", [rich_program, size_program])
def test_programs_that_mean_nothing_are_refused(make: Any) -> None:
    stream = io.BytesIO()
    save(make(), stream)
    with zipfile.ZipFile(stream) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(parts["program.json"])
    rng = random.Random(11)
    refused = 0
    for _ in range(400):
        parts["program.json"] = json.dumps(mutations(body, rng)).encode()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
        try:
            loaded = load(out)
        except InputError:
            refused += 1
            continue
        try:  # what is admitted can be shown and checked without a crash
            str(loaded)
            loaded.validate()
        except ExportError:
            refused += 1
    assert refused > 200


def test_versions_and_formats(file: Path) -> None:
    rewrite(file, lambda body: body.update(version=2))
    assert refusal(file).id == "archive-version" and "version 2" in refusal(file).message
    rewrite(file, lambda body: body.update(format="other"))
    assert refusal(file).id == "archive-foreign"
    rewrite(file, lambda body: None, shapeproof__json=b'{"format": "shapeproof/9"}')
    assert refusal(file)


def test_code_in_expressions_is_refused(file: Path) -> None:
    marker = file.parent / "touched"

    def attack(body: Any) -> None:
        body["contract"]["leaves"][0]["dims"][0] = f"__import__('os').mkdir({str(marker)!r})"

    rewrite(file, attack)
    assert refusal(file).id == "archive-bad" and not marker.exists()


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "C:\\x", "..\\x"])
def test_paths_that_lead_out_are_refused(file: Path, name: str) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"x")
    assert "leads out of the archive" in refusal(file).message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_given_twice_and_bombs_are_refused(file: Path) -> None:
    data = file.read_bytes()
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("program.json", b"{}")
    assert "twice" in refusal(file).message
    file.write_bytes(data)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != "program.json"}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("program.json", b" " * (100 << 20))
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "would take" in refusal(file).message


def test_weights_that_lie_about_themselves(file: Path) -> None:
    def header(**entries: Any) -> bytes:
        text = json.dumps(entries).encode()
        return struct.pack("<Q", len(text)) + text + bytes(64)

    good = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    for entry in (
        {**good, "dtype": "F99"}, {**good, "shape": [5]}, {**good, "shape": [-4]}, {**good, "data_offsets": [0, 999]},
        {**good, "data_offsets": [16, 0]}, {**good, "shape": "4"}, {"dtype": "F32"}, 3,
    ):  # fmt: skip
        rewrite(file, lambda body: None, weights__safetensors=header(weight=entry, bias=good))
        assert refusal(file).id == "archive-bad"
    for data in (b"", b"1234567", struct.pack("<Q", 2**60), header(), header(bias=good)):
        rewrite(file, lambda body: None, weights__safetensors=data)
        assert refusal(file).id == "archive-bad"


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.dlp"
    save(linear_program(), path)
    before = path.read_bytes()

    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights, "chunks", fail)
    with pytest.raises(InputError, match="No space left") as caught:
        save(counter_program(), path)
    assert caught.value.id == "archive-write"
    monkeypatch.undo()
    bad = linear_program()
    bad.contract.leaves = (ConstLeaf("x", "x", object()),)
    with pytest.raises(InputError, match="cannot be saved: input x"):
        save(bad, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.dlp"]
    with pytest.raises(InputError, match="cannot be written"):
        save(linear_program(), tmp_path / "no" / "m.dlp")


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.dlp"
    save(linear_program(), path)
    before = path.read_bytes()

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "chunks", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(counter_program(), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.dlp"]
