"""Integer bounds of polynomials, from ranges of atoms.

Every answer may rest on facts of the specification. Facts are bits; ``mask`` collects those behind the answers given
since it was last cleared, so that a verdict can name what it used.
"""

from __future__ import annotations

from typing import Final

from solver.expr.interval import Interval, product_interval
from solver.prove.poly import UNIT, Algebra, Mono, Poly

Bound = tuple[int | None, int]
NO_BOUND: Final[Bound] = (None, 0)
_MAX_SHIFTED_DEGREE: Final = 8
_MAX_SHIFTED_WORK: Final = 400  # terms made; more for a polynomial that has many


class Bounds:
    """Ranges of atoms and what follows for polynomials; all bounds are inclusive."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.mask = 0
        self.low: dict[int, Bound] = {}
        self.high: dict[int, Bound] = {}
        self._lower: dict[Poly, Bound] = {}
        self._range: dict[tuple[int, bool], Bound] = {}

    def forget(self) -> None:
        """Drops what was derived, after a range or fact has been added."""
        self._lower.clear()
        self._range.clear()

    def lower(self, poly: Poly) -> int | None:
        """A number that ``poly`` never falls below, or None."""
        found = self._lower.get(poly)
        if found is None:
            self._lower[poly] = NO_BOUND  # an atom whose bound asks for itself finds nothing
            outer, self.mask = self.mask, 0
            value = self._compute_lower(poly)
            found = (value, self.mask if value is not None else 0)
            self._lower[poly] = found
            self.mask = outer
        self.mask |= found[1]
        return found[0]

    def upper(self, poly: Poly) -> int | None:
        """A number that ``poly`` never exceeds, or None."""
        value = self.lower(-poly)
        return None if value is None else -value

    def _compute_lower(self, poly: Poly) -> int | None:
        """Terms that share no atom cannot influence each other, so each such group is bounded by itself."""
        tangled = {atom for mono in poly.terms if len(mono) > 1 for atom in mono}
        if not tangled:
            return self._lower_linear(poly)
        alone: dict[Mono, int] = {m: c for m, c in poly.terms.items() if not m or m[0] not in tangled}
        total = self._lower_linear(Poly(alone)) if alone else 0
        if total is None:
            return None
        for part in _groups([mono for mono in poly.terms if mono not in alone]):
            bound = self._lower_tangled(Poly({mono: poly.terms[mono] for mono in part}))
            if bound is None:
                return None
            total += bound
        return total

    def _lower_tangled(self, poly: Poly) -> int | None:
        """The better of two bounds: with distances from the ends of ranges, and term by term."""
        shifted = self._shifted(poly)
        found = [None if shifted is None else self._lower_of_shifted(*shifted), self._lower_termwise(poly)]
        return max((bound for bound in found if bound is not None), default=None)

    def _lower_termwise(self, poly: Poly) -> int | None:
        total = 0
        for mono, coefficient in poly.terms.items():
            low, high = product_interval([(atom, self._interval(atom)) for atom in mono])
            bound = low if coefficient > 0 else high
            if bound is None:
                return None
            total += coefficient * bound
        return total

    def _interval(self, atom: int) -> Interval:
        return self.atom_bound(atom, below=True), self.atom_bound(atom, below=False)

    def _lower_linear(self, poly: Poly) -> int | None:
        total = 0
        for mono, coefficient in poly.terms.items():
            if not mono:
                total += coefficient
                continue
            bound = self.atom_bound(mono[0], below=coefficient > 0)
            if bound is None:
                return None
            total += coefficient * bound
        return total

    def _shifted(self, poly: Poly) -> tuple[Poly, dict[int, int | None]] | None:
        """``poly`` over distances: each atom becomes ``low + t`` or ``high - t`` with ``t >= 0``; and each ``t``'s maximum."""
        limits: dict[int, int | None] = {}
        replacement: dict[int, Poly] = {}
        for atom in poly.atoms():
            low = self.atom_bound(atom, below=True)
            high = self.atom_bound(atom, below=False)
            if low is not None:
                replacement[atom] = Poly({(atom,): 1, UNIT: low}) if low else Poly({(atom,): 1})
                limits[atom] = None if high is None else high - low
            elif high is not None:
                replacement[atom] = Poly({(atom,): -1, UNIT: high}) if high else Poly({(atom,): -1})
                limits[atom] = None
            else:
                return None
        work = _MAX_SHIFTED_WORK + 8 * len(poly.terms)
        result: dict[Mono, int] = {}
        for mono, coefficient in poly.terms.items():
            if len(mono) > _MAX_SHIFTED_DEGREE:
                return None
            product = Poly({UNIT: coefficient})
            for atom in mono:
                product = product * replacement[atom]
            work -= len(product.terms)
            if work < 0:
                return None
            for term, number in product.terms.items():
                result[term] = result.get(term, 0) + number
        return Poly({term: number for term, number in result.items() if number}), limits

    def _lower_of_shifted(self, poly: Poly, limits: dict[int, int | None]) -> int | None:
        total = poly.constant
        for mono, coefficient in poly.terms.items():
            if mono and coefficient < 0:
                largest = _product_limit(mono, limits)
                if largest is None:
                    return None
                total += coefficient * largest
        return total

    def atom_bound(self, atom: int, below: bool) -> int | None:
        """The lower (``below``) or upper bound of an atom, or None."""
        key = (atom, below)
        found = self._range.get(key)
        if found is None:
            self._range[key] = NO_BOUND
            outer, self.mask = self.mask, 0
            found = self._stronger(atom, below)
            self._range[key] = found
            self.mask = outer
        self.mask |= found[1]
        return found[0]

    def _stronger(self, atom: int, below: bool) -> Bound:
        """The better of the stated and the derived bound of an atom."""
        stated = (self.low if below else self.high).get(atom, NO_BOUND)
        if self.algebra.atoms[atom].kind == "symbol":
            return stated
        derived = self._derive(atom, below)
        if derived is None:
            return stated
        if stated[0] is None or (derived >= stated[0] if below else derived <= stated[0]):
            return derived, self.mask
        return stated

    def _derive(self, index: int, below: bool) -> int | None:
        atom = self.algebra.atoms[index]
        if atom.kind == "floor":
            dividend, divisor = atom.args
            if divisor.is_constant():
                bound = self.lower(dividend) if below else self.upper(dividend)
                return None if bound is None else bound // divisor.constant
            return self._quotient_bound(dividend, divisor, below)
        if atom.kind in ("max", "min"):
            return self._extremum_bound(atom.kind, atom.args, below)
        if atom.kind == "choice":
            bounds = [self.lower(part) if below else self.upper(part) for part in atom.args[1:]]
            known = [bound for bound in bounds if bound is not None]
            return None if len(known) < 2 else (min(known) if below else max(known))
        return self.opaque_bound(index, below)

    def opaque_bound(self, index: int, below: bool) -> int | None:
        """The bound of an atom that this layer cannot see into; a later layer knows more."""
        return None

    def _quotient_bound(self, dividend: Poly, divisor: Poly, below: bool) -> int | None:
        smallest = self.lower(divisor)
        if smallest is None or smallest < 1:
            return None
        bound = self.lower(dividend) if below else self.upper(dividend)
        if bound is None:
            return None
        if (bound >= 0) == below:
            largest = self.upper(divisor)
            if largest is not None and largest < smallest:
                return None  # the premises contradict each other; that is found elsewhere
            return (0 if below else -1) if largest is None else bound // largest
        return bound // smallest

    def _extremum_bound(self, kind: str, parts: tuple[Poly, ...], below: bool) -> int | None:
        bounds = [self.lower(part) if below else self.upper(part) for part in parts]
        known = [bound for bound in bounds if bound is not None]
        if (kind == "max") == below:
            if not known:
                return None
        elif len(known) < len(bounds):
            return None
        return max(known) if kind == "max" else min(known)


def _groups(monos: list[Mono]) -> list[list[Mono]]:
    """The monomials in groups that share no atom."""
    root: dict[int, int] = {}

    def find(atom: int) -> int:
        while root[atom] != atom:
            root[atom] = root[root[atom]]
            atom = root[atom]
        return atom

    for mono in monos:
        for atom in mono:
            root.setdefault(atom, atom)
            root[find(atom)] = find(mono[0])
    groups: dict[int, list[Mono]] = {}
    for mono in monos:
        groups.setdefault(find(mono[0]), []).append(mono)
    return list(groups.values())


def _product_limit(mono: Mono, limits: dict[int, int | None]) -> int | None:
    product = 1
    unbounded = False
    for atom in mono:
        limit = limits[atom]
        if limit is None:
            unbounded = True
        else:
            product *= limit
    if product == 0:
        return 0
    return None if unbounded else product
