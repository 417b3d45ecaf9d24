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
    get_default_dtype,
    int64,
    of_number,
)
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.creation import OPTIONS, made
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import fails


def range_length(start: Any, end: Any, step: Any, dtype: DType) -> Size:
    """How many numbers ``arange`` gives: a ceiling, kept symbolic for symbolic bounds.

    The sign of the step is compared with the bounds as they are given. int64 then counts with whole numbers, every other
    type in double precision with the bounds as given: ``arange(0, 1.5, 0.5, dtype=int32)`` is three zeros.
    """
    if step == 0:
        raise RuntimeError("step must be nonzero")
    distance = _distance(start, end)
    if fails((distance < 0) if step > 0 else (distance > 0), "a range leads where its step does"):
        raise RuntimeError("upper bound and larger bound inconsistent with step sign")
    if dtype is int64 and any(map(_is_float, (start, end, step))):
        return range_length(_whole(start), _whole(end), _whole(step), dtype)
    if dtype is not int64 and {type(start), type(end), type(step)} <= {bool, int, float}:
        return math.ceil((float(end) - float(start)) / float(step))
    length: Size
    if any(map(_is_float, (start, end, step))):
        length = math.ceil(distance / step)
    elif step > 0:
        length = distance if type(step) is int and step == 1 else (distance + (step - 1)) // step
    else:
        length = (-distance + (-step - 1)) // -step
    return length


def _distance(start: Any, end: Any) -> Any:
    return end if type(start) is int and start == 0 else end - start


def _whole(number: Any) -> Any:
    """A number as int64 has it: without its fraction."""
    return math.trunc(number) if _is_float(number) else number


def _is_float(value: Any) -> bool:
    return of_number(value).is_floating_point


def _arange_dtype(dtype: DType | None, *numbers: Any) -> DType:
    if dtype is not None:
        if dtype.category not in (Category.INTEGER, Category.FLOAT):
            raise RuntimeError(f"arange makes no numbers of type {dtype}")
        return dtype
    return get_default_dtype() if any(_is_float(number) for number in numbers) else int64


def _fake_arange(start: Any, end: Any, step: Any, dtype: DType | None, device: Device | None) -> TensorMeta:
    target = _arange_dtype(dtype, start, end, step)
    return TensorMeta((range_length(start, end, step, target),), target, CPU if device is None else device)


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
    places = np.arange(int(range_length(start, end, step, target)))
    if target.category is Category.INTEGER:
        return as_array(int(start) + places * int(step)).astype(target.numpy, copy=False)
    return as_array(start + places.astype(np.float64) * step).astype(target.numpy)


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
