"""What a proof found, as objects, as JSON (``docs/report.schema.json``) and as text that a person reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from solver.expr import Value

FORMAT: Final = "shapeproof-report/1"
_DIM: Final = re.compile(r'Dim\("(\w+)"[^)]*\)')


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change of the specification that makes guards hold; proved.

    ``condition`` is what to add, in the grammar of problems (and as a ``ShapesSpec`` assumption). ``dims`` says it as
    ``Dim`` source, argument by argument, where ``Dim`` can. ``weakest`` is True where no weaker condition exists.
    """

    kind: str
    condition: str
    words: str
    dims: Mapping[str, str] = field(default_factory=dict)
    assumption: str | None = None
    weakest: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "condition": self.condition,
            "words": self.words,
            "dims": dict(self.dims),
            "assumption": self.assumption,
            "weakest": self.weakest,
        }


def shared_dims(dims: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """``Dim`` source with each dimension that several places share declared once: ``(declarations, places)``."""
    uses: dict[str, set[str]] = {}
    for place, source in dims.items():
        for match in _DIM.finditer(source):
            uses.setdefault(match[0], set()).add(place)
    declared = {name[1]: text for text in uses if len(uses[text]) > 1 and (name := _DIM.match(text))}
    places = dict(dims)
    for label, text in declared.items():
        places = {place: source.replace(text, label) for place, source in places.items()}
    return declared, places


@dataclass(slots=True)
class GuardReport:
    """One guard.

    ``used``: the specification facts that the proof needs. ``follows_from``: other refuted guards that imply it.
    ``shapes``: the counterexample size by size, ``inputs``: as shapes of inputs.
    """

    id: str
    expr: str
    at: str | None
    verdict: str
    method: str
    origin: str | None = None
    note: str | None = None
    reason: str | None = None
    counterexample: dict[str, Value] | None = None
    shapes: dict[str, str] | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    expect: str | None = None
    expect_holds: bool | None = None
    _used: Callable[[], list[str]] | list[str] = field(default_factory=list)
    _suggestions: Callable[[], list[Suggestion]] | list[Suggestion] = field(default_factory=list)
    _follows: Callable[[], list[str]] | list[str] = field(default_factory=list)

    @property
    def used(self) -> list[str]:
        if callable(self._used):
            self._used = self._used()
        return self._used

    @property
    def suggestions(self) -> list[Suggestion]:
        if callable(self._suggestions):
            self._suggestions = self._suggestions()
        return self._suggestions

    @property
    def follows_from(self) -> list[str]:
        if callable(self._follows):
            self._follows = self._follows()
        return self._follows

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "expr": self.expr,
            "at": self.at,
            "origin": self.origin,
            "note": self.note,
            "verdict": self.verdict,
            "method": self.method,
            "used": self.used,
            "reason": self.reason,
            "counterexample": self.counterexample,
            "shapes": None if self.shapes is None else self.shapes | self.inputs,
            "suggestions": [suggestion.to_dict() for suggestion in self.suggestions],
            "follows_from": self.follows_from,
            "expect": self.expect,
            "expect_holds": self.expect_holds,
        }


@dataclass(slots=True)
class Report:
    """All guards of a problem. ``conflict``: specification facts that cannot hold together."""

    name: str
    status: str
    guards: list[GuardReport]
    conflict: list[str] = field(default_factory=list)
    expect: str | None = None
    expect_holds: bool | None = None
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    cross_check: dict[str, str] | None = None
    _roots: Callable[[], list[GuardReport]] | list[GuardReport] = field(default_factory=list)
    _fix: Callable[[], Suggestion | None] | Suggestion | None = None

    @property
    def roots(self) -> list[GuardReport]:
        """The refuted guards that matter: simplest first; the others follow from them."""
        if callable(self._roots):
            self._roots = self._roots()
        return self._roots

    @property
    def fix(self) -> Suggestion | None:
        """One change that makes every guard hold, if one was found."""
        if callable(self._fix):
            self._fix = self._fix()
        return self._fix

    @property
    def ok(self) -> bool:
        return self.status == "proved"

    def counts(self) -> dict[str, int]:
        found = {"proved": 0, "refuted": 0, "unknown": 0}
        for guard in self.guards:
            found[guard.verdict] += 1
        return found

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "format": FORMAT,
            "name": self.name,
            "status": self.status,
            "counts": self.counts(),
            "conflict": self.conflict,
            "roots": [guard.id for guard in self.roots],
            "fix": None if self.fix is None else self.fix.to_dict(),
            "guards": [guard.to_dict() for guard in self.guards],
            "expect": self.expect,
            "expect_holds": self.expect_holds,
            "cross_check": self.cross_check,
            "notes": self.notes,
            "seconds": round(self.seconds, 4),
        }

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        from solver.render import render

        return render(self)
