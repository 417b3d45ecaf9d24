"""``Tensor``: an ndarray under PyTorch's names. Methods come from the lowering's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamo_lite.lowering.access import TensorAccess, register_access, set_maker
from dynamo_lite.lowering.size import Size
from dynamo_lite.lowering.table import install_methods
from fx_ir.dtypes import CPU, Device, DType, float32, from_numpy
from fx_ir.meta import TensorMeta, contiguous_strides
from fx_ir.ops.registry import register_tensor_type

Array = np.ndarray[Any, Any]


class Tensor:
    """A tensor on the CPU. ``_array`` is its memory; views share it as PyTorch's views do.

    ``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds these as float32, as in PyTorch.
    """

    _array: Array
    _requires_grad: bool = False
    _leaf: bool = True
    _of_leaf: bool = False  # a view, made in gradient mode, of a leaf that requires grad
    _grad: Tensor | None = None

    legacy_dtype: DType = float32
    __array_priority__ = 1000

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = object.__new__(cls)
        made._array = _legacy_array(args, cls.legacy_dtype)
        return made

    shape = property(lambda self: Size(self._array.shape))
    ndim = property(lambda self: self._array.ndim)

    @property
    def dtype(self) -> DType:
        return from_numpy(self._array.dtype)

    @property
    def device(self) -> Device:
        return CPU

    __hash__ = object.__hash__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (type(self), self._array, self._requires_grad, dict(self._extra()))

    def _extra(self) -> Mapping[str, Any]:
        """Attributes that a user put on the tensor."""
        hidden = ("_array", "_requires_grad", "_leaf", "_of_leaf", "_grad")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    if TYPE_CHECKING:
        data: Any
        grad: Any
        requires_grad: bool

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __rpow__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...
        def __neg__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __len__(self) -> int: ...
        def __iter__(self) -> Any: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
        def __contains__(self, element: Any) -> bool: ...
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array: ...


def _legacy_array(args: tuple[Any, ...], dtype: DType) -> Array:
    """The memory that the legacy constructor makes."""
    if not args:
        return np.empty((0,), dtype.numpy)
    first = args[0]
    if isinstance(first, (Size, int, np.integer)) and not isinstance(first, bool):
        sizes = tuple(first) if isinstance(first, Size) else args
        return np.zeros(sizes, dtype.numpy)
    if isinstance(first, Tensor):
        if first._array.dtype != dtype.numpy:
            raise TypeError(f"expected {dtype} (got {first.dtype})")
        return first._array
    return np.array(first, dtype=dtype.numpy)


def wrap(array: Array) -> Tensor:
    """A tensor over the memory of ``array``; exact NumPy scalars become 0-d."""
    made: Tensor = object.__new__(Tensor)
    made._array = array if type(array) is np.ndarray else np.asarray(array)
    return made


def make(array: Array, requires_grad: bool) -> Tensor:
    """A leaf over the memory of ``array``."""
    made = wrap(array)
    if requires_grad:
        _set_requires_grad(made, True)
    return made


def _rebuild(cls: type[Tensor], array: Array, requires_grad: bool, extra: Mapping[str, Any]) -> Tensor:
    """What unpickling calls."""
    made: Tensor = object.__new__(cls)
    made._array = array
    if requires_grad:
        made._requires_grad = True
    made.__dict__.update(extra)
    return made


def _offset(array: Array) -> int:
    """Elements before the first one, in the memory that ``array`` views."""
    base = array.base
    if not isinstance(base, np.ndarray):
        return 0
    while isinstance(base.base, np.ndarray):
        base = base.base
    distance = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return int(distance) // array.itemsize if array.size else 0


def _strides(array: Array) -> tuple[int, ...] | None:
    """Strides in elements; None if the layout is contiguous.

    NumPy gives a new axis the stride 0, where PyTorch's ``unsqueeze`` gives it that of the next dimension times its size.
    """
    itemsize, shape = array.itemsize, array.shape
    strides = [stride // itemsize for stride in array.strides]
    if 0 in strides:
        for dim in range(len(shape) - 1, -1, -1):
            if shape[dim] == 1 and strides[dim] == 0:
                strides[dim] = strides[dim + 1] * shape[dim + 1] if dim + 1 < len(shape) else 1
    found = tuple(strides)
    return None if found == contiguous_strides(shape) else found


def describe(tensor: Tensor) -> TensorMeta:
    """Shape, dtype, layout and ``requires_grad``; reads no data."""
    array = tensor._array
    shape = array.shape
    plain = array.flags.c_contiguous and 1 not in shape and 0 not in shape
    strides: Any = None if plain else _strides(array)
    offset = 0 if array.base is None else _offset(array)
    return TensorMeta(shape, from_numpy(array.dtype), CPU, strides, tensor._requires_grad, offset)


def _set_requires_grad(tensor: Tensor, value: bool) -> None:
    if not isinstance(value, (bool, int)):
        raise RuntimeError("requires_grad must be a bool")
    if value and tensor._array.dtype.kind not in "fcV" and tensor.dtype.category < 2:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if not value and not tensor._leaf:
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
            "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
        )
    tensor._requires_grad = bool(value)


def _set_data(tensor: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    tensor._array = value._array


def _set_grad(tensor: Tensor, value: Any) -> None:
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(
            f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
        )
    if value is not None and value._array.shape != tensor._array.shape:
        raise RuntimeError(
            "assigned grad has data of a different size: "
            f"expected {list(tensor._array.shape)}, got {list(value._array.shape)}"
        )
    tensor._grad = value


install_methods(Tensor)
register_tensor_type(Tensor)
register_access(
    Tensor,
    TensorAccess(
        describe,
        array_of=lambda tensor: tensor._array,
        grad_of=lambda tensor: tensor._grad,
        is_leaf=lambda tensor: tensor._leaf,
        setters={"data": _set_data, "grad": _set_grad, "requires_grad": _set_requires_grad},
    ),
)
set_maker(make)
