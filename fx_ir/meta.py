"""The immutable description of a tensor value: what fake rules take and return."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from solver.sym import SymInt

if TYPE_CHECKING:
    from fx_ir.dtypes import Device, DType

Size = int | SymInt
Sizes = tuple[Size, ...]


def contiguous_strides(shape: Sizes) -> Sizes:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch."""
    strides: list[Size] = []
    running: Size = 1
    for size in reversed(shape):
        strides.append(running)
        if isinstance(size, int):
            running = running * max(size, 1)
        else:
            running = running * size.at_least(1)
    strides.reverse()
    return tuple(strides)


class TensorMeta:
    """Shape, dtype, device and layout of a tensor, without data.

    ``strides`` may be given as None (contiguous, computed when asked), a tuple, or a function without arguments that
    computes them when asked; ``offset`` as a size or such a function. Instances are never changed after they are made.
    """

    __slots__ = ("_offset", "_strides", "device", "dtype", "requires_grad", "shape")

    def __init__(
        self,
        shape: Sizes,
        dtype: DType,
        device: Device,
        strides: Sizes | Callable[[], Sizes | None] | None = None,
        requires_grad: bool = False,
        offset: Size | Callable[[], Size] = 0,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self._strides = strides
        self.requires_grad = requires_grad
        self._offset = offset

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_plain(self) -> bool:
        """True when the layout is known to be contiguous without asking anything."""
        return self._strides is None

    @property
    def has_layout(self) -> bool:
        """False while the strides are still to be computed; nobody has relied on them then."""
        return not callable(self._strides)

    @property
    def settled_offset(self) -> Size:
        """The offset where it has been worked out; 0 while it is still to be computed."""
        return 0 if callable(self._offset) else self._offset

    @property
    def offset(self) -> Size:
        known = self._offset
        if callable(known):
            known = self._offset = known()
        return known

    @property
    def strides(self) -> Sizes:
        known = self._strides
        if callable(known):
            known = known()
            self._strides = known
        return contiguous_strides(self.shape) if known is None else known

    def numel(self) -> Size:
        total: Size = 1
        for size in self.shape:
            total = total * size
        return total

    def like(
        self,
        *,
        shape: Sizes | None = None,
        dtype: DType | None = None,
        strides: Sizes | Callable[[], Sizes | None] | None = None,
        requires_grad: bool | None = None,
        offset: Size | Callable[[], Size] = 0,
    ) -> TensorMeta:
        """A description that differs in what is named; layout and offset do not carry over."""
        return TensorMeta(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.device,
            strides,
            self.requires_grad if requires_grad is None else requires_grad,
            offset,
        )

    def requiring(self, requires_grad: bool) -> TensorMeta:
        """The same description, its layout included, of a tensor that requires gradients or does not."""
        if requires_grad is self.requires_grad:
            return self
        return TensorMeta(self.shape, self.dtype, self.device, self._strides, requires_grad, self._offset)

    def __repr__(self) -> str:
        sizes = ", ".join(repr(size) for size in self.shape)
        return f"{self.dtype.short}[{sizes}]"
