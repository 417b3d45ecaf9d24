"""Declaring the symbols of a trace: inputs under their specifications, sizes that depend on data, assumptions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

from solver import expr as E
from solver.dims import DerivedDim, Dim, DimHint, DimSpec
from solver.errors import Location
from solver.expr import BoolExpr, IntExpr
from solver.knowledge import Knowledge
from solver.records import Assumption, Role, SymbolInfo
from solver.sym.numbers import SymInt
from solver.trace_errors import (
    ASSUMPTION_FALSE,
    BAD_SPEC,
    DIM_REDEFINED,
    NOT_DERIVED,
    OUTSIDE_RANGE,
    SIZE_MISMATCH,
)

_RANKS: dict[Role, int] = {"named": 0, "AUTO": 1, "DYNAMIC": 1, "unbacked": 2}


class Declarations(ABC):
    """The symbols with their example values and sources, and the Python numbers over them."""

    def __init__(
        self, locate: Callable[[], Location | None] | None, describe: Callable[[str], str | None] | None
    ) -> None:
        self.locate = locate
        self.describe = describe
        # While True, the text of a number is its expression and adds no guard: messages, not values, are being made.
        self.quoting = False
        self.symbols: dict[str, SymbolInfo] = {}
        self.sources: dict[str, IntExpr] = {}
        self.hints: dict[str, int] = {}
        self.assumptions: list[Assumption] = []
        self.knowledge = Knowledge(self._rank)
        self._dims: dict[str, tuple[Dim, str, str]] = {}  # Dim name -> Dim, symbol, first source
        self._inferred: set[str] = set()
        self._data: set[str] = set()

    @abstractmethod
    def wrap(self, expr: E.Expr) -> Any:
        """The Python number over ``expr``; a plain one where it is a constant."""

    @abstractmethod
    def wrap_int(self, expr: IntExpr) -> int | SymInt:
        """:meth:`wrap` of an integer."""

    def input_dim(self, source: str, size: int, spec: DimSpec) -> int | SymInt:
        """The size of an input's dimension under its specification.

        Raises ConstraintViolationError where specification and example contradict each other, InputError where a
        name has two ranges.
        """
        return self._input(source, size, spec, 0)

    def input_int(self, source: str, value: int, spec: DimSpec) -> int | SymInt:
        """An integer input under its specification; a hint without ``min`` allows negative values."""
        return self._input(source, value, spec, None)

    def _input(self, source: str, size: int, spec: DimSpec, low: int | None) -> int | SymInt:
        if spec is None:
            return size
        if isinstance(spec, int):
            if spec != size:
                raise SIZE_MISMATCH(
                    location=self.here(),
                    source=source,
                    size=size,
                    dim="the specification",
                    expected=spec,
                    because="",
                )
            return size
        if isinstance(spec, DimHint):
            if spec.kind == "STATIC":
                return size
            return self._declare_inferred(source, size, spec, low)
        derived = spec if isinstance(spec, DerivedDim) else DerivedDim(spec, 1, 0)
        return self._named(source, size, derived, low)

    def _declare_inferred(self, source: str, size: int, spec: DimHint, low: int | None) -> int | SymInt:
        low = low if spec.min is None else spec.min
        self._inside(source, size, repr(spec), low, spec.max)
        assert spec.kind != "STATIC"
        name = self._fresh("s")
        self._add(SymbolInfo(name, spec.kind, low, spec.max, size, source, self.here(), spec=repr(spec)))
        self._inferred.add(name)
        return self._bind(source, E.int_symbol(name))

    def _named(self, source: str, size: int, spec: DerivedDim, low: int | None) -> int | SymInt:
        root = spec.root
        value, rest = divmod(size - spec.offset, spec.scale)
        if rest:
            raise NOT_DERIVED(
                location=self.here(), source=source, size=size, dim=spec.__name__, root=root.__name__
            )
        known = self._dims.get(root.__name__)
        if known is None:
            self._inside(source, value, repr(root), root.min, root.max, spec)
            name = self._unique(root.__name__)
            self._dims[root.__name__] = root, name, source
            self._add(SymbolInfo(name, "named", root.min, root.max, value, "", self.here(), spec=repr(root)))
        else:
            other, name, first = known
            if other != root:
                raise DIM_REDEFINED(
                    location=self.here(), source=source, dim=root, other_source=first, other=other
                )
            self._agrees(source, size, spec, name, first)
        if spec.scale == 1 and spec.offset == 0 and not self.symbols[name].source:
            self.symbols[name].source = source
        expr = E.int_symbol(name) * spec.scale + spec.offset
        if low is not None and (spec.min is None or spec.min < low):
            self._assume(E.ge(expr, low), f"{spec.__name__} >= {low}")  # it is a size
        return self._bind(source, expr)

    def _agrees(self, source: str, size: int, spec: DerivedDim, name: str, first: str) -> None:
        expected = self.hints[name] * spec.scale + spec.offset
        if expected != size:
            because = f", as {first} has the same Dim" if spec.scale == 1 else f" by {first}"
            raise SIZE_MISMATCH(
                location=self.here(),
                source=source,
                size=size,
                dim=spec.__name__,
                expected=expected,
                because=because,
            )

    def _inside(
        self,
        source: str,
        value: int,
        dim: str,
        low: int | None,
        high: int | None,
        spec: DerivedDim | None = None,
    ) -> None:
        if (low is not None and value < low) or (high is not None and value > high):
            size = value if spec is None else spec.scale * value + spec.offset
            if spec is not None and (spec.scale, spec.offset) != (1, 0):
                dim = f"{spec.__name__} with {dim}"
            raise OUTSIDE_RANGE(
                location=self.here(),
                source=source,
                size=size,
                dim=dim,
                min=low,
                max="any" if high is None else high,
            )

    def _bind(self, source: str, expr: IntExpr) -> int | SymInt:
        self.sources[source] = expr
        return self.wrap_int(expr)

    def unbacked(
        self,
        source: str = "",
        kind: Literal["int", "float", "bool"] = "int",
        min: int | None = None,
        max: int | None = None,
    ) -> Any:
        """A new symbol whose value depends on data: SymInt, SymFloat or SymBool. ``source`` is how the user reaches it."""
        name = self._fresh({"int": "u", "float": "uf", "bool": "ub"}[kind])
        self._add(SymbolInfo(name, "unbacked", min, max, None, source, self.here(), kind))
        self._data.add(name)
        if kind == "int":
            return self.wrap(E.int_symbol(name))
        return self.wrap(E.float_symbol(name) if kind == "float" else E.bool_symbol(name))

    def stand_in(self, size: IntExpr) -> IntExpr:
        """A new symbol within the bounds of ``size``, of which no more is known; its value in the example is another one if it may be."""
        low, high = self.knowledge.bounds(size)
        hint: int = E.evaluate(size, self.hints)
        other = hint + 1 if high is None or hint < high else hint - 1
        name = self._fresh("r")
        self._add(SymbolInfo(name, "DYNAMIC", low, high, other if low is None or other >= low else hint, ""))
        self._inferred.add(name)
        return E.int_symbol(name)

    def assume(self, condition: BoolExpr, text: str | None = None) -> None:
        """A relation that the specification states, over the names of its dimensions or over the environment's symbols.

        Raises ConstraintViolationError where the example breaks it, InputError for a name that no dimension bears.
        """
        shown = str(condition) if text is None else text
        condition = E.substitute(condition, {n: self._dimension(n) for n in E.free_symbols(condition)})
        try:
            holds = E.evaluate(condition, self.hints)
        except E.UNDEFINED:
            holds = False
        if not holds:
            names = sorted(E.free_symbols(condition))
            values = ", ".join(f"{self.phrase_symbol(n)} = {self.hints[n]}" for n in names)
            raise ASSUMPTION_FALSE(location=self.here(), assumption=shown, values=values)
        self._assume(condition, shown)

    def _dimension(self, name: str) -> IntExpr:
        if name in self._dims:
            return E.int_symbol(self._dims[name][1])
        if name in self.symbols:
            return E.int_symbol(name)
        raise BAD_SPEC(location=self.here(), what=f"an assumption speaks of {name}, which no dimension bears")

    def _assume(self, condition: BoolExpr, text: str) -> None:
        if condition is not E.TRUE and all(a.expr is not condition for a in self.assumptions):
            self.assumptions.append(Assumption(f"A{len(self.assumptions) + 1}", condition, text, self.here()))
            self.knowledge.learn(condition)

    def _add(self, info: SymbolInfo) -> None:
        self.symbols[info.name] = info
        if info.sort == "int":
            self.knowledge.add_symbol(info.name, info.min, info.max)
        if info.hint is not None:
            self.hints[info.name] = info.hint

    def _fresh(self, prefix: str) -> str:
        number = sum(1 for name in self.symbols if name.rstrip("0123456789") == prefix)
        while f"{prefix}{number}" in self.symbols:
            number += 1
        return f"{prefix}{number}"

    def _unique(self, name: str) -> str:
        candidate, number = name, 0
        while candidate in self.symbols:
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def _rank(self, name: str) -> int:
        return _RANKS[self.symbols[name].role]

    def here(self) -> Location | None:
        """The user's line."""
        return None if self.locate is None else self.locate()

    def phrase_symbol(self, name: str) -> str:
        """What the user calls a symbol."""
        described = None if self.describe is None else self.describe(name)
        return described or self.symbols[name].source or name
