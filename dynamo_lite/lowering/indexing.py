"""``tensor[index]`` and ``tensor[index] = value``: views first, then at most one advanced index, by PyTorch's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dynamo_lite.lowering import creation
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.packets import apply, item
from fx_ir.dtypes import DType, bool_, int64, uint8
from solver.sym import SymBool, SymFloat, SymInt

Index = Any
_INT: Final = (int, SymInt, np.integer)
_NUMBERS: Final = (bool, int, float, complex, SymInt, SymFloat, SymBool, np.number, np.bool_)


def getitem(self: Any, index: Index) -> Any:
    """``tensor[index]``."""
    viewed, advanced = _apply_views(self, _as_tuple(index))
    if advanced is not None:
        return apply("index", viewed, advanced)
    return apply("alias", self) if viewed is self else viewed


def setitem(self: Any, index: Index, value: Any) -> None:
    """``tensor[index] = value``: a copy into the view, or ``index_put_``; numbers fill."""
    number = isinstance(value, _NUMBERS)
    if not number and not is_tensor(value):
        raise TypeError(f"can't assign a {_kind_name(value)} to a torch.{_legacy_name(meta_of(self).dtype)}")
    viewed, advanced = _apply_views(self, _as_tuple(index))
    if advanced is not None:
        meta = meta_of(self)
        given = apply("scalar_tensor", value, dtype=meta.dtype, device=meta.device) if number else value
        apply(
            "index_put_",
            viewed,
            advanced,
            given if number else _without_leading_ones(given, viewed, advanced),
        )
    elif number:
        apply("fill_", viewed, value)
    else:
        apply("copy_", viewed, _trim(value, meta_of(viewed).ndim))


def _trim(value: Any, rank: int) -> Any:
    """``value`` without the leading dimensions of size 1 that the target lacks."""
    while meta_of(value).ndim > rank:
        if meta_of(value).shape[0] != 1:
            break
        value = apply("squeeze", value, 0)
    return value


def _without_leading_ones(value: Any, viewed: Any, advanced: list[Any]) -> Any:
    indexed = [index for index in advanced if index is not None]
    widths = [meta_of(index).ndim if meta_of(index).dtype is not bool_ else 1 for index in indexed]
    spent = sum(meta_of(index).ndim if meta_of(index).dtype is bool_ else 1 for index in indexed)
    return _trim(value, meta_of(viewed).ndim - spent + max(widths))


def _as_tuple(index: Index) -> tuple[Index, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < 32 and any(_is_index_part(part) for part in index):
        return tuple(index)
    return (index,)


def _is_index_part(part: object) -> bool:
    """What makes a list of indices stand for a tuple of them (NumPy's old rule, which PyTorch keeps)."""
    return (
        part is None
        or part is Ellipsis
        or isinstance(part, (slice, list, tuple, np.ndarray))
        or is_tensor(part)
    )


def _apply_views(self: Any, parts: tuple[Index, ...]) -> tuple[Any, list[Any] | None]:
    """The view that ints, slices, ``None`` and ``...`` give, and the advanced indices left, by dimension."""
    rank = meta_of(self).ndim
    spent = _spent(parts)
    if (
        rank == 0
        and len(parts) == 1
        and isinstance(parts[0], (*_INT, slice))
        and not isinstance(parts[0], bool)
    ):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            if isinstance(parts[0], _INT)
            else "slice() cannot be applied to a 0-dim tensor."
        )
    if spent > rank:
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    viewed, dim = self, 0
    advanced: list[tuple[int, Any]] = []
    for part in parts:
        if part is None:
            viewed = apply("unsqueeze", viewed, dim)
            dim += 1
        elif part is Ellipsis:
            dim += rank - spent
        elif isinstance(part, slice):
            viewed = _sliced(viewed, dim, part)
            dim += 1
        elif isinstance(part, (bool, np.bool_)):
            viewed = apply("unsqueeze", viewed, dim)
            advanced.append((dim, _bool_index(bool(part))))
            dim += 1
        elif isinstance(part, _INT):
            viewed = _selected(viewed, dim, part)
        else:
            tensor = _index_tensor(part)
            if meta_of(tensor).ndim == 0 and meta_of(tensor).dtype in (bool_, uint8):
                viewed = apply("unsqueeze", viewed, dim)
                advanced.append((dim, apply("unsqueeze", apply("to", tensor, bool_), 0)))
                dim += 1
            elif meta_of(tensor).ndim == 0:
                viewed = apply("select", viewed, dim, item(tensor))
            else:
                advanced.append((dim, tensor))
                dim += _width(tensor)
    if not advanced:
        return viewed, None
    if len(advanced) == 1 and advanced[0][0] == 0:
        return viewed, [advanced[0][1]]
    return viewed, _laid_out(advanced)


