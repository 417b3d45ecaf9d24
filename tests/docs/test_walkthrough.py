"""The walk-through executes, and prints what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.walkthrough import blocks, run

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "walkthrough.md"


def test_walkthrough() -> None:
    """M1, M3, M16, M24, M32, M33: every block of ``docs/walkthrough.md`` runs and prints what follows it."""
    namespace: dict[str, Any] = {"__name__": "walkthrough"}
    count = 0
    for block in blocks(DOCUMENT.read_text(encoding="utf-8")):
        assert run(block, DOCUMENT.name, namespace) == (block.shown or ""), f"block at line {block.line}"
        count += 1
    assert count >= 12
