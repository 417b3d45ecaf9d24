"""Dimension specifications: named and derived dimensions, and the hints ``AUTO``, ``DYNAMIC`` and ``STATIC``."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

from solver.parse import is_symbol_name
from solver.trace_errors import BAD_DIM, EMPTY_RANGE


@dataclass(frozen=True, slots=True)
class DimHint:
    """What to do with a dimension that is not named; ``AUTO`` and ``DYNAMIC`` may be called with ``min`` and ``max``."""

    kind: Literal["AUTO", "DYNAMIC", "STATIC"]
    min: int | None = None
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        """The same hint over a range. Raises InputError for an empty range, and for ``STATIC``."""
        if self.kind == "STATIC":
            raise BAD_DIM(what="Dim.STATIC takes no range")
        check_range(f"Dim.{self.kind}", min, max)
        return replace(self, min=min, max=max)

    def __repr__(self) -> str:
        bounds = [f"{k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"Dim.{self.kind}" + (f"({', '.join(bounds)})" if bounds else "")


class _Arithmetic:
    """Sums with integers and positive multiples of a dimension; what else is done with it is refused."""

    __slots__ = ()

    def _line(self) -> DerivedDim:
        """The dimension as ``scale*root + offset``."""
        raise NotImplementedError

    def __add__(self, other: int) -> Dim | DerivedDim:
        return _added(self._line(), other)

    def __sub__(self, other: int) -> Dim | DerivedDim:
        return _added(self._line(), -other if type(other) is int else other)

    def __mul__(self, other: int) -> Dim | DerivedDim:
        return _multiplied(self._line(), other)

    __radd__ = __add__
    __rmul__ = __mul__

    def _refuse(self, other: object) -> DerivedDim:
        raise _not_linear(self._line())

    __rsub__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = (
        _refuse
    )

    def __neg__(self) -> DerivedDim:
        raise _not_linear(self._line())


class Dim(_Arithmetic):
    """A promise: the program must be right for every size from ``min`` (0 if not given) to ``max`` (None: no limit).

    Two inputs that share a ``Dim`` (the same name and range) have equal sizes. ``2*d``, ``d + 1`` and their like are
    derived dimensions. Raises InputError for a bad name or an empty range.
    """

    AUTO: ClassVar[DimHint] = DimHint("AUTO")
    DYNAMIC: ClassVar[DimHint] = DimHint("DYNAMIC")
    STATIC: ClassVar[DimHint] = DimHint("STATIC")

    __slots__ = ("__name__", "max", "min")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not isinstance(name, str) or keyword.iskeyword(name) or not is_symbol_name(name):
            raise BAD_DIM(what=f"{name!r} cannot name a dimension: an identifier is needed")
        check_range(f"Dim({name!r})", min, max)
        self.__name__ = name
        self.min: int | None = 0 if min is None else min
        self.max = max

    @staticmethod
    def any_range(name: str, min: int | None, max: int | None) -> Dim:
        """A dimension for an integer input, whose range may reach below 0 (None: no limit)."""
        made = Dim(name)
        made.min, made.max = min, max
        return made

    def __eq__(self, other: object) -> bool:
        if type(other) is not Dim:
            return NotImplemented
        return (self.__name__, self.min, self.max) == (other.__name__, other.min, other.max)

    def __hash__(self) -> int:
        return hash((self.__name__, self.min, self.max))

    def __repr__(self) -> str:
        low = f", min={self.min}" if self.min else ""
        high = "" if self.max is None else f", max={self.max}"
        return f"Dim({self.__name__!r}{low}{high})"

    def _line(self) -> DerivedDim:
        return DerivedDim(self, 1, 0)


@dataclass(frozen=True, slots=True)
class DerivedDim(_Arithmetic):
    """``scale*root + offset`` with a positive ``scale``, made by arithmetic on a :class:`Dim`."""

    root: Dim
    scale: int
    offset: int

    @property
    def __name__(self) -> str:
        text = self.root.__name__ if self.scale == 1 else f"{self.scale}*{self.root.__name__}"
        if self.offset:
            text += f" {'+' if self.offset > 0 else '-'} {abs(self.offset)}"
        return text

    @property
    def min(self) -> int | None:
        return None if self.root.min is None else self.scale * self.root.min + self.offset

    @property
    def max(self) -> int | None:
        return None if self.root.max is None else self.scale * self.root.max + self.offset

    def __repr__(self) -> str:
        return self.__name__

    def _line(self) -> DerivedDim:
        return self


DimSpec: TypeAlias = int | Dim | DerivedDim | DimHint | None


def _not_linear(dim: DerivedDim) -> Exception:
    return BAD_DIM(
        what=f"a derived dimension is a positive multiple of {dim.__name__} plus an integer, and nothing else",
        hint="state other relations as assumptions: ShapesSpec(..., assumptions=[a % 8 == 0])",
    )


def _added(dim: DerivedDim, other: object) -> Dim | DerivedDim:
    if type(other) is not int:
        raise _not_linear(dim)
    return _made(dim.root, dim.scale, dim.offset + other)


def _multiplied(dim: DerivedDim, other: object) -> Dim | DerivedDim:
    if type(other) is not int or other <= 0:
        raise _not_linear(dim)
    return _made(dim.root, dim.scale * other, dim.offset * other)


def _made(root: Dim, scale: int, offset: int) -> Dim | DerivedDim:
    if scale == 1 and offset == 0:
        return root
    derived = DerivedDim(root, scale, offset)
    if derived.max is not None and derived.max < 0:
        raise EMPTY_RANGE(what=derived.__name__, min=0, max=derived.max)
    return derived


def check_range(what: str, low: object, high: object, lowest: int | None = 0) -> None:
    """Raises InputError where a bound is not an integer from ``lowest``, or the range is empty."""
    for bound in (low, high):
        if bound is not None and (type(bound) is not int or (lowest is not None and bound < lowest)):
            floor = "" if lowest is None else f" from {lowest}"
            raise BAD_DIM(what=f"{what}: the bound {bound!r} is not an integer{floor}")
    start = lowest if low is None else low
    if type(high) is int and type(start) is int and high < start:
        raise EMPTY_RANGE(what=what, min=start, max=high)


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """One :class:`Dim` for each name, all over the same range."""
    return tuple(Dim(name, min=min, max=max) for name in names)
