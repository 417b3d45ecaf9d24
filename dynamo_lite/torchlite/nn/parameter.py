"""``torch.nn.parameter``."""

from __future__ import annotations

from dynamo_lite.torchlite.parameter import Buffer, Parameter

__all__ = ["Buffer", "Parameter"]
