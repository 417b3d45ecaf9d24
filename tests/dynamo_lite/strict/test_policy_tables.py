"""The tables of what strict mode refuses name functions as they are called here (M3)."""

from __future__ import annotations

import builtins
import importlib
import io
import time
from types import BuiltinFunctionType

import pytest

from dynamo_lite.strict.policy import impure, tables


@pytest.mark.parametrize("entry", sorted(tables.REFUSED))
def test_every_entry_is_met_under_its_name(entry: str) -> None:
    """A function that an entry names is refused, whatever it calls itself on this version."""
    module, _, name = entry.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        pytest.skip(f"{entry} does not exist here")
    assert isinstance(function, BuiltinFunctionType)
    assert impure.reason(function) is not None


def test_what_is_pure_is_not_refused() -> None:
    """Neighbours of impure functions that only compute are called."""
    assert impure.reason(time.strptime) is None
    assert impure.reason(builtins.len) is None
    assert impure.reason(builtins.open) is impure.reason(io.open) is not None
