"""``torch._higher_order_ops.associative_scan``."""

from __future__ import annotations

from dynamo_lite.trace.loop_functions import associative_scan

__all__ = ["associative_scan"]
