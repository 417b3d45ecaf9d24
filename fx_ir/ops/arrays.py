"""What NumPy kernels share: promotion of operands and conversion of element types.

Kernels take arrays (and Python numbers), give arrays (0-d ones, never NumPy scalars), and assume that whoever runs them
has silenced floating-point warnings (``numpy.errstate(all="ignore")``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from fx_ir.dtypes import CPU, DType, combine_types, from_numpy, get_default_dtype, of_number
from fx_ir.meta import TensorMeta
from fx_ir.ops.shapes import elementwise_strides

Array = np.ndarray[Any, np.dtype[Any]]
Operand = Any  # Array or a Python number


def as_array(value: Any) -> Array:
    """An array of what a NumPy function gave (it turns 0-d results into scalars)."""
    return value if type(value) is np.ndarray else np.asarray(value)


def dense(value: Any) -> Array:
    """As ``as_array``, contiguous."""
    array = as_array(value)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def copied(array: Array) -> Array:
    """New memory, in PyTorch's order. NumPy's differs where an array repeats elements by a stride of 0."""
    if array.flags.c_contiguous or 0 not in array.strides:
        return array.copy(order="K")
    return laid_out(array.copy(), elementwise_strides(array.shape, [describe(array)]))


def to(array: Array, dtype: DType) -> Array:
    """The array with elements of this type, itself if it has them; floats go to integers as in PyTorch (truncated)."""
    target = dtype.numpy
    if array.dtype is target:
        return array
    if array.dtype.kind == "c" and target.kind != "c":
        array = array.real
    return array.astype(target, copy=False)


def number_type(*operands: Operand) -> DType:
    """PyTorch's result type of arrays and numbers."""
    dimensioned: list[DType] = []
    zero_dim: list[DType] = []
    scalars: list[DType] = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            (dimensioned if operand.ndim else zero_dim).append(from_numpy(operand.dtype))
        else:
            scalars.append(of_number(operand))
    return combine_types(dimensioned, zero_dim, scalars)


def pair(a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """Two operands as NumPy needs them for a result of PyTorch's type: a number stays one where NumPy treats it as weak."""
    if isinstance(a, np.ndarray):
        if isinstance(b, np.ndarray):
            if a.dtype is b.dtype:
                return a, b
        elif _is_weak(a.dtype, b):
            return a, b
    elif isinstance(b, np.ndarray) and _is_weak(b.dtype, a):
        return a, b
    dtype = number_type(a, b)
    return cast(a, dtype), cast(b, dtype)


def _is_weak(dtype: np.dtype[Any], number: Any) -> bool:
    """True if NumPy computes ``array op number`` in the array's type and PyTorch does too."""
    kind, given = dtype.kind, type(number)
    if kind == "f" or kind == "c":
        return given is float or given is int or given is bool or (kind == "c" and given is complex)
    if kind == "i" or kind == "u":
        return given is bool or (given is int and -129 < number < 128 and (kind == "i" or number >= 0))
    return kind == "b" and given is bool


def cast(operand: Operand, dtype: DType) -> Array:
    """An operand as an array of this type; integers wrap around."""
    target = dtype.numpy
    if isinstance(operand, np.ndarray):
        return operand if operand.dtype is target else to(operand, dtype)
    return np.asarray(operand).astype(target)


def to_float(operand: Operand) -> Operand:
    """Integers and bools as the default floating type, others as they are."""
    if isinstance(operand, np.ndarray):
        return operand.astype(get_default_dtype().numpy) if operand.dtype.kind in "iub" else operand
    return float(operand) if isinstance(operand, int) else operand


def describe(array: Array) -> TensorMeta:
    """The metadata of an array."""
    strides = (
        None if array.flags.c_contiguous else tuple([stride // array.itemsize for stride in array.strides])
    )
    return TensorMeta(array.shape, from_numpy(array.dtype), CPU, strides)


def laid_out(array: Array, strides: Sequence[Any] | None) -> Array:
    """The array in the order of memory of these dense strides (None: contiguous)."""
    if strides is None:
        return np.ascontiguousarray(array)
    order = sorted(range(array.ndim), key=lambda dim: (-strides[dim], dim))
    block = np.ascontiguousarray(array.transpose(order))
    back = [0] * array.ndim
    for position, dim in enumerate(order):
        back[dim] = position
    return block.transpose(back)


def compute_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which sums over this type are formed: half precisions are summed in float32."""
    if dtype.itemsize == 2 and dtype.kind in "fV":
        return np.dtype(np.float32)
    return dtype


def in_float32(function: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel of one floating array, computed in float32 for the half precisions and in floats for integers."""

    @wraps(function)
    def kernel(array: Array, *args: Any, **kwargs: Any) -> Array:
        array = to_float(array)
        wide = compute_type(array.dtype)
        if wide is array.dtype or wide == array.dtype:
            return as_array(function(array, *args, **kwargs))
        return as_array(function(array.astype(wide), *args, **kwargs)).astype(array.dtype)

    return kernel


def sum_over(array: Any, axis: tuple[int, ...], keepdims: bool, dtype: Any = None) -> Array:
    """``np.sum``; its stubs know ``keepdims`` as a literal only."""
    untyped: Any = np.sum
    total: Array = untyped(array, axis=axis, keepdims=keepdims, dtype=dtype)
    return total


def average(array: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    """The mean over the axes; NaN, without NumPy's warning, where there is nothing to average."""
    total = sum_over(array, axis, keepdims)
    count = math.prod(array.shape[one] for one in axis)
    return as_array(np.true_divide(total, np.asarray(count).astype(np.asarray(total).dtype)))
