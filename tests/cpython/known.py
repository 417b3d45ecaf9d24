"""The table of CPython's tests that fail interpreted, each with its reason; checked in both directions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

_DATA: Final = json.loads((Path(__file__).parent / "known_failures.json").read_text())
REASONS: Final[dict[str, str]] = _DATA["reasons"]
TESTS: Final[dict[str, dict[str, Any]]] = _DATA["tests"]
# Reasons under which a test may pass or fail: it depends on the machine's speed or on the heap.
UNSTEADY: Final = frozenset({"slow", "addresses"})


def known_failures(module: str) -> dict[str, str]:
    """Test id → reason, for the running Python."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    prefix = f"test.test_{module}."
    return {
        test: entry["reason"]
        for test, entry in TESTS.items()
        if test.startswith(prefix) and version in entry["versions"]
    }
