"""``torch._higher_order_ops.while_loop``."""

from __future__ import annotations

from dynamo_lite.trace.loop_functions import while_loop

__all__ = ["while_loop"]
