"""The same program under CPython and in the interpreter: value, exception with its chain and lines, and output agree.

The programs stand in ``semantics/*.txt``, each under a line ``### name`` with what it needs of Python or why it is not traced.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.dynamo_lite.strict.fuzz.compare import difference

_FOLDER: Final = Path(__file__).parent / "semantics"
_HEADER: Final = re.compile(r"^### (\w+)(?: >= 3\.(\d+))?\n", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program whose ``main`` is run, and the minor version of Python 3 it needs."""

    name: str
    source: str
    minor: int


def programs() -> list[Program]:
    """All programs that the running Python can run."""
    found = []
    for file in sorted(_FOLDER.glob("*.txt")):
        _, *parts = _HEADER.split(file.read_text(encoding="utf-8"))
        for name, minor, source in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            found.append(Program(f"{file.stem}.{name}", source, int(minor or 0)))
    return [each for each in found if each.minor <= sys.version_info[1]]


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_as_cpython(program: Program) -> None:
    assert difference(program.source) is None
