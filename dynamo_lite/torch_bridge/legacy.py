"""Constructors from before dtypes: ``torch.Tensor(…)``, ``torch.FloatTensor(…)``, ``tensor.new(…)``, ``tensor.type(…)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch

from dynamo_lite.lowering import conversion
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.packets import apply
from dynamo_lite.lowering.size import Size
from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torch_bridge.convert import dtype_of
from fx_ir import dtypes
from fx_ir.dtypes import DType
from solver.sym import SymInt

LegacyType: Final = type(torch.FloatTensor)
TYPES: Final[Mapping[str, Any]] = {
    cls.__name__: cls
    for cls in torch._tensor_classes
    if cls.__module__ == "torch" and not cls.__name__.startswith("Quantized")
}
"""The legacy types of the CPU by name."""


def construct(dtype: DType, args: tuple[Any, ...], device: Any = None) -> Any:
    """What a legacy constructor makes of sizes, of a sequence of numbers, of a tensor, or of nothing."""
    if not args:
        return apply("empty", [0], dtype=dtype, device=device)
    first = args[0]
    if isinstance(first, (int, SymInt)) and not isinstance(first, bool):
        return apply("empty", list(args), dtype=dtype, device=device)
    if isinstance(first, (torch.Size, Size)):
        return apply("empty", list(first), dtype=dtype, device=device)
    if is_tensor(first):
        if meta_of(first).dtype is not dtype:
            raise TypeError(f"expected {dtype} (got {meta_of(first).dtype})")
        return apply("detach", first)
    return FUNCTIONS["tensor"](first, dtype=dtype, device=device)


def new(self: Any, *args: Any, device: Any = None) -> Any:
    """``tensor.new(…)``: the legacy constructor of the tensor's own dtype."""
    return construct(meta_of(self).dtype, args, device)


def convert(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """``tensor.type(…)``: the legacy type's name, or a conversion to a dtype or legacy type."""
    wanted = dtype_of(dtype.dtype) if type(dtype) is LegacyType or hasattr(dtype, "stands_for") else dtype
    return conversion.type_(self, wanted, non_blocking)


def of_default(*args: Any, device: Any = None) -> Any:
    """``torch.Tensor(…)``."""
    return construct(dtypes.get_default_dtype(), args, device)


def of_type(cls: Any) -> Any:
    """The answer of one legacy type."""
    dtype = dtype_of(cls.dtype)

    def make(*args: Any, device: Any = None) -> Any:
        return construct(dtype, args, device)

    return make


def is_instance(value: Any, classes: Any) -> bool:
    """``isinstance`` of a tensor under export where legacy types are among the classes."""
    if type(classes) is tuple:
        return any(is_instance(value, cls) for cls in classes)
    if type(classes) is LegacyType:
        meta = meta_of(value)
        return meta.dtype is dtype_of(classes.dtype) and str(meta.device) == "cpu"
    return isinstance(value, classes)


def asks_legacy(classes: Any) -> bool:
    """Whether ``isinstance`` is asked of a legacy type."""
    return type(classes) is LegacyType or (type(classes) is tuple and any(map(asks_legacy, classes)))
