"""What ``--smt2`` writes, given to z3 and cvc5 as they are: both accept it, and answer as the report does."""

from __future__ import annotations

from pathlib import Path
from random import Random

import cvc5
import pytest
import z3

from solver.cli import main
from solver.export_smt2 import write_all
from solver.problem import Problem
from solver.prove import prove
from solver.readers import load

DATA = Path(__file__).parent.parent / "data"
ANSWERS = {"proved": "unsat", "refuted": "sat"}


def z3_answer(text: str) -> str:
    decider = z3.Solver()
    decider.set("timeout", 1500)
    decider.from_string(text)
    return str(decider.check())


def cvc5_answer(text: str) -> str:
    decider = cvc5.Solver(cvc5.TermManager())
    decider.setOption("tlimit-per", "1000")
    parser = cvc5.InputParser(decider)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "file")
    symbols, answer = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        output = str(command.invoke(decider, symbols)).strip()
        if command.getCommandName() == "check-sat":
            answer = output
        elif not answer.startswith("unknown"):  # then there is no model and no core to get
            assert "error" not in output, output
    return answer.partition(" ")[0]


def check(problem: Problem, directory: Path) -> list[bool]:
    """For every file of a problem whether z3 and cvc5 both knew the answer; asserts that they never disagree."""
    report = prove(problem)
    files = write_all(directory, [(problem, report)])
    known = []
    for guard, file in zip(report.guards, files, strict=True):
        text = file.read_text()
        wanted = "unsat" if report.status == "spec_unsatisfiable" else ANSWERS[guard.verdict]
        answers = {z3_answer(text), cvc5_answer(text)}
        if (
            "left open" in text
        ):  # what integers cannot say is open, so that a model need not be a counterexample
            assert "unsat" not in answers or wanted == "unsat"
            continue
        assert answers <= {wanted, "unknown"}, (problem.name, guard.id, answers)
        known.append(answers == {wanted})
    return known


def sampled(problem: Problem, count: int) -> Problem:
    problem.guards = Random(0).sample(problem.guards, min(count, len(problem.guards)))
    return problem


@pytest.mark.parametrize(("name", "count"), [("bert.pt2", 9), ("swin.pt2", 25)])
def test_files_of_archives(tmp_path: Path, name: str, count: int) -> None:
    known = check(sampled(load(DATA / name)[0][0], count), tmp_path)
    assert known and sum(known) >= len(known) - 1


def test_files_of_some_problems(tmp_path: Path) -> None:
    problems = load(DATA / "guards.json")[0]
    known = [k for problem in Random(0).sample(list(problems), 20) for k in check(problem, tmp_path)]
    assert sum(known) >= 15


@pytest.mark.long
def test_every_file(tmp_path: Path) -> None:
    swin = check(load(DATA / "swin.pt2")[0][0], tmp_path)
    assert len(swin) == 509 and sum(swin) >= 500
    known = [k for problem in load(DATA / "guards.json")[0] for k in check(problem, tmp_path)]
    assert len(known) >= 70 and sum(known) >= len(known) - 12


def test_the_command_line_writes_one_file_a_guard(tmp_path: Path) -> None:
    main(["verify", str(DATA / "bert.pt2"), "--smt2", str(tmp_path)])
    assert len(list(tmp_path.iterdir())) == len(load(DATA / "bert.pt2")[0][0].guards)
