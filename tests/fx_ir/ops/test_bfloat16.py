"""Every operator that takes single precision takes bfloat16, and gives what single precision gives, rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir.dtypes import bfloat16, float32, from_numpy
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR, NOT_SAMPLED
from tests.fx_ir.ops.sampling import arguments, bound, leaves

# Rounding the argument moves the result by more than a rounding, or the operator is about the bits themselves.
_APART = (
    "view.dtype", "erfinv", "logit", "digamma", "lgamma", "atanh", "acosh", "unique", "searchsorted", "bucketize", "histc", "sort", "topk",
    "arg", "max", "min", "mode", "median", "quantile", "nanquantile", "matrix_power", "kthvalue", "cummax", "cummin", "eq", "ne", "lt", "le", "gt", "ge", "less", "greater", "not_equal",
    "isclose", "allclose", "floor", "ceil", "trunc", "round", "frac", "remainder", "fmod", "floor_divide", "div.Tensor_mode", "div.Scalar_mode",
    "divide.Tensor_mode", "divide.Scalar_mode", "linalg", "fft", "polar", "complex", "cdist", "is", "signbit", "sign", "heaviside", "prod", "cumprod", "threshold",
    "hardshrink", "softshrink", "scatter_reduce", "std", "pairwise", "tan", "pow", "float_power", "cross", "einsum", "item", "_local", "bincount", "_assert", "view_as_complex",
    "cholesky", "qr", "slogdet", "svd",  # PyTorch factors no bfloat16
)  # fmt: skip
LARGEST = float.fromhex("0x1.fep+127")


def _tested() -> list[str]:
    names = set(ATEN) - NOT_SAMPLED
    return sorted(name for name in names if not name.removeprefix("aten::").startswith(_APART))


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, np.ndarray):
        return value.astype(bfloat16.numpy).astype(dtype) if value.dtype == np.float32 else value
    if isinstance(value, (list, tuple)):
        return type(value)([_converted(item, dtype) for item in value])
    return value


@pytest.mark.parametrize("name", _tested())
def test_bfloat16_follows_float32(name: str) -> None:
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        singles = [leaf for leaf in leaves(list(args)) if isinstance(leaf, np.ndarray)]
        if not any(array.dtype == np.float32 for array in singles):
            continue
        if any(array.dtype.kind in "fc" and array.dtype != np.float32 for array in singles):
            continue
        full, keywords = bound(call, args, kwargs)
        kernel = call.operator.kernel
        assert kernel is not None
        with np.errstate(all="ignore"):
            wide = leaves(kernel(*_converted(full, np.dtype(np.float32)), **keywords))
            half = leaves(kernel(*_converted(full, bfloat16.numpy), **keywords))
        for one, other in zip(wide, half, strict=True):
            if isinstance(one, np.ndarray) and one.dtype == np.float32:
                one = np.clip(one, -LARGEST, LARGEST) if name == "aten::nan_to_num" else one
                assert from_numpy(other.dtype) in (bfloat16, float32), str(call)
                scale = max(1.0, float(np.abs(one[np.isfinite(one)]).max(initial=0)))
                np.testing.assert_allclose(
                    other.astype(np.float32), one, rtol=0.05, atol=0.05 * scale, err_msg=str(call)
                )
