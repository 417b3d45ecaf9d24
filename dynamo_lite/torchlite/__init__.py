"""A tensor library on NumPy with PyTorch's names and behaviour: ``import dynamo_lite.torchlite as torch``.

There is no autograd: ``requires_grad`` is metadata, and ``backward`` says so. What is missing names itself in an
``AttributeError``.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite import eager
from dynamo_lite.torchlite._tensor import Tensor
from dynamo_lite.torchlite.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from dynamo_lite.torchlite.legacy import (
    BoolTensor,
    ByteTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
)
from dynamo_lite.torchlite.ops import ops
from dynamo_lite.torchlite.parameter import Parameter
from dynamo_lite.torchlite.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from dynamo_lite.torchlite.toplevel import (
    _assert,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_type,
    _check_value,
    can_cast,
    cond,
    is_storage,
    is_tensor,
    promote_types,
    result_type,
    set_printoptions,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
    sym_sum,
    typename,
)
from dynamo_lite.torchlite.types import Layout, MemoryFormat, Size, device, dtype, finfo, iinfo
from fx_ir.dtypes import (
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    set_default_dtype,
    uint8,
)
from fx_ir.dtypes import bool_ as bool
from solver.sym import SymBool, SymFloat, SymInt

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128
strided = Layout.strided
layout, memory_format = Layout, MemoryFormat
contiguous_format, preserve_format = MemoryFormat.contiguous_format, MemoryFormat.preserve_format
channels_last, channels_last_3d = MemoryFormat.channels_last, MemoryFormat.channels_last_3d
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None
__version__ = "2.13.0+torchlite"

globals().update(FUNCTIONS)

# What is imported when it is first asked for.
_SUBMODULES = frozenset(
    {
        "_higher_order_ops", "amp", "autograd", "compiler", "cuda", "export", "fft", "jit",
        "library", "linalg", "nn", "overrides", "random", "special", "testing", "tracing", "types", "utils",
    }
)  # fmt: skip
_ELSEWHERE = {
    "autocast": "amp", "map": "_higher_order_ops", "while_loop": "_higher_order_ops", "scan": "_higher_order_ops",
    "associative_scan": "_higher_order_ops",
}  # fmt: skip

__all__ = [
    "BoolTensor", "ByteTensor", "DoubleTensor", "FloatTensor", "Generator", "HalfTensor", "IntTensor", "LongTensor",
    "Parameter", "Size", "SymBool", "SymFloat", "SymInt", "Tensor", "_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented",
    "_check_tensor_all", "_check_type", "_check_value", "bfloat16", "bool", "can_cast", "complex64", "complex128",
    "cond", "default_generator", "device", "dtype", "eager", "enable_grad", "finfo", "float16", "float32", "float64",
    "get_default_dtype", "get_rng_state", "iinfo", "inference_mode", "initial_seed", "int8", "int16", "int32", "int64",
    "is_grad_enabled", "is_inference_mode_enabled", "is_storage", "is_tensor", "manual_seed", "no_grad", "ops",
    "promote_types", "result_type", "seed", "set_default_dtype", "set_grad_enabled", "set_printoptions",
    "set_rng_state", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
    "typename", "uint8",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    elif name in _ELSEWHERE:
        return getattr(importlib.import_module(f"{__name__}.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"torchlite has no torch.{name}")


from dynamo_lite.torchlite import tracing as tracing  # noqa: E402  registers this library with the front ends
