"""What a report tells: whole shapes, shared dimensions, one fix; real ``.dlp`` archives; problems that are too large."""

from __future__ import annotations

import json
from pathlib import Path
from time import perf_counter

import pytest

import dynamo_lite as dl
import solver
from dynamo_lite import torchlite as torch
from solver.cli import main
from solver.errors import InputError
from solver.expr import floordiv, ge, int_symbol
from solver.problem import Condition, Problem, SymbolDecl
from solver.report import Report, shared_dims


def problem(guards: list[str], spec: str = "h == 32*k") -> dict[str, object]:
    symbols = {
        "b": {"kind": "input", "min": 1, "max": 64, "source": "x.shape[0]"},
        "h": {"kind": "input", "min": 0, "source": "x.shape[2]"},
        "w": {"kind": "input", "min": 0, "source": "x.shape[3]"},
        "n": {"kind": "input", "min": 3, "source": "y.shape[0]"},
        "k": {"kind": "phantom", "min": 1},
        "u0": {"kind": "unbacked", "min": 0},
    }
    return {
        "format": "shapeproof/1",
        "name": "p",
        "symbols": symbols,
        "spec": [{"id": "S1", "expr": spec}],
        "facts": [{"id": "F1", "expr": "u0 <= b"}],
        "guards": [{"id": f"G{i}", "expr": text} for i, text in enumerate(guards)],
    }


def verified(data: object) -> Report:
    report = solver.verify(data)  # type: ignore[arg-type]
    assert isinstance(report, Report)
    return report


def test_a_counterexample_is_given_as_shapes_of_inputs() -> None:
    guard = verified(problem(["b == w"])).guards[0]
    assert guard.counterexample is not None and guard.counterexample["b"] != guard.counterexample["w"]
    b, w = guard.counterexample["b"], guard.counterexample["w"]
    # The height is free, and takes the least value that h == 32*k allows; y is no part of it.
    assert guard.inputs == {"x": f"({b}, ?, 32, {w})"}
    assert guard.to_dict()["shapes"]["x"] == guard.inputs["x"]
    assert guard.to_dict()["shapes"]["x.shape[0]"] == str(b)


def test_equal_sizes_share_one_declared_dim() -> None:
    report = verified(problem(["b == w"]))
    declared, places = shared_dims(report.guards[0].suggestions[0].dims)
    assert places == {"x.shape[0]": "w", "x.shape[3]": "w"}
    assert declared == {"w": 'Dim("w", min=1, max=64)'}
    assert 'w = Dim("w", min=1, max=64)' in str(report)


def test_a_dim_of_one_place_stays_where_it_is() -> None:
    assert shared_dims({"x": 'Dim("a")', "y": '2*Dim("b", min=1)'}) == (
        {},
        {"x": 'Dim("a")', "y": '2*Dim("b", min=1)'},
    )


def test_the_fix_of_several_guards_is_no_narrower_than_they_are() -> None:
    fix = verified(problem(["b == w", "u0*b < 64*64"])).fix
    assert fix is not None and fix.weakest
    for b, w, u in ((2, 2, 1), (64, 64, 63), (64, 64, 64), (2, 3, 1)):
        holds = eval(fix.condition, {"__builtins__": {}}, {"b": b, "w": w, "u0": u})
        assert holds == (b == w and u * b < 64 * 64)


def test_lines_are_taken_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "b:1..64, h=32*k |- (h//4) % 8 == 0"]) == 0
    assert main(["verify", "h:1..9 |- h % 2 == 0", "b:1.. |- b >= 1"]) == 1
    assert main(["verify", "|- a ="]) == 2
    assert "Traceback" not in capsys.readouterr().err


class Guarded(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if (x.shape[0] * x.shape[0] + x.shape[0]) % 2 == 0:
            return x + 1
        return x


def test_what_save_writes_is_read_and_proved_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"x": {0: dl.Dim("b", min=2, max=30), 1: dl.Dim("n", min=1)}}
    program = dl.export(Guarded(), (torch.ones(6, 4),), dynamic_shapes=sizes, strict=True)
    file = tmp_path / "guarded.dlp"
    dl.save(program, file)
    assert main(["verify", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    live = dl.verify(program)
    assert found["name"] == "guarded.dlp"
    assert [(g["expr"], g["verdict"]) for g in found["guards"]] == [(g.expr, g.verdict) for g in live.guards]
    assert found["guards"] and "test_verify_reports.py" in found["guards"][0]["at"]


def test_a_damaged_archive_of_ours_exits_2(tmp_path: Path) -> None:
    program = dl.export(Guarded(), (torch.ones(6, 4),), strict=True)
    file = tmp_path / "guarded.dlp"
    dl.save(program, file)
    whole = file.read_bytes()
    for length in (0, 1, len(whole) // 2, len(whole) - 30):
        file.write_bytes(whole[:length])
        assert main(["verify", str(file)]) == 2


def test_expressions_built_too_deep_are_unusable_input(tmp_path: Path) -> None:
    size = int_symbol("h")
    for number in range(3000):
        size = floordiv(size, int_symbol("w") + number + 2) + int_symbol("w")
    symbols = {name: SymbolDecl("input", 0) for name in "hw"}
    deep = [Condition("S1", ge(size, 1), text="deep")]
    with pytest.raises(InputError, match="nested too deeply"):
        solver.verify(Problem("d", symbols, deep, [], [Condition("G1", ge(int_symbol("h"), 0))]))
    with pytest.raises(InputError, match="nested too deeply"):
        solver.verify(Problem("d", symbols, [], [], deep), smt2=tmp_path)


def test_many_excluded_values_cost_little() -> None:
    values = list(range(1500))
    for order in (values, values[::-1]):
        spec = " and ".join(f"n != {value}" for value in order)
        start = perf_counter()
        report = verified(problem(["n >= 1500", "n >= 1501"], spec))
        assert [guard.verdict for guard in report.guards] == ["proved", "refuted"]
        assert report.guards[1].counterexample is not None and report.guards[1].counterexample["n"] == 1500
        assert perf_counter() - start < 10


def test_long_sums_end_soon() -> None:
    text = " + ".join("b*w" if i % 2 else f"h//{i + 1}" for i in range(300)) + " >= 1"
    start = perf_counter()
    assert verified(problem([text])).to_dict()["status"] == "proved"
    assert perf_counter() - start < 10


def test_smt2_asks_for_a_core_only_where_the_text_says_everything(tmp_path: Path) -> None:
    assert main(["verify", "h:1..1000 |- int(0.7*h) <= h, h >= 1", "--smt2", str(tmp_path)]) == 0
    texts = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert "get-unsat-core" not in texts["line-G1"]
    assert "(get-unsat-core)" in texts["line-G2"]


def test_a_specification_whose_solution_stays_open_is_noted() -> None:
    cubes = "x*x*x + y*y*y + z*z*z == 42"  # its solutions have 17 digits: none was known before 2019
    report = solver.verify(f"x:.., y:.., z:.., {cubes} |- x*x >= 0")
    assert isinstance(report, Report)
    assert report.status == "proved" and "could not be decided" in report.notes[0]
    settled = solver.verify("x:1.. |- x >= 1")
    assert isinstance(settled, Report) and not settled.notes
