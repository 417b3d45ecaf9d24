"""Which shape and which strides show the same elements anew: the sizes and the layout of ``view`` and ``reshape``."""

from __future__ import annotations

from collections.abc import Sequence

from fx_ir.meta import Size, Sizes
from fx_ir.ops.shapes import at_least_one, differ, fails, same


def product(sizes: Sequence[Size]) -> Size:
    total: Size = 1
    for size in sizes:
        total = total * size
    return total


def cancel(left: Sequence[Size], right: Sequence[Size]) -> tuple[list[Size], list[Size]]:
    """Both lists of factors without those that they share."""
    kept: list[Size] = []
    rest = list(right)
    for size in left:
        for index, other in enumerate(rest):
            if same(size, other):
                del rest[index]
                break
        else:
            kept.append(size)
    return kept, rest


def infer_size(shape: Sizes, size: Sequence[Size]) -> Sizes:
    """The new shape with ``-1`` worked out; RuntimeError if the numbers of elements cannot agree.

    Factors that both shapes share cancel, so ``x.view(b, s, 12, -1)`` of ``[b, s, 384]`` asks nothing, and
    ``x.reshape(-1, 8)`` asks the one condition that 8 divides the number of elements.
    """
    unknown = [index for index, extent in enumerate(size) if type(extent) is int and extent == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = [extent for index, extent in enumerate(size) if index not in unknown]
    if any(type(extent) is int and extent < 0 for extent in known):
        raise RuntimeError(
            f"invalid shape dimension {min(extent for extent in known if type(extent) is int)}"
        )
    old, new = cancel(shape, known)
    if not unknown:
        total, wanted = product(old), product(new)
        if not same(total, wanted) and differ(product(shape), product(known)):
            raise _invalid_shape(shape, size)
        return tuple(size)
    total, divisor = product(old), product(new)
    if type(divisor) is int and divisor == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if not (type(divisor) is int and divisor == 1):
        if fails(total % divisor != 0, "a size that is worked out is a whole number"):
            raise _invalid_shape(shape, size)
        total = total // divisor
    index = unknown[0]
    return (*size[:index], total, *size[index + 1 :])


def _invalid_shape(shape: Sizes, size: Sequence[Size]) -> RuntimeError:
    return RuntimeError(f"shape '{list(size)}' is invalid for input of size {product(shape)}")


def view_strides(shape: Sizes, strides: Sizes, new: Sizes) -> Sizes | None:
    """Strides that show the same memory in another shape; None if there are none (ATen's ``computeStride``).

    A run of dimensions that lie densely in memory can be cut anew; the last run takes whatever is left, so it asks nothing.
    What is known about the sizes is tried first: only if it does not settle the matter is anything asked.
    """
    if not shape:
        return (1,) * len(new)
    found = _cut_runs(shape, strides, new, False)
    return _cut_runs(shape, strides, new, True) if found is None else found


def _cut_runs(shape: Sizes, strides: Sizes, new: Sizes, ask: bool) -> Sizes | None:
    result: list[Size] = [1] * len(new)
    view_dim = len(new) - 1
    base = strides[-1]
    run: Size = 1
    reach: Size = base  # the stride that continues the run, as contiguous strides spell it
    for dim in range(len(shape) - 1, -1, -1):
        run = run * shape[dim]
        reach = reach * at_least_one(shape[dim])
        if dim > 0 and _continues(shape[dim - 1], strides[dim - 1], run * base, reach, ask):
            continue
        taken: Size = 1
        while view_dim >= 0 and (dim == 0 or _takes(new[view_dim], taken, run, ask)):
            result[view_dim] = taken * base
            taken = taken * new[view_dim]
            view_dim -= 1
        if dim > 0:
            if not same(taken, run) and not (ask and taken == run):
                return None
            run, base, reach = 1, strides[dim - 1], strides[dim - 1]
    return tuple(result)


def _continues(outer_size: Size, outer_stride: Size, expected: Size, reach: Size, ask: bool) -> bool:
    """Whether the next dimension outwards prolongs the run."""
    if same(outer_stride, expected) or same(outer_stride, reach) or same(outer_size, 1):
        return True
    return ask and (bool(outer_size == 1) or bool(outer_stride == expected))


def _takes(extent: Size, taken: Size, run: Size, ask: bool) -> bool:
    """Whether the current run of memory takes one more dimension of the view."""
    if type(extent) is int and extent == 1:
        return True
    if same(taken, run):
        return False
    if ask or (isinstance(taken, int) and isinstance(run, int)):
        return bool(taken < run)
    return True
