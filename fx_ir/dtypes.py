"""Element types, devices and PyTorch's type promotion.

A :class:`DType` is a singleton that prints as PyTorch prints it (``torch.float32``). Nothing here needs PyTorch;
``bfloat16`` needs ``ml_dtypes``, imported when its NumPy type is first asked for.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np


class Category(enum.IntEnum):
    """Kinds of element types, in the order in which promotion climbs."""

    BOOL = 0
    INTEGER = 1
    FLOAT = 2
    COMPLEX = 3


class DType:
    """An element type. There is one instance a type: compare with ``is``."""

    __slots__ = ("_numpy", "category", "is_signed", "itemsize", "name", "rank", "short")

    def __init__(
        self, name: str, short: str, itemsize: int, category: Category, is_signed: bool, rank: int
    ) -> None:
        self.name = name
        self.short = short
        self.itemsize = itemsize
        self.category = category
        self.is_signed = is_signed
        self.rank = rank
        self._numpy: np.dtype[Any] | None = None if name == "bfloat16" else np.dtype(name)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type with the same elements."""
        if self._numpy is None:
            import ml_dtypes

            self._numpy = np.dtype(ml_dtypes.bfloat16)
            _BY_NUMPY[self._numpy] = self
        return self._numpy

    @property
    def is_floating_point(self) -> bool:
        return self.category is Category.FLOAT

    @property
    def is_complex(self) -> bool:
        return self.category is Category.COMPLEX

    @property
    def is_integral(self) -> bool:
        """True for the integer types, without bool."""
        return self.category is Category.INTEGER

    def to_complex(self) -> DType:
        """The complex type of this precision; integers take the default one."""
        if self.is_complex:
            return self
        return complex128 if self is float64 else complex64

    def to_real(self) -> DType:
        """The type of the real part."""
        if not self.is_complex:
            return self
        return float64 if self is complex128 else float32

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (by_name, (self.name,))

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


bool_: Final = DType("bool", "b8", 1, Category.BOOL, False, 0)
uint8: Final = DType("uint8", "u8", 1, Category.INTEGER, False, 1)
int8: Final = DType("int8", "i8", 1, Category.INTEGER, True, 1)
int16: Final = DType("int16", "i16", 2, Category.INTEGER, True, 2)
int32: Final = DType("int32", "i32", 4, Category.INTEGER, True, 3)
int64: Final = DType("int64", "i64", 8, Category.INTEGER, True, 4)
float16: Final = DType("float16", "f16", 2, Category.FLOAT, True, 5)
bfloat16: Final = DType("bfloat16", "bf16", 2, Category.FLOAT, True, 5)
float32: Final = DType("float32", "f32", 4, Category.FLOAT, True, 6)
float64: Final = DType("float64", "f64", 8, Category.FLOAT, True, 7)
complex64: Final = DType("complex64", "c64", 8, Category.COMPLEX, True, 8)
complex128: Final = DType("complex128", "c128", 16, Category.COMPLEX, True, 9)

