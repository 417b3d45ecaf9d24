"""Problems: a specification, facts and guards over named integers, and their file format ``shapeproof/1``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from solver.expr import BoolExpr, Interval, Sort, written
from solver.parse import ExpressionError, is_symbol_name, parse_bool
from solver.trace_errors import BAD_PROBLEM

FORMAT: Final = "shapeproof/1"
Kind: TypeAlias = Literal["input", "phantom", "unbacked"]
VERDICTS: Final = ("proved", "refuted", "unknown")
STATUSES: Final = (*VERDICTS, "spec_unsatisfiable")
MAX_SYMBOLS: Final = 20_000
MAX_CONDITIONS: Final = 100_000
MAX_BOUND: Final = 1 << 256


@dataclass(frozen=True, slots=True)
class SymbolDecl:
    """A symbol: ``input`` (the size of an input), ``phantom`` (exists, is free) or ``unbacked`` (comes from data).

    ``min`` and ``max`` are inclusive, None is no bound. ``source`` is how the user reaches it (``x.shape[0]``),
    ``hint`` its value in the example.
    """

    kind: Kind = "input"
    min: int | None = None
    max: int | None = None
    source: str | None = None
    hint: int | None = None
    sort: Sort = "int"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a problem: a specification fact, a fact about unbacked sizes, or a guard to prove.

    ``text`` is the condition as it was written; ``at`` the user's line; ``origin`` the operator it came from.
    ``expect`` and ``expect_fix`` (the weakest condition that a suggestion should reach) serve tests. ``unsaid``: why an
    expression cannot say the guard; it stays unknown then, whatever ``expr`` is.
    """

    id: str
    expr: BoolExpr
    at: str | None = None
    text: str = ""
    expect: str | None = None
    expect_fix: BoolExpr | None = None
    origin: str | None = None
    note: str | None = None
    unsaid: str | None = None

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", str(self.expr))


