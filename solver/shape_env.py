"""The shape environment: symbols with their example values, what is known about them, and the guards they met."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from solver import expr as E
from solver.declarations import Declarations
from solver.errors import Location
from solver.expr import BoolExpr, FloatExpr, Interval, IntExpr
from solver.problem import Condition, Problem, SymbolDecl
from solver.records import Assumption as Assumption
from solver.records import Fact as Fact
from solver.records import Guard as Guard
from solver.records import GuardKind
from solver.records import SymbolInfo as SymbolInfo
from solver.sym.numbers import SymBool, SymFloat, SymInt
from solver.violation import (
    check_failed,
    collapsed,
    conflict,
    data_dependent,
    unproved,
    value_needed,
)

if TYPE_CHECKING:
    from solver.report import Report


class ShapeEnv(Declarations):
    """Evaluates conditions on sizes while tracing, and records those that the program relies on.

    ``locate`` gives the user's line (None if there is none); ``describe`` phrases a symbol in the user's names for
    error messages (by default its source). ``origin`` names the operator that now runs.
    """

    int_type: type[SymInt] = SymInt
    bool_type: type[SymBool] = SymBool
    float_type: type[SymFloat] = SymFloat

    def __init__(
        self,
        locate: Callable[[], Location | None] | None = None,
        describe: Callable[[str], str | None] | None = None,
        name: str = "",
    ) -> None:
        super().__init__(locate, describe)
        self.name = name
        self.origin = ""
        # how a fact becomes an assertion of the program; None where nothing can assert
        self.asserting: Callable[[bool | SymBool, str], None] | None = None
        # told of a decision on data: the outcome that is asserted because the other one only raises, or None
        self.going_on: Callable[[SymBool], bool | None] | None = None
        self.guards: list[Guard] = []
        self.facts: list[Fact] = []
        self.known_facts: list[BoolExpr] = []
        self.notes: list[str] = []
        self.static: dict[str, int] = {}
        self.closed = (
            False  # set when the program is made: later questions are answered and nothing is recorded
        )
        self._collapsed: dict[str, Guard] = {}
        self.scopes: list[list[Fact]] = []

    @overload
    def wrap(self, expr: IntExpr) -> int | SymInt: ...
    @overload
    def wrap(self, expr: BoolExpr) -> bool | SymBool: ...
    @overload
    def wrap(self, expr: FloatExpr) -> float | SymFloat: ...
    @overload
    def wrap(self, expr: E.Expr) -> Any: ...
    def wrap(self, expr: E.Expr) -> Any:
        """The Python number over ``expr``; a plain one where it is a constant."""
        if expr.__class__ is IntExpr:
            return self.int_type(self, expr) if expr.terms else expr.const
        return self.wrap_bool(expr) if isinstance(expr, BoolExpr) else self.wrap_float(expr)  # type: ignore[arg-type]

    def wrap_int(self, expr: IntExpr) -> int | SymInt:
        """:meth:`wrap` of an integer."""
        return self.int_type(self, expr) if expr.terms else expr.const

    def wrap_bool(self, expr: BoolExpr) -> bool | SymBool:
        """:meth:`wrap` of a condition."""
        return expr is E.TRUE if expr.is_const else self.bool_type(self, expr)

    def wrap_float(self, expr: FloatExpr) -> float | SymFloat:
        """:meth:`wrap` of a float."""
        return expr.value if expr.is_const else self.float_type(self, expr)

    # Questions

    def known(self, condition: BoolExpr) -> bool | None:
        """Whether the condition holds, where that is known; records nothing."""
        return self.knowledge.settle(condition)

    def bounds(self, expr: IntExpr) -> Interval:
        """Bounds of a size."""
        return self.knowledge.bounds(expr)

    def hint(self, expr: E.Expr) -> int | float | bool | None:
        """The value in the example; None where it depends on data or has no value."""
        try:
            return E.evaluate(expr, self.hints)
        except KeyError:
            return None
        except E.UNDEFINED:
            return None

    def evaluate(self, condition: BoolExpr, kind: GuardKind = "branch") -> bool:
        """Decides the condition. A decision that rests on the example's sizes becomes a guard.

        Raises DataDependentError where data decides and nothing known settles it.
        """
        known = self.knowledge.settle(condition)
        if known is not None:
            return known
        if not self._data.isdisjoint(E.free_symbols(condition)):
            rewritten = self.knowledge.rewrite(condition)
            if not self._data.isdisjoint(E.free_symbols(rewritten)):
                return self._decide_data(condition, kind)
            condition = rewritten
        value = E.evaluate(condition, self.hints)
        self._record(condition if value else E.not_(condition), kind, None)
        return value

    def _decide_data(self, condition: BoolExpr, kind: GuardKind) -> bool:
        known = self.reasoned(condition)
        if known is None:
            asked = self.wrap_bool(condition)
            taken = (
                None
                if self.going_on is None or kind != "branch" or isinstance(asked, bool)
                else self.going_on(asked)
            )
            if taken is None:
                raise data_dependent(self, condition, kind)
            return taken
        return known

    def reasoned(self, condition: BoolExpr) -> bool | None:
        """The prover's word on a condition about data, from facts and specification; what it proves is known from then on."""
        from solver.prove import prove

        for goal, answer in ((condition, True), (E.not_(condition), False)):
            problem = self._problem([Condition("G1", goal)])
            problem.facts += [Condition(f"L{i}", c) for i, c in enumerate(self._local_facts(), 1)]
            if prove(problem).status == "proved":
                self.knowledge.learn(goal)
                return answer
        return None

    def _local_facts(self) -> list[BoolExpr]:
        return [fact.expr for facts in self.scopes for fact in facts]

    def specialize(self, expr: E.Expr) -> int | float | bool:
        """The plain value of a number, with the guard that it is this one. DataDependentError where data decides."""
        if isinstance(expr, BoolExpr):
            return self.evaluate(expr, "specialize")
        if isinstance(expr, IntExpr):
            low, high = self.knowledge.bounds(expr)
            if low is not None and low == high:
                return low
        value = self.hint(expr)
        if value is None:
            raise value_needed(self, expr)
        self.evaluate(E.eq(expr, value), "specialize")
        return value

    def _record(self, condition: BoolExpr, kind: GuardKind, message: str | None) -> None:
        if self.closed:
            return
        adopted = not self._inferred.isdisjoint(E.free_symbols(condition))
        guard = Guard(f"G{len(self.guards) + 1}", condition, self.here(), self.origin, kind, adopted, message)
        self.guards.append(guard)
        before = len(self.knowledge.replaced)
        self.knowledge.learn(condition)
        if len(self.knowledge.replaced) != before:
            for name in self._inferred:
                value = self.knowledge.replaced.get(name)
                if value is not None and value.is_const:
                    self._collapsed.setdefault(name, guard)

    def check(self, condition: bool | SymBool, message: str | None = None) -> Fact | None:
        """States that a condition holds: a fact about sizes that depend on data, a guard about others.

        Returns the fact where the program has to assert it at run time. Raises ConstraintViolationError where it
        contradicts what is known, with both lines, or where the example breaks it.
        """
        expr = condition.expr if isinstance(condition, SymBool) else E.truth(condition)
        known = self.knowledge.settle(expr)
        if known is True:
            return None
        if known is False:
            raise conflict(self, expr, message)
        if self.scopes or not self._data.isdisjoint(E.free_symbols(expr)):
            return self._state(expr, message)
        if not E.evaluate(expr, self.hints):
            raise check_failed(self, expr, message)
        self._record(expr, "check", message)
        return None

    def learn(self, condition: bool | SymBool) -> None:
        """Takes as known what holds by construction of a value: no guard, and nothing to assert at run time."""
        if isinstance(condition, SymBool) and self.knowledge.settle(condition.expr) is None:
            self.known_facts.append(condition.expr)
            self.knowledge.learn(condition.expr)

    def _state(self, expr: BoolExpr, message: str | None) -> Fact:
        facts = self.scopes[-1] if self.scopes else self.facts
        prefix = "L" if self.scopes else "F"
        fact = Fact(f"{prefix}{len(facts) + 1}", expr, self.here(), message)
        facts.append(fact)
        self.knowledge.learn(expr)
        return fact

    @contextmanager
    def scope(self) -> Iterator[list[Fact]]:
        """A branch that may not run: facts stated inside are forgotten outside. Gives the list of them."""
        outside, first, known = self.knowledge, len(self.guards), len(self.known_facts)
        known_symbols = set(self.symbols)
        facts: list[Fact] = []
        self.knowledge = outside.copy()
        self.scopes.append(facts)
        try:
            yield facts
        finally:
            self.scopes.pop()
            self.knowledge = outside
            for name, info in self.symbols.items():
                if name not in known_symbols and info.sort == "int":
                    outside.add_symbol(name, info.min, info.max)
            for condition in [*self.known_facts[known:], *(g.expr for g in self.guards[first:])]:
                if outside.settle(condition) is None:
                    outside.learn(condition)

    @contextmanager
    def trial(self) -> Iterator[list[Guard]]:
        """Whatever is asked, stated and declared inside is forgotten outside. Gives the list that holds the guards inside."""
        kept = dict(vars(self))
        for name, value in kept.items():
            if isinstance(value, (list, dict, set)):
                setattr(self, name, value.copy())
        self.knowledge, self.guards = self.knowledge.copy(), []
        try:
            yield self.guards
        finally:
            vars(self).update(kept)

    # Results

    @property
    def adopted(self) -> list[Guard]:
        """Guards that speak of inferred dimensions: part of the contract, checked at run time."""
        return [g for g in self.guards if g.adopted]

    @property
    def obligations(self) -> list[Guard]:
        """Guards that the specification has to imply."""
        return [g for g in self.guards if not g.adopted]

    @property
    def range_constraints(self) -> dict[str, Interval]:
        """Bounds of every symbol of the program: as promised for named ones, as found for the others."""
        found: dict[str, Interval] = {}
        for name, info in self.symbols.items():
            if info.sort != "int" or name in self.static:
                continue
            found[name] = (info.min, info.max) if info.role == "named" else self._found_range(name)
        return found

    def _found_range(self, name: str) -> Interval:
        low, high = self.knowledge.ranges[name]
        other_low, other_high = self.knowledge.bounds(E.int_symbol(name))
        lows = [b for b in (low, other_low) if b is not None]
        highs = [b for b in (high, other_high) if b is not None]
        return max(lows) if lows else None, min(highs) if highs else None

    def finish(self) -> None:
        """Ends tracing: an inferred dimension with one possible value becomes static (AUTO) or is refused (DYNAMIC)."""
        for name in sorted(self._inferred - set(self.static)):
            value = self.knowledge.replaced.get(name)
            if value is not None and not value.is_const:
                continue  # equal to another dimension
            if value is None and not self._forced(name):
                continue
            size = self.hints[name] if value is None else value.const
            info, guard = self.symbols[name], self._collapsed.get(name)
            if info.role == "DYNAMIC":
                raise collapsed(self, info, size, guard)
            self.static[name] = size
            where = "" if guard is None or guard.location is None else f", at {guard.location}"
            self.notes.append(
                f"{info.source} is static ({size}): the program needs {self._why(guard, info)}{where}"
            )

    def _forced(self, name: str) -> bool:
        """Whether adopted equalities that elimination cannot solve (``s*s == 16``) leave one value."""
        adopted = list(self.adopted)
        places = [
            i for i, g in enumerate(adopted) if g.expr.op in ("==", "in") and name in E.free_symbols(g.expr)
        ]
        if not places or not self._leaves_one(name, adopted):
            return False
        low, high = 0, len(places) - 1  # the first equality with which it is settled is the one to name
        while low < high:
            middle = (low + high) // 2
            if self._leaves_one(name, adopted[: places[middle] + 1]):
                high = middle
            else:
                low = middle + 1
        self._collapsed[name] = adopted[places[low]]
        return True

    def _leaves_one(self, name: str, guards: Sequence[Guard]) -> bool:
        """Whether these conditions imply the example's value."""
        from solver.prove import prove

        problem = self._problem([Condition("G0", E.eq(E.int_symbol(name), self.hints[name]))])
        adopted = [g for g in guards if g.expr is not problem.guards[0].expr]
        problem.spec += [Condition(g.id, g.expr) for g in adopted]
        for guard in adopted:
            for other in E.free_symbols(guard.expr) - problem.symbols.keys():
                problem.symbols[other] = _declaration(self.symbols[other])
        return prove(problem).status == "proved"

    def _why(self, guard: Guard | None, info: SymbolInfo) -> str:
        return f"{info.source} == {self.hints[info.name]}" if guard is None else self.phrase(guard.expr)

    def final(self, expr: E.Expr) -> E.Expr:
        """The expression with dimensions that became static put in; after :meth:`finish`."""
        return E.substitute(expr, self.static) if self.static else expr

    def phrase(self, expr: E.Expr) -> str:
        """The expression in the user's names."""
        from solver.violation import phrase

        return phrase(expr, self.phrase_symbol)

    def problem(self) -> Problem:
        """Does the specification imply the guards on named dimensions?"""
        return self._problem([_condition(g.id, g.expr, g.location, g.origin) for g in self.obligations])

    def _problem(self, guards: list[Condition]) -> Problem:
        spec = [_condition(a.id, a.expr, a.location, None, a.text) for a in self.assumptions]
        facts = [_condition(f.id, f.expr, f.location, None) for f in self.facts]
        facts += [Condition(f"K{i}", c) for i, c in enumerate(self.known_facts, 1)]
        used = {n for c in (*spec, *facts, *guards) for n in E.free_symbols(c.expr)}
        used |= {n for n, info in self.symbols.items() if info.role == "named"}
        symbols = {
            n: _declaration(info) for n, info in self.symbols.items() if n in used or info.role == "unbacked"
        }
        return Problem(self.name, symbols, spec, facts, guards)

    def prove(self) -> Report:
        """Proves that the specification implies every guard on named dimensions.

        Raises ConstraintViolationError, with the report, unless all is proved.
        """
        from solver.prove import prove

        self.finish()
        report = prove(self.problem())
        verdicts = {g.id: g.verdict for g in report.guards}
        for guard in self.guards:
            guard.verdict = "adopted" if guard.adopted else verdicts.get(guard.id)
        if report.status != "proved":
            raise unproved(self, report)
        return report


def _condition(
    id: str, expr: BoolExpr, location: Location | None, origin: str | None, text: str = ""
) -> Condition:
    at = None if location is None else f"{location.file}:{location.line}"
    return Condition(id, expr, at, text or str(expr), origin=origin or None)


def _declaration(info: SymbolInfo) -> SymbolDecl:
    kind: Literal["input", "phantom", "unbacked"] = "unbacked" if info.role == "unbacked" else "input"
    if kind == "input" and not info.source:
        kind = "phantom"  # the root of derived dimensions only
    return SymbolDecl(kind, info.min, info.max, info.source or None, info.hint, info.sort)


def shapes(env: ShapeEnv, assignment: Mapping[str, int | float | bool]) -> dict[str, int]:
    """The inputs' sizes under an assignment of the symbols, by source."""
    found: dict[str, int] = {}
    for source, expr in env.sources.items():
        if E.free_symbols(expr) <= assignment.keys():
            found[source] = E.evaluate(expr, assignment)
    return found
