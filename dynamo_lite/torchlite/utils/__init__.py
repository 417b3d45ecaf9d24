"""``torch.utils``: pytrees under both of their names."""

from __future__ import annotations

from dynamo_lite.torchlite.utils import _pytree, pytree

__all__ = ["_pytree", "pytree"]