ALL: Final = (
    bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip

_BY_NAME: Final[dict[str, DType]] = {dtype.name: dtype for dtype in ALL} | {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
_BY_SHORT: Final[dict[str, DType]] = {dtype.short: dtype for dtype in ALL}
_BY_NUMPY: Final[dict[np.dtype[Any], DType]] = {dtype.numpy: dtype for dtype in ALL if dtype is not bfloat16}
# PyTorch's numbers of element types, as they stand in schemas and in files.
_CODES: Final = {
    0: uint8, 1: int8, 2: int16, 3: int32, 4: int64, 5: float16, 6: float32, 7: float64, 9: complex64, 10: complex128,
    11: bool_, 15: bfloat16,
}  # fmt: skip


def by_code(code: int) -> DType:
    """The type with this number in PyTorch's enumeration; KeyError for one that is not supported."""
    return _CODES[code]


def by_name(name: str) -> DType:
    """The type with this name (``float32``, ``torch.float32``, ``double``) or short name (``f32``); KeyError if none."""
    name = name.removeprefix("torch.")
    found = _BY_NAME.get(name) or _BY_SHORT.get(name)
    if found is None:
        raise KeyError(f"no element type is named {name!r}")
    return found


def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The type of a NumPy array's elements; TypeError for what PyTorch lacks."""
    found = _BY_NUMPY.get(dtype)
    if found is None and dtype.name == "bfloat16":
        bfloat16.numpy  # noqa: B018 - registers the NumPy type
        found = _BY_NUMPY.get(dtype)
    if found is None:
        found = _BY_NUMPY.get(dtype.newbyteorder("="))
    if found is None:
        raise TypeError(f"NumPy type {dtype} has no counterpart in PyTorch")
    return found


class _Defaults:
    """The default floating type, which a user may change."""

    floating: DType = float32


def get_default_dtype() -> DType:
    return _Defaults.floating


def set_default_dtype(dtype: DType) -> None:
    """Changes the type of floats made from Python numbers; TypeError unless it is a floating type."""
    if not dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {dtype}")
    _Defaults.floating = dtype


# --- promotion -------------------------------------------------------------------------------------------------------


def _promote(a: DType, b: DType) -> DType:
    if a is b:
        return a
    low, high = (a, b) if (a.category, a.rank) <= (b.category, b.rank) else (b, a)
    if high.category is Category.COMPLEX:
        return complex128 if low is float64 or low is complex128 else high
    if low.category is not high.category:
        return high
    if {low, high} == {float16, bfloat16}:
        return float32
    if {low, high} == {uint8, int8}:
        return int16
    return high


_PROMOTED: Final[dict[tuple[DType, DType], DType]] = {(a, b): _promote(a, b) for a in ALL for b in ALL}


def promote_types(a: DType, b: DType) -> DType:
    """The smallest type that holds both, as ``torch.promote_types`` answers."""
    return _PROMOTED[a, b]


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    """What operands of a lower priority add to the type of those of a higher one: their category, if larger."""
    if higher is None or lower is None:
        return higher if lower is None else lower
    if higher.category >= lower.category and higher.category is not Category.BOOL:
        return higher
    if higher.is_floating_point:
        return higher.to_complex()
    return promote_types(higher, lower)


def combine_types(dimensioned: Iterable[DType], zero_dim: Iterable[DType], scalars: Iterable[DType]) -> DType:
    """Promotion over the three priorities: tensors with dimensions, zero-dim tensors, Python numbers."""
    folded: list[DType | None] = []
    for group in (dimensioned, zero_dim, scalars):
        current: DType | None = None
        for dtype in group:
            current = dtype if current is None else _PROMOTED[current, dtype]
        folded.append(current)
    result = _combine(folded[0], _combine(folded[1], folded[2]))
    if result is None:
        raise RuntimeError("result_type needs at least one operand")
    return result


def of_number(value: object) -> DType:
    """The type PyTorch gives a Python number (bool, int64, the default float, its complex type)."""
    kind = type(value)
    if kind is bool:
        return bool_
    if kind is int:
        return int64
    if kind is float:
        return _Defaults.floating
    if kind is complex:
        return _Defaults.floating.to_complex()
    return _of_other_number(value)


def _of_other_number(value: object) -> DType:
    """Symbolic numbers by the name of their class (they live in a lower layer), NumPy's and subclasses by conversion."""
    named = {"SymInt": int64, "SymBool": bool_, "SymFloat": _Defaults.floating}
    for base in type(value).__mro__:
        if base.__name__ in named:
            return named[base.__name__]
    for python, dtype in ((bool, bool_), (int, int64), (float, get_default_dtype())):
        if isinstance(value, python):
            return dtype
    if isinstance(value, np.generic):
        return of_number(value.item())
    raise TypeError(f"{type(value).__name__} is not a number")


def result_type(*operands: Any) -> DType:
    """PyTorch's ``result_type`` of tensors (anything with a ``dtype`` of ours and ``ndim``) and numbers."""
    dimensioned: list[DType] = []
    zero_dim: list[DType] = []
    scalars: list[DType] = []
    for operand in operands:
        dtype = getattr(operand, "dtype", None)
        if isinstance(dtype, DType):
            (dimensioned if operand.ndim else zero_dim).append(dtype)
        else:
            scalars.append(of_number(operand))
    return combine_types(dimensioned, zero_dim, scalars)


# --- devices and layouts ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Device:
    """Where a tensor lives. Kernels here run on ``cpu``; ``meta`` and others are carried as metadata."""

    type: str
    index: int | None = None

    @staticmethod
    def parse(text: str) -> Device:
        """``cpu``, ``cuda:1``; RuntimeError for what is no device string."""
        kind, colon, index = text.partition(":")
        if not kind.isalpha() or (colon and not index.isdigit()):
            raise RuntimeError(f"Invalid device string: '{text}'")
        return Device(kind, int(index) if colon else None)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"


CPU: Final = Device("cpu")


class Layout(enum.Enum):
    """How a tensor stores its elements; only ``strided`` is supported."""

    strided = "strided"

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class MemoryFormat(enum.Enum):
    """The order in memory that an operator is asked for."""

    contiguous_format = 0
    preserve_format = 1
    channels_last = 2
    channels_last_3d = 3

    def __repr__(self) -> str:
        return f"torch.{self.name}"
