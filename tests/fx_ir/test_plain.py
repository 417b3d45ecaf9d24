"""Plain values through JSON, exactly."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fx_ir import dtypes, plain

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.complex_numbers(), st.binary(max_size=4),
    st.sampled_from([dtypes.float32, dtypes.bfloat16, dtypes.Device("cuda", 1), dtypes.MemoryFormat.channels_last, ...]),
)  # fmt: skip
HASHABLE = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.tuples(st.integers(), st.text()))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(HASHABLE, inner, max_size=3),
        st.tuples(inner, inner, inner).map(lambda parts: slice(*parts)),
    ),
    max_leaves=8,
)


def same(a: Any, b: Any) -> bool:
    """Equality of type and content, written without the code under test."""
    return type(a) is type(b) and repr(a) == repr(b)


@given(VALUES)
def test_values_survive_json(value: Any) -> None:
    text = json.dumps(plain.encode(value), allow_nan=False)
    assert same(plain.decode(json.loads(text)), value)


@given(VALUES, VALUES)
def test_sameness_is_that_of_type_and_text(a: Any, b: Any) -> None:
    assert plain.same_plain(a, a)
    if not any(isinstance(x, slice) for x in (a, b)):
        assert plain.same_plain(a, b) == same(a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(1, True), (1, 1.0), (0.0, -0.0), ((1,), [1]), ({1: 2}, {True: 2}), ("1", 1)]
)
def test_what_python_calls_equal_is_told_apart(a: Any, b: Any) -> None:
    assert not plain.same_plain(a, b)


def test_nan_is_the_same_as_nan() -> None:
    assert plain.same_plain(math.nan, float("nan"))


def test_other_objects_are_refused_by_name() -> None:
    with pytest.raises(plain.NotPlain, match="Fraction"):
        from fractions import Fraction

        plain.encode([Fraction(1, 2)])
    with pytest.raises(plain.NotPlain, match="test_plain"):
        plain.encode(type("Local", (), {"__module__": "test_plain"}))


@pytest.mark.parametrize(
    "data",
    [
        {"float": "1"},
        {"tuple": 3},
        {"a": 1, "b": 2},
        {},
        {"type": "os"},
        {"device": "a b"},
        {"dict": [[[], 1]]},
        {"bytes": "x"},
    ],
)
def test_data_that_means_nothing_is_refused(data: Any) -> None:
    with pytest.raises(plain.NotJson):
        plain.decode(data)
