"""The smallest tensor library: NumPy arrays are both tensors and native values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir import dtypes
from fx_ir.backend import register_backend
from fx_ir.errors import KERNEL_MISSING
from fx_ir.meta import TensorMeta
from fx_ir.ops import Operator

Array = np.ndarray[Any, Any]


class NdarrayBackend:
    """Arrays carry no ``requires_grad``; what ``from_numpy`` is told of it is lost."""

    name = "ndarray"
    joined = None

    def check_around(self) -> None:
        """No mode changes what NumPy computes."""

    def grad_enabled(self) -> bool:
        return True

    def is_tensor(self, obj: object) -> bool:
        return isinstance(obj, np.ndarray)

    def describe(self, obj: Any) -> TensorMeta:
        strides = None if obj.flags.c_contiguous else tuple(size // obj.itemsize for size in obj.strides)
        return TensorMeta(obj.shape, dtypes.from_numpy(obj.dtype), dtypes.CPU, strides)

    def unwrap(self, obj: Any) -> Any:
        return obj

    def wrap(self, native: Any, meta: TensorMeta | None = None) -> Any:
        return native

    def assign(self, obj: Any, native: Any) -> None:
        obj[...] = native

    def kernel(self, op: Operator) -> Callable[..., Any]:
        if op.kernel is None:
            raise KERNEL_MISSING(op=op, backend=self.name)
        return op.kernel

    def quietly(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return run

    def shares_memory(self, first: Any, second: Any) -> bool:
        return bool(np.shares_memory(first, second))

    def part_of(self, part: Any, whole: Any, held: Any) -> None:
        """What is returned is a copy."""

    def kept(self, native: Any) -> Any:
        return native

    def span(self, native: Any) -> tuple[int, int]:
        return np.lib.array_utils.byte_bounds(native) if native.size else (0, 0)

    def snapshot(self, obj: Any) -> Any:
        return obj.copy()

    def to_numpy(self, obj: Any) -> Array:
        array: Array = obj
        return array

    def from_numpy(self, array: Array, meta: TensorMeta, *, parameter: bool = False) -> Any:
        return array

    def constant(self, value: Any) -> Any:
        return value


BACKEND = NdarrayBackend()
register_backend(BACKEND)
