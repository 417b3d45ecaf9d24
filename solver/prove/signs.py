"""Proofs that a polynomial is at least 0, is 0, or is never 0.

Search is bounded by ``fuel``, so that a hopeless goal costs little; what is proved is always true. Tools: bounds,
subtraction of known facts, floors opened by their remainder (``d*floor(n/d) == n - r`` with ``0 <= r < d``, the
possible ``r`` narrowed by residues), ``max``, ``min`` and choices case by case.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import gcd, lcm
from typing import Final

from solver.expr.interval import product_interval
from solver.prove.bounds import Bounds
from solver.prove.poly import UNIT, Algebra, Atom, Mono, Poly, const

Fact = tuple[Poly, int]
FUEL: Final = 60
QUICK_FUEL: Final = 8
MAX_RESIDUES: Final = 4096
_SEVERAL: Final = 2
_MAX_OPENED: Final = 4
_MAX_SCALE_BITS: Final = 4096
_TERMS: Final = 16  # a polynomial of so many terms costs double


class Signs(Bounds):
    """Bounds, and facts ``poly >= 0`` and ``poly != 0``."""

    def __init__(self, algebra: Algebra) -> None:
        super().__init__(algebra)
        self.nonnegative: list[Fact] = []
        self.distinct: list[Fact] = []
        self.excluded: dict[int, dict[int, int]] = {}  # the facts ``atom != value`` again, with their masks
        self.fuel = FUEL

    def at_least_zero(self, poly: Poly, depth: int = 4) -> bool:
        """True if ``poly >= 0`` was proved."""
        saved = self.mask
        if self._at_least_zero(poly, depth):
            return True
        self.mask = saved
        return False

    def _at_least_zero(self, poly: Poly, depth: int) -> bool:
        if poly.is_constant():
            return poly.constant >= 0
        saved = self.mask
        bound = self.lower(poly)
        if bound is not None and bound >= 0:
            return True
        self.mask = saved
        if depth == 0 or self.fuel <= 0:
            return False
        self.fuel -= 1 + len(poly.terms) // _TERMS
        poly = tightened(poly)
        if self._by_floors(poly):
            return True
        for weaker, mask in self._by_facts(poly):
            if self.at_least_zero(weaker, depth - 1):
                self.mask |= mask
                return True
        return self._by_atoms(poly, depth)

    def surely(self, poly: Poly) -> bool:
        """``poly >= 0`` by a small search of its own, for use inside normal forms."""
        fuel, self.fuel = self.fuel, QUICK_FUEL
        try:
            return self.at_least_zero(poly, 2)
        finally:
            self.fuel = fuel

    def _by_facts(self, poly: Poly) -> Iterator[Fact]:
        """Polynomials ``q`` with ``poly >= 0`` whenever ``q >= 0``: multiples of a known fact are taken away."""
        for fact, mask in self.nonnegative:
            shared = [mono for mono in fact.terms if mono and poly.terms.get(mono, 0) * fact.terms[mono] > 0]
            if not shared:
                continue
            mono = max(shared, key=lambda m: (len(m), m))
            ours, theirs = poly.terms[mono], fact.terms[mono]
            common = gcd(ours, theirs)
            yield poly.scale(abs(theirs) // common) - fact.scale(abs(ours) // common), mask

    def _by_atoms(self, poly: Poly, depth: int) -> bool:
        compound = [self.algebra.atoms[index] for index in poly.atoms()]
        compound = [atom for atom in compound if atom.kind != "symbol"]
        compound.sort(key=lambda atom: (-atom.depth, -atom.index))
        for atom in compound:
            if self.fuel < -_TERMS:
                return False
            self.fuel -= len(poly.terms) // (4 * _TERMS)
            parts = poly.split(atom.index)
            if parts is None:
                continue
            if self._open(atom, *parts, depth):
                return True
        return False

    def _open(self, atom: Atom, factor: Poly, rest: Poly, depth: int) -> bool:
        """Proves ``factor*atom + rest >= 0`` by what the atom is."""
        if atom.kind == "floor":
            return self._open_floor(atom, factor, rest, depth)
        if atom.kind in ("max", "min"):
            bounding = factor if atom.kind == "max" else -factor  # max(a, b) >= a, min(a, b) <= a
            options = [factor * part + rest for part in atom.args]
            if self.at_least_zero(bounding, 1) and any(self.at_least_zero(p, depth - 1) for p in options):
                return True
            return all(self.at_least_zero(factor * part + rest, depth - 1) for part in atom.args)
        if atom.kind == "choice":
            return all(self.at_least_zero(factor * part + rest, depth - 1) for part in atom.args[1:])
        return False

    def _open_floor(self, atom: Atom, factor: Poly, rest: Poly, depth: int) -> bool:
        """With ``d > 0``: from ``d*(factor*F + rest) > -d`` the integer itself is at least 0."""
        dividend, divisor = atom.args
        if not self._positive(divisor):
            return False
        least, most = self._remainders(dividend, divisor)
        slack = rest * divisor + divisor - const(1)
        if self.at_least_zero(factor, 1):
            remainder = most
        elif self.at_least_zero(-factor, 1):
            remainder = least
        else:
            return False
        return self.at_least_zero(factor * (dividend - remainder) + slack, depth - 1)

    def _by_floors(self, poly: Poly) -> bool:
        """Several floors opened at once, over the rationals: those that count against the goal, then all of them."""
        floors = [index for index in poly.atoms() if self._plain_floor(index)]
        if len(floors) < _SEVERAL:
            return False
        saved = self.mask
        for both in (False, True):
            scale, opened = 1, poly
            for _ in range(_MAX_OPENED):  # floors may stand inside floors
                times, opened = self._opened(opened, both)
                if times == 1:
                    break
                scale *= times
            if scale == 1 or scale.bit_length() > _MAX_SCALE_BITS:
                continue
            bound = self.lower(opened)
            if bound is not None and bound > -scale:
                return True
            self.mask = saved
        return False

    def _plain_floor(self, index: int) -> bool:
        atom = self.algebra.atoms[index]
        return atom.kind == "floor" and atom.args[1].is_constant()

    def _opened(self, poly: Poly, both: bool) -> tuple[int, Poly]:
        """``(s, q)`` with ``s * poly >= q``: ``(n - d + 1)/d <= floor(n/d) <= n/d`` for one floor of each term."""
        chosen: dict[Mono, int] = {}
        for mono, coefficient in poly.terms.items():
            found = next((a for a in mono if self._plain_floor(a)), None)
            if found is not None and (both or coefficient < 0) and self._factors_positive(mono, found):
                chosen[mono] = found
        scale = lcm(*(self.algebra.atoms[atom].args[1].constant for atom in chosen.values()))
        if scale.bit_length() > _MAX_SCALE_BITS:
            return 1, poly
        total: dict[Mono, int] = {}
        for mono, coefficient in poly.terms.items():
            part = Poly({mono: coefficient * scale})
            if mono in chosen:
                dividend, divisor = self.algebra.atoms[chosen[mono]].args
                d = divisor.constant
                bound = dividend if coefficient < 0 else dividend.shift(1 - d)
                part = bound * Poly({_without(mono, chosen[mono]): coefficient * (scale // d)})
            for term, number in part.terms.items():
                total[term] = total.get(term, 0) + number
        return scale, Poly({term: number for term, number in total.items() if number})

    def _factors_positive(self, mono: Mono, opened: int) -> bool:
        """Whether what a floor is multiplied by is at least 0."""
        low, _ = product_interval([(atom, self._interval(atom)) for atom in _without(mono, opened)])
        return low is not None and low >= 0

    def _positive(self, poly: Poly) -> bool:
        if poly.is_constant():
            return poly.constant > 0
        return self.at_least_zero(poly - const(1), 1)

    def _remainders(self, dividend: Poly, divisor: Poly) -> tuple[Poly, Poly]:
        """The least and the largest value that ``dividend % divisor`` may have."""
        if not divisor.is_constant():
            return const(0), divisor - const(1)
        found = self.residues(dividend, divisor.constant)
        if found is None:
            return const(0), divisor - const(1)
        return const(min(found)), const(max(found))

    def residues(self, poly: Poly, modulus: int) -> set[int] | None:
        """What ``poly % modulus`` may be, each atom taken as any integer; None where that is too many cases."""
        if modulus < 1:
            return None
        reduced = {mono: c % modulus for mono, c in poly.terms.items() if c % modulus}
        atoms = sorted({atom for mono in reduced for atom in mono})
        if modulus ** len(atoms) > MAX_RESIDUES:
            return None
        place = {atom: i for i, atom in enumerate(atoms)}
        terms = [(c, [place[a] for a in mono]) for mono, c in reduced.items()]
        found: set[int] = set()
        for values in product(range(modulus), repeat=len(atoms)):
            total = 0
            for coefficient, places in terms:
                for i in places:
                    coefficient = coefficient * values[i] % modulus
                total += coefficient
            found.add(total % modulus)
            if len(found) == modulus:
                break
        return found

    def is_zero(self, poly: Poly) -> bool:
        """True if ``poly == 0`` was proved."""
        if poly.is_constant():
            return poly.constant == 0
        saved = self.mask
        if self.at_least_zero(poly) and self.at_least_zero(-poly):
            return True
        self.mask = saved
        return False

    def never_zero(self, poly: Poly) -> bool:
        """True if ``poly != 0`` was proved."""
        if poly.is_constant():
            return poly.constant != 0
        common = poly.content()
        if poly.constant % common:
            return True
        saved = self.mask
        if self.at_least_zero(poly - const(1)) or self.at_least_zero(-poly - const(1)):
            return True
        self.mask = saved
        return self._by_distinct(poly) or self._by_factor(poly) or self._by_residue(poly)

    def _by_distinct(self, poly: Poly) -> bool:
        unit = _primitive(poly)
        for fact, mask in self.distinct:
            if fact in (unit, -unit):
                self.mask |= mask
                return True
        return False

    def _by_factor(self, poly: Poly) -> bool:
        """A product is not 0 if no factor is; only monomial factors are looked for."""
        monos = list(poly.terms)
        shared = set(monos[0]).intersection(*map(set, monos[1:]))
        if len(monos) == 1 and len(monos[0]) == 1:
            return False
        for atom in sorted(shared):
            alone = self.algebra.poly(atom)
            if not self.never_zero(alone):
                continue
            if all(len(m) == 1 for m in monos):
                return True
            rest = Poly({_without(m, atom): c for m, c in poly.terms.items()})
            return self.never_zero(rest)
        return False

    def _by_residue(self, poly: Poly) -> bool:
        for modulus in self._moduli(poly):
            found = self.residues(poly, modulus)
            if found is not None and 0 not in found:
                return True
        return False

    def _moduli(self, poly: Poly) -> list[int]:
        """Moduli at which a polynomial may show that it is never 0: its coefficients and the divisors in it."""
        found: set[int] = {abs(c) for mono, c in poly.terms.items() if mono}
        for index in poly.atoms():
            atom = self.algebra.atoms[index]
            if atom.kind == "floor" and atom.args[1].is_constant():
                found.add(atom.args[1].constant)
        return sorted(m for m in found if 1 < m <= 64)


def _without(mono: tuple[int, ...], atom: int) -> tuple[int, ...]:
    at = mono.index(atom)
    return mono[:at] + mono[at + 1 :]


def tightened(poly: Poly) -> Poly:
    """The strongest integer form of ``poly >= 0``."""
    common = poly.content()
    if common <= 1:
        return poly
    return Poly({mono: c // common for mono, c in poly.terms.items() if mono or c // common})


def _primitive(poly: Poly) -> Poly:
    common = gcd(poly.content(), poly.terms.get(UNIT, 0))
    return poly if common <= 1 else Poly({mono: c // common for mono, c in poly.terms.items()})
