"""Comparison of tensors, with a message that says how far apart they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite._tensor import Tensor, wrap
from fx_ir.dtypes import DType, float32, promote_types

# (rtol, atol) by dtype, those of torch.testing.
_TOLERANCES: Final[Mapping[str, tuple[float, float]]] = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def _tolerances(
    actual: DType, expected: DType, rtol: float | None, atol: float | None
) -> tuple[float, float]:
    if (rtol is None) != (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or unspecified")
    if rtol is not None and atol is not None:
        return rtol, atol
    both = [_TOLERANCES.get(dtype.name, (0.0, 0.0)) for dtype in (actual, expected)]
    return max(both[0][0], both[1][0]), max(both[0][1], both[1][1])


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raises ``AssertionError`` unless two tensors, numbers or nests of them are equal within tolerance."""

    def fail(text: str, at: str) -> AssertionError:
        where = f"\n\nThe failure occurred for item {at}" if at else ""
        shown = msg(text) if callable(msg) else text if msg is None else msg
        return AssertionError(shown + where)

    def walk(a: Any, b: Any, at: str) -> None:
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            if a.keys() != b.keys():
                raise fail("The keys of the mappings do not match", at)
            for key in a:
                walk(a[key], b[key], f"{at}[{key!r}]")
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            if len(a) != len(b):
                raise fail(f"The length of the sequences mismatch: {len(a)} != {len(b)}", at)
            for index, (x, y) in enumerate(zip(a, b, strict=True)):
                walk(x, y, f"{at}[{index}]")
        else:
            text = _difference(_tensor(a), _tensor(b), rtol, atol, equal_nan, check_dtype, check_stride)
            if text is not None:
                raise fail(text, at)

    walk(actual, expected, "")


def _tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return wrap(value)
    made: Tensor = FUNCTIONS["tensor"](value)
    return made


def _difference(
    a: Tensor,
    b: Tensor,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_dtype: bool,
    check_stride: bool,
) -> str | None:
    """What is wrong, or None."""
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if check_dtype and a.dtype is not b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    if check_stride and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    relative, absolute = _tolerances(a.dtype, b.dtype, rtol, atol)
    wide = promote_types(promote_types(a.dtype, b.dtype), float32).numpy
    exact = a.dtype.category < 2 and b.dtype.category < 2 and relative == 0 and absolute == 0
    x, y = (a._array, b._array) if exact else (a._array.astype(wide), b._array.astype(wide))
    with np.errstate(all="ignore"):
        close = x == y if exact else np.isclose(x, y, rtol=relative, atol=absolute, equal_nan=equal_nan)
        if np.all(close):
            return None
        distance = np.abs(np.subtract(x, y, dtype=np.float64 if x.dtype.kind == "b" else None))
        away = np.where(close, 0, distance)
        away = np.where(np.isnan(away), np.inf, away)
        worst = np.unravel_index(int(np.argmax(away)), away.shape) if away.ndim else ()
        ratio = distance / np.abs(y)
    if a.ndim == 0:
        return f"Scalars are not close!\n\nExpected {b.item()} but got {a.item()}.\nAbsolute difference: {distance}"
    count = int(np.sum(~close))
    place = tuple(int(at) for at in worst)
    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {count} / {x.size} ({count / x.size:.1%})\n"
        f"Greatest absolute difference: {distance[worst]} at index {place} (up to {absolute} allowed)\n"
        f"Relative difference there: {ratio[worst]} (up to {relative} allowed)"
    )


def make_tensor(
    *shape: Any,
    dtype: DType,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    **_: Any,
) -> Tensor:
    """Random values of a dtype between ``low`` and ``high``."""
    sizes: Sequence[int] = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    from fx_ir import rng

    stream = rng.generator()
    if dtype.name == "bool":
        return wrap(np.asarray(stream.integers(0, 2, tuple(sizes))).astype(np.bool_))
    if dtype.is_integral:
        least = 0 if dtype.name == "uint8" else -9
        drawn = stream.integers(
            int(least if low is None else low), int(10 if high is None else high), tuple(sizes)
        )
        return wrap(np.asarray(drawn).astype(dtype.numpy))
    drawn_floats = stream.uniform(-9 if low is None else low, 9 if high is None else high, tuple(sizes))
    return wrap(np.asarray(drawn_floats).astype(dtype.numpy))
