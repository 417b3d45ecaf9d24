"""Python numbers over an expression and its environment.

Arithmetic stays symbolic and comparisons give :class:`SymBool`; a decision (``bool``) is the environment's to take.
What Python demands as a plain value (``int``, ``index``, ``float``, ``hash``, ``str``, ``format``) specialises: the guard
``s == value`` joins, and a size that depends on data is refused. ``repr`` shows the expression and adds no guard.

Results are made by ``env.wrap``, so that an environment may choose subclasses of these classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from solver import expr as E
from solver.sym.methods import (
    Comparison,
    FloatArithmetic,
    IntArithmetic,
    binary,
    comparison,
    division,
    int_comparison,
    polynomial,
    specialising,
)

if TYPE_CHECKING:
    from solver.shape_env import ShapeEnv

X = TypeVar("X", E.IntExpr, E.BoolExpr, E.FloatExpr)


class SymNumber(Generic[X]):
    """What the three kinds share."""

    __slots__ = ("env", "expr")

    def __init__(self, env: ShapeEnv, expr: X) -> None:
        self.env = env
        self.expr: X = expr

    def specialize(self) -> Any:
        """The plain value, now part of the contract; DataDependentError where it depends on data."""
        return self.env.specialize(self.expr)

    @property
    def hint(self) -> Any:
        """The value in the example; None where it depends on data. Adds no guard."""
        return self.env.hint(self.expr)

    def __repr__(self) -> str:
        return str(self.expr)

    def __str__(self) -> str:
        return str(self.expr) if self.env.quoting else str(self.specialize())

    def __format__(self, spec: str) -> str:
        return str(self.expr) if self.env.quoting else format(self.specialize(), spec)

    def __hash__(self) -> int:
        return hash(self.specialize())

    def __int__(self) -> int:
        return int(self.specialize())

    def __float__(self) -> float:
        return float(self.specialize())

    def __complex__(self) -> complex:
        return complex(self.specialize())

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a symbolic number lives in one export and cannot be pickled")

    __add__: Any = binary("+")
    __radd__: Any = binary("+", True)
    __sub__: Any = binary("-")
    __rsub__: Any = binary("-", True)
    __mul__: Any = binary("*")
    __rmul__: Any = binary("*", True)
    __floordiv__: Any = binary("//")
    __rfloordiv__: Any = binary("//", True)
    __mod__: Any = binary("%")
    __rmod__: Any = binary("%", True)
    __truediv__: FloatArithmetic = binary("/")
    __rtruediv__: FloatArithmetic = binary("/", True)
    __divmod__: Any = division()
    __rdivmod__: Any = division(True)
    __lt__: Comparison = comparison(E.lt)
    __le__: Comparison = comparison(E.le)
    __gt__: Comparison = comparison(E.gt)
    __ge__: Comparison = comparison(E.ge)
    __eq__: Comparison = comparison(E.eq)  # type: ignore[assignment]
    __ne__: Comparison = comparison(E.ne)  # type: ignore[assignment]

    def __pow__(self, other: object, modulus: object = None) -> Any:
        if modulus is not None:
            return pow(self.specialize(), other, modulus)
        return _POWER(self, other)

    __rpow__: Any = binary("**", True)


_POWER: Any = binary("**")


class SymInt(SymNumber[E.IntExpr]):
    """A symbolic integer."""

    __slots__ = ()

    if TYPE_CHECKING:
        __add__: IntArithmetic
        __radd__: IntArithmetic
        __sub__: IntArithmetic
        __rsub__: IntArithmetic
        __mul__: IntArithmetic
        __rmul__: IntArithmetic
        __floordiv__: IntArithmetic
        __rfloordiv__: IntArithmetic
        __mod__: IntArithmetic
        __rmod__: IntArithmetic
    else:
        __add__ = polynomial(E.IntExpr.__add__, "+")
        __sub__ = polynomial(E.IntExpr.__sub__, "-")
        __mul__ = polynomial(E.IntExpr.__mul__, "*")
        __lt__ = int_comparison(E.lt)
        __le__ = int_comparison(E.le)
        __gt__ = int_comparison(E.gt)
        __ge__ = int_comparison(E.ge)
        __eq__ = int_comparison(E.eq)
        __ne__ = int_comparison(E.ne)

    __hash__ = SymNumber.__hash__

    @property
    def hint(self) -> int | None:
        """The value in the example; None where it depends on data. Adds no guard."""
        value = self.env.hint(self.expr)
        return None if value is None else int(value)

    def __bool__(self) -> bool:
        return self.env.evaluate(E.nonzero(self.expr))

    def __index__(self) -> int:
        return int(self.specialize())

    def __neg__(self) -> int | SymInt:
        return self.env.wrap_int(-self.expr)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> int | SymInt:
        if self.env.known(E.nonnegative(self.expr)):
            return self
        return self.env.wrap_int(E.int_abs(self.expr))

    def __invert__(self) -> int | SymInt:
        return self.env.wrap_int(-self.expr - 1)

    def __round__(self, digits: int | None = None) -> int | SymInt:
        return self if digits is None or digits >= 0 else round(int(self), digits)

    def __floor__(self) -> SymInt:
        return self

    def __ceil__(self) -> SymInt:
        return self

    def __trunc__(self) -> SymInt:
        return self

    def __lshift__(self, count: int) -> int | SymInt:
        if type(count) is int and count >= 0:
            return self.env.wrap_int(self.expr * (1 << count))
        return int(self) << count

    def __rshift__(self, count: int) -> int | SymInt:
        if type(count) is int and count >= 0:
            return self.env.wrap_int(E.floordiv(self.expr, 1 << count))
        return int(self) >> count

    def __and__(self, mask: int) -> int | SymInt:
        if type(mask) is int and mask >= 0 and mask & (mask + 1) == 0:
            return self.env.wrap_int(E.mod(self.expr, mask + 1))  # the low bits, also of a negative number
        return int(self) & mask

    __rand__ = __and__

    __or__ = specialising("or_")
    __ror__ = specialising("or_")
    __xor__ = specialising("xor")
    __rxor__ = specialising("xor")
    __rlshift__ = specialising("__rlshift__")
    __rrshift__ = specialising("__rrshift__")
    bit_length = specialising("bit_length")
    bit_count = specialising("bit_count")
    to_bytes = specialising("to_bytes")

    def at_least(self, bound: int) -> int | SymInt:
        """``max(self, bound)`` without a guard."""
        if self.env.known(E.ge(self.expr, bound)):
            return self
        return self.env.wrap_int(E.int_max(self.expr, bound))

    @property
    def real(self) -> SymInt:
        return self

    numerator = real

    @property
    def imag(self) -> int:
        return 0

    @property
    def denominator(self) -> int:
        return 1

    def conjugate(self) -> SymInt:
        return self

    def is_integer(self) -> bool:
        return True

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        return self, 1


class SymFloat(SymNumber[E.FloatExpr]):
    """A symbolic IEEE double."""

    __slots__ = ()

    __hash__ = SymNumber.__hash__

    def __bool__(self) -> bool:
        return self.env.evaluate(E.ne(self.expr, 0))

    def __int__(self) -> int:
        return int(self.env.specialize(E.from_float("int", self.expr)))

    def __neg__(self) -> float | SymFloat:
        return self.env.wrap_float(E.unary("neg", self.expr))

    def __pos__(self) -> SymFloat:
        return self

    def __abs__(self) -> float | SymFloat:
        return self.env.wrap_float(E.unary("abs", self.expr))

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            return round(float(self), digits)
        return self._rounded("round")

    def __floor__(self) -> int | SymInt:
        return self._rounded("floor")

    def __ceil__(self) -> int | SymInt:
        return self._rounded("ceil")

    def __trunc__(self) -> int | SymInt:
        return self._rounded("int")

    def _rounded(self, how: str) -> int | SymInt:
        from solver.sym.rounding import rounded

        return self.env.wrap_int(rounded(self.env, how, self.expr))

    def is_integer(self) -> bool | SymBool:
        return self.env.wrap_bool(E.eq(E.from_float("floor", self.expr), self.expr))

    @property
    def real(self) -> SymFloat:
        return self

    @property
    def imag(self) -> float:
        return 0.0

    def conjugate(self) -> SymFloat:
        return self

    def as_integer_ratio(self) -> tuple[int, int]:
        return float(self).as_integer_ratio()

    def hex(self) -> str:
        return float(self).hex()


class SymBool(SymNumber[E.BoolExpr]):
    """A condition over symbolic numbers; in arithmetic it counts as 0 or 1."""

    __slots__ = ()

    __hash__ = SymNumber.__hash__

    def __bool__(self) -> bool:
        return self.env.evaluate(self.expr)

    def __index__(self) -> int:
        return int(self.env.evaluate(self.expr))

    def specialize(self) -> bool:
        return self.env.evaluate(self.expr)

    def _join(self, other: object, make: Callable[..., E.BoolExpr]) -> Any:
        kind = type(other)
        if kind is bool:
            return self.env.wrap_bool(make(self.expr, E.truth(bool(other))))
        if issubclass(kind, SymBool):
            return self.env.wrap_bool(make(self.expr, other.expr))  # type: ignore[attr-defined]
        return NotImplemented

    def __and__(self, other: bool | SymBool) -> bool | SymBool:
        return self._join(other, E.and_)  # type: ignore[no-any-return]

    def __or__(self, other: bool | SymBool) -> bool | SymBool:
        return self._join(other, E.or_)  # type: ignore[no-any-return]

    def __xor__(self, other: bool | SymBool) -> bool | SymBool:
        return self._join(other, lambda a, b: E.not_(E.iff(a, b)))  # type: ignore[no-any-return]

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def _integer(self) -> int | SymInt:
        return self.env.wrap_int(E.int_if(self.expr, 1, 0))

    def __neg__(self) -> int | SymInt:
        return -self._integer()

    def __pos__(self) -> int | SymInt:
        return self._integer()

    __abs__ = __floor__ = __ceil__ = __trunc__ = __pos__

    def __round__(self, digits: int | None = None) -> int | SymInt:
        return self._integer()

    def __invert__(self) -> int | SymInt:
        return ~self._integer()


def _same_or_iff(self: SymBool, other: object) -> Any:
    if type(other) is bool or issubclass(type(other), SymBool):
        return self._join(other, E.iff)
    return _EQUAL(self, other)


def _different(self: SymBool, other: object) -> Any:
    if type(other) is bool or issubclass(type(other), SymBool):
        return self._join(other, lambda a, b: E.iff(a, E.not_(b)))
    return _UNEQUAL(self, other)


_EQUAL: Any = comparison(E.eq)
_UNEQUAL: Any = comparison(E.ne)
SymBool.__eq__ = _same_or_iff  # type: ignore[assignment, method-assign]
SymBool.__ne__ = _different  # type: ignore[assignment, method-assign]
