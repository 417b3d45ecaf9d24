"""Random expressions as Python source: what they mean is what CPython says."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

NAMES = ("a", "b", "c")
UNDEFINED = (ArithmeticError, ValueError)


def _numbers(low: int = -9, high: int = 40) -> SearchStrategy[str]:
    return st.integers(low, high).map(lambda n: f"({n})" if n < 0 else str(n))


def _grow(ints: SearchStrategy[str]) -> SearchStrategy[str]:
    conditions = st.tuples(ints, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), ints).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    )
    return st.one_of(
        st.tuples(ints, st.sampled_from("+-*"), ints).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(ints, st.sampled_from(["//", "%"]), _numbers()).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(ints, st.sampled_from(["//", "%"]), ints).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["max", "min"]), ints, ints).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        ints.map(lambda x: f"abs({x})"),
        ints.map(lambda x: f"(-{x})"),
        st.tuples(ints, st.integers(0, 3)).map(lambda t: f"({t[0]} ** {t[1]})"),
        st.tuples(ints, conditions, ints).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    )


def integers(leaves: int = 8) -> SearchStrategy[str]:
    """Integer expressions over ``NAMES``."""
    return st.recursive(st.one_of(st.sampled_from(NAMES), _numbers()), _grow, max_leaves=leaves)


def _comparisons(leaves: int) -> SearchStrategy[str]:
    ints = integers(leaves)
    chain = st.tuples(ints, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), ints)
    members = st.lists(st.integers(-4, 9).map(str), min_size=1, max_size=4).map(", ".join)
    return st.one_of(
        chain.map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(ints, st.sampled_from(["in", "not in"]), members).map(
            lambda t: f"({t[0]} {t[1]} {{{t[2]}}})"
        ),
        st.tuples(ints, ints, ints).map(lambda t: f"({t[0]} <= {t[1]} < {t[2]})"),
    )


def conditions(leaves: int = 5) -> SearchStrategy[str]:
    """Conditions over ``NAMES``."""
    return st.recursive(
        _comparisons(leaves),
        lambda b: st.one_of(
            st.tuples(b, st.sampled_from(["and", "or"]), b).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            b.map(lambda x: f"(not {x})"),
            st.tuples(b, b, b).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
            st.tuples(b, st.sampled_from(["==", "!="]), b).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        ),
        max_leaves=5,
    )


def floats(leaves: int = 5) -> SearchStrategy[str]:
    """Expressions that mix integers and IEEE doubles."""
    literals = st.floats(-8, 8, allow_nan=False).map(lambda x: f"({x!r})")
    return st.recursive(
        st.one_of(literals, integers(3)),
        lambda x: st.one_of(
            st.tuples(x, st.sampled_from(["+", "-", "*", "/", "//", "%"]), x).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(st.sampled_from(["max", "min"]), x, x).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
            st.tuples(st.sampled_from(["abs", "float", "math.sqrt", "-"]), x).map(
                lambda t: f"{t[0]}({t[1]})"
            ),
            st.tuples(st.sampled_from(["int", "round", "math.floor", "math.ceil", "math.trunc"]), x).map(
                lambda t: f"{t[0]}({t[1]})"
            ),
        ),
        max_leaves=leaves,
    )


assignments: SearchStrategy[dict[str, int]] = st.fixed_dictionaries({n: st.integers(-12, 40) for n in NAMES})


def python_value(source: str, assignment: Mapping[str, int]) -> float | None:
    """What CPython gives; None where it raises."""
    try:
        value: float = eval(source, {"math": math}, dict(assignment))
    except UNDEFINED:
        return None
    return value
