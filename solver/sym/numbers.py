"""Python numbers over an expression and its environment.

Arithmetic stays symbolic and comparisons give :class:`SymBool`; a decision (``bool``) is the environment's to take.
What Python demands as a plain value (``int``, ``index``, ``float``, ``hash``, ``str``, ``format``) specialises: the guard
``s == value`` joins, and a size that depends on data is refused. ``repr`` shows the expression and adds no guard.

Results are made by ``env.wrap``, so that an environment may choose subclasses of these classes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, Union, overload

from solver import expr as E
from solver.sym.operands import arithmetic, number_of

if TYPE_CHECKING:
    from solver.shape_env import ShapeEnv

IntLike = Union[int, "SymInt", "SymBool"]
FloatLike = Union[float, "SymFloat"]
NumberLike = Union[float, "SymInt", "SymFloat", "SymBool"]
X = TypeVar("X", E.IntExpr, E.BoolExpr, E.FloatExpr)


class IntArithmetic(Protocol):
    """An operator of an int: ints give an int, floats a float."""

    @overload
    def __call__(self, other: IntLike, /) -> int | SymInt: ...
    @overload
    def __call__(self, other: FloatLike, /) -> float | SymFloat: ...


class FloatArithmetic(Protocol):
    """An operator whose result is a float."""

    def __call__(self, other: NumberLike, /) -> float | SymFloat: ...


class Comparison(Protocol):
    """A comparison with a number."""

    def __call__(self, other: NumberLike, /) -> bool | SymBool: ...


def _operator(op: str, reflected: bool = False) -> Any:
    def method(self: SymInt | SymFloat | SymBool, other: object) -> Any:
        y = number_of(other)
        if y is None:
            return NotImplemented
        x = number_of(self)
        assert x is not None
        return self.env.wrap(arithmetic(self.env, op, y, x) if reflected else arithmetic(self.env, op, x, y))

    method.__name__ = "reflected" if reflected else "operator"
    return method


def _polynomial(op: Callable[[E.IntExpr, E.IntExpr | int], E.IntExpr], text: str) -> Any:
    """The hot operators: ``+ - *`` of a symbolic int."""

    def method(self: SymInt, other: object) -> Any:
        kind = type(other)
        if kind is int:
            return self.env.wrap(op(self.expr, other))  # type: ignore[arg-type]
        if kind is type(self):
            return self.env.wrap(op(self.expr, other.expr))  # type: ignore[attr-defined]
        return slow(self, other)

    slow = _operator(text)
    return method


def _comparison(make: Callable[[E.Number | int | float, E.Number | int | float], E.BoolExpr]) -> Any:
    def method(self: SymInt | SymFloat | SymBool, other: object) -> Any:
        y = number_of(other)
        if y is None:
            return NotImplemented
        x = number_of(self)
        assert x is not None
        return self.env.wrap(make(x, y))

    return method


def _int_comparison(make: Callable[[E.Number | int | float, E.Number | int | float], E.BoolExpr]) -> Any:
    """The hot comparisons: of a symbolic int with an int or another."""

    def method(self: SymInt, other: object) -> Any:
        kind = type(other)
        if kind is int:
            made = make(self.expr, other)  # type: ignore[arg-type]
        elif kind is type(self):
            made = make(self.expr, other.expr)  # type: ignore[attr-defined]
        else:
            return slow(self, other)
        if made is E.TRUE or made is E.FALSE:
            return made is E.TRUE
        return self.env.bool_type(self.env, made)

    slow = _comparison(make)
    return method


def _divmod(reflected: bool = False) -> Any:
    def method(self: SymInt | SymFloat | SymBool, other: object) -> Any:
        y, x = number_of(other), number_of(self)
        if y is None or x is None:
            return NotImplemented
        if reflected:
            x, y = y, x
        wrap, env = self.env.wrap, self.env
        return wrap(arithmetic(env, "//", x, y)), wrap(arithmetic(env, "%", x, y))

    return method


def _specialising(name: str) -> Any:
    """An operation of the plain value."""
    function: Callable[..., Any] = getattr(operator, name, None) or getattr(int, name)

    def method(self: SymInt | SymFloat | SymBool, *args: object) -> Any:
        return function(self.specialize(), *args)

    return method


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

    __add__: Any = _operator("+")
    __radd__: Any = _operator("+", True)
    __sub__: Any = _operator("-")
    __rsub__: Any = _operator("-", True)
    __mul__: Any = _operator("*")
    __rmul__: Any = _operator("*", True)
    __floordiv__: Any = _operator("//")
    __rfloordiv__: Any = _operator("//", True)
    __mod__: Any = _operator("%")
    __rmod__: Any = _operator("%", True)
    __truediv__: FloatArithmetic = _operator("/")
    __rtruediv__: FloatArithmetic = _operator("/", True)
    __divmod__: Any = _divmod()
    __rdivmod__: Any = _divmod(True)
    __lt__: Comparison = _comparison(E.lt)
    __le__: Comparison = _comparison(E.le)
    __gt__: Comparison = _comparison(E.gt)
    __ge__: Comparison = _comparison(E.ge)
    __eq__: Comparison = _comparison(E.eq)  # type: ignore[assignment]
    __ne__: Comparison = _comparison(E.ne)  # type: ignore[assignment]

    def __pow__(self, other: object, modulus: object = None) -> Any:
        if modulus is not None:
            return pow(self.specialize(), other, modulus)
        return _POWER(self, other)

    __rpow__: Any = _operator("**", True)


_POWER: Any = _operator("**")


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
        __add__ = _polynomial(E.IntExpr.__add__, "+")
        __sub__ = _polynomial(E.IntExpr.__sub__, "-")
        __mul__ = _polynomial(E.IntExpr.__mul__, "*")
        __lt__ = _int_comparison(E.lt)
        __le__ = _int_comparison(E.le)
        __gt__ = _int_comparison(E.gt)
        __ge__ = _int_comparison(E.ge)
        __eq__ = _int_comparison(E.eq)
        __ne__ = _int_comparison(E.ne)

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

    __or__ = _specialising("or_")
    __ror__ = _specialising("or_")
    __xor__ = _specialising("xor")
    __rxor__ = _specialising("xor")
    __rlshift__ = _specialising("__rlshift__")
    __rrshift__ = _specialising("__rrshift__")
    bit_length = _specialising("bit_length")
    bit_count = _specialising("bit_count")
    to_bytes = _specialising("to_bytes")

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


_EQUAL: Any = _comparison(E.eq)
_UNEQUAL: Any = _comparison(E.ne)
SymBool.__eq__ = _same_or_iff  # type: ignore[assignment, method-assign]
SymBool.__ne__ = _different  # type: ignore[assignment, method-assign]
