"""Symbolic sizes, their specification, and the proof that the specification implies every guard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solver.report import Report
    from solver.verifier import verify

__all__ = ["Report", "verify"]


def __getattr__(name: str) -> Any:
    """Loads the prover and the readers when they are first asked for."""
    if name == "verify":
        from solver.verifier import verify

        return verify
    if name == "Report":
        from solver.report import Report

        return Report
    raise AttributeError(f"module 'solver' has no attribute {name!r}")
