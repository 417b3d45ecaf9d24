"""Bisection for the places where the truth of a guard changes along one symbol."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from solver.prove.points import Point
    from solver.suggest.observe import Observer

_EXPONENTS: Final = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 31, 32, 40, 63, 64, 70)


def thresholds(observer: Observer, name: str) -> set[int]:
    """Parameter values next to a change of truth, found between probes at growing distances from the start."""
    atom = observer.parameter(name)
    base = observer.base()
    if atom is None or base is None:
        return set()
    low, high = observer.sampler.limits(atom)
    start = low if low is not None else base.parameters[atom]
    probes = sorted(
        {start + 2**e - 1 for e in _EXPONENTS}
        | {base.parameters[atom]}
        | ({high} if high is not None else set())
    )
    probes = [p for p in probes if high is None or p <= high]
    known = {p: _truth(observer, base, atom, p) for p in probes}
    found: set[int] = set()
    for left, right in pairwise(probes):
        if known[left] != known[right] and None not in (known[left], known[right]):
            found.add(_bisect(observer, base, atom, left, right, known[left]))
    return found


def _truth(observer: Observer, base: Point, atom: int, value: int) -> bool | None:
    point = observer.sampler.make({**base.parameters, atom: value})
    return None if point is None else observer.holds(point)


def _bisect(observer: Observer, base: Point, atom: int, left: int, right: int, at_left: bool | None) -> int:
    while right - left > 1:
        middle = (left + right) // 2
        if _truth(observer, base, atom, middle) == at_left:
            left = middle
        else:
            right = middle
    return right
