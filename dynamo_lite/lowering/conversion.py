"""Other dtypes, and the doors from a tensor's data to plain Python values."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import access_of, is_tensor, meta_of
from dynamo_lite.lowering.creation import to_array
from dynamo_lite.lowering.errors import BRANCH_ON_DATA, READS_DATA, where
from dynamo_lite.lowering.leaf import Lower
from dynamo_lite.lowering.packets import apply
from fx_ir.dtypes import Device, DType, MemoryFormat, bool_, by_name, complex128, float64, int64

_PYTHON: Final[Mapping[Any, DType]] = {float: float64, int: int64, bool: bool_, complex: complex128}


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """``to(dtype)``, ``to(device, dtype)``, ``to(other)``; a tensor that is so already is returned itself."""
    device: Device | None = None
    dtype: DType | None = None
    rest = dict(kwargs)
    flags: list[Any] = []
    for arg in args:
        if isinstance(arg, DType) or arg in _PYTHON:
            dtype = _PYTHON.get(arg, arg)
        elif isinstance(arg, (Device, str)):
            device = _device(arg)
        elif is_tensor(arg):
            other = meta_of(arg)
            device, dtype = other.device, other.dtype
        elif arg is not None:
            flags.append(arg)
    if "other" in rest:
        other = meta_of(rest.pop("other"))
        device, dtype = other.device, other.dtype
    dtype = dtype if rest.get("dtype") is None else _PYTHON.get(rest["dtype"], rest["dtype"])
    device = device if rest.get("device") is None else _device(rest["device"])
    unknown = rest.keys() - {"dtype", "device", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise TypeError(
            f"to() received an invalid combination of arguments - unexpected keyword {sorted(unknown)[0]!r}"
        )
    copy = bool(rest.get("copy", flags[1] if len(flags) > 1 else False))
    return _converted(self, device, dtype, copy, rest.get("memory_format"))


def _device(value: Any) -> Device:
    return Device.parse(value) if isinstance(value, str) else value


def _converted(
    self: Any, device: Device | None, dtype: DType | None, copy: bool, order: MemoryFormat | None
) -> Any:
    meta = meta_of(self)
    same_dtype = dtype is None or dtype is meta.dtype
    same_device = device is None or device == meta.device
    if same_dtype and same_device and not copy and order is None:
        return self
    if not same_device:
        return apply("to", self, device=device, dtype=meta.dtype if dtype is None else dtype)
    return apply("to", self, meta.dtype if dtype is None else dtype, False, copy, memory_format=order)


def cast(dtype: DType) -> Lower:
    """``float()``, ``long()`` …: to one dtype."""

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        self = args[0]
        wanted = kwargs.get("memory_format")
        if meta_of(self).dtype is dtype and wanted is None:
            return self
        return apply("to", self, dtype, memory_format=wanted)

    return lower


def type_(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy type's name, or a conversion to a dtype or legacy type."""
    from dynamo_lite.lowering.indexing import _LEGACY, _legacy_name

    if dtype is None:
        return f"torch.{_legacy_name(meta_of(self).dtype)}"
    if isinstance(dtype, str):
        stem = dtype.removeprefix("torch.").removesuffix("Tensor")
        dtype = next((by_name(name) for name, legacy in _LEGACY.items() if legacy == stem), None)
        if dtype is None:
            raise ValueError(f"invalid type: '{stem}'")
    return _converted(self, None, getattr(dtype, "legacy_dtype", _PYTHON.get(dtype, dtype)), False, None)


def type_as(self: Any, other: Any) -> Any:
    """Converted to the dtype of ``other``."""
    return _converted(self, None, meta_of(other).dtype, False, None)


def cpu(self: Any, memory_format: Any = None) -> Any:
    """On the CPU: the tensor itself here."""
    return _converted(self, Device("cpu"), None, False, None)


def _one_element(self: Any, sentence: str, kind: type[Exception]) -> None:
    count = meta_of(self).numel()
    if isinstance(count, int) and count != 1:
        raise kind(sentence.format(count=count))


