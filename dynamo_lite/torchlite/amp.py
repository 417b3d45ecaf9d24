"""``torch.amp``: mixed precision is accepted where it changes nothing."""

from __future__ import annotations

from typing import Any

from fx_ir.dtypes import DType, bfloat16


class autocast:
    """Accepted with ``enabled=False``; mixed precision itself is refused, as kernels here keep the dtype they are given."""

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: DType | None = None,
        enabled: bool = True,
        cache_enabled: Any = None,
    ) -> None:
        self.device_type = device_type
        self.dtype = bfloat16 if dtype is None else dtype
        self.enabled = enabled and device_type == "cpu"

    def __enter__(self) -> autocast:
        if self.enabled:
            raise NotImplementedError("torchlite has no autocast: convert the module with .to(dtype)")
        return self

    def __exit__(self, *exc: object) -> None:
        return None


def is_autocast_available(device_type: str) -> bool:
    """Always False."""
    return False
