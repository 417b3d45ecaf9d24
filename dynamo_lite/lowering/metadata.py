"""What a tensor is, without its data: sizes, strides, dtype, device. Nothing here adds a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dynamo_lite import dispatch
from dynamo_lite.lowering import modes
from dynamo_lite.lowering.access import access_of, meta_of
from dynamo_lite.lowering.errors import NO_AUTOGRAD, NO_MEMORY, where
from dynamo_lite.lowering.packets import apply
from dynamo_lite.lowering.size import Size
from fx_ir.dtypes import Layout, MemoryFormat
from fx_ir.meta import Size as OneSize
from fx_ir.meta import Sizes, TensorMeta

_TRACE: Final = "a tensor under export"


def _looked(self: Any, what: dispatch.Asked) -> TensorMeta:
    """The description, for a question about more than sizes and dtype, which a recorder hears of."""
    target = dispatch.recorder()
    if target is not None:
        target.looked(what)
    return meta_of(self)


def _layout_of(self: Any) -> TensorMeta:
    return _looked(self, "layout")


def _wrap_dim(dim: int, rank: int) -> int:
    bound = max(rank, 1)
    if not -bound <= dim < bound:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
        )
    if rank == 0:
        raise IndexError(f"dimension specified as {dim} but tensor has no dimensions")
    return dim % rank


def shape(self: Any) -> Size:
    """The sizes; symbolic ones stay symbolic."""
    return Size(meta_of(self).shape)


def size(self: Any, dim: int | None = None) -> Any:
    """The sizes, or the size of one dimension."""
    sizes = meta_of(self).shape
    return Size(sizes) if dim is None else sizes[_wrap_dim(dim, len(sizes))]


def dim(self: Any) -> int:
    """The number of dimensions."""
    return meta_of(self).ndim


def numel(self: Any) -> Any:
    """The number of elements."""
    return meta_of(self).numel()


def stride(self: Any, dim: int | None = None) -> Any:
    """Strides in elements, or that of one dimension."""
    strides = _layout_of(self).strides
    return tuple(strides) if dim is None else strides[_wrap_dim(dim, len(strides))]


def storage_offset(self: Any) -> Any:
    """Where the tensor begins in its storage, in elements."""
    return _looked(self, "offset").offset


def _row_major(meta: TensorMeta, order: list[int]) -> bool:
    expected: OneSize = 1
    sizes, strides = meta.shape, meta.strides
    for position in order:
        if sizes[position] == 0:
            return True
    for position in order:
        if sizes[position] != 1:
            if strides[position] != expected:
                return False
            expected = expected * sizes[position]
    return True


def is_contiguous(self: Any, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> bool:
    """Whether the elements lie in memory in that order; a dynamic size may be asked (and guarded)."""
    meta = _layout_of(self)
    if memory_format is MemoryFormat.contiguous_format:
        return meta.is_plain or _row_major(meta, list(range(meta.ndim))[::-1])
    spatial = {MemoryFormat.channels_last: 2, MemoryFormat.channels_last_3d: 3}[memory_format]
    if meta.ndim != spatial + 2:
        return False
    return _row_major(meta, [1, *range(meta.ndim - 1, 1, -1), 0])


def element_size(self: Any) -> int:
    """Bytes of one element."""
    return meta_of(self).dtype.itemsize


def nbytes(self: Any) -> Any:
    """Bytes of all elements."""
    meta = meta_of(self)
    return meta.numel() * meta.dtype.itemsize


def is_floating_point(self: Any) -> bool:
    """Whether the dtype is a floating-point one."""
    return meta_of(self).dtype.is_floating_point


def is_complex(self: Any) -> bool:
    """Whether the dtype is a complex one."""
    return meta_of(self).dtype.is_complex


def is_signed(self: Any) -> bool:
    """Whether the dtype is a signed one."""
    return meta_of(self).dtype.is_signed


def is_same_size(self: Any, other: Any) -> Any:
    """Whether the shapes are equal."""
    return shape(self) == shape(other)


def get_device(self: Any) -> int:
    """The device's index, -1 for the CPU."""
    device = meta_of(self).device
    return -1 if device.index is None else device.index


