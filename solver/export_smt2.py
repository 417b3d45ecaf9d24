"""One SMT-LIB 2 file a guard, in a directory."""

from __future__ import annotations

import re
from pathlib import Path

from solver.problem import Problem
from solver.prove.world import World
from solver.readers.errors import UNWRITABLE_FILE
from solver.report import Report
from solver.smt2 import obligation
from solver.trace_errors import BAD_PROBLEM


def write_all(directory: Path, pairs: list[tuple[Problem, Report]]) -> list[Path]:
    """Writes the obligations of every problem; a problem's name and a guard's id make the file's name."""
    written: list[Path] = []
    taken: set[str] = set()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for problem, report in pairs:
            world = World(problem)
            verdicts = {guard.id: guard.verdict for guard in report.guards}
            for guard in problem.guards:
                if guard.unsaid is not None:
                    continue
                path = directory / f"{_unique(f'{problem.name}-{guard.id}', taken)}.smt2"
                path.write_text(obligation(world, guard, verdicts[guard.id]), encoding="utf-8")
                written.append(path)
    except RecursionError:
        raise BAD_PROBLEM(
            path=problem.name, what="an expression is nested too deeply to be written"
        ) from None
    except OSError as error:
        raise UNWRITABLE_FILE(file=str(directory), what=error.strerror or str(error)) from None
    return written


def _unique(name: str, taken: set[str]) -> str:
    stem = re.sub(r"[^\w.-]+", "_", name).strip("._-")[:120] or "guard"
    found, number = stem, 1
    while found.lower() in taken:
        number += 1
        found = f"{stem}-{number}"
    taken.add(found.lower())
    return found