def item(self: Any) -> Any:
    """The one element as a Python number; under a trace an unbacked symbolic one."""
    _one_element(self, "a Tensor with {count} elements cannot be converted to Scalar", RuntimeError)
    recorder = dispatch.recorder()
    if recorder is None:
        return to_array(self, "item()").item()
    known = recorder.known(self)
    return apply("item", self) if known is None else known


def tolist(self: Any) -> Any:
    """Nested lists of Python numbers; under a trace of unbacked symbolic ones (static shapes only)."""
    if dispatch.recorder() is None:
        return to_array(self, "tolist()").tolist()
    meta = meta_of(self)
    if meta.ndim == 0:
        return item(self)
    return [tolist(part) for part in apply("unbind", self, 0)]


def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
    """The data as an ndarray that shares memory; refused under a trace."""
    array = to_array(self, "numpy()")
    if meta_of(self).requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return array


def array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """``__array__``: as :func:`numpy`."""
    found = numpy(self)
    if dtype is not None and found.dtype != dtype:
        return found.astype(dtype)
    return found.copy() if copy else found


def truth(self: Any) -> bool:
    """``bool(tensor)``: the value of a one-element tensor; a data-dependent error under a trace."""
    count = meta_of(self).numel()
    if isinstance(count, int) and count != 1:
        kind = "no values" if count == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
    recorder = dispatch.recorder()
    known = None if recorder is None else recorder.known(self)
    if known is not None:
        return bool(known)
    if recorder is not None or access_of(self).array_of is None:
        taken = recorder.going_on(self) if recorder is not None and isinstance(count, int) else None
        if taken is None:
            raise BRANCH_ON_DATA(what="bool() of a tensor", location=where())
        return taken
    return bool(to_array(self, "bool()").item())


def number(kind: type) -> Lower:
    """``int(tensor)``, ``float(tensor)``, ``complex(tensor)``; C code asks for a plain value, which a trace refuses."""

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        self = args[0]
        _one_element(self, "only one element tensors can be converted to Python scalars", ValueError)
        return kind(item(self))

    return lower


def index(self: Any) -> Any:
    """``__index__``: the element of a one-element integer tensor."""
    meta = meta_of(self)
    count = meta.numel()
    if meta.dtype.category > 1 or (isinstance(count, int) and count != 1):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    value = item(self)
    return int(value) if isinstance(value, bool) else value


def plain_index(self: Any) -> int:
    """:func:`index` for C code, which takes a plain int alone; a trace refuses to give one."""
    return operator.index(index(self))


def length(self: Any) -> Any:
    """``len(tensor)``: the first size."""
    meta = meta_of(self)
    if meta.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return meta.shape[0]


def iterate(self: Any) -> Iterator[Any]:
    """``iter(tensor)``: along the first dimension."""
    if meta_of(self).ndim == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(apply("unbind", self, 0))


def reverse(self: Any) -> Any:
    """``reversed(tensor)``: flipped along the first dimension."""
    return self if meta_of(self).ndim == 0 else apply("flip", self, [0])


def contains(self: Any, element: Any) -> bool:
    """``element in tensor``."""
    if not (is_tensor(element) or isinstance(element, (int, float, complex, np.generic))):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            + str(type(element))
            + "."
        )
    if dispatch.recorder() is not None:
        raise BRANCH_ON_DATA(what="`in` on a tensor", location=where())
    return bool(item(apply("any", apply("eq", self, element))))


def text(self: Any) -> str:
    """``repr``: as PyTorch prints it; under a trace the description, no data."""
    if dispatch.recorder() is not None or access_of(self).array_of is None:
        return f"FakeTensor({meta_of(self)!r})"
    from dynamo_lite.torchlite.printing import tensor_text

    return tensor_text(self)


def formatted(self: Any, spec: str) -> str:
    """``format``: a one-element tensor formats its number."""
    if dispatch.recorder() is not None or access_of(self).array_of is None:
        if spec:
            raise READS_DATA(what=f"format(tensor, {spec!r})", location=where())
        return text(self)
    if meta_of(self).ndim == 0 and not meta_of(self).requires_grad:
        return format(item(self), spec)
    return object.__format__(self, spec)
