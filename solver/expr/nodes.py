"""The nodes of expressions, hash-consed: equal normal forms are one object, so ``is`` and ``hash`` cost nothing.

Three sorts. An :class:`IntExpr` is an integer polynomial over *atoms* (symbols, floor divisions, …). A
:class:`BoolExpr` and a :class:`FloatExpr` are an operator over arguments. Nodes are made by the constructors of
``integer``, ``boolean`` and ``floating`` only; those hold the rewriting, this module holds sharing and polynomials.

An expression is *total* when no assignment makes it raise. Cancelling a term that is not total would hide its error
(``a//b - a//b`` is not 0 where ``b`` is 0), so such a term stays, with coefficient 0. The tables live as long as the
process: symbols are named alike from export to export, so they fill once.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from solver.trace_errors import EXPRESSION_TOO_LARGE

Sort: TypeAlias = Literal["int", "bool", "float"]
Order: TypeAlias = tuple[object, ...]
MAX_TERMS: Final = 20_000
MAX_BITS: Final = 14_000  # Python prints integers up to 4300 digits
_HUGE: Final = 1 << MAX_BITS
_MEMO_LIMIT: Final = 200_000


class Monomial:
    """A product of atoms, sorted, with repetition for powers; never empty."""

    __slots__ = ("atoms", "order", "total")

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms
        self.order: Order = (-len(atoms), tuple([a.order for a in atoms]))
        self.total = all(a.total for a in atoms)

    def __repr__(self) -> str:
        return f"Monomial({', '.join(map(str, self.atoms))})"


class Atom:
    """An integer that polynomials do not look into.

    ``op`` and ``args``: ``symbol`` (its ``name``), ``//`` and ``%`` (dividend, divisor), ``**`` (base, exponent),
    ``max``, ``min`` (two or more), ``abs``, ``if`` (condition, then, else), and ``int``, ``floor``, ``ceil``,
    ``round`` of a float.
    """

    __slots__ = ("args", "expr", "name", "op", "order", "total")

    def __init__(self, op: str, args: tuple[Expr, ...], name: str, total: bool) -> None:
        self.op = op
        self.args = args
        self.name = name
        self.total = total
        self.order: Order = (op != "symbol", op, name, tuple([a.order for a in args]))
        self.expr: IntExpr  # the polynomial that is this atom alone; set by `atom`

    def __str__(self) -> str:
        return str(self.expr)

    def __repr__(self) -> str:
        return f"Atom({self.expr})"


class _Node:
    """What the three sorts share: a lazy total order that does not depend on the order of creation."""

    __slots__ = ("_order", "_symbols", "_text", "total")

    _order: Order | None
    _symbols: frozenset[str] | None
    _text: str | None
    total: bool

    def __str__(self) -> str:
        text = self._text
        if text is None:
            from solver.expr.text import text_of

            text = self._text = text_of(self)  # type: ignore[arg-type]
        return text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __reduce__(self) -> tuple[object, ...]:
        from solver.expr.length import written
        from solver.expr.symbols import symbol_sorts
        from solver.expr.walk import rebuild_from_text

        return rebuild_from_text, (written(self), dict(symbol_sorts(self)))  # type: ignore[arg-type]


class IntExpr(_Node):
    """``const + sum(coefficient * monomial)``; ``terms`` is never changed after creation.

    ``base`` is the same polynomial with ``const`` 0; it keeps the others that differ from it in ``const`` alone.
    """

    __slots__ = ("_shifts", "base", "const", "terms")

    def __init__(
        self, const: int, terms: dict[Monomial, int], total: bool, base: IntExpr | None = None
    ) -> None:
        self.const = const
        self.terms = terms
        self.total = total
        self.base = self if base is None else base
        self._shifts: dict[int, IntExpr] = {0: self} if base is None else base._shifts
        self._order = self._symbols = self._text = None

    def with_const(self, const: int) -> IntExpr:
        """The same terms with another constant."""
        found = self._shifts.get(const)
        if found is None:
            if not -_HUGE < const < _HUGE:
                raise EXPRESSION_TOO_LARGE(limit=MAX_BITS, what="bits")
            # int(): a bool or a NumPy integer must not become the constant
            found = self._shifts.setdefault(const, IntExpr(int(const), self.terms, self.total, self.base))
        return found

    @property
    def is_const(self) -> bool:
        return not self.terms

    @property
    def atom(self) -> Atom | None:
        """The atom that this polynomial is, if it is one alone."""
        if self.const or len(self.terms) != 1:
            return None
        ((mono, coef),) = self.terms.items()
        return mono.atoms[0] if coef == 1 and len(mono.atoms) == 1 else None

    def sorted_terms(self) -> list[tuple[Monomial, int]]:
        return sorted(self.terms.items(), key=_term_order)

    @property
    def order(self) -> Order:
        known = self._order
        if known is None:
            parts = tuple([(m.order, c) for m, c in self.sorted_terms()])
            known = self._order = ("i", parts, self.const)
        return known

    def __add__(self, other: IntExpr | int) -> IntExpr:
        if other.__class__ is int:
            return self.with_const(self.const + other)
        key = (self, other)
        found = _ADD.get(key)
        return _remember(_ADD, key, _add(self, other)) if found is None else found

    def __sub__(self, other: IntExpr | int) -> IntExpr:
        return self + (-other)

    def __mul__(self, other: IntExpr | int) -> IntExpr:
        key = (self, other)
        found = _MUL.get(key)
        return _remember(_MUL, key, _mul(self, other)) if found is None else found

    def __neg__(self) -> IntExpr:
        return self * -1

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: int) -> IntExpr:
        return -self + other


class BoolExpr(_Node):
    """``op`` over ``args``.

    ``true``, ``false``, ``symbol`` (``name``); ``>=``, ``==``, ``!=`` (one integer, compared with 0, content and
    sign normalised); ``in`` (one integer without constant part, and ``values``); ``f<``, ``f<=``, ``f==`` (two
    numbers, at least one a float, compared as Python does); ``and``, ``or`` (two or more, evaluated in order),
    ``not`` (of ``symbol``, ``in`` or a float comparison), ``if`` (condition, then, else).
    """

    __slots__ = ("args", "name", "op", "values")

    def __init__(self, op: str, args: tuple[Expr, ...], name: str, values: tuple[int, ...]) -> None:
        self.op = op
        self.args = args
        self.name = name
        self.values = values
        self.total = all(a.total for a in args)
        self._order = self._symbols = self._text = None

    @property
    def is_const(self) -> bool:
        return self is TRUE or self is FALSE

    @property
    def poly(self) -> IntExpr:
        """The integer of ``>=``, ``==``, ``!=`` and ``in``."""
        first = self.args[0]
        assert isinstance(first, IntExpr)
        return first

    @property
    def parts(self) -> tuple[BoolExpr, ...]:
        """The conditions that ``and``, ``or``, ``not`` and ``if`` join."""
        return tuple(a for a in self.args if isinstance(a, BoolExpr))

    @property
    def order(self) -> Order:
        known = self._order
        if known is None:
            known = self._order = ("b", self.op, self.name, tuple([a.order for a in self.args]), self.values)
        return known


class FloatExpr(_Node):
    """``op`` over ``args``, which may be integers: Python's mixed arithmetic is kept as it is written.

    Where Python's result may be an int (``max(n, 2.5)``) it is an int here too; ``real`` says that it cannot be.
    ``literal`` (``value``), ``symbol`` (``name``), ``float`` (an integer), ``neg``, ``abs``, ``sqrt``, ``+``, ``-``,
    ``*``, ``/``, ``//``, ``%``, ``**``, ``max``, ``min`` and ``if``. Nothing but literals is folded, because no law of
    arithmetic holds for IEEE doubles.
    """

    __slots__ = ("args", "name", "op", "real", "value")

    def __init__(self, op: str, args: tuple[Expr, ...], name: str, value: float) -> None:
        self.op = op
        self.args = args
        self.name = name
        self.value = value
        self.total = op in ("literal", "symbol")
        floats = [isinstance(a, FloatExpr) and a.real for a in args if not isinstance(a, BoolExpr)]
        self.real: bool = all(floats) if op in ("max", "min", "if") else op in _REAL or any(floats)
        self._order = self._symbols = self._text = None

    @property
    def is_const(self) -> bool:
        return self.op == "literal"

    @property
    def order(self) -> Order:
        known = self._order
        if known is None:
            known = self._order = (
                "f",
                self.op,
                self.name,
                tuple([a.order for a in self.args]),
                self.value.hex(),
            )
        return known


_REAL: Final = frozenset({"literal", "symbol", "float", "sqrt", "/"})
Expr: TypeAlias = IntExpr | BoolExpr | FloatExpr
Number: TypeAlias = IntExpr | FloatExpr

_INTS: dict[frozenset[tuple[Monomial, int]], IntExpr] = {}
_MONOMIALS: dict[tuple[Atom, ...], Monomial] = {}
_ATOMS: dict[tuple[object, ...], Atom] = {}
_BOOLS: dict[tuple[object, ...], BoolExpr] = {}
_FLOATS: dict[tuple[object, ...], FloatExpr] = {}
_ADD: dict[tuple[IntExpr, IntExpr | int], IntExpr] = {}
_MUL: dict[tuple[IntExpr, IntExpr | int], IntExpr] = {}


def _remember(
    memo: dict[tuple[IntExpr, IntExpr | int], IntExpr], key: tuple[IntExpr, IntExpr | int], value: IntExpr
) -> IntExpr:
    if len(memo) > _MEMO_LIMIT:
        memo.clear()
    memo[key] = value
    return value


def _term_order(term: tuple[Monomial, int]) -> Order:
    return term[0].order


ZERO: Final = IntExpr(0, {}, True)
constant = ZERO.with_const
"""``constant(value)`` is the polynomial that is ``value``."""


def polynomial(const: int, terms: dict[Monomial, int]) -> IntExpr:
    """The shared polynomial. Terms with coefficient 0 are dropped where their monomial is total."""
    if 0 in terms.values():
        terms = _settle_zeros(terms)
    key = frozenset(terms.items())
    base = _INTS.get(key)
    if base is None:
        total = True
        for mono, coef in terms.items():
            if not mono.total:
                total = False
            if not -_HUGE < coef < _HUGE:
                raise EXPRESSION_TOO_LARGE(limit=MAX_BITS, what="bits")
        base = _INTS.setdefault(key, IntExpr(0, terms, total))
    return base.with_const(const) if const else base


def _settle_zeros(terms: dict[Monomial, int]) -> dict[Monomial, int]:
    """Keeps of a cancelled term the atoms that may raise, unless another term holds them."""
    kept = {m: c for m, c in terms.items() if c}
    if len(kept) + sum(m.total for m, c in terms.items() if not c) == len(terms):
        return kept
    alive = {a for m in kept for a in m.atoms}
    for mono, coef in terms.items():
        if not coef:
            for a in mono.atoms:
                if not a.total and a not in alive:
                    kept[monomial((a,))] = 0
    return kept


def _add(p: IntExpr, q: IntExpr | int) -> IntExpr:
    if isinstance(q, int):
        return p.with_const(p.const + q)
    if len(p.terms) < len(q.terms):
        p, q = q, p
    if not q.terms:
        return p.with_const(p.const + q.const)
    terms = p.terms.copy()
    for mono, coef in q.terms.items():
        terms[mono] = terms.get(mono, 0) + coef
    return polynomial(p.const + q.const, terms)


def _scale(p: IntExpr, k: int) -> IntExpr:
    return polynomial(p.const * k, {m: c * k for m, c in p.terms.items()})


def _mul(p: IntExpr, q: IntExpr | int) -> IntExpr:
    if isinstance(q, int):
        return _scale(p, q)
    if not q.terms:
        return _scale(p, q.const)
    if not p.terms:
        return _scale(q, p.const)
    if len(p.terms) * len(q.terms) > MAX_TERMS:
        raise EXPRESSION_TOO_LARGE(limit=MAX_TERMS, what="terms")
    terms: dict[Monomial, int] = {}
    for m1, c1 in p.terms.items():
        for m2, c2 in q.terms.items():
            mono = monomial(m1.atoms + m2.atoms)
            terms[mono] = terms.get(mono, 0) + c1 * c2
    for mono, coef in p.terms.items():
        terms[mono] = terms.get(mono, 0) + coef * q.const
    for mono, coef in q.terms.items():
        terms[mono] = terms.get(mono, 0) + coef * p.const
    return polynomial(p.const * q.const, terms)


def monomial(atoms: tuple[Atom, ...]) -> Monomial:
    """The shared product of ``atoms``, in any order."""
    found = _MONOMIALS.get(atoms)
    if found is None:
        ordered = tuple(sorted(atoms, key=_atom_order)) if len(atoms) > 1 else atoms
        found = _MONOMIALS.get(ordered)
        if found is None:
            found = _MONOMIALS.setdefault(ordered, Monomial(ordered))
        _MONOMIALS[atoms] = found
    return found


def _atom_order(a: Atom) -> Order:
    return a.order


def atom(op: str, args: tuple[Expr, ...], name: str = "", total: bool = True) -> IntExpr:
    """The polynomial that is the shared atom ``op(args)``."""
    key = (op, name, args)
    found = _ATOMS.get(key)
    if found is None:
        found = Atom(op, args, name, total)
        found.expr = polynomial(0, {monomial((found,)): 1})
        found = _ATOMS.setdefault(key, found)
    return found.expr


def bool_node(op: str, args: tuple[Expr, ...] = (), name: str = "", values: tuple[int, ...] = ()) -> BoolExpr:
    """The shared node; normal form is the caller's business."""
    key = (op, name, args, values)
    found = _BOOLS.get(key)
    if found is None:
        found = _BOOLS.setdefault(key, BoolExpr(op, args, name, values))
    return found


def float_node(op: str, args: tuple[Expr, ...] = (), name: str = "", value: float = 0.0) -> FloatExpr:
    """The shared node; normal form is the caller's business."""
    key = (op, name, args, value.hex())  # hex tells 0.0 from -0.0 and joins every nan
    found = _FLOATS.get(key)
    if found is None:
        found = _FLOATS.setdefault(key, FloatExpr(op, args, name, value))
    return found


_INTS[frozenset()] = ZERO
TRUE: Final = bool_node("true")
FALSE: Final = bool_node("false")
