"""What is known while tracing, and what follows from it cheaply: no solver, a few microseconds a question.

Known conditions are kept in four forms: by identity; as bounds of symbols; as bounds of linear forms (``p >= c``); and
as replacements (``a == b + 1`` rewrites ``a`` everywhere). Everything answered is certain; what these forms do not
settle is answered None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from solver import expr as E
from solver.expr import BoolExpr, Interval, IntExpr, Monomial

_DEPTH: Final = 3
_BUDGET: Final = 60  # forms tried for one question


class Knowledge:
    """Conditions that hold, closed under cheap consequences.

    ``prefer(name)`` orders symbols for elimination: of an equality, the symbol with the greatest value is replaced.
    """

    def __init__(self, prefer: Callable[[str], int]) -> None:
        self.prefer = prefer
        self.ranges: dict[str, Interval] = {}
        self.replaced: dict[str, IntExpr] = {}
        self.learnt: list[BoolExpr] = []
        self._truth: dict[BoolExpr, bool] = {}
        self._below: dict[IntExpr, int] = {}  # form without constant -> its greatest known lower bound
        self._with: dict[Monomial, list[IntExpr]] = {}  # monomial -> forms that are known to be >= 0
        self._budget = 0
        self._residues: dict[IntExpr, dict[int, int]] = {}  # form -> modulus -> remainder

    def copy(self) -> Knowledge:
        """The same knowledge, to be extended separately."""
        twin = Knowledge(self.prefer)
        twin.ranges = dict(self.ranges)
        twin.replaced = dict(self.replaced)
        twin.learnt = list(self.learnt)
        twin._truth = dict(self._truth)
        twin._below = dict(self._below)
        twin._with = {m: list(forms) for m, forms in self._with.items()}
        twin._residues = {p: dict(r) for p, r in self._residues.items()}
        return twin

    def add_symbol(self, name: str, low: int | None, high: int | None) -> None:
        """A new symbol within bounds."""
        self.ranges[name] = (low, high)

    def rewrite_int(self, p: IntExpr) -> IntExpr:
        """The form with replaced symbols eliminated."""
        return E.substitute(p, self.replaced) if self.replaced else p

    def rewrite(self, condition: BoolExpr) -> BoolExpr:
        """The condition with replaced symbols eliminated."""
        return E.substitute(condition, self.replaced) if self.replaced else condition

    def bounds(self, p: IntExpr) -> Interval:
        """Bounds of a form from the bounds of its symbols."""
        return E.interval(self.rewrite_int(p), self.ranges)

    def settle(self, condition: BoolExpr) -> bool | None:
        """Whether the condition holds, where that is known.

        Divisors are taken to be nonzero: who forms a quotient has asked for that before.
        """
        known = self._truth.get(condition)
        if known is not None:
            return known
        rewritten = self.rewrite(condition)
        self._budget = _BUDGET
        known = self._settle(rewritten)
        if known is not None:
            self._truth[condition] = known
        return known

    def _note(self, condition: BoolExpr, value: bool) -> None:
        self._truth[condition] = value
        self._truth[E.not_(condition)] = not value

    def _settle(self, c: BoolExpr) -> bool | None:
        if c.is_const:
            return c is E.TRUE
        known = self._truth.get(c)
        if known is not None:
            return known
        op = c.op
        if op == ">=":
            return self._sign(c.poly)
        if op in ("==", "!="):
            equal = self._zero(c.poly)
            return equal if equal is None or op == "==" else not equal
        if op in ("and", "or", "if", "not"):
            return self._joined(c)
        return E.decide(c, self.ranges)

    def _joined(self, c: BoolExpr) -> bool | None:
        if c.op == "not":
            inner = self._settle(c.parts[0])
            return None if inner is None else not inner
        if c.op == "if":
            test, yes, no = c.parts
            chosen = self._settle(test)
            if chosen is not None:
                return self._settle(yes if chosen else no)
            first, second = self._settle(yes), self._settle(no)
            return first if first is second else None
        values = [self._settle(part) for part in c.parts]
        if (c.op == "or") in values:
            return c.op == "or"
        return None if None in values else c.op == "and"

    def _sign(self, p: IntExpr) -> bool | None:
        """Whether ``p >= 0``."""
        low, high = E.interval(p, self.ranges)
        if low is not None and low >= 0:
            return True
        if high is not None and high < 0:
            return False
        if self._follows(p, _DEPTH):
            return True
        return False if self._follows(-p - 1, _DEPTH) else None

    def _zero(self, p: IntExpr) -> bool | None:
        """Whether ``p == 0``."""
        known = self._by_residue(p)
        if known is not None:
            return known
        low, high = E.interval(p, self.ranges)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        if self._follows(p - 1, _DEPTH) or self._follows(-p - 1, _DEPTH):
            return False
        at_least = (low is not None and low >= 0) or self._follows(p, _DEPTH)
        at_most = at_least and ((high is not None and high <= 0) or self._follows(-p, _DEPTH))
        return True if at_most else None

    def _by_residue(self, p: IntExpr) -> bool | None:
        """``q % d == r`` from ``q % (k*d) == s``."""
        found = _residue(p)
        if found is None:
            return None
        q, d, r = found
        for modulus, remainder in self._residues.get(q, {}).items():
            if modulus % d == 0:
                return remainder % d == r
            if d % modulus == 0 and r % modulus != remainder:
                return False
        return None

    def _at_least_zero(self, p: IntExpr, depth: int) -> bool:
        low, _ = E.interval(p, self.ranges)
        return (low is not None and low >= 0) or self._follows(p, depth)

    def _follows(self, p: IntExpr, depth: int) -> bool:
        """Whether ``p >= 0`` follows from forms known to be at least 0; bounds alone do not show it."""
        if not p.terms or not self._below:
            return False
        bound = self._below.get(p.base)
        if bound is not None and bound + p.const >= 0:
            return True
        return depth > 0 and any(self._at_least_zero(q, depth - 1) for q in self._weakened(p))

    def _weakened(self, p: IntExpr) -> Iterator[IntExpr]:
        """Forms ``q`` such that ``q >= 0`` suffices: a known form is taken off so that a harmful term goes.

        A term without a bound from below has to go, so the first such is the only one tried.
        """
        for mono, coef in self._suspects(p):
            for form in self._with.get(mono, ()):
                share = form.terms[mono]
                if share * coef > 0:
                    self._budget -= 1
                    if self._budget < 0:
                        return
                    yield p * abs(share) - form * abs(coef)

    def _suspects(self, p: IntExpr) -> list[tuple[Monomial, int]]:
        for mono, coef in p.terms.items():
            if coef and E.interval(E.polynomial(0, {mono: coef}), self.ranges)[0] is None:
                return [(mono, coef)]
        return [term for term in p.terms.items() if term[1]]

    def learn(self, condition: BoolExpr) -> None:
        """Takes a condition as true from now on."""
        self.learnt.append(condition)
        self._truth[condition] = True
        self._truth[E.not_(condition)] = False
        self._learn(self.rewrite(condition))

    def _learn(self, c: BoolExpr) -> None:
        if c.is_const:
            return
        self._note(c, True)
        if c.op == "and":
            for part in c.parts:
                self._learn(part)
        elif c.op == ">=":
            self._learn_bound(c.poly)
        elif c.op == "==":
            self._learn_zero(c.poly)
        elif c.op == "!=":
            self._learn_different(c.poly)
        elif c.op == "in":
            self._learn_bound(c.poly - c.values[0])
            self._learn_bound(-c.poly + c.values[-1])

    def _learn_bound(self, p: IntExpr) -> None:
        """``p >= 0``."""
        base = p.base
        bound = self._below.get(base)
        if bound is not None and bound >= -p.const:
            return
        self._below[base] = -p.const
        symbol = _lone_symbol(base)
        if symbol is not None:
            name, sign = symbol
            self._narrow(name, -p.const if sign > 0 else None, p.const if sign < 0 else None)
        else:
            for mono in p.terms:
                self._with.setdefault(mono, []).append(p)
        opposite = self._below.get(-base)
        if opposite is not None and opposite == p.const:
            self._learn(E.zero(p))

    def _narrow(self, name: str, low: int | None, high: int | None) -> None:
        a, b = self.ranges.get(name, (None, None))
        if low is not None and (a is None or low > a):
            a = low
        if high is not None and (b is None or high < b):
            b = high
        self.ranges[name] = (a, b)
        if a is not None and a == b and name not in self.replaced:
            self._replace(name, E.constant(a))

    def _learn_zero(self, p: IntExpr) -> None:
        found = _residue(p)
        if found is not None:
            q, d, r = found
            self._residues.setdefault(q, {})[d] = r
        target = self._eliminable(p)
        if target is not None:
            name, value = target
            self._replace(name, value)
            return
        self._learn_bound(p)
        self._learn_bound(-p)

    def _learn_different(self, p: IntExpr) -> None:
        symbol = _lone_symbol(p.base)
        if symbol is None:
            return
        name, sign = symbol
        value = -p.const * sign
        low, high = self.ranges.get(name, (None, None))
        if low == value:
            self._narrow(name, value + 1, None)
        elif high == value:
            self._narrow(name, None, value - 1)

    def _eliminable(self, p: IntExpr) -> tuple[str, IntExpr] | None:
        """``(x, q)`` where ``p == 0`` says ``x == q``: ``x`` has coefficient 1 or -1 and occurs nowhere else."""
        best: tuple[str, IntExpr] | None = None
        if not p.total:
            return None
        for mono, coef in p.terms.items():
            a = mono.atoms[0]
            if abs(coef) != 1 or len(mono.atoms) != 1 or a.op != "symbol":
                continue
            value = (a.expr * coef - p) * coef
            if a.name not in E.free_symbols(value) and (
                best is None or self._rank(a.name) > self._rank(best[0])
            ):
                best = a.name, value
        return best

    def _rank(self, name: str) -> tuple[int, str]:
        return self.prefer(name), name

    def _replace(self, name: str, value: IntExpr) -> None:
        """Eliminates a symbol and states everything known again in the symbols that remain."""
        low, high = self.ranges.get(name, (None, None))
        one = {name: value}
        self.replaced = {n: E.substitute(q, one) for n, q in self.replaced.items()}
        self.replaced[name] = value
        touched = {
            name,
            *(n for n, q in self.replaced.items() if not E.free_symbols(value).isdisjoint(E.free_symbols(q))),
        }
        known = [c for c in self.learnt if not touched.isdisjoint(E.free_symbols(c))]
        forms = {p for forms in self._with.values() for p in forms if name in E.free_symbols(p)}
        for mono in list(self._with):
            self._with[mono] = [p for p in self._with[mono] if p not in forms]
        if low is not None:
            self._learn(E.nonnegative(value - low))
        if high is not None:
            self._learn(E.nonnegative(-value + high))
        for condition in known:
            self._learn(self.rewrite(condition))


def _lone_symbol(base: IntExpr) -> tuple[str, int] | None:
    """``(name, sign)`` of a form that is a symbol or its negation."""
    if len(base.terms) != 1:
        return None
    ((mono, coef),) = base.terms.items()
    if abs(coef) != 1 or len(mono.atoms) != 1 or mono.atoms[0].op != "symbol":
        return None
    return mono.atoms[0].name, coef


def _residue(p: IntExpr) -> tuple[IntExpr, int, int] | None:
    """``(q, d, r)`` where ``p == 0`` reads ``q % d == r``."""
    base = p.base.atom
    if base is None or base.op != "%":
        return None
    q, divisor = base.args
    if isinstance(q, IntExpr) and isinstance(divisor, IntExpr) and divisor.is_const and divisor.const > 0:
        return q, divisor.const, -p.const
    return None
