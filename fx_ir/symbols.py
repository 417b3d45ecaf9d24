"""Symbols after tracing: an environment that answers from what the program guarantees and records nothing.

Loaded programs carry their symbolic values in one, and the checker derives values anew in one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from fx_ir.meta import TensorMeta
from solver import expr as E
from solver.errors import ExportError
from solver.expr import BoolExpr, IntExpr, free_symbols
from solver.knowledge import Knowledge
from solver.problem import Condition, Problem, SymbolDecl
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

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

    int_type: type[SymInt] = SymInt
    bool_type: type[SymBool] = SymBool
    float_type: type[SymFloat] = SymFloat
    quoting = False

    def __init__(self, symbols: Mapping[str, SymbolDecl], conditions: Iterable[BoolExpr]) -> None:
        kinds = {name: _ORDER[symbol.kind] for name, symbol in symbols.items()}
        self.origin: str | None = None
        self.hints: dict[str, int] = {}
        self.knowledge = Knowledge(lambda name: kinds.get(name, 2))
        self.make_unbacked: Callable[[str], Any] | None = None
        self._symbols = dict(symbols)
        self._learned: list[BoolExpr] = []
        for name, symbol in symbols.items():
            self.knowledge.add_symbol(name, symbol.min, symbol.max)
            if symbol.hint is not None:
                self.hints[name] = symbol.hint
        for condition in conditions:
            self.assume(condition)

    def assume(self, condition: BoolExpr) -> None:
        """Takes a condition as given."""
        self._learned.append(condition)
        self.knowledge.learn(condition)

    def proved(self, condition: BoolExpr, given: Sequence[BoolExpr] = ()) -> bool:
        """Whether the condition follows, also from what is ``given``: what is known at once, or else by the prover."""
        known = self.known(condition)
        if known is not None:
            return known
        from solver.prove import prove

        facts = [Condition(f"F{number}", fact) for number, fact in enumerate((*self._learned, *given), 1)]
        symbols = dict(self._symbols)
        for fact in (*facts, Condition("G1", condition)):
            for name, sort in E.symbol_sorts(fact.expr):
                symbols.setdefault(name, SymbolDecl("unbacked", None, None, sort=sort))
        problem = Problem("check", symbols, [], facts, [Condition("G1", condition)])
        return prove(problem).status == "proved"

    def reasoned(self, condition: BoolExpr) -> bool | None:
        """Whether the condition holds, as far as the prover can tell."""
        if self.proved(condition):
            return True
        return False if self.proved(E.not_(condition)) else None

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

    def evaluate(self, condition: BoolExpr, kind: str = "branch") -> bool:
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

    def asserting(self, condition: Any, message: str) -> None:
        """Nothing can be added to what is checked: a program asserts by itself what its operators need."""
        raise Undetermined(getattr(condition, "expr", condition))

    def learn(self, condition: Any) -> None:
        if isinstance(condition, SymBool):
            self.assume(condition.expr)

    def check(self, condition: Any, message: str | None = None) -> bool:
        """Takes a fact as given."""
        self.learn(condition)
        return isinstance(condition, SymBool)


def detached_env(problem: Problem | None, symbols: Mapping[str, SymbolDecl] | None = None) -> DetachedEnv:
    """The environment of proof obligations, with further symbols that they do not mention."""
    made = problem if problem is not None else Problem()
    conditions = [condition.expr for condition in (*made.spec, *made.facts, *made.guards)]
    return DetachedEnv({**(symbols or {}), **made.symbols}, conditions)


def program_env(program: ExportedProgram) -> DetachedEnv:
    """The environment of a program: its symbols, and every condition that holds when it runs."""
    env = detached_env(program.problem, program_symbols(program))
    for condition in _conditions(program):
        env.assume(condition)
    return env


def _conditions(program: ExportedProgram) -> list[BoolExpr]:
    return [condition.expr for condition in program.contract.conditions] + [
        guard.expr for guard in program.guards
    ]


def program_symbols(program: ExportedProgram) -> dict[str, SymbolDecl]:
    """Every symbol of the values, inputs and conditions, with bounds and the example's value where they are known."""
    found = dict(program.problem.symbols) if program.problem is not None else {}
    for module in program.graph_module.modules():
        for node in module.graph.nodes:
            _collect(node.meta.get("val"), found)
    for name, (low, high) in program.contract.ranges.items():
        if name not in found:
            found[name] = SymbolDecl(min=low, max=high)
    for condition in _conditions(program):
        for name, sort in E.symbol_sorts(condition):
            found.setdefault(name, SymbolDecl(sort=sort))
    return found


def _collect(val: Any, found: dict[str, SymbolDecl]) -> None:
    if isinstance(val, (tuple, list)):
        for item in val:
            _collect(item, found)
    elif isinstance(val, TensorMeta):
        strides = () if val.is_plain or not val.has_layout else val.strides
        for size in (*val.shape, *strides, val.settled_offset):
            _collect(size, found)
    elif isinstance(val, (SymInt, SymFloat, SymBool)):
        for name, sort in E.symbol_sorts(val.expr):
            if name not in found:
                found[name] = _declaration(val.env, name, sort)


def _declaration(env: Any, name: str, sort: E.Sort) -> SymbolDecl:
    if sort != "int":
        return SymbolDecl("unbacked", sort=sort)
    symbol = E.int_symbol(name)
    low, high = env.bounds(symbol)
    hint = env.hint(symbol)
    return SymbolDecl("unbacked" if hint is None else "input", low, high, hint=hint)
