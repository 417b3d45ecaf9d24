"""``torch._higher_order_ops.scan``."""

from __future__ import annotations

from dynamo_lite.trace.loops import scan

__all__ = ["scan"]
