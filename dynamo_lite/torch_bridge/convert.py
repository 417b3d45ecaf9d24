"""Between PyTorch's metadata objects and ours: dtypes, devices, layouts, memory formats, sizes, tensors' descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import torch

from dynamo_lite.lowering.errors import where
from dynamo_lite.lowering.size import Size
from dynamo_lite.torch_bridge.errors import GENERATOR, TENSOR_KIND
from fx_ir import dtypes
from fx_ir.dtypes import Device, DType, Layout, MemoryFormat
from fx_ir.meta import TensorMeta

DTYPES: Final[Mapping[torch.dtype, DType]] = {getattr(torch, dtype.name): dtype for dtype in dtypes.ALL}
TORCH_DTYPES: Final[Mapping[DType, torch.dtype]] = {ours: theirs for theirs, ours in DTYPES.items()}
LAYOUTS: Final[Mapping[torch.layout, Layout]] = {torch.strided: Layout.strided}
FORMATS: Final[Mapping[torch.memory_format, MemoryFormat]] = {
    getattr(torch, order.name): order for order in MemoryFormat
}
TORCH_FORMATS: Final = {ours: theirs for theirs, ours in FORMATS.items()}
CPU: Final = torch.device("cpu")
_DEVICES: Final[dict[torch.device, Device]] = {CPU: dtypes.CPU}


class TorchSize(Size):
    """The shape of a tensor under export: ``isinstance(shape, torch.Size)`` holds, and sizes may be symbolic.

    ``torch.Size`` itself takes no symbolic ints of ours without reading them.
    """

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return torch.Size

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return TorchSize(found) if type(index) is slice else found

    def __add__(self, other: Any) -> Any:
        return TorchSize(tuple.__add__(self, other)) if isinstance(other, tuple) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return TorchSize(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __reduce__(self) -> tuple[Any, Any]:
        return torch.Size, (tuple(self),)

    # A comparison of sizes is one condition; without ``__eq__`` named here a class that names ``__hash__`` would lose it.
    __eq__ = Size.__eq__
    __ne__ = Size.__ne__
    __hash__ = Size.__hash__


def dtype_of(dtype: torch.dtype) -> DType:
    """Our name of a dtype. Raises ``tensor-kind`` for one that programs cannot hold."""
    found = DTYPES.get(dtype)
    if found is None:
        raise TENSOR_KIND(what=f"a tensor of element type {dtype}", location=where())
    return found


def device_of(device: torch.device) -> Device:
    """Our name of a device."""
    found = _DEVICES.get(device)
    if found is None:
        found = _DEVICES[device] = Device(device.type, device.index)
    return found


def torch_device(device: Device) -> torch.device:
    """PyTorch's name of a device."""
    return CPU if device == dtypes.CPU else torch.device(str(device))


def layout_of(layout: torch.layout) -> Layout:
    """Our name of a layout. Raises ``tensor-kind`` for all but the strided one."""
    found = LAYOUTS.get(layout)
    if found is None:
        raise TENSOR_KIND(what=f"a tensor of layout {layout}", location=where())
    return found


def _refuse_generator(generator: torch.Generator) -> NoReturn:
    raise GENERATOR(location=where())


# How an argument of PyTorch's own types becomes one that the lowering takes, by the exact type.
TO_OURS: Final[Mapping[type, Callable[[Any], Any]]] = {
    torch.dtype: dtype_of,
    torch.device: device_of,
    torch.layout: layout_of,
    torch.memory_format: lambda order: FORMATS[order],
    torch.Size: TorchSize,
    torch.Generator: _refuse_generator,
}
# … and back, for what the lowering answers and for what kernels take.
TO_TORCH: Final[Mapping[type, Callable[[Any], Any]]] = {
    DType: lambda dtype: TORCH_DTYPES[dtype],
    Device: torch_device,
    Layout: lambda layout: torch.strided,
    MemoryFormat: lambda order: TORCH_FORMATS[order],
    Size: TorchSize,
}


def to_ours(value: Any) -> Any:
    """An argument as the lowering takes it."""
    change = TO_OURS.get(type(value))
    return value if change is None else change(value)


def to_torch(value: Any) -> Any:
    """An answer of the lowering as PyTorch's users know it."""
    change = TO_TORCH.get(type(value))
    return value if change is None else change(value)


# Classes that add nothing to how a tensor computes: what a program's kernels do is what eager does.
PLAIN_CLASSES: Final = frozenset({torch.Tensor, torch.nn.Parameter})


def is_ordinary(tensor: torch.Tensor) -> bool:
    """Whether a program can hold such a tensor: strided, of a known dtype, of a class without behaviour of its own."""
    return (
        type(tensor) in PLAIN_CLASSES
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and tensor.dtype in DTYPES
    )


def _refuse_kind(tensor: torch.Tensor) -> None:
    """Raises ``tensor-kind`` for what programs cannot hold; lazy tensors without a shape pass."""
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return
    what = f"a tensor of class {type(tensor).__name__}"
    if type(tensor) in PLAIN_CLASSES:
        what = "a nested tensor" if tensor.is_nested else f"a tensor of layout {tensor.layout}"
        if tensor.dtype not in DTYPES:
            what = f"a tensor of element type {tensor.dtype}"
    raise TENSOR_KIND(what=what, location=where())


def describe(tensor: torch.Tensor) -> TensorMeta:
    """Shape, dtype, device, layout and ``requires_grad`` of a real tensor; reads no data.

    Raises ``tensor-kind`` for what is not :func:`is_ordinary`.
    """
    if not is_ordinary(tensor):
        _refuse_kind(tensor)
    strides = None if tensor.is_contiguous() else tuple(tensor.stride())
    return TensorMeta(
        tuple(tensor.shape),
        dtype_of(tensor.dtype),
        device_of(tensor.device),
        strides,
        tensor.requires_grad,
        tensor.storage_offset(),
    )
