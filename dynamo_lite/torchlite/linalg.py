"""``torch.linalg``: what there are operators for."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.packets import lazy

norm = lazy("linalg.norm", "linalg_norm")
vector_norm = lazy("linalg.vector_norm", "linalg_vector_norm")
inv = lazy("linalg.inv", "linalg_inv")
det = lazy("linalg.det", "linalg_det")
cross = lazy("linalg.cross", "linalg_cross")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.linalg.{name}")
