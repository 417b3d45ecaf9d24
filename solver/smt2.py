"""Obligations as SMT-LIB 2, so that anyone can check them again with another solver.

A floor division ``n // d`` is an integer ``q`` with ``d*q <= n < d*q + d`` for ``d > 0`` (mirrored for ``d < 0``), a
remainder is ``n - d*q``: quotient-remainder form. A divisor of 0 leaves ``q`` open; that it is not 0 is stated
separately. Symbols have no bounds but those of the specification. What SMT-LIB's integers cannot say (floats, powers
with a symbolic exponent) is an open constant, and ``Encoder.open`` names it: ``unsat`` still is a proof then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from solver.expr import BoolExpr, Expr, IntExpr, and_, not_
from solver.problem import Condition
from solver.prove.context import Context
from solver.prove.poly import Algebra, Poly
from solver.prove.world import World, goal_of

Leaf = Callable[[IntExpr], Poly]
_COMPARISONS: Final = {">=": "(>= {} 0)", "==": "(= {} 0)", "!=": "(not (= {} 0))"}


class Encoder:
    """Writes conditions over polynomials as terms; ``declarations`` and ``definitions`` are what the terms need."""

    def __init__(self, algebra: Algebra, leaf: Leaf) -> None:
        self.algebra = algebra
        self.leaf = leaf
        self.declarations: list[str] = []
        self.definitions: list[str] = []
        self.open: list[str] = []
        self.nonlinear = False
        self._atoms: dict[int, str] = {}
        self._flags: dict[BoolExpr, str] = {}

    @property
    def atoms(self) -> Iterable[int]:
        """The atoms that the terms speak of."""
        return self._atoms

    def condition(self, expr: BoolExpr) -> str:
        """The term of a condition."""
        op = expr.op
        if op in ("true", "false"):
            return op
        if op in _COMPARISONS:
            return _COMPARISONS[op].format(self.sum(self.leaf(expr.poly)))
        if op == "in":
            term = self.sum(self.leaf(expr.poly))
            return f"(or {' '.join(f'(= {term} {_number(v)})' for v in expr.values)})"
        if op in ("and", "or"):
            return f"({op} {' '.join(map(self.condition, expr.parts))})"
        if op == "not":
            return f"(not {self.condition(expr.parts[0])})"
        if op == "if":
            return f"(ite {' '.join(map(self.condition, expr.parts))})"
        return self._flag(expr)

    def _flag(self, expr: BoolExpr) -> str:
        """A boolean symbol, or a float comparison that stays open."""
        name = self._flags.get(expr)
        if name is None:
            name = f"|{expr.name}|" if expr.op == "symbol" else f"|open!{len(self._flags)}|"
            if expr.op != "symbol":
                self.open.append(str(expr))
            self._flags[expr] = name
            self.declarations.append(f"(declare-const {name} Bool)")
        return name

    def sum(self, poly: Poly) -> str:
        """The term of a polynomial."""
        parts = []
        for mono, coefficient in sorted(poly.terms.items()):
            factors = [self.atom(atom) for atom in mono]
            if len(factors) > 1:
                self.nonlinear = True
            if coefficient != 1 or not factors:
                factors.insert(0, _number(coefficient))
            parts.append(factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})")
        if len(parts) < 2:
            return parts[0] if parts else "0"
        return f"(+ {' '.join(parts)})"

    def atom(self, index: int) -> str:
        """The constant that stands for an atom, declared and defined on first use."""
        name = self._atoms.get(index)
        if name is None:
            atom = self.algebra.atoms[index]
            name = f"|{atom.args[0]}|" if atom.kind == "symbol" else f"|{atom.kind}!{index}|"
            self._atoms[index] = name
            self.declarations.append(f"(declare-const {name} Int)")
            if atom.kind != "symbol":
                self._define(name, atom.kind, atom.args)
        return name

    def _define(self, name: str, kind: str, args: tuple[object, ...]) -> None:
        polys = [arg for arg in args if isinstance(arg, Poly)]
        if kind == "floor":
            self._define_floor(name, *polys)
        elif kind in ("max", "min"):
            terms = [self.sum(part) for part in polys]
            sign = ">=" if kind == "max" else "<="
            self.definitions += [f"({sign} {name} {term})" for term in terms]
            self.definitions.append(f"(or {' '.join(f'(= {name} {term})' for term in terms)})")
        elif kind == "choice":
            condition = args[0]
            assert isinstance(condition, BoolExpr)
            yes, no = (self.sum(part) for part in polys)
            self.definitions.append(f"(= {name} (ite {self.condition(condition)} {yes} {no}))")
        elif kind == "opaque":
            self.open.append(str(args[0]))

    def _define_floor(self, name: str, dividend: Poly, divisor: Poly) -> None:
        n, d = self.sum(dividend), self.sum(divisor)
        if divisor.is_constant():
            if divisor.constant:
                self.definitions.append(f"(and (<= (* {d} {name}) {n}) (< {n} (+ (* {d} {name}) {d})))")
            return
        self.nonlinear = True
        up = f"(and (<= (* {d} {name}) {n}) (< {n} (+ (* {d} {name}) {d})))"
        down = f"(and (>= (* {d} {name}) {n}) (> {n} (+ (* {d} {name}) {d})))"
        self.definitions += [f"(=> (> {d} 0) {up})", f"(=> (< {d} 0) {down})"]


def _number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def label(text: str) -> str:
    """A name for an assertion."""
    return f"|{text.replace('|', '/').replace(chr(92), '/')}|"


def script(
    encoder: Encoder,
    premises: Iterable[tuple[str, str]],
    refutation: str,
    *,
    comments: Iterable[str] = (),
    ask: str = "",
) -> str:
    """A whole file: premises by name, the negated goal, and the question."""
    body = [f"(assert (! {term} :named {label(name)}))" for name, term in premises]
    body.append(f"(assert (! {refutation} :named |goal is false|))")
    logic = "QF_NIA" if encoder.nonlinear else "QF_LIA"
    lines = [
        *(f"; {comment}" for comment in comments),
        "(set-option :produce-models true)",
        "(set-option :produce-unsat-cores true)",
        f"(set-logic {logic})",
        *encoder.declarations,
        *(f"(assert {definition})" for definition in encoder.definitions),
        *body,
        "(check-sat)",
    ]
    return "\n".join([*lines, ask, ""] if ask else [*lines, ""])


def obligation(world: World, guard: Condition, verdict: str, cone: frozenset[int] | None = None) -> str:
    """The question whether the specification leaves room for ``guard`` to fail, as one file: ``unsat`` proves the guard.

    ``cone``: the groups of symbols whose premises are stated, by default those that the guard speaks of.
    """
    algebra = Algebra()
    encoder = Encoder(algebra, Context(algebra).literal)
    cone = world.cone(guard.expr) if cone is None else cone
    premises = [(world.sources[b].label, encoder.condition(world.sources[b].expr)) for b in world.bits(cone)]
    refutation = encoder.condition(not_(goal_of(guard.expr)))
    comments = [_comment(f"{world.problem.name or 'problem'}, guard {guard.id}: {guard.text}")]
    if guard.at:
        comments.append(_comment(f"at {guard.at}"))
    comments.append("unsat: the specification implies the guard; sat: (get-model) is a counterexample")
    comments += [
        _comment(f"left open, as integers cannot say it: {part}") for part in dict.fromkeys(encoder.open)
    ]
    settled = {} if encoder.open else {"proved": "(get-unsat-core)", "refuted": "(get-model)"}
    ask = settled.get(verdict, "")
    return script(encoder, premises, refutation, comments=comments, ask=ask)


def _comment(text: str) -> str:
    return " ".join(text.split())


__all__ = ["Encoder", "Expr", "and_", "label", "obligation", "script"]
