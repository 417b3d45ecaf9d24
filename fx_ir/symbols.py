"""Symbols after tracing: an environment that answers from what the program guarantees and records nothing.

Loaded programs carry their symbolic values in one, and the checker derives values anew in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from solver import expr as E
from solver.errors import ExportError
from solver.expr import BoolExpr, IntExpr
from solver.expr import free_symbols
from solver.knowledge import Knowledge
from solver.problem import Problem
from solver.sym import SymBool, SymFloat, SymInt

_ORDER: Final = {"unbacked": 2, "phantom": 1, "input": 0}


class Undetermined(ExportError):
    """A question whose answer neither the program's conditions nor its example give."""

    def __init__(self, question: object) -> None:
        super().__init__(f"nothing in the program decides whether {question}", id="undetermined")


class DetachedEnv:
    """Answers questions about symbols from ranges, conditions and guards of a problem, then from the example's sizes.

    It stands where a ``solver.shape_env.ShapeEnv`` stands while tracing, but never records a guard. ``make_unbacked``
    supplies the symbols that fake rules ask for.
    """

    def __init__(self, problem: Problem) -> None:
        kinds = {name: _ORDER[symbol.kind] for name, symbol in problem.symbols.items()}
        self.origin: str | None = None
        self.hints: dict[str, int] = {}
        self.knowledge = Knowledge(lambda name: kinds.get(name, 2))
        self.make_unbacked: Callable[[str], Any] | None = None
        for name, symbol in problem.symbols.items():
            self.knowledge.add_symbol(name, symbol.min, symbol.max)
            if symbol.hint is not None:
                self.hints[name] = symbol.hint
        for condition in (*problem.spec, *problem.facts, *problem.guards):
            self.knowledge.learn(condition.expr)

    # --- what symbolic numbers ask ---------------------------------------------------------------------------------

    def wrap(self, expr: E.Expr) -> Any:
        """The Python number over an expression: a plain one for a constant."""
        if isinstance(expr, IntExpr):
            return self.wrap_int(expr)
        return self.wrap_bool(expr) if isinstance(expr, BoolExpr) else self.wrap_float(expr)

    def wrap_int(self, expr: IntExpr) -> int | SymInt:
        if expr.is_const:
            return expr.const
        return SymInt(self._as_shape_env(), expr)

    def wrap_bool(self, expr: BoolExpr) -> bool | SymBool:
        if expr.is_const:
            return expr is E.TRUE
        return SymBool(self._as_shape_env(), expr)

    def wrap_float(self, expr: E.FloatExpr) -> float | SymFloat:
        return expr.value if expr.is_const else SymFloat(self._as_shape_env(), expr)

    def _as_shape_env(self) -> Any:
        return self

    def known(self, condition: BoolExpr) -> bool | None:
        return self.knowledge.settle(condition)

    def evaluate(self, condition: BoolExpr) -> bool:
        """The answer; :class:`Undetermined` where there is none."""
        settled = self.knowledge.settle(condition)
        if settled is not None:
            return settled
        value = self.hint(condition)
        if value is None:
            raise Undetermined(condition)
        return bool(value)

    def hint(self, expr: E.Expr) -> Any:
        """The value at the example's sizes; None where it depends on data."""
        if not free_symbols(expr) <= self.hints.keys():
            return None
        return E.evaluate(expr, self.hints)

    def specialize(self, expr: E.Expr) -> Any:
        """The value at the example's sizes. Raises :class:`Undetermined` where it depends on data."""
        value = self.hint(expr)
        if value is None:
            raise Undetermined(f"{expr} has one value")
        return value

    def bounds(self, expr: IntExpr) -> E.Interval:
        return self.knowledge.bounds(expr)

    @contextmanager
    def purpose(self, text: str) -> Iterator[None]:
        """Provenance of guards, which are not recorded here."""
        yield

    # --- what fake rules and tracers ask -----------------------------------------------------------------------------

    @property
    def env(self) -> DetachedEnv:
        return self

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        """A symbol for a size that depends on data."""
        if self.make_unbacked is None:
            raise Undetermined(f"{source} is known")
        return self.make_unbacked(kind)

    def learn(self, condition: Any) -> None:
        if isinstance(condition, SymBool):
            self.knowledge.learn(condition.expr)

    def check(self, condition: Any, message: str | None = None) -> bool:
        """Takes a fact as given."""
        self.learn(condition)
        return isinstance(condition, SymBool)


def detached_env(problem: Problem | None) -> DetachedEnv:
    """The environment of a program's obligations."""
    return DetachedEnv(problem if problem is not None else Problem())
