"""Runs programs on PyTorch's kernels: each operator is the ATen overload of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np
import torch

from dynamo_lite.fake import is_fake
from dynamo_lite.torch_bridge.convert import TORCH_DTYPES, describe, is_ordinary, to_torch
from dynamo_lite.torch_bridge.errors import AUTOCAST_AROUND, BACKWARD_UNKNOWN
from fx_ir.dtypes import bfloat16
from fx_ir.errors import KERNEL_MISSING
from fx_ir.meta import TensorMeta
from fx_ir.ops.autograd import OPAQUE
from fx_ir.ops.registry import Operator

_autocast_on: Final[Callable[[], bool]] = torch._C._is_any_autocast_enabled


class _Opaque(torch.autograd.Function):
    """The identity whose gradient nobody knows."""

    @staticmethod
    def forward(ctx: Any, value: Any, why: str, *sources: Any) -> Any:
        ctx.why = why
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> NoReturn:
        raise BACKWARD_UNKNOWN(why=ctx.why)


def _opaque(value: Any, sources: Any, why: str) -> Any:
    if torch.is_grad_enabled() and any(source.requires_grad for source in sources):
        return _Opaque.apply(value, why, *sources)
    return torch.ops.aten.alias(value)


class _Joined(torch.autograd.Function):
    """What control flow returned. An operand that the way taken did not use has a gradient of zeros, as in PyTorch."""

    @staticmethod
    def forward(ctx: Any, count: int, *values: Any) -> Any:
        ctx.set_materialize_grads(False)
        ctx.operands = [(value.shape, value.dtype, value.device) for value in values[count:]]
        return tuple([value.detach() for value in values[:count]])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        zeros = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in ctx.operands]
        return None, *gradients, *zeros


def _joined(results: Any, operands: list[Any]) -> Any:
    if not torch.is_grad_enabled():
        return results
    given = [value for value in operands if isinstance(value, torch.Tensor) and value.requires_grad]
    if not given:
        return results
    tensors = [value for value in results if isinstance(value, torch.Tensor)]
    made = iter(_Joined.apply(len(tensors), *tensors, *given))
    return tuple([next(made) if isinstance(value, torch.Tensor) else value for value in results])


def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """PyTorch differentiates an update by ``copy_``, and not its functional form."""
    if torch.is_grad_enabled() and (self.requires_grad or src.requires_grad):
        return (self.clone() if self.requires_grad else torch.empty_like(self)).copy_(src, non_blocking)
    return torch.ops.aten.copy(self, src, non_blocking)


KERNELS: Final[dict[str, Callable[..., Any]]] = {OPAQUE: _opaque, "aten::copy": _copy}
"""Kernels of operators that PyTorch does not have, or without a derivative: our own, and the functional forms of users' operators
that write."""


def _span(tensor: Any) -> tuple[int, int]:
    """The first byte of a tensor, and the one after its last."""
    if not tensor.numel() or tensor.is_meta:
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    begin: int = tensor.data_ptr()
    return begin, begin + (last + 1) * tensor.element_size()


def _is_lazy(tensor: Any) -> bool:
    """Whether the elements are not those in memory, but their conjugates or negatives."""
    return bool(tensor.is_conj() or tensor.is_neg())


def _reinterpreted(held: Any, dtype: torch.dtype, start: int, size: int) -> Any:
    """The ``size`` bytes of a tensor without gaps from its byte ``start`` on, as a vector of another element type."""
    item = held.element_size()
    if not start % item and not size % item:
        held = held.as_strided((size // item,), (1,), held.storage_offset() + start // item)
        start = 0
    else:
        held = held.as_strided((held.numel(),), (1,))
    if dtype.is_complex and not held.is_complex():
        made = torch.view_as_complex(held.unflatten(0, (-1, 2)))
    elif held.is_complex() and not dtype.is_complex:
        made = torch.view_as_real(held).flatten()
    else:
        made = held.view(dtype)
    first = start // made.element_size()
    return made[first : first + size // made.element_size()]


class Backend:
    """Tensors are their own native values."""

    name = "torch"
    joined = staticmethod(_joined)

    def check_around(self) -> None:
        if _autocast_on():
            raise AUTOCAST_AROUND()

    def grad_enabled(self) -> bool:
        return torch.is_grad_enabled()

    def is_tensor(self, obj: object) -> bool:
        return isinstance(obj, torch.Tensor) and not is_fake(obj) and is_ordinary(obj)

    def describe(self, obj: Any) -> TensorMeta:
        return describe(obj)

    def unwrap(self, obj: Any) -> Any:
        return obj

    def wrap(self, native: Any, meta: TensorMeta | None = None) -> Any:
        return native

    def assign(self, obj: Any, native: Any) -> None:
        # A leaf that requires gradients was written where autograd does not look (checked when the program was made).
        follows = native.requires_grad and not (obj.requires_grad and obj.is_leaf)
        with torch.set_grad_enabled(torch.is_grad_enabled() and follows):
            obj.copy_(native)

    def kernel(self, op: Operator) -> Callable[..., Any]:
        known = KERNELS.get(op.qualified)
        if known is not None:
            return known
        packet = getattr(getattr(torch.ops, op.namespace), op.name, None)
        overload = getattr(packet, op.overload, None)
        if overload is None:
            raise KERNEL_MISSING(op=op, backend=self.name)
        # The bound C function under an OpOverload: the Python object around it only adds its own call.
        kernel: Callable[..., Any] = overload._op
        return kernel

    def quietly(self, run: Callable[..., Any]) -> Callable[..., Any]:
        return run

    def shares_memory(self, first: Any, second: Any) -> bool:
        """By the bytes that the tensors span: tensors that interleave without touching count as sharing."""
        if first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr():
            return False
        (begin, end), (other_begin, other_end) = _span(first), _span(second)
        return begin < other_end and other_begin < end

    def part_of(self, part: Any, whole: Any, held: Any) -> Any:
        shares = part.untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()
        if whole is held or not shares or not part.numel() or _is_lazy(part) or _is_lazy(whole):
            return None
        (begin, end), (first, last) = _span(whole), _span(part)
        if end - begin != whole.numel() * whole.element_size() or first < begin or last > end:
            return None
        same_type = part.dtype is whole.dtype
        if same_type and (part.shape, part.stride(), first) == (whole.shape, whole.stride(), begin):
            return held.as_strided(held.shape, held.stride(), held.storage_offset())
        if any(
            a != b for size, a, b in zip(whole.shape, whole.stride(), held.stride(), strict=True) if size > 1
        ):
            return None
        if not same_type:
            return _reinterpreted(held, part.dtype, first - begin, last - first).as_strided(
                part.shape, part.stride()
            )
        offset = held.storage_offset() + part.storage_offset() - whole.storage_offset()
        return held.as_strided(part.shape, part.stride(), offset)

    def kept(self, native: Any) -> Any:
        return native.clone() if torch.is_grad_enabled() else native

    def span(self, native: Any) -> tuple[int, int]:
        return _span(native)

    def snapshot(self, obj: Any) -> Any:
        copy = obj.detach().clone()
        return copy.requires_grad_() if obj.requires_grad and obj.is_leaf else copy

    def to_numpy(self, obj: Any) -> np.ndarray[Any, Any]:
        plain = obj.detach().cpu()
        array: np.ndarray[Any, Any]
        if plain.dtype is torch.bfloat16:
            array = plain.contiguous().view(torch.int16).numpy().view(bfloat16.numpy)
        else:
            array = plain.numpy()
        return array

    def from_numpy(self, array: np.ndarray[Any, Any], meta: TensorMeta, *, parameter: bool = False) -> Any:
        made = from_array(array)
        if made.dtype is not TORCH_DTYPES[meta.dtype]:
            made = made.to(TORCH_DTYPES[meta.dtype])
        if parameter:
            return torch.nn.Parameter(made, requires_grad=meta.requires_grad)
        return made.requires_grad_() if meta.requires_grad else made

    def constant(self, value: Any) -> Any:
        return to_torch(value)


def from_array(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """A tensor over an array's memory (a copy where PyTorch would refuse to write to it)."""
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = np.array(array)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
