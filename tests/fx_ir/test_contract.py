"""Contracts: what is accepted, what is refused, and what the refusal says."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fx_ir import dtypes
from fx_ir.contract import Condition, ConstLeaf, Distinct, InputContract, IntLeaf, TensorLeaf
from fx_ir.pytree import tree_flatten, tree_structure
from solver.errors import GuardError, InputError, Location
from solver.expr import IntExpr, int_symbol
from solver.parse import parse_bool
from tests.fx_ir.ndarray_backend import BACKEND

PLACE = Location("model.py", 7, "forward")


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)


def tensor_leaf(path: str, *dims: int | IntExpr, **facts: Any) -> TensorLeaf:
    return TensorLeaf(path, path, dtypes.float32, dtypes.CPU, dims, **facts)


def contract(*leaves: Any, **options: Any) -> InputContract:
    """A contract whose inputs are positional arguments named after their leaves."""
    spec = tree_structure((tuple(0 for _ in leaves), {}))
    return InputContract(spec, leaves, tuple(leaf.name for leaf in leaves), **options)


def check(made: InputContract, *args: Any, **kwargs: Any) -> None:
    compiled = made.compiled()
    compiled.checker(BACKEND)(compiled.flatten(args, kwargs))


def refusal(made: InputContract, *args: Any, **kwargs: Any) -> GuardError:
    with pytest.raises(GuardError) as caught:
        check(made, *args, **kwargs)
    assert caught.value.hint
    return caught.value


d, b = int_symbol("d"), int_symbol("b")


@given(
    st.integers(-3, 4).filter(bool),
    st.integers(-5, 5),
    st.integers(0, 3),
    st.integers(3, 9),
    st.integers(0, 40),
)
@settings(max_examples=300)
def test_a_derived_size_is_accepted_exactly_when_a_root_in_range_gives_it(
    factor: int, shift: int, low: int, high: int, size: int
) -> None:
    made = contract(tensor_leaf("x", d * factor + shift), ranges={"d": (low, high)})
    expected = any(factor * root + shift == size for root in range(low, high + 1))  # brute force
    if expected:
        check(made, array(size))
    else:
        assert refusal(made, array(size)).id in ("input-division", "input-range")


@given(st.lists(st.sampled_from([b, d, b + d, b * d, d * 2 + 1, b - d]), min_size=2, max_size=4), st.data())
@settings(max_examples=300)
def test_sizes_are_accepted_exactly_when_symbols_explain_them(
    sizes: list[IntExpr], data: st.DataObject
) -> None:
    dims = [b, d, *sizes]
    shape = data.draw(st.lists(st.integers(0, 7), min_size=len(dims), max_size=len(dims)))
    values = {"b": shape[0], "d": shape[1]}
    from solver.expr import evaluate

    expected = [evaluate(size, values) for size in dims] == shape
    made = contract(tensor_leaf("x", *dims), ranges={"b": (0, None), "d": (0, None)})
    if expected:
        check(made, array(*shape))
    else:
        assert refusal(made, array(*shape)).id == "input-size"


@pytest.mark.parametrize(
    "condition",
    ["b + d > 10", "b % 8 == 0", "2*b == d", "b // d >= 2", "b in {1, 4}", "b > 2 or d > 3", "max(b, d) < 6"],
)
def test_conditions_hold_as_python_says(condition: str) -> None:
    made = contract(
        tensor_leaf("x", b, d), conditions=(Condition(parse_bool(condition), condition, "assumption", PLACE),)
    )
    for first, second in itertools.product(range(12), range(12)):
        try:
            expected = bool(eval(condition, {"b": first, "d": second, "max": max}))
        except ZeroDivisionError:
            expected = False
        if expected:
            check(made, array(first, second))
        else:
            error = refusal(made, array(first, second))
            assert error.id == "input-condition" and condition in error.message and error.location is PLACE
            assert f"b = {first}" in error.message or "b" not in condition


@pytest.mark.parametrize(
    ("value", "others"),
    [
        (3, [4, True, 3.0, "3", None]),
        (True, [1, False, np.bool_(True)]),
        (None, [0, False, array(1)]),
        (0.0, [-0.0, 0, None]),
        (math.nan, [0.0, None]),
        ('it\'s "so"\n', ["its", 'it\'s "so"', b"x"]),
        (float("inf"), [-math.inf, 10**400]),
        (2 + 0j, [2, 2.0]),
        (dtypes.float32, [dtypes.float64, None]),
        (frozenset({1}), [{1}, frozenset()]),
    ],
)
def test_a_burned_in_value_is_the_only_one(value: Any, others: list[Any]) -> None:
    made = contract(ConstLeaf("n", "n", value, PLACE))
    check(made, value)
    if isinstance(value, float) and not math.isfinite(value):
        check(made, float(repr(value)))
    for other in others:
        error = refusal(made, other)
        assert (
            error.id == "input-value"
            and error.message.startswith("n: expected the value")
            and error.location is PLACE
        )


def test_a_tensor_where_none_was_burned_in_is_refused() -> None:
    error = refusal(contract(ConstLeaf("y", "y", None)), array(2))
    assert error.message == "y: expected the value None burned in at export, given a ndarray of shape (2,)"


def test_dynamic_integers_are_python_ints_within_their_range() -> None:
    made = contract(IntLeaf("n", "n", d), tensor_leaf("x", d * 2), ranges={"d": (1, 5)})
    check(made, 3, array(6))
    assert refusal(made, 3, array(5)).message == "x.shape[0]: expected 2*d = 6 (d from n), given 5"
    assert refusal(made, 6, array(12)).id == "input-range"
    for wrong in (True, 3.0, None, np.int64(3)):
        assert refusal(made, wrong, array(6)).id == "input-integer"


def test_tensors_are_compared_by_dtype_rank_and_size() -> None:
    made = contract(tensor_leaf("x", b, 3, location=PLACE))
    check(made, array(5, 3))
    cases = {
        "input-dtype": array(5, 3, dtype=np.float64),
        "input-rank": array(5),
        "input-size": array(5, 4),
        "input-not-a-tensor": [[0.0]],
    }
    for name, value in cases.items():
        error = refusal(made, value)
        assert error.id == name and error.message.startswith("x") and error.location is PLACE
    assert refusal(made, None).message == "x: expected a tensor f32[b, 3], given None"


def test_facts_that_the_program_looked_at_are_held() -> None:
    plain, turned = array(3, 2), array(2, 3).T
    check(contract(tensor_leaf("x", 3, 2)), turned)
    assert refusal(contract(tensor_leaf("x", 3, 2, contiguous=True)), turned).id == "input-layout"
    check(contract(tensor_leaf("x", 3, 2, contiguous=True)), plain)
    assert refusal(contract(tensor_leaf("x", 3, 2, contiguous=False)), plain).id == "input-layout"
    check(contract(tensor_leaf("x", b, 2, strides=(2, 1))), plain)
    assert refusal(contract(tensor_leaf("x", b, 2, strides=(2, 1))), turned).id == "input-layout"
    check(contract(tensor_leaf("x", b, d, strides=(1, b))), turned)
    assert refusal(contract(tensor_leaf("x", 3, 2, requires_grad=True)), plain).id == "input-requires-grad"


@given(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=0, max_size=4), st.permutations(range(4)))
def test_contiguity_is_numpys(shape: list[int], order: list[int]) -> None:
    from fx_ir.contract_code import is_contiguous

    value = np.zeros(shape).transpose([axis for axis in order if axis < len(shape)])
    assert is_contiguous(BACKEND.describe(value)) == value.flags.c_contiguous


def test_identity_of_inputs_is_held_where_it_was_asked() -> None:
    same = contract(tensor_leaf("x", 2), tensor_leaf("y", 2, alias_of=0))
    x = array(2)
    check(same, x, x)
    assert refusal(same, x, array(2)).message == "y: expected the same tensor object as x, given another"
    different = contract(tensor_leaf("x", 2), tensor_leaf("y", 2), distinct=(Distinct(0, 1, PLACE),))
    check(different, x, array(2))
    assert refusal(different, x, x).id == "input-alias"


def test_symbols_may_be_called_like_builtins() -> None:
    names = ["len", "type", "dict", "tuple", "list", "isinstance", "x", "check"]
    dims = [int_symbol(name) for name in names]
    made = contract(tensor_leaf("x", *dims, dims[0] + 1), ranges=dict.fromkeys(names, (1, 4)))
    check(made, array(1, 2, 3, 4, 1, 2, 3, 4, 2))
    assert refusal(made, array(1, 2, 3, 4, 1, 2, 3, 5, 2)).id == "input-range"
    assert "len from x.shape[0]" in refusal(made, array(1, 2, 3, 4, 1, 2, 3, 4, 3)).message


def test_a_condition_over_a_symbol_that_no_input_gives_is_refused_at_once() -> None:
    made = contract(tensor_leaf("x", b), conditions=(Condition(parse_bool("q > 2"), "q > 2"),))
    with pytest.raises(InputError, match="the condition q > 2 speaks of q") as caught:
        made.compiled().checker(BACKEND)
    assert caught.value.id == "contract-unbound"


# --- arguments and structure -------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


def named(args: tuple[Any, ...], kwargs: dict[str, Any], names: tuple[str, ...]) -> Any:
    spec = tree_structure((args, kwargs))
    leaves = tuple(ConstLeaf(f"l{i}", f"l{i}", None) for i in range(spec.num_leaves))
    return InputContract(spec, leaves, names).compiled().flatten


def test_arguments_are_matched_by_name_in_any_order() -> None:
    flatten = named((1, 2), {"c": 3, "d": 4}, ("a", "b", "c"))
    assert flatten((1, 2), {"c": 3, "d": 4}) == (1, 2, 3, 4)
    assert flatten((1, 2), {"d": 4, "c": 3}) == (1, 2, 3, 4)
    assert flatten((1,), {"d": 4, "b": 2, "c": 3}) == (1, 2, 3, 4)
    assert flatten((), {"d": 4, "b": 2, "c": 3, "a": 1}) == (1, 2, 3, 4)
    assert flatten((1, 2, 3), {"d": 4}) == (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("args", "kwargs", "id", "words"),
    [
        ((1,), {"c": 3, "d": 4}, "argument-missing", "argument b is missing"),
        ((1, 2), {"c": 3}, "argument-missing", "argument d is missing"),
        (
            (1, 2),
            {"c": 3, "d": 4, "e": 5},
            "argument-unexpected",
            "argument e was not there at export (the program takes a, b, c, d)",
        ),
        (
            (1, 2, 3, 4),
            {},
            "argument-by-position",
            "number 4 is given by position, and the program takes d by name",
        ),
        ((1, 2, 3, 4, 5), {"d": 4}, "argument-unexpected", "argument number 4"),
        ((1, 2), {"a": 1, "c": 3, "d": 4}, "argument-twice", "argument a is given by position and by name"),
        ((1, 2, 3), {"c": 3, "d": 4}, "argument-twice", "argument c"),
        ((1,), {"bb": 2, "c": 3, "d": 4}, "argument-unexpected", "argument bb"),
    ],
)
def test_misfit_arguments_are_named(args: Any, kwargs: Any, id: str, words: str) -> None:
    with pytest.raises(GuardError) as caught:
        named((1, 2), {"c": 3, "d": 4}, ("a", "b", "c"))(args, kwargs)
    assert caught.value.id == id and words in caught.value.message


def test_structure_is_held_at_every_depth() -> None:
    tree = [{"ids": 1, "mask": (2, 3)}, OrderedDict(z=4)]
    flatten = named((tree,), {}, ("batch",))
    assert flatten((tree,), {}) == (1, 2, 3, 4)
    cases: list[tuple[Any, str]] = [
        (tuple(tree), "batch: expected list of 2, given tuple of 2"),
        ([tree[0]], "batch: expected list of 2, given list of 1"),
        (
            [{"mask": (2, 3), "ids": 1}, tree[1]],
            "batch[0]: expected dict with keys ['ids', 'mask'], given dict with keys ['mask', 'ids']",
        ),
        ([{"ids": 1, "mask": [2, 3]}, tree[1]], "batch[0]['mask']: expected tuple of 2, given list of 2"),
        ([tree[0], {"z": 4}], "batch[1]: expected OrderedDict with keys ['z'], given dict with keys ['z']"),
        (
            [tree[0], OrderedDict(y=4)],
            "batch[1]: expected OrderedDict with keys ['z'], given OrderedDict with keys ['y']",
        ),
        (None, "batch: expected list of 2, given a value of type NoneType"),
    ]
    for value, words in cases:
        with pytest.raises(GuardError) as caught:
            flatten((value,), {})
        assert caught.value.id == "input-structure" and caught.value.message == words


TREES: st.SearchStrategy[Any] = st.recursive(
    st.integers(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(OrderedDict),
    ),
    max_leaves=8,
)


@given(st.lists(TREES, max_size=3), st.dictionaries(st.sampled_from("pqr"), TREES, max_size=2))
def test_compiled_flattening_is_tree_flatten(args: list[Any], kwargs: dict[str, Any]) -> None:
    flatten = named(tuple(args), kwargs, ())
    assert list(flatten(tuple(args), kwargs)) == tree_flatten((tuple(args), kwargs))[0]


def fits(shape: Any, tree: Any) -> bool:
    """Whether ``tree`` has the containers of ``shape``; where that has a value anything may stand (the check judges it)."""
    if isinstance(shape, dict):
        return (
            type(tree) is type(shape)
            and list(tree) == list(shape)
            and all(fits(shape[k], tree[k]) for k in shape)
        )
    if isinstance(shape, (list, tuple)):
        return type(tree) is type(shape) and len(tree) == len(shape) and all(map(fits, shape, tree))
    return True


@given(TREES, TREES)
def test_compiled_flattening_accepts_fitting_structures_only(a: Any, other: Any) -> None:
    flatten = named((a,), {}, ("a",))
    if fits(a, other):
        assert len(flatten((other,), {})) == tree_structure(a).num_leaves
    else:
        with pytest.raises(GuardError):
            flatten((other,), {})


def test_checking_two_inputs_is_fast() -> None:
    made = contract(tensor_leaf("x", b, d), tensor_leaf("y", b, d, 16), ranges={"b": (1, 64), "d": (1, 512)})
    compiled = made.compiled()
    run = compiled.checker(BACKEND)
    leaves = compiled.flatten((array(2, 3), array(2, 3, 16)), {})
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(1000):
            run(leaves)
        best = min(best, (time.perf_counter() - start) / 1000)
    assert best < 60e-6, "an order of magnitude above what is aimed at"
