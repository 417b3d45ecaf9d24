"""Suggestions for one refuted guard, or for several at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from solver.expr import BoolExpr, and_, free_symbols, not_
from solver.expr.nodes import IntExpr
from solver.prove.engine import SMALL_RESOURCES, Engine, Outcome
from solver.prove.points import Point
from solver.prove.world import World, goal_of
from solver.report import Suggestion
from solver.suggest.dims import dim_source
from solver.suggest.observe import Observer
from solver.suggest.patterns import Pattern, fit
from solver.suggest.simplify import simplified, written_size

MAX_SUGGESTIONS: Final = 4
_MAX_WORDS: Final = 240
_BASES: Final = 10
_LABEL: Final = "suggestion"
_MAX_WRITTEN: Final = 4000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A condition to try, and the kind of suggestion that it would make."""

    condition: BoolExpr
    kind: str


class Advisor:
    """Finds and proves suggestions against one world."""

    def __init__(self, engine: Engine, guards: Sequence[BoolExpr]) -> None:
        self.engine = engine
        self.world = engine.world
        self.guards = [goal_of(guard) for guard in guards]
        self.goal = and_(*self.guards)
        self.names = self._names()
        cone = frozenset[int]().union(*(self.world.cone(guard) for guard in self.guards))
        self.observer = Observer(engine, cone, self.guards)

    def _names(self) -> list[str]:
        used = {name for guard in self.guards for name in free_symbols(guard)}
        return [n for n, s in self.world.problem.symbols.items() if n in used and s.sort == "int"]

    def suggestions(self) -> list[Suggestion]:
        """Proved suggestions, weakest first."""
        found: list[Suggestion] = []
        seen: set[BoolExpr] = set()
        for candidate in self._candidates():
            if candidate.condition in seen:
                continue
            seen.add(candidate.condition)
            suggestion = self.proved(candidate)
            if suggestion is not None:
                found.append(suggestion)
            if len(found) >= MAX_SUGGESTIONS or (found and found[-1].weakest and len(self.names) == 1):
                break
        found.sort(key=lambda s: (not s.weakest, not s.dims))
        if found and found[0].weakest and found[0].dims:
            return [s for s in found if s.weakest]
        return found

    # -- candidates ----------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[Candidate]:
        base = self.observer.base()
        if base is not None:
            yield from self.product(base)
        if len(self.names) > 1 and base is not None:
            yield from self._one_symbol(base)
        if len(self.guards) == 1:
            yield from self._itself()

    def product(self, base: Point) -> Iterator[Candidate]:
        """A pattern for each symbol, seen along lines through ``base``; exact where guards ask symbols one by one."""
        parts: list[tuple[str, Pattern]] = []
        for name in self.names:
            patterns = list(fit(self.observer.along(name, [base]), self.observer.moduli))
            if not patterns:
                return
            parts += [(name, pattern) for pattern in patterns[:1] if not pattern.trivial]
        if parts:
            condition = and_(*(pattern.condition(name) for name, pattern in parts))
            yield Candidate(condition, parts[0][1].kind if len(parts) == 1 else "several")
        if len(self.names) == 1:
            others = list(fit(self.observer.along(self.names[0], [base]), self.observer.moduli))[1:]
            yield from (Candidate(p.condition(self.names[0]), p.kind) for p in others if not p.trivial)

    def _one_symbol(self, base: Point) -> Iterator[Candidate]:
        """Conditions on one symbol that make the guards hold whatever the others are."""
        points = list(self.observer.sampler)
        step = max(1, len(points) // _BASES)
        bases = [base, *points[::step][:_BASES]]
        for name in self.names:
            for pattern in fit(self.observer.along(name, bases), self.observer.moduli):
                if not pattern.trivial:
                    yield Candidate(pattern.condition(name), pattern.kind)

    def _itself(self) -> Iterator[Candidate]:
        whole = self.whole
        yield Candidate(whole, _kind_of(whole))

    @cached_property
    def whole(self) -> BoolExpr:
        """What the guards demand, said as shortly as possible: nothing weaker can do."""
        if written_size(self.goal) > _MAX_WRITTEN:
            return self.goal
        return simplified(self.world.problem, self.guards, self._pattern)

    def _pattern(self, name: str, parts: Sequence[BoolExpr]) -> BoolExpr | None:
        """The condition on one symbol that is equivalent to some conditions on it, where a simple one is."""
        if list(parts) == self.guards:
            return None  # its own patterns have been tried
        advisor = Advisor(self.engine, parts)
        base = advisor.observer.base()
        truth = {} if base is None else advisor.observer.along(name, [base])
        pattern = next(fit(truth, advisor.observer.moduli), None)
        if pattern is None or pattern.trivial:
            return None
        condition = pattern.condition(name)
        return condition if advisor.suffices(condition) and advisor.necessary(condition) else None

    # -- proof ---------------------------------------------------------------------------------------------------

    def proved(self, candidate: Candidate) -> Suggestion | None:
        """The suggestion, if its condition is satisfiable, admits the example and makes the guards hold."""
        if written_size(candidate.condition) > _MAX_WRITTEN:
            return None
        example = self.observer.example()
        if example is not None and self.observer.holds(example) and not example.holds(candidate.condition):
            return None
        if not self._is_whole(candidate.condition) and not self.suffices(candidate.condition):
            return None
        return self.described(candidate)

    def _is_whole(self, condition: BoolExpr) -> bool:
        """Whether a condition is what the guards say, so that nothing is to be proved."""
        return condition is self.goal or (len(self.guards) == 1 and condition is self.whole)

    def suffices(self, condition: BoolExpr) -> bool:
        """Whether a condition can be met and makes the guards hold."""
        after = self.strengthened(condition)
        engine = Engine(after, SMALL_RESOURCES)
        cone = after.cone(condition).union(*(after.cone(guard) for guard in self.guards))
        if next(iter(engine.sampler(cone)), None) is None:
            return False
        return all(self._certain(engine, guard) for guard in self.guards)

    def strengthened(self, condition: BoolExpr) -> World:
        return World(self.world.problem, [(_LABEL, condition)])

    def _certain(self, engine: Engine, guard: BoolExpr) -> bool:
        if engine.fast_proof(engine.world.context(engine.world.cone(guard)), guard) is not None:
            return True
        return len(self.guards) == 1 and engine.decide_expr(guard).verdict == "proved"

    def necessary(self, condition: BoolExpr) -> bool:
        """Whether the guards themselves imply the condition: then nothing weaker can do."""
        try:
            return self._implied_by_guards(condition)
        except RecursionError:  # nested too deeply to be decided
            return False

    def _implied_by_guards(self, condition: BoolExpr) -> bool:
        world = World(self.world.problem, [(f"guard {i}", guard) for i, guard in enumerate(self.guards)])
        outcome: Outcome = Engine(world, SMALL_RESOURCES).decide_expr(condition)
        if outcome.verdict == "proved":
            return True
        # The other way round helps where few assignments are left, as with floats: the guards fail at each of them.
        outside = Engine(self.strengthened(not_(condition)), SMALL_RESOURCES)
        return outcome.verdict == "unknown" and outside.decide_expr(not_(self.goal)).verdict == "proved"

    # -- words ---------------------------------------------------------------------------------------------------

    def described(self, candidate: Candidate) -> Suggestion:
        """The suggestion that a proved candidate makes."""
        weakest = self._is_whole(candidate.condition) or self.necessary(candidate.condition)
        after = self.strengthened(candidate.condition)
        names = sorted(free_symbols(candidate.condition), key=list(self.world.problem.symbols).index)
        named = self.names if candidate.kind == "several" else names
        dims = dim_source(self.world, after, candidate.condition, named)
        text = str(candidate.condition)
        return Suggestion(candidate.kind, text, self._words(text, names), dims, text, weakest)

    def _words(self, text: str, names: list[str]) -> str:
        symbols = self.world.problem.symbols
        shown = text if len(text) <= _MAX_WORDS else f"{text[: _MAX_WORDS - 3]}..."
        places = [f"{n} is {symbols[n].source}" for n in names if symbols[n].source not in (None, n)]
        return f"require {shown}" + (f" ({', '.join(places)})" if places else "")


def _kind_of(condition: BoolExpr) -> str:
    """What the guard itself is, taken as a condition."""
    if condition.op in (">=", "==", "!=") and _linear(condition.poly):
        return "equality" if condition.op == "==" and len(condition.poly.terms) == 2 else "linear"
    return "condition"


def _linear(poly: IntExpr) -> bool:
    return all(len(mono.atoms) == 1 and mono.atoms[0].op == "symbol" for mono in poly.terms)


__all__ = ["Advisor", "Candidate"]
