"""Concrete assignments that satisfy the specification, to refute guards with.

Points are made from the solved form (free parameters in, every symbol out), at the ends of ranges, near the constants
that occur, at powers of two, and at pseudo-random places with a fixed seed; each is checked exactly against the
premises before it is used. Points are shared by all guards of a cone, and so are the values of common subexpressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from random import Random
from typing import Final

from solver.expr import BoolExpr, Expr, IntExpr, Value, free_symbols
from solver.expr.evaluate import _Evaluator
from solver.expr.symbols import children
from solver.prove.context import Context
from solver.prove.poly import Poly
from solver.prove.world import World

MAX_POINTS: Final = 260
_MAX_TRIES: Final = 2500
_MIN_TRIES: Final = 60
_MAX_BARREN: Final = 400
_MAX_NEAR: Final = 60
_MAX_NEAR_TRIES: Final = 1500
_MAX_WORK: Final = 400_000  # parts evaluated in a search
_MAX_SHRINK_WORK: Final = 1_000_000
_STRIDE: Final = 7
_EXPONENTS: Final = (4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 31, 32, 40, 53, 63, 64)
Failure = (ZeroDivisionError, OverflowError, ValueError)


class Point:
    """One assignment; ``parameters`` are the free values it was made from."""

    __slots__ = ("_run", "assignment", "parameters")

    def __init__(self, assignment: Mapping[str, Value], parameters: dict[int, int]) -> None:
        self.assignment = assignment
        self.parameters = parameters
        self._run = _Evaluator(assignment)

    def holds(self, condition: BoolExpr) -> bool:
        """Whether a condition is true here; False where it has no value."""
        try:
            return self._run.boolean(condition)
        except Failure:
            return False

    def problem_with(self, condition: BoolExpr) -> str | None:
        """Why a condition is not true here, or None if it is."""
        try:
            return None if self._run.boolean(condition) else "it is false"
        except ZeroDivisionError:
            return "it divides by zero"
        except (OverflowError, ValueError) as error:
            return f"it has no value ({error})"


def nodes(expr: Expr) -> list[object]:
    """Every part of an expression, once."""
    found: dict[int, object] = {}
    stack: list[object] = [expr]
    while stack:
        part = stack.pop()
        if id(part) not in found:
            found[id(part)] = part
            stack.extend(children(part) if isinstance(part, IntExpr) else getattr(part, "args", ()))
    return list(found.values())


def cost(expr: Expr) -> int:
    """About how many operations evaluating an expression takes."""
    return sum(1 + len(part.terms) if isinstance(part, IntExpr) else 1 for part in nodes(expr))


def constants(expr: Expr) -> set[int]:
    """Integers that occur in an expression."""
    found: set[int] = set()
    for part in nodes(expr):
        if isinstance(part, IntExpr):
            found.add(part.const)
            found.update(part.terms.values())
        elif isinstance(part, BoolExpr):
            found.update(part.values)
    return found


class Sampler:
    """Points of one cone, made as they are asked for and kept."""

    def __init__(self, world: World, cone: frozenset[int]) -> None:
        self.world = world
        self.context = world.context(cone)
        self.names = world.names(cone)
        self.conditions = [world.sources[bit].expr for bit in world.bits(cone)]
        self.points: list[Point] = []
        self._known = {c for condition in self.conditions for c in constants(condition)}
        self._cost = 1 + len(self.names) + sum(cost(condition) for condition in self.conditions)
        self._limit = min(_MAX_TRIES, max(_MIN_TRIES, _MAX_WORK // self._cost))
        self._solved = {name: _resolved(self.context, name) for name in self.names}
        self.free = sorted({atom for poly in self._solved.values() for atom in self._symbols(poly)})
        self._fresh = self._generate()
        self._seen: set[tuple[int, ...]] = set()
        self._tries = 0
        self._shrinks = 0  # tries left to make a point smaller
        self._barren = 0  # tries since the last new point

    def _symbols(self, poly: Poly) -> frozenset[int]:
        return self.context.algebra.symbols(poly)

    def __iter__(self) -> Iterator[Point]:
        """All points, old and new, until there are enough."""
        index = 0
        while index < len(self.points) or self._advance():
            yield self.points[index]
            index += 1

    def _advance(self) -> bool:
        if len(self.points) >= MAX_POINTS:
            return False
        if self._tries > self._limit or self._barren > _MAX_BARREN:
            return False
        for parameters in self._fresh:
            self._tries += 1
            self._barren += 1
            if self.try_point(parameters) is not None:
                self._barren = 0
                return True
            if self._tries > self._limit or (self.points and self._barren > _MAX_BARREN):
                return False
        return False

    def try_point(self, parameters: dict[int, int]) -> Point | None:
        """The point made from free parameters, if it satisfies the premises; kept for later guards."""
        key = tuple(parameters[atom] for atom in self.free)
        if key in self._seen:
            return None
        self._seen.add(key)
        point = self.make(parameters)
        if point is not None:
            self.points.append(point)
        return point

    def make(self, parameters: dict[int, int]) -> Point | None:
        """The point made from free parameters, or None if the premises exclude it."""
        algebra = self.context.algebra
        try:
            values: dict[str, Value] = {n: algebra.value(p, parameters) for n, p in self._solved.items()}
        except (ZeroDivisionError, LookupError):
            return None
        return self.admit(values, parameters)

    def admit(self, values: Mapping[str, Value], parameters: dict[int, int] | None = None) -> Point | None:
        """A point from values of the symbols themselves, if it satisfies the premises."""
        point = Point(values, parameters or {})
        return point if all(point.holds(condition) for condition in self.conditions) else None

    def near(self, guards: Sequence[BoolExpr]) -> Iterator[Point]:
        """Points at the constants that guards mention, and at multiples of them."""
        numbers = {c for guard in guards for c in constants(guard) if 1 < abs(c) < 2**64}
        numbers |= {-c for c in numbers}
        values = sorted({k * c + d for c in numbers for k in (1, 2) for d in (0, -1, 1)}, key=abs)[:_MAX_NEAR]
        count = min(_MAX_NEAR_TRIES, _MAX_WORK // (self._cost + sum(cost(guard) for guard in guards)))
        for parameters in islice(self._near_axes(values), count):
            point = self.make(parameters)
            if point is not None:
                yield point

    def _near_axes(self, values: list[int]) -> Iterator[dict[int, int]]:
        """One parameter changed, in an order that reaches every parameter and every value early."""
        for start in [point.parameters for point in self.points[:3]]:
            for turn in range(len(values)):
                for place, atom in enumerate(self.free):
                    yield {**start, atom: values[(turn + place * _STRIDE) % len(values)]}

    def hinted_point(self) -> Point | None:
        """The example, where hints give all parameters and the premises admit it."""
        parameters = self._hinted()
        return None if parameters is None else self.make(parameters)

    def parameter_of(self, name: str) -> int | None:
        """The parameter that alone makes a symbol, scaled and shifted; None where there is no single one."""
        monos = [mono for mono in self._solved[name].terms if mono]
        return monos[0][0] if len(monos) == 1 and len(monos[0]) == 1 and monos[0][0] in self.free else None

    def limits(self, atom: int) -> tuple[int | None, int | None]:
        """The range of a parameter, as far as it is stated."""
        low, high = self.context.low.get(atom), self.context.high.get(atom)
        return (None if low is None else low[0]), (None if high is None else high[0])

    # -- which parameters to try ---------------------------------------------------------------------------------

    def _generate(self) -> Iterator[dict[int, int]]:
        candidates = {atom: self._candidates(atom) for atom in self.free}
        base = {atom: values[0] for atom, values in candidates.items()}
        yield base
        hinted = self._hinted()
        if hinted is not None:
            yield hinted
        if self.free:
            yield {atom: max(candidates[atom]) for atom in self.free}
        if len(self.free) <= 2:
            yield from self._all(candidates)
        for origin in (hinted, base):
            if origin is not None:
                yield from _along_axes(origin, candidates)
        yield from _random(candidates)

    def _all(self, candidates: dict[int, list[int]]) -> Iterator[dict[int, int]]:
        short = [candidates[atom][:10] for atom in self.free]
        pairs = sorted(product(*(range(len(values)) for values in short)), key=sum)
        for places in pairs:
            yield {
                atom: short[i][place] for i, (atom, place) in enumerate(zip(self.free, places, strict=True))
            }

    def _hinted(self) -> dict[int, int] | None:
        """Parameters of the example, where each symbol's solved form is one parameter, scaled and shifted."""
        found: dict[int, int] = {}
        for name, poly in self._solved.items():
            hint = self.world.problem.symbols[name].hint
            monos = [mono for mono in poly.terms if mono]
            if hint is None or len(monos) != 1 or len(monos[0]) != 1 or monos[0][0] not in self.free:
                continue
            rest = hint - poly.constant
            if rest % poly.terms[monos[0]] == 0:
                found[monos[0][0]] = rest // poly.terms[monos[0]]
        return found if len(found) == len(self.free) else None

    def _candidates(self, atom: int) -> list[int]:
        low, high = self.context.low.get(atom), self.context.high.get(atom)
        least = None if low is None else low[0]
        most = None if high is None else high[0]
        start = least if least is not None else (min(0, most) if most is not None else 0)
        values = [start + i for i in range(10)]
        values += [start + 2**e + d for e in _EXPONENTS for d in (0, 1, -1)]
        if most is not None:
            values += [most - i for i in range(4)] + [(start + most) // 2]
        if least is None:
            values += [start - i for i in range(1, 10)] + [start - 2**e for e in _EXPONENTS]
        known = self._known
        near = sorted({c + d for c in known if abs(c) < 2**40 for d in (-1, 0, 1)}, key=abs)[:40]
        values += near + [d for c in sorted(known, key=abs)[:8] for d in _divisors(c)]
        kept = dict.fromkeys(
            v for v in values if (least is None or v >= least) and (most is None or v <= most)
        )
        return list(kept) or [start]

    # -- shrinking -----------------------------------------------------------------------------------------------

    def shrink(self, point: Point, guard: BoolExpr) -> Point:
        """A smaller point that the guard still fails at; how small depends on what a try costs."""
        if not point.parameters:
            return point
        self._shrinks = max(_MIN_TRIES, _MAX_SHRINK_WORK // (self._cost + cost(guard)))
        for _ in range(4):
            smaller = point
            for atom in self.free:
                smaller = self._shrink_one(smaller, atom, guard)
            if smaller is point or self._shrinks <= 0:
                return smaller
            point = smaller
        return point

    def _shrink_one(self, point: Point, atom: int, guard: BoolExpr) -> Point:
        value = point.parameters[atom]
        low = self.context.low.get(atom)
        target = low[0] if low is not None and low[0] is not None else 0
        for candidate in _toward(target, value):
            if self._shrinks <= 0:
                break
            self._shrinks -= 1
            smaller = self.make({**point.parameters, atom: candidate})
            if smaller is not None and smaller.problem_with(guard) is not None:
                return smaller
        return point


def _toward(target: int, value: int) -> Iterable[int]:
    """Candidates nearer to ``target``, the nearest first."""
    distance = value - target
    step = 1 if distance > 0 else -1
    small = [target + step * i for i in range(min(abs(distance), 24))]
    halves = []
    part = abs(distance) // 2
    while part:
        halves.append(value - step * part)
        part //= 2
    return dict.fromkeys(small + halves)


def _resolved(context: Context, name: str) -> Poly:
    return context.symbol(name)


def _along_axes(origin: dict[int, int], candidates: dict[int, list[int]]) -> Iterator[dict[int, int]]:
    for place in range(max(map(len, candidates.values()), default=0)):
        for atom, values in candidates.items():
            if place < len(values):
                yield {**origin, atom: values[place]}


def _random(candidates: dict[int, list[int]]) -> Iterator[dict[int, int]]:
    random = Random(0)
    for turn in range(_MAX_TRIES):
        width = 8 if turn % 2 else 64
        yield {atom: random.choice(values[:width]) for atom, values in candidates.items()}


def _divisors(number: int) -> list[int]:
    size = abs(number)
    return [d for d in range(1, min(size, 4096) + 1) if size % d == 0] if 1 < size <= 1 << 20 else []


__all__ = ["MAX_POINTS", "Point", "Sampler", "constants", "free_symbols"]
