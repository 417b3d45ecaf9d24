"""What fake rules share: dimensions, broadcasting, promotion, layout.

Sizes may be symbolic. A comparison of symbolic sizes in an ``if`` asks the shape environment and may leave a guard,
so nothing is asked here that PyTorch itself does not need to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key, partial
from typing import Any

from fx_ir.dtypes import Device, DType, result_type
from fx_ir.meta import Size, Sizes, TensorMeta
from solver.sym import SymBool, statically_known, sym_and, sym_not

Strides = Sizes | Callable[[], Sizes | None] | None


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError as PyTorch's. A zero-dim tensor counts as having one."""
    rank = max(ndim, 1)
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
        )
    return dim + rank if dim < 0 else dim


def wrap_dims(dims: Sequence[int] | None, ndim: int) -> list[int]:
    """Dimensions counted from the front, without repetition; None and the empty list mean all."""
    if not dims:
        return list(range(ndim))
    wrapped = [wrap_dim(dim, ndim) for dim in dims]
    if len(set(wrapped)) != len(wrapped):
        repeated = next(dim for dim in wrapped if wrapped.count(dim) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return wrapped


def _likely_one(size: Size) -> bool:
    """Whether the size is 1 in the example."""
    return not isinstance(size, int) and bool(size.hint == 1)


def broadcast_size(a: Size, b: Size, dim: int) -> Size:
    """The common size of two broadcast dimensions. Equal sizes and a static 1 settle it without a question."""
    if a is b or (type(b) is int and b == 1):
        return a
    if type(a) is int and a == 1:
        return b
    if _likely_one(a) is not _likely_one(b):  # then that they differ is no question of its own
        if _likely_one(a) and a == 1:
            return b
        if _likely_one(b) and b == 1:
            return a
    fixed, other = (a, b) if type(a) is int else (b, a)
    if decided(other == fixed) is None:  # one of two sizes that data tell is not taken to be stretched
        differs = other != fixed if type(fixed) is not int else sym_and(other != fixed, other != 1)
        if not fails(differs, "sizes that are broadcast are equal"):
            return fixed
    elif a == b:
        return a if type(a) is int else b
    if type(a) is not int and a == 1:
        return b
    if type(b) is not int and b == 1:
        return a
    raise RuntimeError(
        f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
    )


def broadcast_shapes(*shapes: Sizes) -> Sizes:
    """The common shape; RuntimeError if there is none."""
    result: Sizes = shapes[0]
    for shape in shapes[1:]:
        if shape is not result and shape != () and not _same(shape, result):
            result = _broadcast_two(result, shape)
    return result


def _broadcast_two(a: Sizes, b: Sizes) -> Sizes:
    lead_a, lead_b = max(len(b) - len(a), 0), max(len(a) - len(b), 0)
    merged: list[Size] = [*a[:lead_b], *b[:lead_a]]
    for dim in range(max(lead_a, lead_b), max(len(a), len(b))):
        merged.append(broadcast_size(a[dim - lead_a], b[dim - lead_b], dim))
    return tuple(merged)


def _same(a: Sizes, b: Sizes) -> bool:
    return len(a) == len(b) and all(
        x is y or (type(x) is int and type(y) is int and x == y) for x, y in zip(a, b, strict=True)
    )


def common_device(metas: Iterable[TensorMeta]) -> Device:
    """The device of all operands; a zero-dim CPU tensor goes with any. RuntimeError if they differ."""
    device: Device | None = None
    for meta in metas:
        if device is None or (meta.device != device and device.type == "cpu" and meta.ndim):
            device = meta.device
        elif meta.device != device and meta.ndim:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {device} and {meta.device}!"
            )
    assert device is not None
    return device


def promoted(*operands: Any) -> DType:
    """The result type of tensors and numbers; equal tensor types take a short way."""
    first = operands[0]
    if type(first) is TensorMeta and all(
        type(other) is TensorMeta and other.dtype is first.dtype for other in operands
    ):
        return first.dtype
    return result_type(*operands)


def elementwise(dtype: DType, *metas: TensorMeta) -> TensorMeta:
    """The result of an elementwise operator over these tensors: broadcast shape, PyTorch's choice of layout."""
    first = metas[0]
    if len(metas) == 1:
        strides = None if first.is_plain else _later(first.shape, metas)
        return TensorMeta(first.shape, dtype, first.device, strides)
    shape = broadcast_shapes(*[meta.shape for meta in metas])
    device = first.device
    plain = True
    for meta in metas:
        plain = plain and meta.is_plain
        if meta.device is not device:
            device = common_device(metas)
    return TensorMeta(shape, dtype, device, None if plain else _later(shape, metas))


