"""``Size`` is a tuple whose comparisons are one condition."""

from __future__ import annotations

import copy
import pickle

import pytest

from dynamo_lite.lowering.size import Size


class Symbol:
    """A number whose comparisons are recorded instead of decided."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return Condition(f"{self.name} == {getattr(other, 'name', other)}")

    __hash__ = object.__hash__


class Condition:
    """A condition that refuses to be decided."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __and__(self, other: object) -> Condition:
        return Condition(f"({self.text}) and ({getattr(other, 'text', other)})")

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return Condition(f"({self.text}) is {other}")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise AssertionError(f"{self.text} was decided")


def test_it_is_a_tuple() -> None:
    size = Size([2, 3, 4])
    assert size == (2, 3, 4) and size == (2, 3, 4) and size != (2, 3) and hash(size) == hash((2, 3, 4))
    assert size.numel() == 24 and Size([]).numel() == 1
    assert repr(size) == "torch.Size([2, 3, 4])"
    assert size != [2, 3, 4]


@pytest.mark.parametrize(
    "make",
    [lambda s: s[1:], lambda s: s + (1,), lambda s: (1,) + s, lambda s: s * 2, lambda s: 2 * s],  # noqa: RUF005
)
def test_arithmetic_keeps_the_class(make: object) -> None:
    assert callable(make)
    assert type(make(Size([2, 3]))) is Size


def test_indexing_gives_numbers() -> None:
    assert Size([2, 3])[-1] == 3 and type(Size([2])[0]) is int


def test_copies() -> None:
    size = Size([2, 3])
    for again in (copy.copy(size), copy.deepcopy(size), pickle.loads(pickle.dumps(size))):
        assert again == size and type(again) is Size


def test_equality_is_one_condition() -> None:
    a, b = Symbol("a"), Symbol("b")
    same = Size([a, 3, b]) == Size([4, 3, 5])
    assert isinstance(same, Condition) and same.text == "(a == 4) and (b == 5)"
    different = Size([a, b]) != (4, 5)
    assert isinstance(different, Condition) and different.text == "((a == 4) and (b == 5)) is False"


def test_what_is_known_decides_alone() -> None:
    a = Symbol("a")
    assert (Size([3, a]) == Size([4, a])) is False
    assert (Size([a]) == Size([a, a])) is False
    assert (Size([3]) == Size([3])) is True
