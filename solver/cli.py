"""``python -m solver verify FILE…``: exit status 0 all proved, 1 refuted, 2 unusable input, 3 unknown, 4 the
specification is unsatisfiable, 5 an expectation or the cross-check disagrees; the first that applies of 2, 5, 4, 1, 3.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from solver.errors import InputError
from solver.problem import Problem
from solver.report import Report

STATUSES = (
    "Exit status: 0 every guard proved, 1 a guard refuted, 2 unusable input, 3 a guard unknown, "
    "4 no input meets the specification, 5 an expectation or the cross-check disagrees."
)
PROVED, REFUTED, UNUSABLE, UNKNOWN, UNSATISFIABLE, DISAGREES = range(6)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    return run(_parser().parse_args(argv))


def run(options: argparse.Namespace) -> int:
    """``verify`` on options that :func:`add_arguments` declared; returns the exit status."""
    try:
        return _verify(options)
    except InputError as error:
        _fail(error, options)
        return UNUSABLE
    except RecursionError:
        print("[bad-problem] an expression is nested too deeply", file=sys.stderr)
        return UNUSABLE
    except BrokenPipeError:
        return PROVED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m solver", description="Proves shape guards from a specification."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    verify = commands.add_parser(
        "verify",
        help="decide every guard of problem files and archives",
        description="Decides whether the specification of sizes implies every guard; shows shapes that break one, and a fix.",
        epilog=STATUSES,
    )
    add_arguments(verify)
    return parser


def add_arguments(verify: argparse.ArgumentParser) -> None:
    """The arguments of ``verify``."""
    verify.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="shapeproof/1 JSON, .dlp, .pt2 of PyTorch, or a line such as 'h:1.. |- h*h >= h'",
    )
    verify.add_argument("--json", action="store_true", help="the report as JSON; several files give a list")
    verify.add_argument("--smt2", metavar="DIR", help="write one SMT-LIB 2 file a guard")
    verify.add_argument("--cross-check", metavar="SOLVER", choices=("cvc5",), help="decide again with cvc5")
    verify.add_argument("--allow-unknown", action="store_true", help="unknown guards do not fail the run")
    verify.add_argument("--sarif", metavar="FILE", help="write what is not proved as SARIF 2.1.0")
    verify.add_argument(
        "--overflow", type=int, choices=(32, 64), metavar="BITS", help="values must fit 32 or 64 bits"
    )
    verify.add_argument("--all", action="store_true", help="show every guard, however many")


def _fail(error: InputError, options: argparse.Namespace) -> None:
    if options.json:
        print(json.dumps({"error": {"id": error.id, "message": error.message, "hint": error.hint}}))
    print(str(error), file=sys.stderr)


def _verify(options: argparse.Namespace) -> int:
    found: list[tuple[str, Problem, Report]] = []
    output: list[Any] = []
    progress = sys.stderr.isatty() and not options.json
    for name in options.files:
        reports, many = _one_file(name, options, progress)
        found += [(name, problem, report) for problem, report in reports]
        output.append([report for _, report in reports] if many else reports[0][1])
    _write_extras(options, found)
    _show(options, output)
    return exit_status([report for _, _, report in found], allow_unknown=options.allow_unknown)


def _one_file(
    name: str, options: argparse.Namespace, progress: bool
) -> tuple[list[tuple[Problem, Report]], bool]:
    from solver.verifier import problems_of, verify_one

    problems, many = problems_of(name)
    reports = []
    for i, problem in enumerate(problems):
        if progress and len(problems) > 1:
            print(f"\r{name}: {i + 1}/{len(problems)}", end="", file=sys.stderr)
        reports.append(
            (problem, verify_one(problem, overflow=options.overflow, cross_check=options.cross_check))
        )
    if progress and len(problems) > 1:
        print("\r\033[K", end="", file=sys.stderr)
    return reports, many


def _write_extras(options: argparse.Namespace, found: list[tuple[str, Problem, Report]]) -> None:
    if options.smt2:
        from solver.export_smt2 import write_all

        write_all(Path(options.smt2), [(problem, report) for _, problem, report in found])
    if options.sarif:
        from solver.readers.errors import UNWRITABLE_FILE
        from solver.sarif import sarif

        text = json.dumps(sarif((name, report) for name, _, report in found), indent=2)
        try:
            Path(options.sarif).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise UNWRITABLE_FILE(file=options.sarif, what=error.strerror or str(error)) from None


def _show(options: argparse.Namespace, output: list[Any]) -> None:
    if options.json:
        plain = [[r.to_dict() for r in item] if isinstance(item, list) else item.to_dict() for item in output]
        print(json.dumps(plain[0] if len(plain) == 1 else plain))
        return
    from solver.render import render

    for item in output:
        for report in item if isinstance(item, list) else [item]:
            print(render(report, every=options.all))


def exit_status(reports: Sequence[Report], *, allow_unknown: bool = False) -> int:
    """The status of several reports together: the first that applies of 5, 4, 1, 3, 0."""
    statuses = [_status(report, allow_unknown) for report in reports]
    return next((code for code in (DISAGREES, UNSATISFIABLE, REFUTED, UNKNOWN) if code in statuses), PROVED)


def _status(report: Report, allow_unknown: bool) -> int:
    from solver.crosscheck import disagreements

    expected = [guard.expect_holds for guard in report.guards]
    if report.expect_holds is False or False in expected or disagreements(report):
        return DISAGREES
    if report.expect_holds or (expected and all(expected)):
        return PROVED
    if report.status == "spec_unsatisfiable":
        return UNSATISFIABLE
    if report.status == "refuted":
        return REFUTED
    return UNKNOWN if report.status == "unknown" and not allow_unknown else PROVED
