"""What follows cheaply from what is known is true: against random facts that hold at a random point."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from solver import expr as E
from solver.knowledge import Knowledge
from solver.parse import parse_bool
from tests.solver.strategies import NAMES, conditions, python_value

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))

_linear = st.tuples(
    *[st.integers(-3, 3)] * 3, st.integers(-9, 9), st.sampled_from(["<=", "==", ">=", "!=", "<"])
).map(lambda t: f"{t[0]}*a + {t[1]}*b + {t[2]}*c + {t[3]} {t[4]} 0")
_residue = st.tuples(st.sampled_from(NAMES), st.sampled_from([2, 3, 4, 8]), st.integers(0, 3)).map(
    lambda t: f"{t[0]} % {t[1]} == {t[2]}"
)
_question = st.one_of(_linear, _residue, conditions(3))


@given(
    st.fixed_dictionaries({n: st.integers(0, 12) for n in NAMES}),
    st.lists(_question, max_size=7),
    st.lists(_question, min_size=1, max_size=6),
    st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 9))] * 3),
)
@settings(max_examples=EXAMPLES * 4)
def test_settled_conditions_are_true_at_the_point(
    point: dict[str, int], facts: list[str], questions: list[str], slack: tuple[tuple[int, int], ...]
) -> None:
    known = Knowledge(NAMES.index)
    for name, (below, above) in zip(NAMES, slack, strict=True):
        known.add_symbol(name, point[name] - below, point[name] + above if above < 9 else None)
    for text in facts:
        value = python_value(text, point)
        if value is not None:
            fact = parse_bool(text)
            known.learn(fact if value else E.not_(fact))
            for name in NAMES:
                low, high = known.bounds(E.int_symbol(name))
                assert (low is None or low <= point[name]) and (high is None or point[name] <= high)
    for text in (*facts, *questions):
        value = python_value(text, point)
        verdict = known.settle(parse_bool(text))
        if value is not None and verdict is not None:
            assert verdict is value, text


def _known(*facts: str, low: int | None = 0) -> Knowledge:
    known = Knowledge(NAMES.index)
    for name in NAMES:
        known.add_symbol(name, low, None)
    for fact in facts:
        known.learn(parse_bool(fact))
    return known


def test_what_is_settled() -> None:
    cases = [
        (("a <= b", "b <= c"), "a <= c", True),
        (("a <= b", "b < c"), "a == c", False),
        (("a + b == c",), "a <= c", True),
        (("a == b + 1",), "a > b", True),
        (("a == b", "b == c"), "a * c == b * b", True),
        (("a % 8 == 0",), "a % 4 == 0", True),
        (("a % 8 == 3",), "a % 2 == 0", False),
        (("a % 2 == 1",), "a % 8 == 4", False),
        (("a == 2*b",), "a % 2 == 0", True),
        (("a != 0",), "a >= 1", True),
        (("a <= b", "b <= a"), "a == b", True),
        (("a == 3",), "a * b == 3 * b", True),
        (("a >= 2 and b >= a",), "b >= 2", True),
        (("a >= 2",), "b >= 2", None),
        (("a < b or b < c",), "a < b or b < c", True),
    ]
    for facts, question, expected in cases:
        assert _known(*facts).settle(parse_bool(question)) is expected, (facts, question)


def test_a_divisor_of_zero_settles_nothing_and_breaks_nothing() -> None:
    known = _known("a % 2 == 0")
    assert known.settle(parse_bool("a % 0 == 0")) is None


def test_a_copy_is_separate() -> None:
    known = _known("a <= b")
    twin = known.copy()
    twin.learn(parse_bool("b <= c"))
    assert twin.settle(parse_bool("a <= c")) is True
    assert known.settle(parse_bool("a <= c")) is None
