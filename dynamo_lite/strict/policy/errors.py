"""Refusals of the tracing policy."""

from __future__ import annotations

from typing import Final

from solver.errors import UnsupportedError, declare

CALL_REFUSED: Final = declare(
    "call-refused",
    UnsupportedError,
    "{name} {reason}, and an exported program could not repeat that",
    hint="{hint_text}; or mark the function that needs it with dl.assume_constant or dl.allow_call",
    about="Strict mode refuses what cannot be undone or differs from run to run.",
)
ITERATOR_OUTSIDE: Final = declare(
    "outside-iterator",
    UnsupportedError,
    "forward would advance an iterator ({type}) that lives outside it",
    hint="make the iterator inside forward, or keep a list",
    about="Advancing an iterator cannot be undone, and each run would see another item.",
)
