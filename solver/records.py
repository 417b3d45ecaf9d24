"""What the shape environment keeps: symbols, guards, facts, assumptions, each with where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from solver.errors import Location
from solver.expr import BoolExpr, Sort

Role: TypeAlias = Literal["named", "DYNAMIC", "AUTO", "unbacked"]
GuardKind: TypeAlias = Literal["branch", "specialize", "divisor", "check"]


@dataclass(slots=True)
class SymbolInfo:
    """A symbol: its role, declared bounds, value in the example (None where it depends on data) and source."""

    name: str
    role: Role
    min: int | None
    max: int | None
    hint: int | None
    source: str
    location: Location | None = None
    sort: Sort = "int"
    spec: str = ""


@dataclass(slots=True)
class Guard:
    """A condition on sizes that the program relies on; true at the example.

    ``adopted``: it speaks of an inferred dimension, so it joins the contract instead of being an obligation.
    ``verdict`` is filled in by the proof.
    """

    id: str
    expr: BoolExpr
    location: Location | None
    origin: str
    kind: GuardKind
    adopted: bool = False
    message: str | None = None
    verdict: str | None = None

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a ``_check`` stated about a size that depends on data; asserted at run time."""

    id: str
    expr: BoolExpr
    location: Location | None
    message: str | None = None

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True, slots=True)
class Assumption:
    """A relation that the specification states: a premise of the proof, checked at run time."""

    id: str
    expr: BoolExpr
    text: str
    location: Location | None = None
