"""Archives that PyTorch 2.13 wrote (``tests/data``, without weights): what is read, and what bad ones give."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solver.errors import ExportError, InputError
from solver.expr import free_symbols
from solver.problem import Problem
from solver.prove import prove
from solver.readers import load
from solver.readers.asserts import assertions
from solver.readers.srepr import SreprError, to_expression
from solver.report import Report
from solver.verifier import verify

DATA = Path(__file__).parent.parent / "data"


def read(name: str) -> Problem:
    (problem,), _ = load(DATA / name)
    return problem


def report_on(name: str) -> Report:
    return prove(read(name))


def ids(report: Report, verdict: str) -> list[str]:
    return [guard.id for guard in report.guards if guard.verdict == verdict]


def test_bert_has_its_two_guards_proved() -> None:
    problem = read("bert.pt2")
    assert [guard.id for guard in problem.guards] == ["G1", "G2"]
    assert problem.symbols["s53"].max == 128
    assert problem.symbols["s53"].hint == 24
    assert prove(problem).status == "proved"


def test_swin_is_decided_and_mended() -> None:
    report = report_on("swin.pt2")
    assert report.counts() == {"proved": 399, "refuted": 110, "unknown": 0}
    assert len(report.roots) <= 10
    assert report.fix is not None and report.fix.weakest
    assert report.fix.dims == {
        "pixel_values.shape[0]": 'Dim("s99", min=2)',
        "pixel_values.shape[2]": '32*Dim("k_s100", min=2)',
        "pixel_values.shape[3]": '32*Dim("k_s4", min=2)',
    }


def test_the_fix_of_swin_discharges_all_guards() -> None:
    problem = read("swin.pt2")
    data = problem.to_dict()
    data["symbols"]["k"] = {"kind": "phantom", "min": 2, "max": None}
    data["symbols"]["j"] = {"kind": "phantom", "min": 2, "max": None}
    data["spec"] = [{"id": "H", "expr": "s100 == 32*k"}, {"id": "W", "expr": "s4 == 32*j"}]
    assert prove(Problem.from_dict(data)).counts() == {"proved": 509, "refuted": 0, "unknown": 0}


def test_swin_counterexamples_refute_in_cpython() -> None:
    with zipfile.ZipFile(DATA / "swin.pt2") as archive:
        codes = json.loads(archive.read("real_swin/models/model.json"))["guards_code"]

    class Sizes:
        def __init__(self, sizes: list[int]) -> None:
            self.sizes = sizes

        def size(self) -> list[int]:
            return self.sizes

    for guard, code in zip(report_on("swin.pt2").guards, codes, strict=True):
        if guard.verdict == "refuted":
            values = guard.shapes or {}
            sizes = [int(values.get(f"pixel_values.shape[{i}]", 3)) for i in range(4)]
            scope = {"__builtins__": {}, "max": max, "min": min, "L": {"pixel_values": Sizes(sizes)}}
            try:
                assert not eval(code, scope)
            except ZeroDivisionError:
                assert guard.reason == "it divides by zero"


@pytest.mark.parametrize(("name", "smallest"), [("min1", 1), ("min0", 0)])
def test_a_dimension_declared_from_0_or_1_but_traced_from_2_is_an_obligation(
    name: str, smallest: int
) -> None:
    (guard,) = report_on(f"pt2/{name}.pt2").guards
    assert guard.id.startswith("implicit-01:")
    assert guard.verdict == "refuted"
    assert guard.counterexample == {"s77": smallest}
    assert guard.note is not None and "loader does not check it" in guard.note
    assert guard.suggestions[0].condition == "s77 >= 2"


def test_an_inferred_dimension_has_no_hidden_obligation() -> None:
    assert report_on("pt2/auto.pt2").guards == []


@pytest.mark.parametrize(("name", "size"), [("derived", 2), ("derived2", 3)])
def test_a_derived_dimension_has_an_integer_root_and_a_range_of_its_own(name: str, size: int) -> None:
    report = report_on(f"pt2/{name}.pt2")
    assert ids(report, "proved") == ["derived-root:x.shape[0]"]
    assert ids(report, "refuted") == ["implicit-01:s40"]
    assert report.guards[1].shapes == {"x.shape[0]": str(size)}


def test_guards_on_a_derived_dimension_are_proved() -> None:
    assert report_on("pt2/branch.pt2").counts() == {"proved": 10, "refuted": 0, "unknown": 0}


def test_an_inferred_dimension_may_need_a_narrower_promise() -> None:
    report = report_on("pt2/autobranch.pt2")
    assert ids(report, "refuted") == ["G2", "G3", "G5"]
    assert {s.condition for root in report.roots for s in root.suggestions if s.weakest} == {"s77 % 2 == 0"}


def test_runtime_assertions_are_facts_with_the_users_line() -> None:
    facts = [(str(fact.expr), fact.at) for fact in read("pt2/nz.pt2").facts]
    assert ("u0 % 2 == 0", "model.py:27 in forward") in facts
    assert ("s77 >= u0", "model.py:33 in forward") in [(str(f.expr), f.at) for f in read("pt2/it.pt2").facts]


def test_floats_are_decided_exactly() -> None:
    report = report_on("pt2/interp.pt2")
    assert report.counts()["refuted"] == 2
    for guard in report.guards:
        assert guard.counterexample is not None
        size = int(guard.counterexample["s53"])
        assert int(0.7 * float(size)) == 1


def test_an_integer_input_is_a_symbol() -> None:
    assert read("pt2/kint.pt2").symbols["s86"].source == "n"


def test_arguments_are_told_apart_by_the_tree_not_by_their_names() -> None:
    """``forward(a_b, a)`` with ``a = {"b": ...}``: the graph calls the second ``a_b_1``, the guards ``L['a']['b']``."""
    problem = read("pt2/collide.pt2")
    sources = {symbol.source for symbol in problem.symbols.values()}
    assert sources == {"a_b.shape[0]", "a['b'].shape[0]"}
    about = {problem.symbols[name].source for guard in problem.guards for name in free_symbols(guard.expr)}
    assert about == {"a['b'].shape[0]"}


def test_upper_and_lower_case_are_two_arguments() -> None:
    """``X[2:].view(-1, 5) + x[3]``: the first guards ask ``X``, the last asks ``x``."""
    problem = read("pt2/cases.pt2")
    asked = {
        guard.id: {problem.symbols[name].source for name in free_symbols(guard.expr)}
        for guard in problem.guards
    }
    assert asked["G1"] == {"X.shape[0]"} and {"x.shape[0]"} in asked.values()


def test_fields_of_a_dataclass_are_reached_as_the_user_reaches_them() -> None:
    problem = read("pt2/dataclass.pt2")
    assert [symbol.source for symbol in problem.symbols.values()] == ["p.aa.shape[0]"]
    assert report_on("pt2/dataclass.pt2").status == "proved"


def test_constants_count_among_flat_arguments() -> None:
    """``forward(flag, x, y, z)`` in strict mode: guards say ``flat_args[1]`` and ``flat_args[2]``."""
    problem = read("pt2/constants.pt2")
    dynamic = [s.source for s in problem.symbols.values() if s.min != s.max]
    assert dynamic == ["x.shape[0]", "y.shape[0]"]
    assert [str(guard.expr) for guard in problem.guards] == ["x_0 != 2", "s43 + 1 == x_0"]


def test_a_counterexample_is_a_whole_shape() -> None:
    """``interp``: static sizes of an input stand beside its dynamic ones."""
    guard = report_on("pt2/interp.pt2").guards[0]
    assert guard.inputs["x"].startswith("(1, 3, 2, ") and "?" not in guard.inputs["x"]


def early(model: dict[str, Any], minor: int) -> bytes:
    """The archive as it was before there was a folder of models: one entry, plain text for sizes, no guards."""
    model["schema_version"] = {"major": 8, "minor": minor}
    del model["guards_code"]
    for tensor in model["graph_module"]["graph"]["tensor_values"].values():
        for size in tensor["sizes"]:
            if "as_expr" in size:
                text = to_expression(size["as_expr"]["expr_str"])
                size["as_expr"]["expr_str"] = text
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("version", f"8.{minor}")
        target.writestr("serialized_exported_program.json", json.dumps(model))
    return buffer.getvalue()


@pytest.mark.parametrize("minor", [1, 3, 20, 99])
def test_early_archives_of_the_schema_are_read_and_say_that_guards_are_missing(
    tmp_path: Path, minor: int
) -> None:
    with zipfile.ZipFile(DATA / "pt2" / "min0.pt2") as source:
        model = json.loads(source.read(next(n for n in source.namelist() if n.endswith("model.json"))))
    path = tmp_path / "early.pt2"
    path.write_bytes(early(model, minor))
    report = verify(path)
    assert isinstance(report, Report)
    assert ids(report, "refuted") == ["implicit-01:s77"]
    assert f"stores no guards (schema 8.{minor})" in report.notes[0]


def test_lines_of_pytorch_itself_are_not_the_users() -> None:
    frames = (
        'File "/a/model.py", line 3, in forward\n',
        'File "/a/site-packages/torch/nn/functional.py", line 9, in f\n',
    )
    node = {
        "target": "torch.ops.aten._assert_scalar.default",
        "inputs": [{"arg": {"as_sym_bool": {"as_name": "c"}}}],
        "metadata": {"stack_trace": "".join(frames)},
    }
    (found,) = assertions([node], {"c": "s0 >= 3"})
    assert (found.expr, found.at) == ("s0 >= 3", "/a/model.py:3 in forward")


def archive(
    change: Callable[[dict[str, Any]], object] | None = None, name: str = "m/models/model.json"
) -> bytes:
    """``derived.pt2`` with its model changed."""
    with zipfile.ZipFile(DATA / "pt2" / "branch.pt2") as source:
        entry = next(n for n in source.namelist() if n.endswith("models/model.json"))
        model = json.loads(source.read(entry))
    if change is not None:
        change(model)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr(name, json.dumps(model))
    return buffer.getvalue()


def refusal(tmp_path: Path, data: bytes) -> ExportError:
    path = tmp_path / "x.pt2"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        load(path)
    assert "\n" not in caught.value.message
    return caught.value


def test_another_minor_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pt2"
    path.write_bytes(archive(lambda model: model["schema_version"].update(minor=3)))
    assert len(load(path)[0][0].guards) == 10


def test_an_older_schema_is_refused_by_version(tmp_path: Path) -> None:
    error = refusal(tmp_path, archive(lambda model: model["schema_version"].update(major=7)))
    assert error.id == "unknown-archive-schema" and "7.20" in error.message


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda m: m["guards_code"].append("__import__('os').getcwd() == 1"), "guards[8].expr"),
        (lambda m: m["guards_code"].append("L['y'].size()[0] == 1"), "guards_code[8]"),
        (lambda m: m["guards_code"].append(3), "guards_code[8]"),
        (lambda m: m["guards_code"].append("frob(L['x'].size()[0]) == 1"), "guards[8].expr"),
        (lambda m: m.update(range_constraints=[]), "range_constraints"),
        (lambda m: m["graph_module"].pop("graph"), "graph"),
        (lambda m: m["graph_module"]["graph"]["tensor_values"]["x"].update(sizes=4), "sizes"),
        (
            lambda m: m["range_constraints"].update({"__import__('os')": {"min_val": 2, "max_val": None}}),
            "expr",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], place: str
) -> None:
    assert place in refusal(tmp_path, archive(change)).message


def test_a_guard_of_bit_operators_is_unknown_and_the_others_are_decided(tmp_path: Path) -> None:
    text = "(L['x'].size()[0] > 1) & (L['x'].size()[0] < 9)"
    path = tmp_path / "x.pt2"
    path.write_bytes(archive(lambda model: model["guards_code"].insert(1, text)))
    report = verify(path, overflow=64, cross_check="cvc5", smt2=tmp_path / "smt")
    whole = report_on("pt2/branch.pt2")
    assert isinstance(report, Report) and report.cross_check is not None
    added = report.guards[1]
    assert (added.id, added.verdict, report.cross_check["G2"]) == ("G2", "unknown", "open")
    assert added.reason is not None and "bit operators" in added.reason and "&" in added.expr
    others = [g for g in report.guards if g is not added and g.origin != "overflow"]
    assert [g.verdict for g in others] == [g.verdict for g in whole.guards]
    with pytest.raises(InputError):  # written out and read again, it is not taken for something else
        Problem.from_dict(load(path)[0][0].to_dict())


@pytest.mark.parametrize("name", ["../models/model.json", "/models/model.json", "a/..\\models/model.json"])
def test_names_that_lead_out_of_the_archive_are_refused(tmp_path: Path, name: str) -> None:
    assert "leads out" in refusal(tmp_path, archive(name=name)).message


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("m/models/model.json", b" " * (64 << 20))
    assert "200 times" in refusal(tmp_path, buffer.getvalue()).message


def test_deep_json_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("m/models/model.json", "[" * 200_000)
    assert "model.json" in refusal(tmp_path, buffer.getvalue()).message


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"not a zip", archive()[:-30], archive()[:200]])
def test_what_is_no_zip_is_refused(tmp_path: Path, data: bytes) -> None:
    refusal(tmp_path, data)


def mutated(data: bytes, seed: int) -> bytes:
    source = random.Random(seed)
    changed = bytearray(data)
    for _ in range(source.randint(1, 12)):
        at = source.randrange(len(changed))
        kind = source.randrange(3)
        if kind == 0:
            changed[at] = source.randrange(256)
        elif kind == 1:
            del changed[at : at + source.randint(1, 40)]
        else:
            changed[at:at] = changed[: source.randint(1, 20)]
    return bytes(changed)


def test_mutated_archives_neither_crash_nor_hang(tmp_path: Path) -> None:
    path = tmp_path / "x.pt2"
    whole = archive()
    with zipfile.ZipFile(io.BytesIO(whole)) as source:
        model = source.read("m/models/model.json")
    for seed in range(300):
        if seed % 2:
            path.write_bytes(mutated(whole, seed))
        else:
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as target:
                target.writestr("m/models/model.json", mutated(model, seed))
            path.write_bytes(buffer.getvalue())
        try:
            problems, _ = load(path)
        except InputError:
            continue
        for problem in problems:
            prove(problem)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Symbol('s0', positive=True, integer=True)", "s0"),
        ("Mul(Integer(2), Symbol('s0'))", "(2*s0)"),
        ("Add(Integer(-1), FloorDiv(Symbol('s0'), Integer(4)))", "((-1) + (s0 // 4))"),
        ("PowByNatural(Symbol('s0'), Integer(2))", "(s0 ** 2)"),
        ("Max(Integer(1), Symbol('u0'))", "max(1, u0)"),
        ("TruncToInt(Mul(Float('0.5', precision=53), ToFloat(Symbol('s0'))))", "int((0.5*float(s0)))"),
        ("Where(Eq(Symbol('a'), Integer(1)), Symbol('b'), Symbol('a'))", "(b if (a == 1) else a)"),
    ],
)
def test_stored_sizes_become_expressions(text: str, expression: str) -> None:
    assert to_expression(text) == expression


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Symbol(",
        "__import__('os')",
        "Symbol('a') Symbol('b')",
        "Symbol('a-b')",
        "Mul()" + ")" * 9,
        "Mod(Integer(1))",
    ],
)
def test_what_is_no_stored_size_is_refused(text: str) -> None:
    with pytest.raises(SreprError):
        to_expression(text)
