"""Which refuted guards matter: the others follow from them. And one change that makes all of them hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from solver.expr import BoolExpr, and_, free_symbols, int_symbol, le
from solver.overflow import ORIGIN as OVERFLOW
from solver.problem import Condition
from solver.prove.engine import SMALL_RESOURCES, Engine
from solver.prove.points import Point
from solver.prove.signs import FUEL
from solver.prove.world import World, goal_of
from solver.report import Suggestion
from solver.suggest.guard import Advisor, Candidate
from solver.suggest.observe import Observer, size
from solver.suggest.simplify import written_size

_POOL_SAMPLES: Final = 90
_POOL_LINE: Final = 70
_POOL_TELLING: Final = 24
_POOL_LEAST: Final = 24
_POOL_WORK: Final = 4_000_000
_PROOF_WORK: Final = 120_000
_SMALL_FUEL: Final = 8
_THOROUGH: Final = 24
_FEW: Final = 8
_LONG: Final = 600
_SHORT: Final = 90
_MAX_EXPONENT: Final = 64
_LONG_BOUNDS: Final = 1000


@dataclass(slots=True)
class Cluster:
    """Refuted guards that share symbols. ``roots`` are ids, simplest first; ``follows`` the roots that imply another."""

    guards: list[Condition]
    roots: list[str] = field(default_factory=list)
    follows: dict[str, list[str]] = field(default_factory=dict)
    fix: BoolExpr | None = None


def clusters(engine: Engine, refuted: Sequence[Condition]) -> list[Cluster]:
    """The refuted guards, grouped by the symbols that they share, each group with its roots and fix.

    What keeps values small has nothing to do with the other guards, so it is a group of its own.
    """
    small = [guard for guard in refuted if guard.origin == OVERFLOW]
    others = [guard for guard in refuted if guard.origin != OVERFLOW]
    found = [
        Cluster(sorted(members, key=_complexity))
        for part in (others, small)
        for members in _sharing(engine, part)
    ]
    for cluster in found:
        try:
            _Finder(engine, cluster, len(found) == 1).run()
        except RecursionError:  # nested too deeply to be compared: each stands alone
            cluster.roots, cluster.follows, cluster.fix = [guard.id for guard in cluster.guards], {}, None
    return found


def _sharing(engine: Engine, guards: Sequence[Condition]) -> list[list[Condition]]:
    groups: list[tuple[frozenset[int], list[Condition]]] = []
    for guard in guards:
        cone = engine.world.cone(guard.expr)
        joined = [guard]
        rest = []
        for other, members in groups:
            if other & cone:
                cone |= other
                joined = members + joined
            else:
                rest.append((other, members))
        groups = [*rest, (cone, joined)]
    return [members for _, members in groups]


def _complexity(guard: Condition) -> tuple[int, str]:
    return len(guard.text), guard.id


class _Finder:
    """Roots and fix of one cluster."""

    def __init__(self, engine: Engine, cluster: Cluster, alone: bool) -> None:
        self.engine = engine
        self.cluster = cluster
        self.alone = alone  # no other cluster, so that no joint fix is asked for
        self.goals = {guard.id: goal_of(guard.expr) for guard in cluster.guards}
        self.world = engine.world
        cone = frozenset().union(*(self.world.cone(goal) for goal in self.goals.values()))
        self.observer = Observer(engine, cone, list(self.goals.values()))
        self.pool: list[Point] = []
        self.telling: dict[str, list[Point]] = {}
        self.worlds: dict[tuple[str, ...], World] = {}
        self.sizes = {id: size(goal) for id, goal in self.goals.items()}
        self.work = _PROOF_WORK  # what is left of the parts of expressions that proofs may look at
        # questions that may still go to every method of the prover; what keeps hundreds of values small is too long
        self.bounding = cluster.guards[0].origin == OVERFLOW
        self.long = self.bounding and sum(self.sizes.values()) > _LONG_BOUNDS
        self.thorough = 0 if self.long else _THOROUGH

    def run(self) -> None:
        guards = self.cluster.guards
        if len(guards) == 1:
            self.cluster.roots = [guards[0].id]
            if self.alone:
                return
        base = self.observer.base()
        affordable = _POOL_LEAST
        if not self.long:
            affordable = max(affordable, _POOL_WORK // (1 + sum(self.sizes.values())))
        self.pool = list(islice(self._points(base), affordable))
        roots, left = self._separated()
        roots = self._irredundant(roots)
        self.cluster.fix = self._fix(roots)
        roots += self._unsettled(roots, left)
        self.cluster.roots = roots
        if len(roots) < len(guards):
            self.telling = self._telling(roots)
        for guard in guards:
            if guard.id not in roots:
                self.cluster.follows[guard.id] = self._needed(roots, guard.id)
        if not self.long:
            self.cluster.fix = self._weakest()

    def _fix(self, roots: list[str]) -> BoolExpr | None:
        """A condition on single symbols that makes every guard of the cluster hold, proved."""
        advisor = Advisor(self.engine, [self.goals[id] for id in roots])
        base = advisor.observer.base()
        if base is None:
            return None
        for candidate in advisor.product(base):
            if self._mends(candidate.condition):
                return candidate.condition
        return self._bounds() if self.bounding else None

    def _mends(self, condition: BoolExpr) -> bool:
        engine = Engine(World(self.world.problem, [("fix", condition)]), SMALL_RESOURCES)
        return all(self._made_true(engine, goal) for goal in self.goals.values())

    def _bounds(self) -> BoolExpr | None:
        """The largest power of two that, as an upper bound of every symbol, is proved to keep values small."""
        names = {name for goal in self.goals.values() for name in free_symbols(goal)}
        symbols = [int_symbol(name) for name in self.world.problem.symbols if name in names]
        base = self.observer.base()
        if base is None:
            return None
        low, high = 0, _MAX_EXPONENT
        found: BoolExpr | None = None
        while low < high:
            middle = (low + high + 1) // 2
            condition = and_(*(le(symbol, 1 << middle) for symbol in symbols))
            if not base.holds(condition):
                low = middle
            elif self._keeps_small(condition):
                low, found = middle, condition
            else:
                high = middle - 1
        return found

    def _keeps_small(self, condition: BoolExpr) -> bool:
        """Whether a condition is proved to make every demand hold, each on its own: there may be hundreds."""
        engine = Engine(World(self.world.problem, [("bounds", condition)]), SMALL_RESOURCES)
        demands = (p for goal in self.goals.values() for p in (goal.parts if goal.op == "and" else (goal,)))
        return all(proved_fast(engine, demand) for demand in demands)

    def _made_true(self, engine: Engine, goal: BoolExpr) -> bool:
        few = len(self.goals) <= self.thorough
        return proved_fast(engine, goal) or (few and engine.decide_expr(goal).verdict == "proved")

    def _weakest(self) -> BoolExpr | None:
        """A fix that is narrower than need be gives way to what the roots themselves say, where that is short."""
        found, advisor = self.cluster.fix, Advisor(self.engine, [self.goals[id] for id in self.cluster.roots])
        long = len(advisor.guards) > _FEW or written_size(advisor.goal) > _LONG
        if long or advisor.observer.base() is None or (found is not None and advisor.necessary(found)):
            return found
        return advisor.whole if written_size(advisor.whole) <= _SHORT else found

    def _points(self, base: Point | None) -> Iterator[Point]:
        sampler = self.observer.sampler
        for index, point in enumerate(sampler):
            if index >= _POOL_SAMPLES:
                break
            yield point
        if base is None:
            return
        yield base
        for atom in sampler.free:
            low, _ = sampler.limits(atom)
            centre = base.parameters[atom]
            start = low if low is not None else centre - _POOL_LINE
            for value in dict.fromkeys([*range(start, start + _POOL_LINE), *range(centre - 20, centre + 21)]):
                made = sampler.make({**base.parameters, atom: value})
                if made is not None:
                    yield made

    def _separated(self) -> tuple[list[str], list[str]]:
        """Guards that fail somewhere where the simpler ones hold, and the rest."""
        roots: list[str] = []
        left: list[str] = []
        alive = self.pool
        for guard in self.cluster.guards:
            goal = self.goals[guard.id]
            holding = [point for point in alive if point.holds(goal)]
            if len(holding) < len(alive):
                roots.append(guard.id)
                alive = holding
            else:
                left.append(guard.id)
        return roots, left

    def _unsettled(self, roots: list[str], left: list[str]) -> list[str]:
        """Of the guards that no point tells from the roots, those that could not be proved to follow."""
        if self.cluster.fix is not None and self._implied(roots, self.cluster.fix):
            return []  # the roots imply the fix, and the fix every guard
        added: list[str] = []
        for id in reversed(left):  # the most demanding first: simpler ones may follow from it
            if not self._implied([*roots, *added], self.goals[id], thorough=True):
                added.insert(0, id)
        return added

    def _irredundant(self, roots: list[str]) -> list[str]:
        """Drops each root, the most complicated first, that the others imply."""
        kept = list(roots)
        for id in reversed(roots):
            others = [other for other in kept if other != id]
            if not others or self._told_apart(others, id):
                continue
            if self._implied(others, self.goals[id], thorough=True):
                kept = others  # no point told them apart, and now it is proved
        return kept

    def _told_apart(self, others: list[str], id: str) -> bool:
        """Whether some point meets all others and not this one: then it does not follow."""
        goals = [self.goals[other] for other in others]
        return any(not p.holds(self.goals[id]) and all(p.holds(goal) for goal in goals) for p in self.pool)

    def _telling(self, roots: list[str]) -> dict[str, list[Point]]:
        """For each root, points where it holds and as many other roots as possible fail."""
        held = [[point.holds(self.goals[id]) for id in roots] for point in self.pool]
        found: dict[str, list[Point]] = {}
        for place, id in enumerate(roots):
            places = [i for i, row in enumerate(held) if row[place]]
            places.sort(key=lambda i: (sum(held[i]), i))
            found[id] = [self.pool[i] for i in places[:_POOL_TELLING]]
        return found

    def _needed(self, roots: list[str], id: str) -> list[str]:
        """The roots that a guard follows from: single ones where one is enough."""
        for root in roots:
            if self.work < 0:
                break
            goal = self.goals[id]
            if all(p.holds(goal) for p in self.telling[root]) and self._implied([root], goal, _SMALL_FUEL):
                return [root]
        return list(roots)

    def _implied(
        self, premises: list[str], goal: BoolExpr, fuel: int = FUEL, *, thorough: bool = False
    ) -> bool:
        self.work -= size(goal) + sum(self.sizes[id] for id in premises)
        if self.work < 0:
            return False
        key = tuple(premises)
        world = self.worlds.get(key)
        if world is None:
            world = self.worlds[key] = World(self.world.problem, [(id, self.goals[id]) for id in premises])
        engine = Engine(world, SMALL_RESOURCES)
        if proved_fast(engine, goal, fuel):
            return True
        if not thorough or self.thorough <= 0:
            return False
        self.thorough -= 1
        return engine.decide_expr(goal).verdict == "proved"


def proved_fast(engine: Engine, goal: BoolExpr, fuel: int = FUEL) -> bool:
    """Whether the fast path proves a goal."""
    return engine.fast_proof(engine.world.context(engine.world.cone(goal)), goal, fuel=fuel) is not None


def joint_fix(engine: Engine, found: Sequence[Cluster]) -> Suggestion | None:
    """One change for all clusters: what mends each, put together."""
    parts = [cluster.fix for cluster in found]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    roots = {id for cluster in found for id in cluster.roots}
    guards = [guard.expr for cluster in found for guard in cluster.guards if guard.id in roots]
    advisor = Advisor(engine, guards)
    used = {name for cluster in found for guard in cluster.guards for name in free_symbols(guard.expr)}
    symbols = engine.world.problem.symbols
    advisor.names = [name for name in symbols if name in used and symbols[name].kind == "input"]
    return advisor.described(Candidate(and_(*known), "several"))
