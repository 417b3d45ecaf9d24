"""The same program under CPython and in the interpreter: value, exception with its chain and lines, and output agree.

The programs stand in ``semantics/*.txt``, each under a line ``### name`` with what it needs of Python or why it is not traced.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

import dynamo_lite as dl
from tests.dynamo_lite.strict.fuzz.compare import difference
from tests.exporting import module, numbers

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


def _traceable(source: str) -> Callable[[Any], Any]:
    """A forward that runs ``main``: what it printed, and what came of it, are outputs."""
    printed: list[str] = []

    def show(*args: Any, sep: str = " ", end: str = "\n", file: Any = None) -> None:
        printed.append(sep.join([str(each) for each in args]))

    namespace: dict[str, Any] = {"__name__": "program", "print": show}
    exec(compile(source, "<program>", "exec", dont_inherit=True), namespace)
    main = namespace["main"]

    def forward(x: Any) -> Any:
        printed.clear()
        try:
            outcome = repr(main())
        except Exception as error:
            outcome = f"{type(error).__name__} {error}"
        return x + 1, outcome, "\n".join(printed)

    return forward


# what strict mode refuses in a program, and cannot run for that reason
REFUSED: Final[dict[str, tuple[str, ...]]] = {
    "attributes.name_error_name": ("call-refused",),  # imports
    "attributes.hooks_of_classes": ("slot-refused",),
    "dynamic_types.abstract_classes": ("call-refused",),
    "dynamic_types.named_tuples_and_typing": ("slot-refused",),
    "dynamic_types.weak_references": ("finalizer-refused",),
    "exceptions.exc_info_everywhere": ("call-refused",),  # open
    "generators.coroutines": ("call-refused",),  # an event loop
    "generators.async_generators": ("call-refused",),
    "library.dates": ("call-refused",),  # the locale
    "library.files_and_text": (
        "call-refused",
        "outside-iterator",
    ),  # files; which comes first depends on what stdout is
    "library.functools": ("call-refused",),  # cache_info
    "library.heaps_bisection_collections": ("slot-refused",),
    "scopes.imports": ("call-refused",),
    "scopes.type_parameters": ("slot-refused",),
    "scopes.type_parameter_defaults": ("slot-refused",),
}


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_as_cpython_while_tracing(program: Program) -> None:
    """The same values come out of a program that is exported; or it is refused, for the reason that stands in the table."""
    _, *expected = _traceable(program.source)(numbers(2))
    model = module(_traceable(program.source))
    if program.name in REFUSED:
        with pytest.raises(dl.UnsupportedError) as caught:
            dl.export(model, (numbers(2),), strict=True)
        assert caught.value.id in REFUSED[program.name]
        return
    _, *found = dl.export(model, (numbers(2),), strict=True).module()(numbers(2))
    assert found == expected
