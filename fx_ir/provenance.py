"""What a program took for granted and what tracing did with effects, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from solver.errors import Location

AssumptionKind = Literal["value", "type", "identity", "metadata", "absence", "length", "keys", "alias"]
EffectKind = Literal[
    "attribute",
    "item",
    "global",
    "cell",
    "container",
    "buffer",
    "input",
    "output",
    "random",
    "call",
    "clock",
    "other",
]
GRADIENT_MODE: Final = "the gradient mode"
"""The path of the assumption that a program makes which asked for that mode."""
Became = Literal[
    "burned in", "buffer update", "input update", "dropped", "refused", "noted", "rolled back", "called"
]


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something read from outside and burned in.

    ``path`` says where from the start (``self.layers.0.training``, ``global model.py:SCALE``, ``closure n``,
    ``input x``, ``environment HOME``), ``expected`` is what was found, as data: the value itself for plain values and
    containers of them, the qualified name for a type or a function, another path for one object under two (``alias``).
    """

    path: str
    expected: Any
    kind: AssumptionKind = "value"
    location: Location | None = None

    def __str__(self) -> str:
        meaning = {
            "value": f"{self.path} == {self.expected!r}",
            "type": f"type({self.path}) is {self.expected}",
            "identity": f"{self.path} is {self.expected}",
            "metadata": f"{self.path}: {self.expected}",
            "absence": f"{self.path} does not exist",
            "length": f"len({self.path}) == {self.expected}",
            "keys": f"list({self.path}) == {self.expected!r}",
            "alias": f"{self.path} is {self.expected}",
        }[self.kind]
        return meaning if self.location is None else f"{meaning}  (read at {self.location})"


@dataclass(frozen=True, slots=True)
class Effect:
    """A side effect met while tracing, and what became of it."""

    kind: EffectKind
    what: str
    location: Location | None
    became: Became

    def __str__(self) -> str:
        place = "" if self.location is None else f"  (at {self.location})"
        return f"{self.kind}: {self.what} -> {self.became}{place}"
