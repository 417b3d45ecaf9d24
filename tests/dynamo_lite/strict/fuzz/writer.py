"""Writes random programs by the grammar."""

from __future__ import annotations

import re
import sys
from random import Random
from typing import Final, NamedTuple

from tests.dynamo_lite.strict.fuzz.definitions import BASES, DEFINITIONS, MEMBERS, PRELUDE
from tests.dynamo_lite.strict.fuzz.expressions import EXPRESSIONS
from tests.dynamo_lite.strict.fuzz.library import (
    LIBRARY_COMPOUND,
    LIBRARY_DEFINITIONS,
    LIBRARY_EXPRESSIONS,
    LIBRARY_MEMBERS,
    LIBRARY_PRELUDE,
    LIBRARY_SIMPLE,
    META_MEMBERS,
)
from tests.dynamo_lite.strict.fuzz.statements import COMPOUND, GIVES, SIMPLE, Production

NAMES: Final = ("a", "b", "s", "t", "p", "q", "d", "e", "o", "u")
_START: Final = {
    "a": "1", "b": "2", "s": "'st'", "t": "'u'", "p": "[1, 2, 3]", "q": "[4]", "d": "{'k': 1}", "e": "{}", "o": "Vec(3)", "u": "Base(1)",
}  # fmt: skip
_HOLE: Final = re.compile(r"<([a-z]+)>")
_NEW: Final = re.compile(r"\$([A-Za-z])")
_DEEPEST: Final = 3
_LEAVES: Final = {
    "int": ("i", "digit"), "str": ("s",), "list": ("l",), "dict": ("d",), "obj": ("o",), "any": ("v",), "gen": ("l",),
    "iter": ("l",), "bool": ("i",), "float": ("digit",), "set": ("l",), "tuple": ("l",),
}  # fmt: skip


class Grammar(NamedTuple):
    """The productions to choose from."""

    expressions: dict[str, tuple[str, ...]]
    simple: tuple[Production, ...]
    compound: tuple[Production, ...]
    definitions: tuple[Production, ...]
    members: tuple[str, ...]


_CORE: Final = Grammar(EXPRESSIONS, SIMPLE, COMPOUND, DEFINITIONS, MEMBERS)
_WIDE: Final = Grammar(
    {
        kind: EXPRESSIONS.get(kind, ()) + LIBRARY_EXPRESSIONS.get(kind, ())
        for kind in EXPRESSIONS | LIBRARY_EXPRESSIONS
    },
    SIMPLE + LIBRARY_SIMPLE,
    COMPOUND + LIBRARY_COMPOUND,
    DEFINITIONS + LIBRARY_DEFINITIONS,
    MEMBERS + LIBRARY_MEMBERS,
)


