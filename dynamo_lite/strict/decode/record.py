"""A decoded code object: instructions of our own set, the exception index, and where each came from."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

Position = tuple[int | None, int | None, int | None, int | None]


# One instruction: its name, and its argument resolved to a name, a constant, a slot, a count or a target index. Plain
# tuples: a named one takes four times as long to make, and cold runs make thousands.
Instruction = tuple[str, Any]
# Where an exception goes: the target, the operand depth kept, and whether the index is pushed first.
Handler = tuple[int, int, bool]


@dataclass(slots=True)
class Decoded:
    """What the machine needs to know of a code object. Never changed once made (lines are filled when asked)."""

    code: CodeType
    instructions: tuple[Instruction, ...]
    offsets: array[int]
    handlers: tuple[Handler | None, ...]
    slot_names: tuple[str, ...]
    _positions: list[Position] | None = field(default=None, repr=False)

    def position(self, index: int) -> Position:
        """(first line, last line, column, end column) of an instruction."""
        if self._positions is None:
            self._positions = list(self.code.co_positions())
        where = self.offsets[index] // 2
        return (
            self._positions[where]
            if where < len(self._positions)
            else (self.code.co_firstlineno,) * 2 + (None, None)
        )

    def line(self, index: int) -> int:
        """The line of an instruction; the first line of the code where CPython kept none."""
        line = self.position(index)[0]
        return self.code.co_firstlineno if line is None else line
