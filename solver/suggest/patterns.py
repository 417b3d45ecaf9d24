"""Simple conditions on one number, fitted to where something is true: range, congruence, exceptions, finite set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Final

from solver.expr import BoolExpr, and_, eq, ge, int_symbol, le, member, mod, ne

MAX_SET: Final = 8
MAX_EXCEPTIONS: Final = 4
MAX_RESIDUES: Final = 8
MAX_MODULUS: Final = 4096


@dataclass(frozen=True, slots=True)
class Pattern:
    """``low <= x <= high``, ``x % modulus in residues``, ``x not in exceptions``, ``x in values``; None is no condition."""

    low: int | None = None
    high: int | None = None
    modulus: int = 1
    residues: frozenset[int] = frozenset((0,))
    exceptions: tuple[int, ...] = ()
    values: tuple[int, ...] | None = None

    def __contains__(self, x: int) -> bool:
        return (
            (self.values is None or x in self.values)
            and (self.low is None or x >= self.low)
            and (self.high is None or x <= self.high)
            and x % self.modulus in self.residues
            and x not in self.exceptions
        )

    @property
    def trivial(self) -> bool:
        return self == Pattern()

    @property
    def kind(self) -> str:
        """The kind of suggestion that this is."""
        if self.values is not None:
            return "fixed" if len(self.values) == 1 else "set"
        if self.modulus > 1:
            return "congruence"
        return "range" if not self.exceptions else "exception"

    def condition(self, name: str) -> BoolExpr:
        """The pattern said of a symbol."""
        x = int_symbol(name)
        if self.values is not None:
            return member(x, self.values)
        parts: list[BoolExpr] = []
        if self.modulus > 1:
            rest = mod(x, self.modulus)
            missing = set(range(self.modulus)) - self.residues
            if len(missing) < len(self.residues):
                parts += [ne(rest, r) for r in sorted(missing)]
            elif len(self.residues) == 1:
                parts.append(eq(rest, next(iter(self.residues))))
            else:
                parts.append(member(rest, sorted(self.residues)))
        parts += [ne(x, value) for value in self.exceptions]
        if self.low is not None:
            parts.append(ge(x, self.low))
        if self.high is not None:
            parts.append(le(x, self.high))
        return and_(*parts)


def fit(truth: Mapping[int, bool], moduli: Iterable[int]) -> Iterator[Pattern]:
    """Patterns that agree with every observation, simplest first, then ones that are true in fewer places."""
    right = sorted(x for x in truth if truth[x])
    wrong = sorted(x for x in truth if not truth[x])
    if not right:
        return
    exact = _exact(right, wrong, list(moduli))
    if exact is not None:
        yield exact
        return
    if len(right) <= MAX_SET:
        yield Pattern(values=tuple(right))
    after = [x for x in right if not wrong or x > wrong[-1]]
    if after:
        yield Pattern(low=after[0])


def _exact(right: list[int], wrong: list[int], moduli: list[int]) -> Pattern | None:
    ends = Pattern(
        low=right[0] if wrong and wrong[0] < right[0] else None,
        high=right[-1] if wrong and wrong[-1] > right[-1] else None,
    )
    inside = [x for x in wrong if x in ends]
    if len(right) == 1 and (ends.high is not None or not inside):
        return Pattern(values=(right[0],))
    if not inside:
        return ends
    found = [p for m in moduli if (p := _residues(right, inside, wrong, ends, m)) is not None]
    periodic = min(found, key=lambda p: ((p.low is not None) + (p.high is not None), p.modulus), default=None)
    plain = periodic is not None and len(periodic.residues) == 1  # what a Dim can say
    if periodic is not None and len(right) > (2 if plain or ends.high is None else MAX_SET):
        return periodic
    if ends.high is not None and len(right) <= MAX_SET:
        return Pattern(values=tuple(right))
    if len(inside) <= MAX_EXCEPTIONS and len(right) > 2 * len(inside):
        return replace(ends, exceptions=tuple(inside))
    return None


def _residues(right: list[int], inside: list[int], wrong: list[int], ends: Pattern, m: int) -> Pattern | None:
    """The pattern modulo ``m``, if that tells right from wrong; without ends that it does not need."""
    residues = frozenset(x % m for x in right)
    if min(len(residues), m - len(residues)) > MAX_RESIDUES or any(x % m in residues for x in inside):
        return None
    found = replace(ends, modulus=m, residues=residues)
    for looser in (replace(found, low=None), replace(found, high=None), replace(found, low=None, high=None)):
        if not any(x in looser for x in wrong):
            found = looser
    return found


def moduli_of(divisors: Iterable[int]) -> list[int]:
    """Moduli to try, small first: the divisors of what all given numbers divide, as far as that stays small."""
    whole = 1
    for number in sorted({abs(d) for d in divisors if d}):
        joined = whole * number // gcd(whole, number)
        if joined <= MAX_MODULUS:
            whole = joined
    return [m for m in range(2, whole + 1) if whole % m == 0]
