"""``torch._higher_order_ops.scan``."""

from __future__ import annotations

from dynamo_lite.trace.loop_functions import scan

__all__ = ["scan"]