class Writer:
    """Writes one program; every choice comes from ``random``."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.grammar = random.choice((_CORE, _WIDE))
        self.serial = 0
        self.budget = 0
        self.functions = 0
        self.globals: dict[str, int] = {}  # names that a function around declares global, and how deep it is

    def program(self) -> str:
        prelude = PRELUDE if self.grammar is _CORE else PRELUDE + LIBRARY_PRELUDE
        lines = [prelude.strip("\n"), "", "def main():"]
        lines += [f"    {name} = {value}" for name, value in _START.items()]
        # on any two values most statements raise: there are more of them, each by itself
        blocks, most = ((2, 6), 1) if self.grammar is _CORE else ((8, 20), -1)
        for _ in range(self.random.randint(*blocks)):
            self.budget = self.random.randint(4, 14)
            lines.append("    try:")
            lines += self.block(frozenset({"main"}), 2, most)
            lines += ["    except Exception as error:", "        report(error)"]
            for name in self.random.sample(NAMES, 3):
                lines.append(f"    {name} = {_START[name]}")
        lines.append(f"    return ({', '.join(NAMES)})")
        return "\n".join(lines) + "\n"

    # --- expressions

    def fill(self, text: str, depth: int = 0) -> str:
        """The text with its new names made and its expressions written."""
        fresh: dict[str, str] = {}
        text = _NEW.sub(lambda found: fresh.get(found[1]) or self._new(fresh, found[1]), text)
        return _HOLE.sub(lambda found: self.expression(found[1], depth), text)

    def _new(self, fresh: dict[str, str], stem: str) -> str:
        self.serial += 1
        fresh[stem] = f"{stem}{self.serial}"
        return fresh[stem]

    def expression(self, kind: str, depth: int) -> str:
        if kind == "base":
            return self.random.choice(BASES)
        wanted = kind
        if depth > 0 and kind in _LEAVES and self.random.random() < 0.04:
            kind = "any"  # of the wrong kind now and then
        if depth >= _DEEPEST and kind in _LEAVES:
            kind = self.random.choice(_LEAVES[kind])
        text = self.fill(self.random.choice(self.grammar.expressions[kind]), depth + 1)
        return f"({text})" if wanted not in ("digit", "int") and text.lstrip("-").isdigit() else text

    # --- statements

    def block(self, around: frozenset[str], indent: int, most: int = 3) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, most + 2)):
            lines += self.statement(around, indent)
        return lines

    def statement(self, around: frozenset[str], indent: int) -> list[str]:
        self.budget -= 1
        simple, compound, definitions = self.grammar.simple, self.grammar.compound, self.grammar.definitions
        table = simple
        if self.budget > 0 and indent < 7:
            roll = self.random.random()
            table = simple if roll < 0.45 else compound if roll < 0.75 or self.functions > 2 else definitions
        known = [each for each in table if self._fits(each, around)]
        chosen = self.random.choices(known, [each.weight for each in known])[0]
        return self.expand(chosen.text, around, indent)

    def _fits(self, production: Production, around: frozenset[str]) -> bool:
        return production.since <= sys.version_info[:2] and around.issuperset(production.needs.split())

    def expand(self, text: str, around: frozenset[str], indent: int) -> list[str]:
        """The lines of a production, bodies written out."""
        fresh: dict[str, str] = {}
        text = _NEW.sub(lambda found: fresh.get(found[1]) or self._new(fresh, found[1]), text)
        lines: list[str] = []
        for line in text.split("\n"):
            stripped = line.lstrip()
            inner = indent + (len(line) - len(stripped)) // 4
            body = _HOLE.fullmatch(stripped)
            if body and body[1] in GIVES:
                defines = body[1] not in ("block", "loop", "handler", "starred")
                self.functions += defines
                lines += self.block(_within(around, body[1]), inner, 2)
                self.functions -= defines
            elif body and body[1] == "scope":
                lines += self.scope(around, inner)
            elif body and body[1] in ("members", "metamembers"):
                members = self.grammar.members if body[1] == "members" else META_MEMBERS
                for member in self.random.sample(members, self.random.randint(1, 5)):
                    lines += self.expand(member, _within(around, "class"), inner)
            else:
                lines.append("    " * inner + self.fill(stripped))
        return lines

    def scope(self, around: frozenset[str], indent: int) -> list[str]:
        """What a function's names are: its own, an outer function's, the module's, or not yet bound."""
        lines = []
        outer = {name: depth for name, depth in self.globals.items() if depth < self.functions}
        self.globals = dict(outer)
        for name in NAMES:
            roll = self.random.random()
            if roll < 0.6:
                lines.append(f"{name} = {_START[name]}")
            elif roll < 0.75 and name not in outer:
                lines.append(f"nonlocal {name}")
            elif roll < 0.8:
                self.globals.setdefault(name, self.functions)
                gone = f"; del {name}" if self.random.random() < 0.2 else ""
                lines.append(f"global {name}; {name} = {_START[name]}{gone}")
        return ["    " * indent + line for line in lines]


def _within(around: frozenset[str], body: str) -> frozenset[str]:
    """What is around the statements of a body."""
    words = GIVES[body].split()
    taken = {word[1:] for word in words if word[0] == "-"}
    return (around - taken) | {word[1:] for word in words if word[0] == "+"}


def write_program(random: Random) -> str:
    """A program that defines ``main()``."""
    return Writer(random).program()
