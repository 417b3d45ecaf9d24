"""Autocast under a trace: the casts that PyTorch's dispatcher makes on the CPU become operators of the program.

Which operators are cast is asked of the dispatcher itself; the tables say to what. The mode is PyTorch's own, per thread: the
model switches it, the session puts it back. Casts that PyTorch caches for a while are recorded each time: their values are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import torch

from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.errors import where
from dynamo_lite.lowering.packets import apply
from dynamo_lite.torch_bridge.borrowed import LENT
from dynamo_lite.torch_bridge.convert import DTYPES
from dynamo_lite.torch_bridge.errors import AUTOCAST_OPERATOR
from fx_ir import dtypes
from fx_ir.dtypes import DType
from fx_ir.ops.registry import Operator

# Operators with a cast that goes to autocast's own dtype; of the others that have one the operands are cast to float32.
_LOWER: Final = frozenset({
    "_addmm_activation", "_convolution", "_native_multi_head_attention", "addbmm", "addmm", "baddbmm", "bmm", "conv1d",
    "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "linalg_vecdot", "linear",
    "matmul", "mkldnn_rnn_layer", "mm", "prelu", "scaled_dot_product_attention",
})  # fmt: skip
# … and to the widest dtype among the operands.
_WIDEST: Final = frozenset({"cat", "index_copy", "stack"})
# Operators without a cast of their own that are made of some with one, so that what they compute is not what a program would.
_COMPOSED: Final = frozenset({
    "_transformer_encoder_layer_fwd", "affine_grid_generator", "bilinear", "chain_matmul", "corrcoef", "cov", "einsum", "gru",
    "gru_cell", "inner", "linalg_matrix_power", "linalg_multi_dot", "linalg_pinv", "pinverse", "lstm", "lstm_cell", "matrix_power", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell", "tensordot",
})  # fmt: skip


@cache
def _has_cast(qualified: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(qualified, "AutocastCPU"))


def prepare(
    op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments with which an operator runs now: cast as autocast casts them, if it is on.

    Raises ``autocast-operator`` for an operator whose casts are hidden inside it.
    """
    if not torch.is_autocast_enabled("cpu"):
        return args, kwargs
    held = list(_castable((args, tuple(kwargs.values()))))
    if not held:
        return args, kwargs
    wanted = _wanted(op, args, held)
    if wanted is None:
        return args, kwargs
    return tuple([_cast(value, wanted) for value in args]), {
        name: _cast(value, wanted) for name, value in kwargs.items()
    }


def _wanted(op: Operator, args: tuple[Any, ...], held: list[DType]) -> DType | None:
    fast = DTYPES[torch.get_autocast_dtype("cpu")]
    if op.namespace != "aten" or op.name in _COMPOSED or op.qualified in LENT:
        raise AUTOCAST_OPERATOR(op=op, location=where())
    if op.name in ("nll_loss_nd", "pad"):  # they choose among operators that have casts
        padded = op.name == "pad" and (args[2] in ("constant", "circular") or _reflects_volumes(args))
        return None if padded else dtypes.float32
    if not _has_cast(op.qualified):
        return None
    if op.name in _LOWER:
        return fast
    if op.name not in _WIDEST:
        return dtypes.float32
    if any(dtype not in (fast, dtypes.float32) for dtype in held):
        raise AUTOCAST_OPERATOR(op=op, location=where())
    return dtypes.float32 if dtypes.float32 in held else fast


def _reflects_volumes(args: tuple[Any, ...]) -> bool:
    return args[2] == "reflect" and len(args[1]) == 6


def _is_castable(value: Any) -> bool:
    if not is_tensor(value):
        return False
    meta = meta_of(value)
    return meta.dtype.is_floating_point and meta.dtype is not dtypes.float64 and meta.device == dtypes.CPU


def _castable(values: Iterable[Any]) -> Iterable[DType]:
    for value in values:
        if type(value) in (list, tuple):
            yield from _castable(value)
        elif is_tensor(value) and meta_of(value).dtype.is_floating_point:
            yield meta_of(value).dtype


def _cast(value: Any, wanted: DType) -> Any:
    if type(value) in (list, tuple):
        return type(value)([_cast(item, wanted) for item in value])
    if _is_castable(value) and meta_of(value).dtype is not wanted:
        return apply("to", value, wanted)
    return value
