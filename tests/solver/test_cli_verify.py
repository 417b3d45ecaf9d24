"""``python -m solver verify``: exit status, output formats, and input that cannot be used."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

import solver
from solver.cli import main
from solver.crosscheck import disagreements
from solver.errors import InputError
from solver.parse import parse_bool
from solver.report import Report

ROOT = Path(__file__).parent.parent.parent
DATA = Path(__file__).parent.parent / "data"
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
SYMBOLS: dict[str, Any] = {"b": {"kind": "input", "min": 1, "max": 64, "source": "x.shape[0]"}}


def problem(guard: str, **more: Any) -> dict[str, Any]:
    data = {
        "format": "shapeproof/1",
        "name": "p",
        "symbols": SYMBOLS,
        "guards": [{"id": "G1", "expr": guard}],
    }
    return data | more


def write(path: Path, data: object) -> str:
    path.write_text(json.dumps(data))
    return str(path)


HARD = "int(0.7*b) <= b"
UNBOUNDED = {"b": {"kind": "input", "min": 1, "max": None}}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (problem("b >= 1"), 0),
        (problem("b >= 2"), 1),
        (problem(HARD, symbols=UNBOUNDED), 3),
        (problem("b >= 1", spec=[{"id": "S1", "expr": "b % 2 == 0"}, {"id": "S2", "expr": "b % 4 == 1"}]), 4),
        (problem("b >= 1", guards=[{"id": "G1", "expr": "b >= 2", "expect": "proved"}]), 5),
        (problem("b >= 1", guards=[{"id": "G1", "expr": "b >= 2", "expect": "refuted"}]), 0),
        (problem("b >= 1", expect="refuted"), 5),
        (problem("b >="), 2),
    ],
)
def test_exit_status(tmp_path: Path, data: dict[str, Any], status: int) -> None:
    assert main(["verify", write(tmp_path / "p.json", data)]) == status


def test_unknown_never_passes_unless_allowed(tmp_path: Path) -> None:
    file = write(tmp_path / "p.json", problem(HARD, symbols=UNBOUNDED))
    assert main(["verify", file]) == 3
    assert main(["verify", file, "--allow-unknown"]) == 0


def test_several_files_give_a_list_and_the_gravest_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(tmp_path / "a.json", problem("b >= 1"))
    bad = write(tmp_path / "b.json", problem("b >= 2"))
    assert main(["verify", good, bad, "--json"]) == 1
    reports = json.loads(capsys.readouterr().out)
    assert [report["status"] for report in reports] == ["proved", "refuted"]
    for report in reports:
        jsonschema.validate(report, SCHEMA)


def test_every_report_of_the_data_fits_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    files = [
        str(DATA / "guards.json"),
        str(DATA / "bert.pt2"),
        *map(str, sorted((DATA / "pt2").glob("*.pt2"))),
    ]
    main(["verify", "--json", *files])
    output = json.loads(capsys.readouterr().out)
    assert len(output[0]) == 81
    for report in [*output[0], *output[1:]]:
        jsonschema.validate(report, SCHEMA)


def test_text_says_where_why_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = problem("b >= 2", guards=[{"id": "G1", "expr": "b >= 2", "at": "model.py:41"}])
    main(["verify", write(tmp_path / "p.json", data)])
    text = capsys.readouterr().out
    assert "REFUTED G1: b >= 2" in text and "model.py:41" in text
    assert "x.shape[0] = 1" in text
    assert 'Dim("b", min=2, max=64)' in text


def test_sarif_points_at_the_users_line(tmp_path: Path) -> None:
    data = problem("b >= 2", guards=[{"id": "G1", "expr": "b >= 2", "at": "model.py:41 in forward"}])
    out = tmp_path / "out.sarif"
    main(["verify", write(tmp_path / "p.json", data), "--sarif", str(out)])
    (result,) = json.loads(out.read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "model.py"}, "region": {"startLine": 41}}
    assert result["level"] == "error"


SARIF: dict[str, tuple[set[str], set[str]]] = {  # object: (required, other properties), by SARIF 2.1.0
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results"}),
    "driver": ({"name"}, {"rules", "informationUri", "version"}),
    "rule": ({"id"}, {"shortDescription"}),
    "result": ({"message"}, {"ruleId", "level", "locations"}),
    "location": (set(), {"physicalLocation", "logicalLocations"}),
    "physical": ({"artifactLocation"}, {"region"}),
}


def has_properties(kind: str, value: dict[str, Any]) -> None:
    required, others = SARIF[kind]
    assert required <= set(value) <= required | others, (kind, set(value))


def test_sarif_has_the_properties_that_its_standard_requires_and_no_others(tmp_path: Path) -> None:
    out = tmp_path / "out.sarif"
    main(["verify", str(DATA / "guards.json"), str(DATA / "swin.pt2"), "--sarif", str(out)])
    log = json.loads(out.read_text())
    has_properties("log", log)
    (run,) = log["runs"]
    has_properties("run", run)
    driver = run["tool"]["driver"]
    has_properties("driver", driver)
    for rule in driver["rules"]:
        has_properties("rule", rule)
    known = {rule["id"] for rule in driver["rules"]}
    assert len(run["results"]) > 100
    for result in run["results"]:
        has_properties("result", result)
        assert result["ruleId"] in known and result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in result["locations"]:
            has_properties("location", location)
            place = location["physicalLocation"]
            has_properties("physical", place)
            assert re.fullmatch(r"[\w.~/%:@!$&'()*+,;=-]+", place["artifactLocation"]["uri"])
            assert place.get("region", {"startLine": 1})["startLine"] >= 1


def test_the_text_tells_what_the_other_solver_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "h=32*k |- h % 8 == 0, h >= 32", "--cross-check", "cvc5"]) == 1
    assert "cross-check: 2 agreed, 0 left open, 0 differing" in capsys.readouterr().out
    report = solver.verify("h:1.. |- h >= 1", cross_check="cvc5")
    assert isinstance(report, Report)
    report.cross_check = {"G1": "refuted"}
    assert "DIFFERS on G1: refuted" in str(report)


def test_smt2_files_are_accepted_by_z3_and_cvc5_and_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import z3

    names = ["lin_sum", "mod32_imp_mod8_of_div4", "lin_refute", "odd_height", "division_by_zero", "broadcast"]
    cases = [c for c in json.loads((DATA / "guards.json").read_text()) if c["name"] in names]
    file = write(tmp_path / "g.json", cases)
    assert main(["verify", file, "--smt2", str(tmp_path / "smt"), "--cross-check", "cvc5", "--json"]) == 0
    reports = json.loads(capsys.readouterr().out)
    for report in reports:
        verdict = report["guards"][0]["verdict"]
        text = (tmp_path / "smt" / f"{report['name']}-G1.smt2").read_text()
        assert ":named" in text and "get-model" in text
        decider = z3.Solver()
        decider.from_string(text.partition("(check-sat)")[0])
        assert str(decider.check()) == {"proved": "unsat", "refuted": "sat"}[verdict]
        assert report["cross_check"]["G1"] == verdict


@pytest.mark.parametrize("name", ["parity_ss_plus_s", "cube_mod6", "div_mono_sym"])
def test_the_other_solver_decides_polynomials_too(name: str) -> None:
    (case,) = [c for c in json.loads((DATA / "guards.json").read_text()) if c["name"] == name]
    report = solver.verify(case, cross_check="cvc5")
    assert isinstance(report, solver.Report)
    assert report.cross_check == {"G1": report.guards[0].verdict}


def test_a_contradiction_is_decided_again() -> None:
    spec = [{"id": "S1", "expr": "b % 2 == 0"}, {"id": "S2", "expr": "b % 4 == 1"}]
    report = solver.verify(problem("b >= 1", spec=spec), cross_check="cvc5")
    assert isinstance(report, solver.Report)
    assert report.cross_check == {"the specification": "spec_unsatisfiable"}
    jsonschema.validate(report.to_dict(), SCHEMA)
    assert disagreements(report) == []
    report.cross_check = {"the specification": "satisfiable"}
    assert disagreements(report) == ["the specification"]


@pytest.mark.parametrize("option", ["--sarif", "--smt2"])
def test_outputs_that_cannot_be_written_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    file = write(tmp_path / "p.json", problem("b >= 1"))
    assert main(["verify", file, option, str(tmp_path / "p.json" / "below")]) == 2
    captured = capsys.readouterr()
    assert "cannot be written" in captured.err and not captured.out


def test_nothing_is_written_when_one_of_the_files_is_bad(tmp_path: Path) -> None:
    good = write(tmp_path / "p.json", problem("b >= 2"))
    bad = write(tmp_path / "q.json", problem("b >="))
    assert main(["verify", good, bad, "--sarif", str(tmp_path / "o"), "--smt2", str(tmp_path / "d")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.json", "q.json"]


def test_an_absurd_version_is_named_in_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = {"schema_version": {"major": "b+" * 3000, "minor": 1}}
    with zipfile.ZipFile(tmp_path / "x.pt2", "w") as target:
        target.writestr("m/models/model.json", json.dumps(model))
    assert main(["verify", str(tmp_path / "x.pt2")]) == 2
    assert len(capsys.readouterr().err) < 300


def test_overflow_is_an_obligation_where_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    symbols = {name: {"kind": "input", "min": 1, "max": 2**33} for name in "ab"}
    file = write(tmp_path / "p.json", problem("a*b >= 1", symbols=symbols))
    assert main(["verify", file]) == 0
    capsys.readouterr()
    assert main(["verify", file, "--overflow", "64", "--json"]) == 1
    guards = json.loads(capsys.readouterr().out)["guards"]
    guard = next(guard for guard in guards if guard["id"] == "overflow:a,b")
    assert guard["note"] == "computed in G1"
    assert guard["counterexample"]["a"] * guard["counterexample"]["b"] > 2**63 - 1
    symbols["a"]["max"] = 2**29
    assert (
        main(["verify", write(tmp_path / "q.json", problem("a*b >= 1", symbols=symbols)), "--overflow", "64"])
        == 0
    )


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([1], "[0]"),
        ({}, "format"),
        (problem("b >= 1", format="shapeproof/9"), "format"),
        (problem("c >= 1"), "guards[0].expr"),
        (problem("frobnicate(b) >= 1"), "guards[0].expr"),
        (problem("__import__('os').system('true') == 0"), "guards[0].expr"),
        (problem("b"), "guards[0].expr"),
        (problem("(" * 3000 + "b" + ")" * 3000 + " >= 1"), "guards[0].expr"),
        (problem("b >= 1", symbols={"b": {"kind": "odd"}}), "symbols.b"),
        (problem("b >= 1", symbols={"b": {"kind": "input", "min": "1"}}), "symbols.b.min"),
        (
            problem("b >= 1", guards=[{"id": "G", "expr": "b>=1"}, {"id": "G", "expr": "b>=1"}]),
            "guards[1].id",
        ),
        (problem("b >= 1", extra=1), "extra"),
    ],
)
def test_bad_problems_exit_2_with_one_sentence_and_the_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: object, place: str
) -> None:
    assert main(["verify", write(tmp_path / "p.json", data)]) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert place in lines[0] and "p.json" in lines[0]
    assert "Traceback" not in "".join(lines)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"PK\x03\x04oops", b"1e999", b"NaN"]
)
def test_what_is_no_problem_file_exits_2(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    assert main(["verify", str(path)]) == 2


def test_missing_files_and_directories_exit_2(tmp_path: Path) -> None:
    assert main(["verify", str(tmp_path / "none.json")]) == 2
    assert main(["verify", str(tmp_path)]) == 2


def test_mutated_problem_files_neither_crash_nor_hang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = json.loads((DATA / "guards.json").read_text())
    for seed in range(400):
        source = random.Random(seed)
        text = json.dumps(source.choice(cases))
        for _ in range(source.randint(1, 4)):
            at = source.randrange(len(text))
            piece = source.choice(
                ("(", ")", "*", "//", "%", "-", "0", "9" * 30, '"', ",", "b", "not ", " if ", "**", "")
            )
            text = text[:at] + piece + text[at + source.randint(0, 3) :]
        path = tmp_path / "p.json"
        path.write_text(text)
        assert main(["verify", str(path), "--json"]) in range(6)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err


def test_verify_takes_dicts_lines_lists_and_paths() -> None:
    report = solver.verify("b:1..64, h=32*k |- (h//4) % 8 == 0")
    assert isinstance(report, solver.Report) and report.status == "proved"
    assert isinstance(solver.verify(DATA / "bert.pt2"), solver.Report)
    many = solver.verify([problem("b >= 1"), problem("b >= 2")])
    assert isinstance(many, list) and [r.status for r in many] == ["proved", "refuted"]
    with pytest.raises(InputError):
        solver.verify({"format": "other"})


def test_unknown_carries_its_reason() -> None:
    report = solver.verify(problem(HARD, symbols=UNBOUNDED))
    assert isinstance(report, solver.Report)
    assert (report.guards[0].verdict, report.guards[0].reason) == ("unknown", "float")


def test_suggestions_parse_as_conditions() -> None:
    reports = solver.verify(DATA / "guards.json")
    assert isinstance(reports, list)
    for report in reports:
        for guard in report.guards:
            for suggestion in guard.suggestions:
                parse_bool(suggestion.condition)


def test_the_command_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "solver", "verify", str(DATA / "bert.pt2")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("bert.pt2: proved")