def _later(shape: Sizes, metas: tuple[TensorMeta, ...]) -> Callable[[], Sizes | None]:
    return lambda: elementwise_strides(shape, metas)


# --- layout ----------------------------------------------------------------------------------------------------------


def strides_along(shape: Sizes, order: Sequence[int]) -> Sizes:
    """Dense strides whose fastest dimension is ``order[0]``."""
    strides: list[Size] = [0] * len(shape)
    running: Size = 1
    for dim in order:
        strides[dim] = running
        running = running * shape[dim]
    return tuple(strides)


def same(a: Size, b: Size) -> bool:
    """True if the sizes are known to be equal; nothing is asked."""
    if a is b:
        return True
    if type(a) is int and type(b) is int:
        return a == b
    return statically_known(a == b) is True


def decided(condition: bool | SymBool) -> bool | None:
    """The answer to a question, or None where data alone decides: then it is not asked."""
    if isinstance(condition, bool):
        return condition
    if statically_known(condition) is None and condition.hint is None:
        return condition.env.reasoned(condition.expr)
    return bool(condition)


def fails(condition: bool | SymBool, unless: str) -> bool:
    """Asks for the condition of an error. Where data alone decides, the program asserts the contrary, ``unless``."""
    answer = decided(condition)
    if answer is None and condition.env.asserting is not None:  # type: ignore[union-attr]
        condition.env.asserting(sym_not(condition), unless)  # type: ignore[union-attr]
    return bool(answer)


def differ(a: Size, b: Size) -> bool:
    """Whether two sizes that have to be equal are not: the condition of an error."""
    return not same(a, b) and fails(a != b, "sizes that have to be equal are")


def at_least_one(size: Size) -> Size:
    """``max(size, 1)``, as it stands in contiguous strides."""
    return max(size, 1) if isinstance(size, int) else size.at_least(1)


def dense_order(shape: Sizes, strides: Sizes) -> list[int] | None:
    """Dimensions from fastest to slowest if the layout is known to have no gaps; nothing is asked.

    Dimensions that turn out to have size 1 may stand anywhere: their strides mean nothing.
    """
    order: list[int] = []
    left = list(range(len(shape) - 1, -1, -1))
    expected: Size = 1
    while left:
        found = next((dim for dim in left if same(strides[dim], expected)), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found)
        expected = expected * at_least_one(shape[found])
    return order


def contiguous_or(shape: Sizes, strides: Sizes) -> Sizes | None:
    """None if these strides are known to be contiguous, else the strides."""
    expected: Size = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if not (type(size) is int and size == 1) and not same(stride, expected):
            return strides
        expected = expected * at_least_one(size)
    return None


def is_contiguous(meta: TensorMeta) -> bool:
    """Row-major without gaps, as PyTorch's ``is_contiguous``: dimensions of size 1 do not count, empty tensors are."""
    if meta.is_plain:
        return True
    strides = meta.strides
    if contiguous_or(meta.shape, strides) is None:
        return True
    expected: Size = 1
    for dim in range(meta.ndim - 1, -1, -1):
        size = meta.shape[dim]
        if strides[dim] is not expected and strides[dim] != expected and size != 1:
            return bool(meta.numel() == 0)
        expected = expected * size
    return True


def channels_last_strides(shape: Sizes) -> Sizes:
    """Strides with the channel dimension (1) fastest, for 4 and 5 dimensions."""
    return strides_along(shape, [1, *range(len(shape) - 1, 1, -1), 0])


def is_channels_last(meta: TensorMeta) -> bool:
    """PyTorch's ``is_contiguous(memory_format=channels_last)`` for 4 dimensions (``channels_last_3d`` for 5)."""
    if meta.ndim not in (4, 5):
        return False
    expected: Size = 1
    strides = meta.strides
    for dim in (1, *range(meta.ndim - 1, 1, -1), 0):
        size = meta.shape[dim]
        if size != 1:
            if strides[dim] != expected:
                return False
            expected = expected * size
    return True


