"""Errors of updates in place."""

from __future__ import annotations

from typing import Final

from solver.errors import UnsupportedError, declare

READS_WRITTEN: Final = declare(
    "reads-what-it-writes",
    UnsupportedError,
    "{op} reads a tensor that {problem} the memory of the one it writes",
    hint="give it a clone() of the tensor that is read",
    about="What such an update gives depends on the order in which elements are written; PyTorch raises, or gives any of the results.",
)
