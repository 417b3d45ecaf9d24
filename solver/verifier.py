"""``verify``: any problem, from wherever it comes, to its report."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias, Union

from solver.problem import Problem
from solver.readers import load, load_data
from solver.report import Report
from solver.trace_errors import BAD_PROBLEM

Source: TypeAlias = Union[Problem, dict[str, Any], list[Any], str, "os.PathLike[str]"]


def verify(
    problem: Source,
    *,
    overflow: int | None = None,
    cross_check: str | None = None,
    smt2: str | os.PathLike[str] | None = None,
) -> Report | list[Report]:
    """Decides every guard of a problem.

    ``problem`` is a ``shapeproof/1`` dict, a line such as ``"b:1..64, h=32*k |- h % 8 == 0"``, a path to a problem
    file, a ``.dlp`` or a ``.pt2`` archive of PyTorch, or a :class:`solver.problem.Problem`. A list of problems (in a
    file or as a list) gives a list of reports.

    ``overflow=64`` makes it an obligation that no intermediate value of a guard leaves 64 signed bits.
    ``cross_check="cvc5"`` decides again with cvc5; ``smt2`` names a directory that gets one SMT-LIB file a guard.
    Raises :class:`solver.errors.InputError` for what cannot be read.
    """
    problems, many = problems_of(problem)
    reports = [verify_one(p, overflow=overflow, cross_check=cross_check) for p in problems]
    if smt2 is not None:
        from solver.export_smt2 import write_all

        write_all(Path(smt2), list(zip(problems, reports, strict=True)))
    return reports if many else reports[0]


def verify_one(problem: Problem, *, overflow: int | None = None, cross_check: str | None = None) -> Report:
    """The report on one problem."""
    from solver.prove import prove

    with _shallow_enough(problem):
        if overflow is not None:
            from solver.overflow import with_overflow

            problem = with_overflow(problem, overflow)
        report = prove(problem)
        if problem.note:
            report.notes.append(problem.note)
        if cross_check is not None:
            from solver.crosscheck import cross_check_report

            cross_check_report(problem, report, cross_check)
        return report


@contextmanager
def _shallow_enough(problem: Problem) -> Iterator[None]:
    """A recursion that Python ends is the fault of the problem: parsed ones are never so deep, built ones may be."""
    try:
        yield
    except RecursionError:
        name = problem.name or "problem"
        raise BAD_PROBLEM(path=name, what="an expression is nested too deeply to be decided") from None


def problems_of(source: Source) -> tuple[Sequence[Problem], bool]:
    """The problems of a source, and whether it is a list of them. Raises InputError."""
    if isinstance(source, Problem):
        return [source], False
    if isinstance(source, dict | list):
        return load_data(source)
    if isinstance(source, str) and "|-" in source:
        return [Problem.from_line(source)], False
    return load(Path(source))
