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
SLOT_REFUSED: Final = declare(
    "slot-refused",
    UnsupportedError,
    "{name}, which C code calls by itself (for a dict, a set, repr, %), {why}",
    hint="let it compute from plain values alone, or do in forward what it does",
    about="Strict mode rehearses what C code is going to call; this call could not be repeated or would see tensors.",
)
FINALIZER: Final = declare(
    "finalizer-refused",
    UnsupportedError,
    "{name} runs when an object is collected, at a moment that an exported program does not have",
    hint="do what it does in forward, or make the object outside it",
    about="Strict mode does not run __del__ methods and weak-reference callbacks.",
)
WEAK_FRESH: Final = declare(
    "weak-reference-refused",
    UnsupportedError,
    "forward makes a weak reference to an object ({type}) that it made itself, and asks in effect when that is collected",
    hint="hold the object itself, or make it outside forward",
    about="While tracing objects live longer than in eager runs, so that what forward wrote can be told from what it made.",
)
ITERATOR_OUTSIDE: Final = declare(
    "outside-iterator",
    UnsupportedError,
    "forward would advance an iterator ({type}) that lives outside it",
    hint="make the iterator inside forward, or keep a list",
    about="Advancing an iterator cannot be undone, and each run would see another item.",
)