def suggests_channels_last(meta: TensorMeta) -> bool:
    """PyTorch's ``suggest_memory_format``: strides alone decide, so dimensions of size 1 are not ambiguous."""
    if meta.is_plain or meta.ndim not in (4, 5) or meta.strides[1] == 0:
        return False
    least: Size = 0
    strides = meta.strides
    for dim in (1, *range(meta.ndim - 1, 1, -1), 0):
        size, stride = meta.shape[dim], strides[dim]
        if size == 0 or stride < least or (dim == 0 and least == strides[1]):
            return False
        least = stride * size if size > 1 else stride
    return True


def formatted_like(self: TensorMeta, shape: Sizes) -> TensorMeta:
    """A new tensor of this shape: channels last where PyTorch sees ``self`` so, else contiguous."""
    if self.is_plain or self.ndim not in (4, 5):
        return TensorMeta(shape, self.dtype, self.device)
    return TensorMeta(
        shape,
        self.dtype,
        self.device,
        lambda: channels_last_strides(shape) if suggests_channels_last(self) else None,
    )


def is_dense(meta: TensorMeta) -> bool:
    """Non-overlapping and dense: some order of the dimensions is contiguous."""
    if meta.is_plain:
        return True
    strides = meta.strides
    order = sorted(range(meta.ndim), key=cmp_to_key(partial(_compare_dims, meta.shape, strides)))
    expected: Size = 1
    for dim in order:
        size = meta.shape[dim]
        if size != 1:
            if strides[dim] != expected:
                return False
            expected = expected * size
    return True


def _compare_dims(shape: Sizes, strides: Sizes, a: int, b: int) -> int:
    """Dimensions by stride, those of size 1 (or 0) last."""
    small_a, small_b = bool(shape[a] < 2), bool(shape[b] < 2)
    if small_a or small_b:
        return small_a - small_b
    if strides[a] < strides[b]:
        return -1
    return 1 if strides[a] > strides[b] else 0


def elementwise_strides(shape: Sizes, metas: Sequence[TensorMeta]) -> Sizes | None:
    """The layout that PyTorch's TensorIterator gives a new result of these operands."""
    settled = _settled(shape, metas)
    if settled is not None:
        return contiguous_or(shape, settled)
    full = [meta for meta in metas if len(meta.shape) == len(shape) and _equal_shape(meta.shape, shape)]
    if len(full) == len(metas):
        if all(is_contiguous(meta) for meta in metas):
            return None
        if all(is_channels_last(meta) for meta in metas):
            return channels_last_strides(shape)
        first = metas[0]
        if is_dense(first) and all(_equal_shape(meta.strides, first.strides) for meta in metas[1:]):
            return first.strides
    operands = [_broadcast_strides(meta, shape) for meta in metas]
    order = _sort_dims(shape, operands)
    if order == list(range(len(shape) - 1, -1, -1)):
        return None
    return strides_along(shape, order)


def _settled(shape: Sizes, metas: Sequence[TensorMeta]) -> Sizes | None:
    """The strides that all operands are known to share, if they have no gaps: the result takes them."""
    first = metas[0]
    if not _same(first.shape, shape) or dense_order(shape, first.strides) is None:
        return None
    for meta in metas[1:]:
        if not _same(meta.shape, shape) or not all(map(same, meta.strides, first.strides)):
            return None
    return first.strides


def _equal_shape(a: Sizes, b: Sizes) -> bool:
    return all(x is y or x == y for x, y in zip(a, b, strict=True))


def _broadcast_strides(meta: TensorMeta, shape: Sizes) -> list[Size]:
    lead = len(shape) - len(meta.shape)
    strides: list[Size] = [0] * lead
    for dim, (size, stride) in enumerate(zip(meta.shape, meta.strides, strict=True)):
        broadcast = size == 1 and shape[lead + dim] != 1
        strides.append(0 if broadcast else stride)
    return strides


def _sort_dims(shape: Sizes, operands: Sequence[Sequence[Size]]) -> list[int]:
    """Dimensions from fastest to slowest: insertion sort that moves only on a clear answer, as TensorIterator does."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        moving = i
        for j in range(i - 1, -1, -1):
            answer = _should_swap(shape, operands, order[j], order[moving])
            if answer > 0:
                order[j], order[moving] = order[moving], order[j]
                moving = j
            elif answer < 0:
                break
    return order


def _should_swap(shape: Sizes, operands: Sequence[Sequence[Size]], a: int, b: int) -> int:
    for strides in operands:
        first, second = strides[a], strides[b]
        if first == 0 or second == 0:
            continue
        if first < second:
            return -1
        if first > second:
            return 1
        if shape[a] > shape[b]:
            return 1
    return 0
