"""Random problems in the whole grammar of conditions, for the prover to be held against brute force."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

NAMES = ("a", "b", "c")
FLAG = "p"
WINDOW = 14
LARGE = (2**31 - 1, 2**53 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 + 3)
DIVISORS = (2, 3, 4, 6, 8, -3, -4, 32, 1)
FACTORS = ("0.5", "0.25", "2.0", "1.5", "0.7", "0.1", "-0.5", "3.0")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Case:
    """A random problem and the window in which it is checked."""

    data: dict[str, Any]
    low: dict[str, int]
    bounded: bool


class Writer:
    """Writes random expressions. ``powers``: exponents may be symbols, so values must stay small."""

    def __init__(self, random: Random, *, floats: bool, flags: bool, powers: bool) -> None:
        self.random = random
        self.floats = floats
        self.flags = flags
        self.powers = powers

    def number(self, depth: int) -> str:
        """An integer."""
        random = self.random
        if depth == 0 or random.random() < 0.25:
            if random.random() < 0.7:
                return random.choice(NAMES)
            return str(random.choice(LARGE) if random.random() < 0.06 else random.randint(-9, 12))
        x, y = self.number(depth - 1), self.number(depth - 1)
        kind = random.randrange(16)
        if kind < 5:
            return f"({x} {random.choice('+-*')} {y})"
        if kind < 8:
            return f"({x} {random.choice(('//', '%'))} {random.choice(DIVISORS)})"
        if kind == 8:
            return f"({x} {random.choice(('//', '%'))} {y})"
        if kind == 9:
            return f"{random.choice(('max', 'min'))}({x}, {y})"
        if kind == 10:
            return f"abs({x})"
        if kind == 11:
            return f"({x} if {self.condition(0)} else {y})"
        if kind == 12:
            return f"(-(-{x} // {random.choice((2, 3, 4, y))}))"
        if kind == 13:
            return f"({x} ** {random.choice((0, 1, 2, 3))})"
        if kind == 14 and self.powers:
            return f"({random.choice(NAMES)} ** max({random.choice(NAMES)} % 5, 0))"
        if kind == 15 and self.floats:
            return f"{random.choice(('int', 'round', 'math.floor', 'math.ceil'))}({self.real(1)} + 0.0)"
        return f"(-{x})"

    def real(self, depth: int) -> str:
        """A float, or an integer where Python mixes them."""
        random = self.random
        x = self.real(depth - 1) if depth and random.random() < 0.4 else self.number(depth)
        kind = random.randrange(4)
        if kind == 0:
            return f"({x} / {random.choice((2, 4, 8, 3, 7, random.choice(NAMES)))})"
        if kind == 1:
            return f"({x} * {random.choice(FACTORS)})"
        if kind == 2:
            return f"({x} {random.choice('+-')} {random.choice(FACTORS)})"
        return f"{random.choice(('max', 'min'))}({x} / 2, {random.choice(FACTORS)})"

    def condition(self, depth: int) -> str:
        """A condition."""
        random = self.random
        if depth and random.random() < 0.4:
            return self.joined(depth)
        if self.flags and random.random() < 0.15:
            return random.choice((FLAG, f"(not {FLAG})"))
        if self.floats and random.random() < 0.25:
            other = random.choice((self.real(0), random.choice(NAMES), random.choice(FACTORS)))
            return f"({self.real(1)} {random.choice(COMPARISONS)} {other})"
        x, y = self.number(2), self.number(2 if random.random() < 0.4 else 0)
        chance = random.random()
        if chance < 0.22:
            return f"({x} % {random.choice((2, 3, 4, 8))} == {random.randint(0, 3)})"
        if chance < 0.29:
            return f"({x} {random.choice(('in', 'not in'))} {{1, 2, {random.randint(-3, 9)}}})"
        if chance < 0.34:
            return f"({random.randint(-2, 3)} <= {x} < {y})"
        return f"({x} {random.choice(COMPARISONS)} {y})"

    def joined(self, depth: int) -> str:
        x, y, z = (self.condition(depth - 1) for _ in range(3))
        return self.random.choice(
            (
                f"({x} and {y})",
                f"({x} or {y})",
                f"(not {x})",
                f"(not {x} or {y})",
                f"({x} if {y} else {z})",
                f"({x} == {y})",
                f"({x} != {y})",
            )
        )


def make_case(seed: int) -> Case:
    """The problem of a seed; two thirds have symbols without an upper bound, some lie around 2**63."""
    random = Random(seed)
    bounded = random.random() < 0.3
    far = random.random() < 0.08
    floats = random.random() < 0.3
    writer = Writer(random, floats=floats, flags=random.random() < 0.3, powers=bounded and not far)
    symbols: dict[str, Any] = {}
    low: dict[str, int] = {}
    for name in NAMES:
        low[name] = random.choice((-3, 0, 0, 1, 1, 2, 4))
        if far and random.random() < 0.5:
            low[name] = random.choice((2**63, 2**53)) - random.randint(0, 9)
        high = low[name] + random.randint(0, WINDOW - 1) if bounded else None
        symbols[name] = {"kind": "input", "min": low[name], "max": high}
    if writer.flags:
        symbols[FLAG] = {"kind": "input", "sort": "bool"}
    spec = [{"id": f"S{i}", "expr": writer.condition(1)} for i in range(random.choice((0, 0, 1, 2)))]
    if random.random() < 0.3:
        other = random.choice((f"{random.randint(2, 8)}*b", "b + 1", "b", "b*c", "b//2", "max(b, c)"))
        spec.append({"id": "E", "expr": f"a == {other}"})
    guards = [{"id": f"G{i}", "expr": writer.condition(random.choice((1, 1, 2)))} for i in range(3)]
    data = {
        "format": "shapeproof/1",
        "name": f"seed {seed}",
        "symbols": symbols,
        "spec": spec,
        "guards": guards,
    }
    return Case(data, low, bounded)
