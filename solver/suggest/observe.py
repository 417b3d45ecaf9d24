"""Where guards hold: along one symbol through an example, and for all values of the others that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from solver.expr import BoolExpr, IntExpr
from solver.expr.nodes import Atom
from solver.expr.symbols import children
from solver.prove.engine import Engine
from solver.prove.points import Point, Sampler
from solver.suggest.patterns import moduli_of

_FAR: Final = tuple(2**e for e in (8, 10, 12, 16, 24, 31, 33, 63))
_MAX_WINDOW: Final = 420
_MAX_WORK: Final = 300_000


class Observer:
    """Observations of some guards that share a cone."""

    def __init__(self, engine: Engine, cone: frozenset[int], guards: Sequence[BoolExpr]) -> None:
        self.engine = engine
        self.cone = cone
        self.guards = list(guards)
        self._searched = False
        self._base: Point | None = None
        self._size = sum(map(size, [*guards, *engine.sampler(cone).conditions]))
        self._work = 0
        self.sampler: Sampler = engine.sampler(cone)
        divisors = {d for guard in guards for d in constant_divisors(guard)}
        divisors |= {d for condition in self.sampler.conditions for d in constant_divisors(condition)}
        self.moduli = moduli_of(divisors)

    def holds(self, point: Point) -> bool:
        """Whether all guards hold at a point; the guard that failed last is asked first."""
        for index, guard in enumerate(self.guards):
            if not point.holds(guard):
                if index:
                    self.guards.insert(0, self.guards.pop(index))
                return False
        return True

    def example(self) -> Point | None:
        """The example of the problem, if every symbol has a hint and the specification admits it."""
        symbols = self.engine.world.problem.symbols
        hinted = self.sampler.hinted_point()
        if hinted is None or any(
            symbols[n].hint is None and symbols[n].kind == "input" for n in self.sampler.names
        ):
            return None
        return hinted

    def base(self) -> Point | None:
        """A point where all guards hold, the example if it is one."""
        if not self._searched:
            self._searched = True
            self._base = self._find_base()
        return self._base

    def _find_base(self) -> Point | None:
        example = self.example()
        if example is not None and self.holds(example):
            return example
        first = next((point for point in self.sampler if self.holds(point)), None)
        near = next((point for point in self.sampler.near(self.guards) if self.holds(point)), None)
        found = [point for point in (first, near) if point is not None]
        return min(found, key=lambda point: sum(abs(v) for v in point.parameters.values()), default=None)

    def parameter(self, name: str) -> int | None:
        """The free parameter that alone makes a symbol, if there is one."""
        return self.sampler.parameter_of(name)

    def along(self, name: str, bases: Sequence[Point]) -> dict[int, bool]:
        """For each value of a symbol that was tried: whether the guards hold with it at every one of ``bases``."""
        atom = self.parameter(name)
        truth: dict[int, bool] = {}
        if atom is None:
            return truth
        for value in self._values(atom, name, bases):
            for base in bases:
                self._work += self._size
                if self._work > _MAX_WORK:
                    return truth  # what was seen so far; a pattern that it misleads to is not proved
                point = self.sampler.make({**base.parameters, atom: value})
                if point is None:
                    continue
                x = int(point.assignment[name])
                truth[x] = truth.get(x, True) and self.holds(point)
                if not truth[x]:
                    break
        return truth

    def _values(self, atom: int, name: str, bases: Sequence[Point]) -> Iterator[int]:
        low, high = self.sampler.limits(atom)
        period = self.moduli[-1] if self.moduli else 1
        window = min(_MAX_WINDOW, max(48, 3 * period + 8))
        centre = bases[0].parameters[atom]
        start = low if low is not None else min(centre, 0) - window // 2
        seen = dict.fromkeys([*range(start, start + window), *range(centre - 40, centre + 41)])
        for far in _FAR:
            seen.update(dict.fromkeys(range(start + far, start + far + min(period, 32) + 1)))
        for modulus in self.moduli:
            aligned = -(-start // modulus) * modulus
            seen.update(dict.fromkeys(aligned + k * modulus + d for k in range(3) for d in (-1, 0, 1)))
        if high is not None:
            seen.update(dict.fromkeys(range(high - window, high + 1)))
        near = sorted(self._thresholds(name))
        seen.update(dict.fromkeys(v + d for v in near for d in range(-3, 4)))
        for value in sorted(seen):
            if (low is None or value >= low) and (high is None or value <= high):
                yield value

    def _thresholds(self, name: str) -> set[int]:
        """Where a guard may change its mind: found by halving between a value where it holds and one where it does not."""
        from solver.suggest.thresholds import thresholds

        return thresholds(self, name)


def size(expr: BoolExpr) -> int:
    """How many parts an expression has, shared ones once: what evaluating it costs."""
    seen: set[int] = set()
    stack: list[object] = [expr]
    while stack:
        part = stack.pop()
        if id(part) not in seen:
            seen.add(id(part))
            stack.extend(children(part) if isinstance(part, IntExpr) else getattr(part, "args", ()))
    return len(seen)


def constant_divisors(expr: BoolExpr) -> set[int]:
    """What an expression divides by, with products for divisions inside divisions."""
    found: set[int] = set()
    seen: dict[int, set[int]] = {}

    def of(part: object) -> set[int]:
        known = seen.get(id(part))
        if known is not None:
            return known
        seen[id(part)] = set()
        inner: set[int] = set()
        args = children(part) if isinstance(part, IntExpr) else getattr(part, "args", ())
        for arg in args:
            inner |= of(arg)
        if isinstance(part, Atom) and part.op in ("//", "%"):
            divisor = part.args[1]
            if isinstance(divisor, IntExpr) and divisor.is_const and divisor.const:
                size = abs(divisor.const)
                inner = {size, *inner, *(d * size for d in inner if d * size <= 4096)}
        seen[id(part)] = inner
        found.update(inner)
        return inner

    of(expr)
    return found
