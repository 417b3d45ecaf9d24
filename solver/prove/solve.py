"""Solving ``poly == 0`` over the integers for symbols, as far as one step goes."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from solver.expr.nodes import FALSE, BoolExpr
from solver.prove.poly import UNIT, Algebra, Mono, Poly


@dataclass(frozen=True, slots=True)
class Equation:
    """Values that symbols must have; each is an equivalence under the solved equation, or one up to what remains of it."""

    values: dict[int, Poly]


def solve_for(algebra: Algebra, poly: Poly) -> Equation | BoolExpr | None:
    """One substitution that ``poly == 0`` gives; ``FALSE`` if it has no integer solution; None if there is none to give.

    A symbol with coefficient 1 is solved for. Otherwise a symbol whose coefficient is coprime to what all others share
    takes one residue: ``3*a == 8*b`` gives ``a = 8*t``, and so does ``a % 8 == 0``, which is ``a - 8*floor(a/8) == 0``.
    """
    if poly.constant % poly.content():
        return FALSE
    nested = _nested_symbols(algebra, poly)
    alone = [mono[0] for mono in poly.terms if len(mono) == 1 and algebra.atoms[mono[0]].kind == "symbol"]
    alone = [atom for atom in alone if sum(atom in mono for mono in poly.terms) == 1]
    for atom in sorted(alone, key=lambda a: (len(poly.terms) > 2, a)):
        coefficient = poly.terms[(atom,)]
        if abs(coefficient) == 1 and atom not in nested:
            rest = poly - Poly({(atom,): coefficient})
            return Equation({atom: rest.scale(-coefficient)})
    for atom in sorted(alone):
        found = _by_residue(algebra, poly, atom)
        if found is not None:
            return found
    return None


def _nested_symbols(algebra: Algebra, poly: Poly) -> frozenset[int]:
    """Symbols inside compound atoms."""
    found: set[int] = set()
    for atom in poly.atoms():
        if algebra.atoms[atom].kind != "symbol":
            found |= algebra.atoms[atom].symbols
    return frozenset(found)


def _by_residue(algebra: Algebra, poly: Poly, atom: int) -> Equation | BoolExpr | None:
    coefficient = poly.terms[(atom,)]
    others = gcd(*(c for mono, c in poly.terms.items() if mono and mono != (atom,)))
    if others <= 1:
        return None
    common = gcd(coefficient, others)
    modulus = others // common
    if modulus == 1:
        return None
    if poly.constant % common:
        return FALSE
    inverse = pow(coefficient // common, -1, modulus)
    residue = -(poly.constant // common) * inverse % modulus
    fresh = algebra.fresh(algebra.name(atom))
    terms: dict[Mono, int] = {(fresh,): modulus}
    if residue:
        terms[UNIT] = residue
    return Equation({atom: Poly(terms)})
