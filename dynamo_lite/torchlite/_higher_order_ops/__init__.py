"""Control flow as operators."""

from __future__ import annotations

from dynamo_lite.trace.control import cond
from dynamo_lite.trace.loop_functions import associative_scan, map, scan, while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
