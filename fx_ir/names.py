"""Names of values: valid Python identifiers, unique in a graph, made from what computes the value."""

from __future__ import annotations

import builtins
import functools
import keyword
import re
from collections.abc import Callable
from typing import Any, Final

_NOT_IDENTIFIER: Final = re.compile(r"[^0-9A-Za-z_]+")
_NUMBERED: Final = re.compile(r"(.*[^_0-9])_(\d+)$")
RESERVED: Final = frozenset(
    {*keyword.kwlist, *dir(builtins), "device", "inf", "math", "nan", "operator", "self", "torch"}
)

# Packets whose overload belongs to the name, as PyTorch prints them.
_KEEP_OVERLOAD: Final = frozenset({"sym_numel", "sym_size", "sym_storage_offset", "sym_stride"})

_BASE_NAMES: Final[dict[Callable[..., Any], str]] = {}


def sanitize(candidate: str) -> str:
    """The nearest identifier to ``candidate``."""
    name = _NOT_IDENTIFIER.sub("_", candidate) or "value"
    return f"_{name}" if name[0].isdigit() else name


def _base_of(target: Callable[..., Any]) -> str:
    parts = str(target).split(".") if not hasattr(target, "__name__") else [target.__name__]
    if len(parts) < 3:
        return sanitize(parts[-1])
    packet, overload = parts[-2:]
    return sanitize(f"{packet}_{overload}" if packet in _KEEP_OVERLOAD else packet)


def target_base_name(target: Callable[..., Any]) -> str:
    """What values computed by ``target`` are called: ``add`` for ``aten.add.Tensor``, ``mul`` for ``operator.mul``."""
    known = _BASE_NAMES.get(target)
    if known is None:
        known = _BASE_NAMES[target] = _base_of(target)
    return known


@functools.lru_cache(4096)
def _first(candidate: str) -> tuple[str, str, int]:
    """The first name for a candidate; the base and the number of the next."""
    name = sanitize(candidate)
    numbered = _NUMBERED.match(name)
    base, number = (numbered.group(1), int(numbered.group(2))) if numbered else (name, 1)
    return (f"{base}_{number}" if name in RESERVED else name), base, number


class Namespace:
    """Hands out names that were not handed out before."""

    __slots__ = ("_next", "_used")

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._next: dict[str, tuple[str, int]] = {}

    def create(self, candidate: str) -> str:
        """``candidate`` if it is free, otherwise with the next free number: ``add``, ``add_1``, ``add_2``."""
        used = self._used
        known = self._next.get(candidate)
        if known is None:
            name, base, number = _first(candidate)
        else:
            base, number = known
            name = f"{base}_{number}"
            number += 1
        while name in used:
            name = f"{base}_{number}"
            number += 1
        self._next[candidate] = (base, number)
        used.add(name)
        return name

    def claim(self, name: str) -> bool:
        """Takes exactly ``name``; False if it was taken already."""
        if name in self._used:
            return False
        self._used.add(name)
        return True

    def release(self, name: str) -> None:
        """Gives ``name`` back."""
        self._used.discard(name)
