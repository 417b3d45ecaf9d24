"""``torch._higher_order_ops.cond``."""

from __future__ import annotations

from dynamo_lite.trace.control import cond

__all__ = ["cond"]