def _laid_out(advanced: Sequence[tuple[int, Any]]) -> list[Any]:
    indices: list[Any] = []
    consumed = 0
    for dim, tensor in advanced:
        indices.extend([None] * (dim - consumed))
        indices.append(tensor)
        consumed = dim + _width(tensor)
    return indices


def _width(tensor: Any) -> int:
    """How many dimensions an index tensor uses up: a mask as many as it has."""
    meta = meta_of(tensor)
    return max(meta.ndim, 1) if meta.dtype in (bool_, uint8) else 1


def _spent(parts: Sequence[Index]) -> int:
    """How many dimensions the parts use up, leaving ``...`` aside."""
    total = 0
    for part in parts:
        if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
            continue
        if is_tensor(part):
            meta = meta_of(part)
            masks = meta.dtype in (bool_, uint8)
            total += meta.ndim if masks else 1
        elif isinstance(part, np.ndarray) and part.dtype == np.bool_:
            total += part.ndim
        elif isinstance(part, (list, tuple)):
            total += _list_width(part)
        else:
            total += 1
    return total


def _list_width(part: Any) -> int:
    """A nested list of bools is a mask."""
    depth, inner = 0, part
    while isinstance(inner, (list, tuple)) and inner:
        depth += 1
        inner = inner[0]
    return depth if isinstance(inner, (bool, np.bool_)) else 1


def _selected(tensor: Any, dim: int, index: Any) -> Any:
    size = meta_of(tensor).shape[dim]
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return apply("select", tensor, dim, index)


def _sliced(tensor: Any, dim: int, part: slice) -> Any:
    start, stop, step = part.start, part.stop, part.step
    if start is None and stop is None and (step is None or step == 1):
        return tensor
    if step is None:
        step = 1
    elif is_tensor(step):
        step = item(step)
    if step <= 0:
        if step == 0:
            raise ValueError("slice step cannot be zero")
        raise ValueError("step must be greater than zero")
    return apply("slice", tensor, dim, _bound(start), _bound(stop), step)


def _bound(value: Any) -> Any:
    """A bound of a slice as an int, symbolic or not: tensors are read, what has ``__index__`` is asked."""
    if value is None or isinstance(value, (int, SymInt)):
        return value
    if is_tensor(value):
        return item(value)
    return value.__index__()


def _bool_index(value: bool) -> Any:
    """``True`` keeps the dimension of size 1 that stands for it, ``False`` empties it."""
    return apply("zeros", [int(value)], dtype=int64)


def _index_tensor(part: Any) -> Any:
    """An index that is no view: a tensor, or a sequence made one. Raises ``IndexError`` for what cannot index."""
    if is_tensor(part):
        meta = meta_of(part)
        if meta.dtype.category > 1 or meta.dtype.name in ("int8", "int16"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return part
    if isinstance(part, (list, tuple, range, np.ndarray)):
        if isinstance(part, np.ndarray):
            return _index_tensor(creation.tensor(part))
        # PyTorch makes the tensor by its legacy constructor: floats are cut off.
        return creation.tensor(part, dtype=int64 if creation.infer_dtype(part).category > 1 else None)
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(part).__name__})"
    )


_LEGACY: Final = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


def _legacy_name(dtype: DType) -> str:
    return f"{_LEGACY[dtype.name]}Tensor"


def _kind_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
