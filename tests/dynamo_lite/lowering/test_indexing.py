"""Indexing against NumPy (whose rules PyTorch shares where both have them) and against PyTorch."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamo_lite.torchlite as torch
from tests.dynamo_lite.torchlite.twin import assert_same

SHAPE = (3, 4, 2)


def _part(size: int) -> st.SearchStrategy[Any]:
    """An index for one dimension of that size, as plain data."""
    bound = st.one_of(st.none(), st.integers(-size - 2, size + 2))
    return st.one_of(
        st.integers(-size, size - 1).map(lambda i: ("int", i)),
        st.tuples(bound, bound, st.one_of(st.none(), st.integers(1, 3))).map(lambda parts: ("slice", parts)),
        st.lists(st.integers(-size, size - 1), min_size=1, max_size=3).map(lambda items: ("list", items)),
        st.lists(st.booleans(), min_size=size, max_size=size).map(lambda items: ("mask", items)),
    )


@st.composite
def indices(draw: st.DrawFn) -> tuple[tuple[str, Any], ...]:
    """An index of a tensor of ``SHAPE``: at most one list or mask, since NumPy moves the result of several."""
    count = draw(st.integers(0, len(SHAPE)))
    parts = [draw(_part(size)) for size in SHAPE[:count]]
    advanced = [at for at, (kind, _) in enumerate(parts) if kind in ("list", "mask")]
    for at in advanced[1:]:
        parts[at] = ("slice", (None, None, None))
    if advanced:
        # NumPy takes an int beside a list for an advanced index; PyTorch selects first.
        parts = [
            ("slice", (part, part + 1 or None, None)) if kind == "int" else (kind, part)
            for kind, part in parts
        ]
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), ("none", None))
    if draw(st.booleans()):
        parts.insert(len(parts), ("ellipsis", None))
    return tuple(parts)


def _made(parts: tuple[tuple[str, Any], ...], array: Any) -> tuple[Any, ...]:
    """The index itself; ``array`` makes the lists and masks."""
    made: list[Any] = []
    for kind, part in parts:
        if kind == "slice":
            made.append(slice(*part))
        elif kind in ("list", "mask"):
            made.append(array(part))
        else:
            made.append({"int": part, "none": None, "ellipsis": ...}[kind])
    return tuple(made)


@settings(max_examples=200, deadline=None)
@given(indices())
def test_reading_is_numpys(parts: tuple[tuple[str, Any], ...]) -> None:
    array = np.arange(24, dtype=np.int64).reshape(SHAPE)
    expected = array[_made(parts, np.array)]
    for make in (torch.tensor, lambda items: items):
        index = _made(parts, make)
        if any(isinstance(part, list) for part in index) and len(index) == 1:
            index = (*index, ...)
        found = torch.from_numpy(array)[index]
        assert np.array_equal(found.numpy(), expected) and found.shape == expected.shape


@settings(max_examples=200, deadline=None)
@given(indices(), st.booleans())
def test_writing_is_numpys(parts: tuple[tuple[str, Any], ...], number: bool) -> None:
    expected = np.arange(24, dtype=np.float64).reshape(SHAPE)
    tensor = torch.from_numpy(expected.copy())
    chosen = expected[_made(parts, np.array)]
    value = -1.0 if number else -np.arange(chosen.size, dtype=np.float64).reshape(chosen.shape)
    expected[_made(parts, np.array)] = value
    tensor[_made(parts, torch.tensor)] = value if number else torch.tensor(value)
    if (
        len({*np.unique(np.arange(24).reshape(SHAPE)[_made(parts, np.array)]).tolist()}) == chosen.size
        or number
    ):
        assert np.array_equal(tensor.numpy(), expected)


def test_views_are_views() -> None:
    x = torch.arange(6).reshape(2, 3)
    views: list[Any] = [0, slice(1, None), None, ..., (slice(None), 1), ()]
    copies: list[Any] = [[0], torch.tensor([True, False]), True]
    for index in views:
        assert np.shares_memory(x[index].numpy(), x.numpy()), index
    for index in copies:
        assert not np.shares_memory(x[index].numpy(), x.numpy()), index


GRID: dict[str, Any] = {
    "two lists": lambda t, x: x[[0, 1], [1, 2]],
    "list of lists": lambda t, x: x[[[0, 1], [1, 2]]],
    "list with slice": lambda t, x: x[[slice(0, 1)]],
    "list with none": lambda t, x: x[[None, 0]],
    "true": lambda t, x: x[True],
    "false": lambda t, x: x[False],
    "true and int": lambda t, x: x[True, 1],
    "int and list": lambda t, x: x[1, [0, 1]],
    "list and int": lambda t, x: x[[0, 1], 1],
    "separated": lambda t, x: x[[0, 1], :, [0, 1]],
    "adjacent": lambda t, x: x[:, [0, 1], [0, 1]],
    "broadcast": lambda t, x: x[t.tensor([[0], [1]]), t.tensor([1, 2])],
    "mask of two": lambda t, x: x[t.ones(3, 4, dtype=t.bool)],
    "mask at the end": lambda t, x: x[..., t.tensor([True, False])],
    "mask and list": lambda t, x: x[t.tensor([True, False, True]), [0, 1]],
    "uint8 mask": lambda t, x: x[t.tensor([1, 0, 1], dtype=t.uint8)],
    "0-d int": lambda t, x: x[t.tensor(1)],
    "0-d bool": lambda t, x: x[t.tensor(True)],
    "0-d uint8": lambda t, x: x[t.tensor(1, dtype=t.uint8)],
    "int32 tensor": lambda t, x: x[t.tensor([0, 1], dtype=t.int32)],
    "empty list": lambda t, x: x[[]],
    "range": lambda t, x: x[range(2)],
    "numpy": lambda t, x: x[np.array([0, 2])],
    "numpy int": lambda t, x: x[np.int64(1)],
    "numpy mask": lambda t, x: x[np.array([True, False, True])],
    "list of tensors": lambda t, x: x[[t.tensor(1), t.tensor(2)]],
    "tensor bounds": lambda t, x: x[t.tensor(1) :],
    "two ellipses": lambda t, x: x[..., ...],
    "empty tuple": lambda t, x: x[()],
    "beyond": lambda t, x: x[5],
    "below": lambda t, x: x[-4],
    "beyond in dim": lambda t, x: x[:, 7],
    "tensor beyond": lambda t, x: x[t.tensor([0, 3])],
    "too many": lambda t, x: x[0, 1, 2, 3],
    "of 0-d": lambda t, x: t.tensor(1)[0],
    "slice of 0-d": lambda t, x: t.tensor(1)[:],
    "none of 0-d": lambda t, x: t.tensor(1)[None],
    "ellipsis of 0-d": lambda t, x: t.tensor(1)[...],
    "true of 0-d": lambda t, x: t.tensor(1)[True],
    "negative step": lambda t, x: x[::-1],
    "zero step": lambda t, x: x[::0],
    "float": lambda t, x: x[1.0],
    "string": lambda t, x: x["a"],
    "string part": lambda t, x: x[0, "a"],
    "float tensor": lambda t, x: x[t.tensor([1.0])],
    "float list": lambda t, x: x[[1.0]],
    "wrong mask": lambda t, x: x[t.tensor([True, False])],
}


@pytest.mark.torch
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("name", GRID)
@pytest.mark.filterwarnings("ignore")
def test_reading_is_pytorchs(name: str) -> None:
    body = GRID[name]
    assert_same(
        lambda t: body(t, t.arange(24.0).reshape(SHAPE)),
        message=name not in ("float", "float tensor", "tensor beyond"),
    )


@pytest.mark.torch
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@settings(max_examples=100, deadline=None)
@given(indices())
def test_random_indices_read_as_in_pytorch(parts: tuple[tuple[str, Any], ...]) -> None:
    assert_same(lambda t: t.arange(24.0).reshape(SHAPE)[_made(parts, t.tensor)])