def data_ptr(self: Any) -> int:
    """The address of the first element; refused under a trace."""
    array_of = access_of(self).array_of
    if dispatch.recorder() is not None or array_of is None:
        raise NO_MEMORY(what="data_ptr()", location=where())
    return int(array_of(self).ctypes.data)


def requires_grad(self: Any) -> bool:
    """The flag; metadata, as there is no autograd here."""
    return _gradient_of(self)


def _gradient_of(self: Any) -> bool:
    """Whether the tensor requires gradients; of a computed one the gradient mode decides too."""
    wants = _looked(self, "grad").requires_grad
    if (wants or not modes.grad_enabled()) and getattr(self, "kind", None) == "value":
        _looked(self, "mode")
    return wants


def set_attribute(self: Any, name: str, value: Any) -> None:
    """Assigns ``data``, ``grad`` or ``requires_grad`` of a real tensor; a tensor under export has fixed metadata."""
    setters = access_of(self).setters
    if dispatch.recorder() is not None or setters is None:
        raise NO_MEMORY(what=f"assigning .{name}", location=where())
    setters[name](self, value)


def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
    """Sets the flag and returns the tensor."""
    if _looked(self, "grad").requires_grad != requires_grad:
        set_attribute(self, "requires_grad", requires_grad)
    return self


def without_autograd() -> str:
    """What it is here that has no automatic differentiation, for errors."""
    return "torchlite" if dispatch.recorder() is None else _TRACE


def backward(self: Any, *args: Any, **kwargs: Any) -> None:
    """Refused: there is no autograd here."""
    raise NO_AUTOGRAD(what="backward()", where=without_autograd(), location=where())


def grad_fn(self: Any) -> None:
    """None for what requires no gradient; a tensor under export that does has no answer."""
    if dispatch.recorder() is not None and _gradient_of(self):
        raise NO_AUTOGRAD(what="grad_fn", where=_TRACE, location=where())


def grad(self: Any) -> Any:
    """The gradient that ``backward()`` has left; a tensor under export that may have one has no answer."""
    if dispatch.recorder() is not None and getattr(self, "kind", None) != "value":
        raise NO_AUTOGRAD(what="grad", where=_TRACE, location=where())
    return access_of(self).grad_of(self)


def is_leaf(self: Any) -> bool:
    """Whether autograd computed the tensor; of an input that requires gradients it cannot be known."""
    wants = _gradient_of(self)
    if wants and dispatch.recorder() is not None and getattr(self, "kind", None) == "input":
        raise NO_AUTOGRAD(what="is_leaf of an input that requires grad", where=_TRACE, location=where())
    return access_of(self).is_leaf(self)


def history(name: str) -> Callable[[Any], int]:
    """Reads a number that only autograd keeps (``_version``, ``output_nr``): 0, and no answer under a trace."""

    def read(self: Any) -> int:
        if dispatch.recorder() is not None:
            raise NO_AUTOGRAD(what=name, where=_TRACE, location=where())
        return 0

    return read


def layout(self: Any) -> Layout:
    """Always strided."""
    return Layout.strided


def itself(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor itself, for what has no meaning without autograd or devices."""
    return self


def transposed(self: Any) -> Any:
    """``T``: the dimensions in reverse order."""
    rank = meta_of(self).ndim
    return apply("permute", self, list(range(rank))[::-1])


def matrix_transposed(self: Any) -> Any:
    """``mT``: the last two dimensions swapped."""
    rank = meta_of(self).ndim
    if not rank:
        return self
    if rank < 2:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices.")
    return apply("transpose", self, -2, -1)


def adjoint(self: Any) -> Any:
    """``mH``/``H``: the conjugate transpose."""
    from dynamo_lite.lowering.composites import conj

    return conj(matrix_transposed(self))


def hermitian(self: Any) -> Any:
    """``H``: the conjugate transpose of a matrix."""
    rank = meta_of(self).ndim
    if rank not in (0, 2):
        raise RuntimeError("tensor.H is only supported on matrices (2-D tensors).")
    return adjoint(self) if rank else self


def real(self: Any) -> Any:
    """The real part; a real tensor itself."""
    return apply("real", self) if is_complex(self) else self


def detached(self: Any) -> Any:
    """``data``: an alias without ``requires_grad``."""
    return apply("detach", self)


def sizes_of(values: Sizes) -> Size:
    """A tuple of sizes as users see it."""
    return Size(values)
