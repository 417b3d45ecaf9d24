"""Tensors of consecutive numbers and of indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import (
    CPU,
    Category,
    Device,
    DType,
    bool_,
    get_default_dtype,
    int64,
    of_number,
)
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.creation import OPTIONS, made
from fx_ir.ops.registry import register


def range_length(start: Any, end: Any, step: Any) -> Size:
    """How many numbers ``arange`` gives: a ceiling, kept symbolic for symbolic bounds."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    distance = end - start if not (type(start) is int and start == 0) else end
    if (distance < 0) if step > 0 else (distance > 0):
        raise RuntimeError("upper bound and larger bound inconsistent with step sign")
    length: Size = distance
    if _is_float(start) or _is_float(end) or _is_float(step):
        length = math.ceil(distance / step)
    elif step > 0:
        length = distance if type(step) is int and step == 1 else (distance + (step - 1)) // step
    else:
        length = (-distance + (-step - 1)) // -step
    return length


def _is_float(value: Any) -> bool:
    return of_number(value).is_floating_point


def _arange_dtype(dtype: DType | None, *numbers: Any) -> DType:
    if dtype is not None:
        return dtype
    return get_default_dtype() if any(_is_float(number) for number in numbers) else int64


def _fake_arange(start: Any, end: Any, step: Any, dtype: DType | None, device: Device | None) -> TensorMeta:
    return TensorMeta(
        (range_length(start, end, step),),
        _arange_dtype(dtype, start, end, step),
        CPU if device is None else device,
    )


def _fake_arange_end(
    end: Any, *, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    return _fake_arange(0, end, 1, dtype, device)


def _fake_arange_step(
    start: Any, end: Any, step: Any = 1, *, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    return _fake_arange(start, end, step, dtype, device)


def arange(start: Any, end: Any, step: Any = 1, *, dtype: DType | None = None, **_: Any) -> Array:
    target = _arange_dtype(dtype, start, end, step)
    if target.category < Category.FLOAT:
        start, end, step = (int(number) if target is not bool_ else number for number in (start, end, step))
    length = int(range_length(start, end, step))
    if target.category < Category.FLOAT:
        return np.arange(start, start + length * step, step).astype(target.numpy, copy=False)
    return as_array(start + np.arange(length, dtype=np.float64) * step).astype(target.numpy)


def _arange_end(end: Any, *, dtype: DType | None = None, **options: Any) -> Array:
    return arange(0, end, 1, dtype=dtype)


def _fake_linspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    **_: Any,
) -> TensorMeta:
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return made((steps,), dtype, device)


def linspace(start: Any, end: Any, steps: int, *, dtype: DType | None = None, **_: Any) -> Array:
    target = get_default_dtype() if dtype is None else dtype
    return np.linspace(start, end, steps).astype(target.numpy)


def _logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: DType | None = None, **_: Any
) -> Array:
    target = get_default_dtype() if dtype is None else dtype
    return np.logspace(start, end, steps, base=base).astype(target.numpy)


def _fake_scalar_tensor(
    s: Any, *, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    return made((), dtype, device)


def _scalar_tensor(s: Any, *, dtype: DType | None = None, **_: Any) -> Array:
    return np.asarray(s).astype((get_default_dtype() if dtype is None else dtype).numpy)


def _triangle_length(row: int, col: int, offset: int, lower: bool) -> int:
    return int(
        np.tril(np.ones((row, col)), offset).sum() if lower else np.triu(np.ones((row, col)), offset).sum()
    )


def _fake_triangle(lower: bool) -> Callable[..., TensorMeta]:
    def fake(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: DType | None = int64,
        device: Device | None = None,
        **_: Any,
    ) -> TensorMeta:
        return made((2, _triangle_length(row, col, offset, lower)), dtype or int64, device)

    return fake


def _triangle(lower: bool) -> Callable[..., Array]:
    def kernel(row: int, col: int, offset: int = 0, *, dtype: DType | None = int64, **_: Any) -> Array:
        indices = (np.tril_indices if lower else np.triu_indices)(row, offset, col)
        return np.stack(indices).astype((dtype or int64).numpy)

    return kernel


def _declare() -> None:
    register(f"aten::arange(Scalar end, *, {OPTIONS}) -> Tensor", fake=_fake_arange_end, kernel=_arange_end)
    register(
        f"aten::arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
        fake=_fake_arange_step,
        kernel=arange,
    )
    register(
        f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
        fake=_fake_arange_step,
        kernel=arange,
    )
    register(
        f"aten::linspace(Scalar start, Scalar end, int steps, *, {OPTIONS}) -> Tensor",
        fake=_fake_linspace,
        kernel=linspace,
    )
    register(
        f"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, {OPTIONS}) -> Tensor",
        fake=_fake_linspace,
        kernel=_logspace,
    )
    register(
        f"aten::scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor",
        fake=_fake_scalar_tensor,
        kernel=_scalar_tensor,
    )
    for name, lower in (("tril", True), ("triu", False)):
        register(
            f"aten::{name}_indices(int row, int col, int offset=0, *, {OPTIONS.replace('? dtype=None', '? dtype=4')}) -> Tensor",
            fake=_fake_triangle(lower),
            kernel=_triangle(lower),
        )


_declare()
