"""Tensors from Python values and arrays: ``tensor``, ``as_tensor``, ``from_numpy``, ``new_tensor``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import access_of, from_array, is_tensor, meta_of
from dynamo_lite.lowering.errors import NO_MEMORY, where
from dynamo_lite.lowering.packets import apply
from fx_ir.dtypes import DType, bool_, combine_types, complex128, float64, from_numpy, int64, of_number
from fx_ir.ops.registry import PACKETS
from solver.sym import SymBool, SymFloat, SymInt

_SYMBOLIC = (SymInt, SymFloat, SymBool)
_PYTHON = {float: float64, int: int64, bool: bool_, complex: complex128}


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    names: Any = None,
) -> Any:
    """A new tensor that copies ``data``: numbers, nested sequences, arrays, tensors."""
    dtype = _PYTHON.get(dtype, dtype)
    made = _from_data(data, dtype, copy=True)
    if device is not None and str(device) != "cpu":
        made = apply("to", made, device=device)
    if requires_grad and meta_of(made).dtype.category < 2:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """As :func:`tensor`, but shares memory with a tensor or array that fits already."""
    dtype = _PYTHON.get(dtype, dtype)
    if is_tensor(data):
        made = data if dtype is None or meta_of(data).dtype is dtype else apply("to", data, dtype)
    else:
        made = _from_data(data, dtype, copy=False)
    return made if device is None or str(device) == "cpu" else apply("to", made, device=device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """As :func:`as_tensor`; ``copy=True`` never shares memory."""
    made = tensor(obj, dtype=dtype) if copy else as_tensor(obj, dtype, device)
    return made.requires_grad_() if requires_grad else made


def from_numpy_array(array: np.ndarray[Any, Any]) -> Any:
    """A tensor that shares the array's memory."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    from_numpy(array.dtype)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    return from_array(array)


def new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A new tensor that copies ``data``, with the dtype of ``self`` unless another is given."""
    return tensor(
        data,
        dtype=meta_of(self).dtype if dtype is None else dtype,
        device=device,
        requires_grad=requires_grad,
    )


def _from_data(data: Any, dtype: DType | None, copy: bool) -> Any:
    if is_tensor(data):
        alone = apply("clone", apply("detach", data)) if copy else data
        return alone if dtype is None or meta_of(data).dtype is dtype else apply("to", alone, dtype)
    if isinstance(data, np.ndarray):
        array = data
        if dtype is not None or copy:
            array = np.array(data, dtype=None if dtype is None else dtype.numpy)
        return _constant(np.ascontiguousarray(array).reshape(array.shape) if copy else array)
    if _holds_tensors_or_symbols(data):
        return _stacked(data, dtype)
    wanted = infer_dtype(data) if dtype is None else dtype
    _check_regular(data)
    try:
        array = np.array(data, dtype=wanted.numpy)
    except OverflowError as error:
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow") from error
    return _constant(array)


def _constant(array: Any) -> Any:
    """A fresh tensor over an array of ours; under a trace a constant is lifted, and its copy is what the program sees."""
    made = from_array(array)
    if dispatch.recorder() is None:
        return made
    return apply("lift_fresh_copy" if "aten::lift_fresh_copy" in PACKETS else "clone", made)


def _holds_tensors_or_symbols(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(_holds_tensors_or_symbols(item) for item in data)
    return isinstance(data, _SYMBOLIC) or is_tensor(data)


def _stacked(data: Any, dtype: DType | None) -> Any:
    """Numbers, symbols and one-element tensors, nested, by way of ``scalar_tensor`` and ``stack``."""
    wanted = infer_dtype(data) if dtype is None else dtype
    if isinstance(data, (list, tuple)):
        if not data:
            return apply("zeros", [0], dtype=wanted)
        return apply("stack", [_stacked(item, wanted) for item in data])
    if is_tensor(data):
        return apply("to", apply("detach", data), wanted)
    return apply("scalar_tensor", data, dtype=wanted)


def infer_dtype(data: Any) -> DType:
    """The dtype that PyTorch gives nested numbers: the widest category, floats as the default dtype."""
    found: set[DType] = set()
    _collect(data, found, 0)
    if not found:
        from fx_ir.dtypes import get_default_dtype

        return get_default_dtype()
    return combine_types(found, (), ())


def _collect(data: Any, found: set[DType], depth: int) -> None:
    if isinstance(data, (str, bytes)):
        if depth:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if is_tensor(data):
        found.add(meta_of(data).dtype)
    elif isinstance(data, (np.ndarray, np.generic)):
        found.add(from_numpy(data.dtype))
    elif isinstance(data, (Sequence, range)) or (
        hasattr(type(data), "__len__") and hasattr(type(data), "__getitem__")
    ):
        if depth > 64:
            raise ValueError("too many dimensions")
        for item in data:
            _collect(item, found, depth + 1)
    else:
        try:
            found.add(of_number(data))
        except TypeError:
            raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None


def _check_regular(data: Any, dim: int = 0) -> None:
    """Raises PyTorch's ``ValueError`` for nested lists of unequal lengths."""
    if (
        not isinstance(data, (list, tuple))
        or not data
        or not any(isinstance(item, (list, tuple)) for item in data)
    ):
        return
    first = data[0]
    if not isinstance(first, (list, tuple)):
        raise TypeError(
            f"must be real number, not {type(next(i for i in data if isinstance(i, (list, tuple)))).__name__}"
        )
    for item in data:
        if not isinstance(item, (list, tuple)):
            raise TypeError("not a sequence")
        if len(item) != len(first):
            raise ValueError(f"expected sequence of length {len(first)} at dim {dim + 1} (got {len(item)})")
        _check_regular(item, dim + 1)


def to_array(self: Any, what: str) -> np.ndarray[Any, Any]:
    """The memory of a real tensor outside a trace. Raises ``tensor-has-no-memory`` otherwise."""
    array_of = access_of(self).array_of
    if dispatch.recorder() is not None or array_of is None:
        raise NO_MEMORY(what=what, location=where())
    array: np.ndarray[Any, Any] = array_of(self)
    return array
