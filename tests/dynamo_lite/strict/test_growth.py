"""Nothing in the interpreter grows faster than the work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.interpreter_growth import FACTOR, PROGRAMS, growth
from dynamo_lite.strict.interpret import interpret
from dynamo_lite.strict.machine.code import PLAIN

# CPython itself walks the chain of contexts at each raise, and the MRO at each new class
_NOT_LINEAR = ("context_chain", "deep_inheritance")


@pytest.mark.long  # a busy machine may stretch any of these
@pytest.mark.parametrize(
    ("program", "size"),
    [row for row in PROGRAMS if row[0].__name__ not in _NOT_LINEAR],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_time_grows_with_the_work(program: Callable[[int], int], size: int) -> None:
    """Quadratic growth would be FACTOR times FACTOR; half of that is allowed to noise."""
    small, large = growth(program, size // 2, repeats=3)
    assert large / small < FACTOR * FACTOR / 2


def test_code_that_is_gone_is_forgotten() -> None:
    """A program that makes code without end does not fill the cache of decoded code."""
    source = "def made(x):\n    return x + {}\n"

    def run() -> int:
        total = 0
        for i in range(3000):
            namespace: dict[str, Callable[[int], int]] = {}
            exec(source.format(i), namespace)
            total += namespace["made"](1)
        return total

    interpreted = interpret(run)
    expected = run()
    assert interpreted() == expected
    most = max(8192, 2 * len(PLAIN))
    for _ in range(2):
        assert interpreted() == expected
        assert len(PLAIN) < most
