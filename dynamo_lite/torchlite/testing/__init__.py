"""``torch.testing``."""

from __future__ import annotations

from dynamo_lite.torchlite.testing.comparison import assert_close, make_tensor

__all__ = ["assert_close", "make_tensor"]
