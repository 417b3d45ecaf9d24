"""A problem prepared for proving: its premises as bits, its symbols in groups, a context for each set of groups.

Symbols that no premise ties together cannot influence each other, so a guard is proved in the context of its *cone*:
the groups that its symbols belong to. That keeps time linear in the number of guards, however many symbols there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from solver.expr import BoolExpr, and_, defined, free_symbols, ge, int_symbol, le
from solver.problem import Condition, Problem
from solver.prove.context import Context
from solver.prove.poly import Algebra
from solver.prove.premises import Premise
from solver.prove.signs import FUEL


@dataclass(frozen=True, slots=True)
class Source:
    """A premise as the user knows it: a range (``b >= 2``) or a fact of the specification by its id."""

    label: str
    expr: BoolExpr
    condition: Condition | None = None


@lru_cache(maxsize=8192)
def goal_of(expr: BoolExpr) -> BoolExpr:
    """What a guard demands: that it has a value, and that the value is true."""
    return expr if expr.total else and_(defined(expr), expr)


class World:
    """The premises of a problem and the contexts built from them."""

    def __init__(self, problem: Problem, extra: Iterable[tuple[str, BoolExpr]] = ()) -> None:
        self.problem = problem
        self.sources: list[Source] = []
        self._declare(problem)
        for label, expr in extra:
            self.sources.append(Source(label, goal_of(expr)))
        self._group: dict[str, int] = {}
        self._members: dict[int, list[int]] = {}
        self._form_groups()
        self._contexts: dict[tuple[frozenset[int], int], Context] = {}

    def _declare(self, problem: Problem) -> None:
        for name, symbol in problem.symbols.items():
            if symbol.sort != "int":
                continue
            if symbol.min is not None:
                self.sources.append(Source(f"{name} >= {symbol.min}", ge(int_symbol(name), symbol.min)))
            if symbol.max is not None:
                self.sources.append(Source(f"{name} <= {symbol.max}", le(int_symbol(name), symbol.max)))
        for condition in (*problem.spec, *problem.facts):
            self.sources.append(Source(condition.id, goal_of(condition.expr), condition))

    def _form_groups(self) -> None:
        parent = {name: name for name in self.problem.symbols}

        def root(name: str) -> str:
            while parent[name] != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        for source in self.sources:
            names = sorted(free_symbols(source.expr))
            for name in names[1:]:
                parent[root(name)] = root(names[0])
        numbers: dict[str, int] = {}
        for name in self.problem.symbols:
            self._group[name] = numbers.setdefault(root(name), len(numbers))
        for bit, source in enumerate(self.sources):
            names = sorted(free_symbols(source.expr))
            self._members.setdefault(self._group[names[0]] if names else -1, []).append(bit)

    # -- cones ---------------------------------------------------------------------------------------------------

    def cone(self, expr: BoolExpr) -> frozenset[int]:
        """The groups of symbols that an expression touches."""
        return frozenset(self._group[name] for name in free_symbols(expr))

    def group_of(self, name: str) -> int:
        """The group of a symbol."""
        return self._group[name]

    def groups(self) -> list[frozenset[int]]:
        """Every group that has premises, each alone."""
        return [frozenset((group,)) for group in sorted(self._members)]

    def names(self, cone: frozenset[int]) -> list[str]:
        """The symbols of a cone, in the order of the problem."""
        return [name for name in self.problem.symbols if self._group[name] in cone]

    def bits(self, cone: frozenset[int]) -> list[int]:
        """The premises about a cone; a premise without symbols belongs to every cone."""
        return sorted(bit for group in (-1, *cone) for bit in self._members.get(group, ()))

    def context(self, cone: frozenset[int], without: int = 0) -> Context:
        """Premises of a cone in solved form, those in the mask ``without`` left out."""
        bits = [bit for bit in self.bits(cone) if not without >> bit & 1]
        key = (cone, sum(1 << bit for bit in bits))
        found = self._contexts.get(key)
        if found is None:
            found = Context(Algebra())
            found.add(self.premises(bits))
            self._contexts[key] = found
        found.mask = 0
        found.fuel = FUEL
        return found

    def premises(self, bits: Iterable[int]) -> list[Premise]:
        return [(self.sources[bit].expr, 1 << bit) for bit in bits]

    def labels(self, mask: int) -> list[str]:
        """What the bits of a mask are called."""
        return [source.label for bit, source in enumerate(self.sources) if mask >> bit & 1]
