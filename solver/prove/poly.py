"""Polynomials with integer coefficients over atoms.

An *atom* is a symbol or an integer-valued term that the algebra does not open: ``floor(n / d)``, ``max``, ``min``,
``a if c else b``. A monomial is a sorted tuple of atom numbers, repeated for powers; the empty tuple is the constant.
Atoms are interned in an :class:`Algebra`, so that equal terms share a number and polynomials compare by their terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd
from typing import Any, Final

Mono = tuple[int, ...]
UNIT: Final[Mono] = ()


class Poly:
    """An immutable polynomial; ``terms`` maps monomials to nonzero coefficients."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Mono, int]) -> None:
        self.terms = terms
        self._hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return f"Poly({self.terms})"

    @property
    def constant(self) -> int:
        """The coefficient of the empty monomial."""
        return self.terms.get(UNIT, 0)

    def is_constant(self) -> bool:
        terms = self.terms
        return not terms or (len(terms) == 1 and UNIT in terms)

    def atoms(self) -> set[int]:
        """The atoms that occur, not those inside other atoms."""
        return {atom for mono in self.terms for atom in mono}

    def content(self) -> int:
        """The greatest common divisor of the coefficients that belong to a monomial with atoms."""
        common = 0
        for mono, coefficient in self.terms.items():
            if mono:
                common = gcd(common, coefficient)
        return common

    def __add__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for mono, coefficient in other.terms.items():
            total = terms.get(mono, 0) + coefficient
            if total:
                terms[mono] = total
            else:
                del terms[mono]
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({mono: -coefficient for mono, coefficient in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for mono, coefficient in other.terms.items():
            total = terms.get(mono, 0) - coefficient
            if total:
                terms[mono] = total
            else:
                del terms[mono]
        return Poly(terms)

    def __mul__(self, other: Poly) -> Poly:
        result: dict[Mono, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                mono = tuple(sorted(left + right)) if left and right else left or right
                total = result.get(mono, 0) + a * b
                if total:
                    result[mono] = total
                else:
                    del result[mono]
        return Poly(result)

    def scale(self, factor: int) -> Poly:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Poly({mono: coefficient * factor for mono, coefficient in self.terms.items()})

    def shift(self, amount: int) -> Poly:
        return self + const(amount) if amount else self

    def split(self, atom: int) -> tuple[Poly, Poly] | None:
        """``(A, B)`` with ``self == A*atom + B`` and no ``atom`` in either; None if it occurs in a power."""
        inside: dict[Mono, int] = {}
        outside: dict[Mono, int] = {}
        for mono, coefficient in self.terms.items():
            count = mono.count(atom)
            if count == 0:
                outside[mono] = coefficient
            elif count == 1:
                at = mono.index(atom)
                inside[mono[:at] + mono[at + 1 :]] = coefficient
            else:
                return None
        return Poly(inside), Poly(outside)


ZERO: Final = Poly({})
ONE: Final = Poly({UNIT: 1})


def const(value: int) -> Poly:
    return Poly({UNIT: value}) if value else ZERO


def divides(part: Mono, whole: Mono) -> Mono | None:
    """The monomial ``whole / part``, or None when ``part`` is not a factor."""
    if not part:
        return whole
    rest = list(whole)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def common_factor(monos: Iterable[Mono]) -> Mono:
    """The largest monomial that divides all."""
    iterator: Iterator[Mono] = iter(monos)
    shared = list(next(iterator, UNIT))
    for mono in iterator:
        if not shared:
            break
        left = list(mono)
        kept = []
        for atom in shared:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        shared = kept
    return tuple(shared)


def divide_exactly(whole: Poly, part: Poly) -> Poly | None:
    """The quotient when ``part`` divides ``whole`` as polynomials with integer coefficients, else None."""
    lead = max(part.terms, key=_order)
    lead_coefficient = part.terms[lead]
    quotient: dict[Mono, int] = {}
    rest = whole
    for _ in range(64):
        if not rest.terms:
            return Poly(quotient)
        top = max(rest.terms, key=_order)
        mono = divides(lead, top)
        if mono is None or rest.terms[top] % lead_coefficient:
            return None
        factor = rest.terms[top] // lead_coefficient
        quotient[mono] = factor
        rest = rest - Poly({mono: factor}) * part
    return None


def _order(mono: Mono) -> tuple[int, Mono]:
    return len(mono), mono


class Atom:
    """One interned term. ``kind`` is ``symbol``, ``floor``, ``max``, ``min``, ``choice``, ``opaque``
    or ``undefined`` (a division by the constant 0)."""

    __slots__ = ("args", "depth", "index", "kind", "symbols")

    def __init__(
        self, index: int, kind: str, args: tuple[Any, ...], symbols: frozenset[int], depth: int
    ) -> None:
        self.index = index
        self.kind = kind
        self.args = args
        self.symbols = symbols
        self.depth = depth


class Algebra:
    """Interns the atoms of one proof."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._known: dict[tuple[Any, ...], int] = {}
        self._names: dict[str, int] = {}

    def symbol(self, name: str) -> Poly:
        """The polynomial that is the symbol ``name``."""
        return self.poly(self.symbol_index(name))

    def symbol_index(self, name: str) -> int:
        index = self._names.get(name)
        if index is None:
            index = self._names[name] = len(self.atoms)
            self.atoms.append(Atom(index, "symbol", (name,), frozenset((index,)), 0))
        return index

    def fresh(self, stem: str) -> int:
        """A symbol that no expression mentions."""
        number = len(self.atoms)
        while f"{stem}'{number}" in self._names:
            number += 1
        return self.symbol_index(f"{stem}'{number}")

    def names(self) -> list[str]:
        """The symbols met so far."""
        return list(self._names)

    def name(self, index: int) -> str:
        return str(self.atoms[index].args[0])

    def poly(self, index: int) -> Poly:
        return Poly({(index,): 1})

    def atom(self, kind: str, *args: Any, over: Iterable[Poly], symbols: Iterable[int] = ()) -> Poly:
        """The polynomial that is one compound term over the polynomials ``over``."""
        key = (kind, *args)
        index = self._known.get(key)
        if index is None:
            inner = [self.atoms[atom] for poly in over for atom in poly.atoms()]
            names = frozenset(symbols).union(*(atom.symbols for atom in inner))
            depth = 1 + max((atom.depth for atom in inner), default=0)
            index = self._known[key] = len(self.atoms)
            self.atoms.append(Atom(index, kind, args, names, depth))
        return self.poly(index)

    def symbols(self, poly: Poly) -> frozenset[int]:
        """Symbols of ``poly``, those inside compound atoms included."""
        found: set[int] = set()
        for atom in poly.atoms():
            found |= self.atoms[atom].symbols
        return frozenset(found)

    def value(self, poly: Poly, values: Mapping[int, int]) -> int:
        """The value of a polynomial from values of its symbols. Raises LookupError for an atom that cannot be opened."""
        total = 0
        for mono, coefficient in poly.terms.items():
            product = coefficient
            for index in mono:
                product *= self._atom_value(index, values)
            total += product
        return total

    def _atom_value(self, index: int, values: Mapping[int, int]) -> int:
        atom = self.atoms[index]
        if atom.kind == "symbol":
            return values[index]
        if atom.kind == "floor":
            return self.value(atom.args[0], values) // self.value(atom.args[1], values)
        if atom.kind in ("max", "min"):
            parts = [self.value(part, values) for part in atom.args]
            return max(parts) if atom.kind == "max" else min(parts)
        raise LookupError(atom.kind)
