"""A path to an outside object, what was read at its end, and the same as data."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MappingProxyType
from typing import Any, Final, Literal

from fx_ir.provenance import Assumption, AssumptionKind
from solver.errors import Location

StepKind = Literal["attr", "item", "cell"]
Meaning = AssumptionKind | Literal["contents", "cache", "alias", "shadow"]
REGISTRIES: Final = ("_modules", "_parameters", "_buffers", "__dict__")
_WITH_LENGTH: Final = (dict, list, tuple, set, frozenset, deque, bytearray, array, MappingProxyType)


@dataclass(slots=True)
class Origin:
    """How an object is reached: ``step`` from ``parent``, or a root (parent None, ``step`` its name)."""

    value: Any  # kept alive, so that its id stays its own
    parent: Origin | None
    kind: StepKind
    step: Any
    _path: str | None = None

    def path(self) -> str:
        """Readable text: ``self.layers.0.scale``."""
        if self._path is None:
            self._path = self._text()
        return self._path

    def _text(self) -> str:
        parent = self.parent
        if parent is None:
            return str(self.step)
        before = parent.path()
        if self.kind == "cell":
            return before
        if self.kind == "attr":
            return before if self.step in REGISTRIES else f"{before}{_dot(before)}{self.step}"
        if parent.step == "__dict__" and self.step in REGISTRIES:
            return before
        if parent.parent is None and before.endswith(":"):
            return f"{before}{self.step}"
        if parent.step in REGISTRIES:
            return f"{before}.{self.step}"
        return f"{before}[{self.step!r}]"


def _dot(before: str) -> str:
    return "" if before.endswith(":") else "."


@dataclass(slots=True)
class Read:
    """A value burned in."""

    origin: Origin  # of the owner
    kind: StepKind
    step: Any
    value: Any
    meaning: Meaning
    location: Location | None

    def path(self) -> str:
        if self.meaning in ("contents", "keys", "length", "cache"):
            return self.origin.path()
        return Origin(None, self.origin, self.kind, self.step).path()


class ByIdentity:
    """Stands for an object as a key."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return type(other) is ByIdentity and other.held is self.held


def as_data(reads: Iterable[Read]) -> list[Assumption]:
    """What was burned in, as a program lists it."""
    found: list[Assumption] = []
    for read in reads:
        if read.meaning == "shadow":  # of code, which no program lists
            continue
        expected = read.value
        path = read.path()
        if read.meaning in ("identity", "type"):
            named = (
                expected
                if isinstance(expected, (type, FunctionType, BuiltinFunctionType))
                else type(expected)
            )
            expected = f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"
        if read.meaning in ("length", "type", "keys"):
            path = read.origin.path()
        if read.meaning == "keys" and read.origin.parent is not None:
            path = f"{read.origin.parent.path()}.{read.origin.step}"
            expected = list(expected)
        if read.meaning == "contents" and read.origin.parent is None and path.endswith(":"):
            continue  # of a namespace, which has no path
        if read.meaning == "contents" and not isinstance(read.origin.value, _WITH_LENGTH):
            found.append(Assumption(read.origin.path(), repr(read.origin.value), "metadata", read.location))
        elif read.meaning == "cache":
            found.append(Assumption(read.origin.path(), "what it held", "identity", read.location))
        elif read.meaning == "contents":
            found.append(Assumption(read.origin.path(), len(read.origin.value), "length", read.location))
        elif read.meaning == "alias":
            found.append(Assumption(path, expected.path(), "alias", read.location))
        else:
            found.append(Assumption(path, expected, read.meaning, read.location))
    return found
