"""``torch.cuda``: there is none."""

from __future__ import annotations


def is_available() -> bool:
    return False


def device_count() -> int:
    return 0
