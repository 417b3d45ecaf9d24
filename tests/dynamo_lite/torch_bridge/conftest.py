"""Without PyTorch this whole folder is skipped."""

from __future__ import annotations

import importlib.util

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None
collect_ignore_glob = [] if HAS_TORCH else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "torch_bridge" in item.nodeid:
            item.add_marker(pytest.mark.torch)
