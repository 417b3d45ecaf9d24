"""Errors: one class per kind, one declaration per error, each with an id, one sentence and a hint.

A layer declares its errors with :func:`declare` in a module named ``errors``; the registry below is what the error
reference is made from. Raising is ``raise NOT_A_MODULE(location=..., type="int")``: the declaration is a factory.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from string import Formatter
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's code."""

    file: str
    line: int
    function: str = "<module>"

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


class _Watch(threading.local):
    made: list[ExportError] | None = None


_WATCH: Final = _Watch()


@contextmanager
def watch() -> Iterator[list[ExportError]]:
    """Collects every error of ours that this thread makes in the block, so that one that user code swallows is not lost."""
    before = _WATCH.made
    made: list[ExportError] = []
    _WATCH.made = made
    try:
        yield made
    finally:
        _WATCH.made = before


class ExportError(Exception):
    """Base of everything this project raises on purpose.

    ``id`` is stable, ``location`` is the user's line (or None), ``hint`` is one way out.
    """

    def __init__(
        self, message: str, *, id: str = "export-error", location: Location | None = None, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.id = id
        self.location = location
        self.hint = hint
        if _WATCH.made is not None:
            _WATCH.made.append(self)

    def __str__(self) -> str:
        lines = [f"[{self.id}] {self.message}"]
        if self.location is not None:
            lines.append(f"  at {self.location}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class UnsupportedError(ExportError):
    """The program uses what cannot be analysed."""


class DataDependentError(ExportError):
    """A decision depends on data, or on a size that depends on data."""


class ConstraintViolationError(ExportError):
    """The specification does not imply a guard, or contradicts itself or the example.

    ``report`` is the :class:`solver.report.Report` of the proof where one was made.
    """

    report: Any = None


class StateError(ExportError):
    """Module state is used in a way that an exported program cannot keep."""


class InputError(ExportError):
    """An argument, a file or a specification is unusable."""


class GuardError(ExportError):
    """At run time an input or an assumption breaks the program's contract."""


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """A declared error: calling it makes the exception (it does not raise)."""

    id: str
    kind: type[ExportError]
    message: str
    hint: str
    about: str

    def __call__(
        self, *, location: Location | None = None, hint: str | None = None, **values: object
    ) -> ExportError:
        text = self.message.format(**values)
        way_out = self.hint.format(**values) if hint is None else hint
        return self.kind(text, id=self.id, location=location, hint=way_out)

    def fields(self) -> set[str]:
        """Names that the message and the hint take."""
        parts = (*Formatter().parse(self.message), *Formatter().parse(self.hint))
        return {name for _, name, _, _ in parts if name}


REGISTRY: Final[dict[str, ErrorSpec]] = {}


def declare(id: str, kind: type[ExportError], message: str, *, hint: str, about: str = "") -> ErrorSpec:
    """Declares an error. ``message`` and ``hint`` are ``str.format`` templates; ``about`` is for the reference page."""
    if id in REGISTRY:
        raise ValueError(f"error id {id!r} is declared twice")
    spec = ErrorSpec(id, kind, message, hint, about)
    REGISTRY[id] = spec
    return spec
