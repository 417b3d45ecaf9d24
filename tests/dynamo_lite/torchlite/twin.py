"""Runs one snippet on ``torchlite`` and on real PyTorch and compares what came out, errors included."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import dynamo_lite.torchlite as torchlite

Snippet = Callable[[Any], Any]

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


def real_torch() -> Any:
    """The real library."""
    return importlib.import_module("torch")


def settled(value: Any) -> Any:
    """A result as plain data: tensors as (dtype, shape, requires_grad, values)."""
    kind = type(value)
    if hasattr(value, "requires_grad") and hasattr(value, "numpy"):
        plain = value.detach()
        plain = plain.float() if "bfloat16" in str(value.dtype) else plain
        return ("tensor", str(value.dtype), tuple(value.shape), value.requires_grad, np.array(plain.numpy()))
    if kind.__name__ == "Size":
        return ("size", tuple(value))
    if isinstance(value, Mapping):
        return {key: settled(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [settled(held) for held in value]
    if kind.__name__ in ("dtype", "DType", "device", "Device"):
        return str(value)
    return value


def outcome(snippet: Snippet, torch: Any) -> tuple[str, Any]:
    """``("value", …)``, or ``("error", class name, message)``."""
    try:
        return ("value", settled(snippet(torch)))
    except Exception as error:
        return ("error", (type(error).__name__, str(error)))


def same(a: Any, b: Any, tolerance: float) -> bool:
    """Equality of settled results; floats within ``tolerance``."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.kind in "fc":
            return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
        return bool(np.array_equal(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[key], b[key], tolerance) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
    return type(a) is type(b) and bool(a == b)


def assert_same(snippet: Snippet, tolerance: float = 1e-5, message: bool = True) -> None:
    """Fails unless the snippet does the same on both libraries; with ``message=False`` an error's text may differ."""
    ours, theirs = outcome(snippet, torchlite), outcome(snippet, real_torch())
    if theirs[0] == "error" and theirs[1][0] == "NotImplementedError":
        return  # PyTorch's kernels lack a dtype; having it is no fault
    if ours[0] == theirs[0] == "error" and not message:
        assert ours[1][0] == theirs[1][0], (ours, theirs)
        return
    assert same(ours, theirs, tolerance), f"torchlite: {ours}\nPyTorch:   {theirs}"


def fill(torch: Any, module: Any) -> Any:
    """Gives every parameter and floating buffer fixed values, different ones each."""
    with torch.no_grad():
        for index, tensor in enumerate([*module.parameters(), *module.buffers()]):
            if tensor.is_floating_point():
                count = tensor.numel()
                values = torch.arange(count, dtype=torch.float32) * 0.37 + index
                tensor.copy_(((values.sin() + 1.1) * 0.3).reshape(tensor.shape))
    return module
