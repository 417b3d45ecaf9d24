"""``torch._higher_order_ops.map``."""

from __future__ import annotations

from dynamo_lite.trace.loop_functions import map

__all__ = ["map"]
