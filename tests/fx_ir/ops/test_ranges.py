"""``arange``: bounds of each kind and each dtype, against PyTorch."""

from __future__ import annotations

import itertools
from typing import Any, Final

import pytest

from fx_ir import dtypes
from fx_ir.ops import OPS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

BOUNDS: Final = (0, 1, 5, -2, True, False, 0.0, 0.5, 1.0, 3.7, -0.5, -2.5, 2.9999999999, 1e-17)
STEPS: Final = (1, 3, -2, True, False, 0, 0.5, 1.5, 0.3, -0.5, -1.5, 0.0)
TYPES: Final = (
    None, "int64", "int32", "int16", "int8", "uint8", "float64", "float32", "float16", "bfloat16", "bool", "complex64",
)  # fmt: skip
RULE: Final = OPS["aten::arange.start_step"]


def eager(bounds: tuple[Any, Any, Any], name: str | None) -> Any:
    """PyTorch's tensor; None where it raises."""
    try:
        return torch.arange(*bounds, dtype=name and getattr(torch, name))
    except (RuntimeError, ValueError):
        return None


@pytest.mark.parametrize("name", TYPES, ids=str)
def test_lengths_and_values(name: str | None) -> None:
    dtype = None if name is None else getattr(dtypes, "bool_" if name == "bool" else name)
    for bounds in itertools.product(BOUNDS, BOUNDS, STEPS):
        expected = eager(bounds, name)
        if expected is None:
            with pytest.raises(RuntimeError):
                RULE.fake(*bounds, dtype=dtype)
            continue
        meta = RULE.fake(*bounds, dtype=dtype)
        assert (meta.shape, f"torch.{meta.dtype.name}") == (tuple(expected.shape), str(expected.dtype)), (
            bounds
        )
        assert RULE.kernel is not None
        array = RULE.kernel(*bounds, dtype=dtype)
        assert array.shape == meta.shape and dtypes.from_numpy(array.dtype) is meta.dtype, bounds
        if not expected.is_floating_point():
            assert array.tolist() == expected.tolist(), bounds


def test_large_bounds_are_counted_in_double_precision() -> None:
    bounds = 2**53 + 1, 2**53 + 6, 1
    lengths = {
        name: len(torch.arange(*bounds, dtype=getattr(torch, name))) for name in ("int64", "float32", "int32")
    }
    assert len(set(lengths.values())) == 2
    assert {name: RULE.fake(*bounds, dtype=getattr(dtypes, name)).shape[0] for name in lengths} == lengths
