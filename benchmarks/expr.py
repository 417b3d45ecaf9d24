"""How fast expressions and conditions are, on the operations that an export makes most.

``python -m benchmarks.expr`` prints microseconds an operation: *new* makes an object that did not exist, *again* one
that did. ``sympy`` stands beside for scale (its own cache on).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from statistics import median
from time import perf_counter

from solver import expr as E
from solver.dims import Dim
from solver.shape_env import ShapeEnv

ROUNDS = 5


def micros(operation: Callable[[], object], count: int) -> float:
    """The median over rounds of the time of one call, in microseconds."""
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        for _ in range(count):
            operation()
        times.append((perf_counter() - start) / count * 1e6)
    return median(times)


def expressions() -> dict[str, tuple[Callable[[], object], int]]:
    """Operations on bare expressions, by name."""
    a, b, c = (E.int_symbol(n) for n in "abc")
    fresh = itertools.count(1)
    p, q = 3 * a + 2 * b + 1, a * b + c
    return {
        "sum, new": (lambda: p + next(fresh), 4000),
        "sum of polynomials, new": (lambda: q + a * next(fresh), 4000),
        "product, new": (lambda: (a + next(fresh)) * (b + 1), 4000),
        "sum, again": (lambda: p + q, 20000),
        "product, again": (lambda: p * q, 20000),
        "floor division, new": (lambda: E.floordiv(a + 2 * b + next(fresh), 8), 2000),
        "floor division, again": (lambda: E.floordiv(p, 8), 10000),
        "comparison, again": (lambda: E.le(p, q), 10000),
        "comparison, new": (lambda: E.le(p, q + next(fresh)), 4000),
    }


def environment() -> dict[str, tuple[Callable[[], object], int]]:
    """Operations on symbolic ints in an environment, by name."""
    env = ShapeEnv()
    x = env.input_dim("x.shape[0]", 8, Dim("batch", min=1))
    y = env.input_dim("x.shape[1]", 32, Dim("seq", min=1, max=512))
    z = env.input_dim("y.shape[1]", 32, Dim("seq", min=1, max=512))
    assert not isinstance(x, int) and not isinstance(y, int) and not isinstance(z, int)
    bool(x != 1)
    fresh = itertools.count(1)
    return {
        "SymInt + int": (lambda: x + 1, 20000),
        "SymInt * SymInt": (lambda: x * y, 20000),
        "if a != b, equal": (lambda: bool(y != z), 20000),
        "if a != 1, known": (lambda: bool(x != 1), 20000),
        "if p >= 0, by bounds, new": (lambda: bool(x * y + next(fresh) > 0), 2000),
        "at_least(1)": (lambda: y.at_least(1), 10000),
    }


def sympy_operations() -> dict[str, tuple[Callable[[], object], int]]:
    """The like in sympy."""
    import sympy

    a, b, c = sympy.symbols("a b c", integer=True, positive=True)
    fresh = itertools.count(1)
    p, q = 3 * a + 2 * b + 1, a * b + c
    return {
        "sympy: sum, new": (lambda: p + next(fresh), 1000),
        "sympy: product, expanded, new": (lambda: sympy.expand((a + next(fresh)) * (b + 1)), 200),
        "sympy: comparison, new": (lambda: p <= q + next(fresh), 200),
    }


def main() -> None:
    for group in (expressions(), environment(), sympy_operations()):
        for name, (operation, count) in group.items():
            print(f"{name:32} {micros(operation, count):9.2f} µs")


if __name__ == "__main__":
    main()