@dataclass(slots=True)
class Problem:
    """Do ``spec`` and ``facts``, with the ranges of ``symbols``, imply every one of ``guards``?"""

    name: str = ""
    symbols: dict[str, SymbolDecl] = field(default_factory=dict)
    spec: list[Condition] = field(default_factory=list)
    facts: list[Condition] = field(default_factory=list)
    guards: list[Condition] = field(default_factory=list)
    expect: str | None = None
    note: str | None = None

    @property
    def ranges(self) -> dict[str, Interval]:
        """Bounds of every symbol, for ``solver.expr.interval``."""
        return {name: (s.min, s.max) for name, s in self.symbols.items()}

    @property
    def sorts(self) -> dict[str, Sort]:
        return {name: s.sort for name, s in self.symbols.items()}

    @staticmethod
    def from_dict(data: object, path: str = "$") -> Problem:
        """Reads ``shapeproof/1``. Raises InputError with the JSON path of what is wrong."""
        return _Reader().problem(data, path)

    def to_dict(self) -> dict[str, Any]:
        """The problem as ``shapeproof/1``, ready for JSON."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "name": self.name,
            "symbols": {name: _symbol_dict(s) for name, s in self.symbols.items()},
            "spec": [_condition_dict(c) for c in self.spec],
            "facts": [_condition_dict(c) for c in self.facts],
            "guards": [_condition_dict(c) for c in self.guards],
        }
        return data | _present(expect=self.expect, note=self.note)

    @staticmethod
    def from_line(text: str) -> Problem:
        """Reads the form for people: ``b:1..64, h=32*k |- (h//4) % 8 == 0``.

        Before ``|-`` stand ranges, definitions and conditions, after it guards, separated by commas. A name that is
        given no range starts at 0; one that occurs on right-hand sides of definitions alone is a phantom.
        """
        return _read_line(text)

    def to_line(self) -> str:
        """The form for people; sources, hints and places are left out."""
        ranges = [f"{name}:{_text(s.min)}..{_text(s.max)}" for name, s in self.symbols.items()]
        left = ", ".join(ranges + [written(c.expr) for c in (*self.spec, *self.facts)])
        return f"{left} |- {', '.join(written(g.expr) for g in self.guards)}"


def _text(bound: int | None) -> str:
    return "" if bound is None else str(bound)


def _present(**values: object) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _symbol_dict(s: SymbolDecl) -> dict[str, Any]:
    sort = None if s.sort == "int" else s.sort
    return {"kind": s.kind, "min": s.min, "max": s.max} | _present(source=s.source, hint=s.hint, sort=sort)


def _condition_dict(c: Condition) -> dict[str, Any]:
    fix = None if c.expect_fix is None else str(c.expect_fix)
    optional = _present(at=c.at, origin=c.origin, expect=c.expect, expect_fix=fix, note=c.note)
    return {"id": c.id, "expr": c.text if c.unsaid else written(c.expr)} | optional


_PROBLEM_KEYS: Final = frozenset({"format", "name", "symbols", "spec", "facts", "guards", "expect", "note"})
_SYMBOL_KEYS: Final = frozenset({"kind", "min", "max", "source", "hint", "sort", "note"})
_CONDITION_KEYS: Final = frozenset({"id", "expr", "at", "origin", "expect", "expect_fix", "note"})


class _Reader:
    """Reads one problem, strictly: a key or a value that the format does not know is an error."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.sorts: dict[str, Sort] = {}

    def problem(self, data: object, path: str) -> Problem:
        top = _mapping(data, path)
        _format(top, path)
        _known_keys(top, _PROBLEM_KEYS, path)
        problem = Problem(_string(top, "name", path) or "")
        problem.symbols = self.symbols(top.get("symbols", {}), f"{path}.symbols")
        problem.spec = self.conditions(top, "spec", path)
        problem.facts = self.conditions(top, "facts", path)
        problem.guards = self.conditions(top, "guards", path)
        problem.expect = _choice(top, "expect", STATUSES, path)
        problem.note = _string(top, "note", path)
        return problem

    def symbols(self, data: object, path: str) -> dict[str, SymbolDecl]:
        table = _mapping(data, path)
        if len(table) > MAX_SYMBOLS:
            raise BAD_PROBLEM(path=path, what=f"{len(table)} symbols, more than {MAX_SYMBOLS}")
        found: dict[str, SymbolDecl] = {}
        for name, value in table.items():
            where = f"{path}.{name[:40]}"
            if not is_symbol_name(name):
                raise BAD_PROBLEM(path=where, what="not a name that an expression can use")
            found[name] = _symbol(_mapping(value, where), where)
            self.sorts[name] = found[name].sort
        return found

    def conditions(self, top: Mapping[str, object], key: str, path: str) -> list[Condition]:
        where = f"{path}.{key}"
        values = top.get(key, [])
        if not isinstance(values, list):
            raise BAD_PROBLEM(path=where, what=f"a list is needed, not {_kind(values)}")
        if len(values) > MAX_CONDITIONS:
            raise BAD_PROBLEM(path=where, what=f"{len(values)} conditions, more than {MAX_CONDITIONS}")
        return [self.condition(value, f"{where}[{i}]") for i, value in enumerate(values)]

    def condition(self, data: object, path: str) -> Condition:
        entry = _mapping(data, path)
        _known_keys(entry, _CONDITION_KEYS, path)
        id, text = _string(entry, "id", path), _string(entry, "expr", path)
        if not id or text is None:
            raise BAD_PROBLEM(path=path, what="`id` and `expr` are needed")
        if id in self.ids:
            raise BAD_PROBLEM(path=f"{path}.id", what=f"the id {id[:80]!r} is used twice")
        self.ids.add(id)
        fix = _string(entry, "expect_fix", path)
        return Condition(
            id,
            self.expression(text, f"{path}.expr"),
            at=_string(entry, "at", path),
            text=text,
            expect=_choice(entry, "expect", VERDICTS, path),
            expect_fix=None if fix is None else self.expression(fix, f"{path}.expect_fix"),
            origin=_string(entry, "origin", path),
            note=_string(entry, "note", path),
        )

    def expression(self, text: str, path: str) -> BoolExpr:
        try:
            return parse_bool(text, self.sorts)
        except ExpressionError as problem:
            raise BAD_PROBLEM(path=path, what=str(problem)) from None


def _format(top: Mapping[str, object], path: str) -> None:
    given = top.get("format")
    if given == FORMAT:
        return
    if isinstance(given, str) and given.startswith("shapeproof/"):
        raise BAD_PROBLEM(path=f"{path}.format", what=f"version {given[11:40]!r} is not known, only {FORMAT}")
    raise BAD_PROBLEM(path=f"{path}.format", what=f"{_kind(given)} in place of {FORMAT!r}")


def _symbol(entry: Mapping[str, object], path: str) -> SymbolDecl:
    _known_keys(entry, _SYMBOL_KEYS, path)
    kind = _choice(entry, "kind", get_args(Kind), path)
    if kind is None:
        raise BAD_PROBLEM(path=path, what="`kind` is needed")
    return SymbolDecl(
        cast(Kind, kind),
        _bound(entry, "min", path),
        _bound(entry, "max", path),
        _string(entry, "source", path),
        _bound(entry, "hint", path),
        cast(Sort, _choice(entry, "sort", get_args(Sort), path) or "int"),
    )


def _mapping(data: object, path: str) -> Mapping[str, object]:
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise BAD_PROBLEM(path=path, what=f"an object is needed, not {_kind(data)}")
    return cast(Mapping[str, object], data)


def _known_keys(entry: Mapping[str, object], keys: Iterable[str], path: str) -> None:
    unknown = [key for key in entry if key not in keys]
    if unknown:
        raise BAD_PROBLEM(path=path, what=f"unknown key {unknown[0][:80]!r}")


def _string(entry: Mapping[str, object], key: str, path: str) -> str | None:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise BAD_PROBLEM(path=f"{path}.{key}", what=f"text is needed, not {_kind(value)}")
    if value is not None and any("\ud800" <= character <= "\udfff" for character in value):
        raise BAD_PROBLEM(path=f"{path}.{key}", what="half of a surrogate pair, which no text may hold")
    return value


def _bound(entry: Mapping[str, object], key: str, path: str) -> int | None:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise BAD_PROBLEM(path=f"{path}.{key}", what=f"an integer or null is needed, not {_kind(value)}")
    if not -MAX_BOUND <= value <= MAX_BOUND:
        raise BAD_PROBLEM(path=f"{path}.{key}", what="an integer of more than 256 bits")
    return value


def _choice(entry: Mapping[str, object], key: str, allowed: tuple[str, ...], path: str) -> str | None:
    value = _string(entry, key, path)
    if value is not None and value not in allowed:
        raise BAD_PROBLEM(path=f"{path}.{key}", what=f"{value[:80]!r} is not one of {', '.join(allowed)}")
    return value


def _kind(value: object) -> str:
    if value is None or isinstance(value, bool | int | float | str):
        shown = repr(value) if not isinstance(value, str) else repr(value[:80])
        return shown[:100]
    return {"list": "a list", "dict": "an object"}.get(type(value).__name__, type(value).__name__)


_RANGE: Final = re.compile(r"\s*(\w+)\s*:\s*(-?\d{1,70})?\s*\.\.\s*(-?\d{1,70})?\s*\Z")
_DEFINITION: Final = re.compile(r"\s*(\w+)\s*=(?!=)(.*)\Z", re.DOTALL)


def _read_line(text: str) -> Problem:
    left, turnstile, right = text.partition("|-")
    if not turnstile:
        raise BAD_PROBLEM(path="line", what="no `|-` between the specification and the guards")
    ranges: dict[str, SymbolDecl] = {}
    defined: set[str] = set()
    spec: list[tuple[str, BoolExpr]] = []
    for item in _items(left):
        if match := _RANGE.match(item):
            name, low, high = match.groups()
            ranges[name] = SymbolDecl(
                "input", None if low is None else int(low), None if high is None else int(high)
            )
            continue
        if match := _DEFINITION.match(item):
            defined.add(match[1])
            item = f"{match[1]} == {match[2]}"
        spec.append((item.strip(), _line_condition(item)))
    goals = [(item.strip(), _line_condition(item)) for item in _items(right)]
    return _from_parts(ranges, defined, spec, goals)


def _from_parts(
    ranges: dict[str, SymbolDecl],
    defined: set[str],
    spec: list[tuple[str, BoolExpr]],
    goals: list[tuple[str, BoolExpr]],
) -> Problem:
    from solver.expr import free_symbols

    in_goals = {name for _, e in goals for name in free_symbols(e)}
    symbols = dict(ranges)
    for _, e in (*spec, *goals):
        for name in sorted(free_symbols(e)):
            visible = not defined or name in defined or name in in_goals
            symbols.setdefault(name, SymbolDecl("input" if visible else "phantom", 0))
    for name in symbols:
        if not is_symbol_name(name):
            raise BAD_PROBLEM(path="line", what=f"{name!r} is not a name that an expression can use")
    return Problem(
        "line",
        symbols,
        [Condition(f"S{i}", e, text=t) for i, (t, e) in enumerate(spec, 1)],
        [],
        [Condition(f"G{i}", e, text=t) for i, (t, e) in enumerate(goals, 1)],
    )


def _line_condition(text: str) -> BoolExpr:
    try:
        return parse_bool(text)
    except ExpressionError as problem:
        raise BAD_PROBLEM(path="line", what=f"{text.strip()[:80]!r}: {problem}") from None


def _items(text: str) -> list[str]:
    """Splits at the commas outside brackets."""
    items: list[str] = []
    depth = start = 0
    for i, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    items.append(text[start:])
    return [item for item in items if item.strip()]
