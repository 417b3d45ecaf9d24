"""What was burned in is replaced by something that only compares equal to it, or by nothing else at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.live_model import eager


class Text(str):
    def __len__(self) -> int:
        return 9


class Raw(bytes):
    def __len__(self) -> int:
        return 9


class Key:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.value == other.value

    def __hash__(self) -> int:
        return self.value


def sign(value: float) -> float:
    return math.copysign(1, value)


# what the module holds, what forward computes of it, and what it holds then, which means something else
REPLACED: Final[dict[str, tuple[Any, Callable[[Any], Any], Any]]] = {
    "zero": (0.0, sign, -0.0),
    "negative zero": (-0.0, sign, 0.0),
    "not a number": (math.nan, lambda v: 2 if v != v else 3, 5.0),
    "imaginary zero": (1 + 0j, lambda v: sign(v.imag), complex(1, -0.0)),
    "text": ("ab", len, Text("ab")),
    "bytes": (b"ab", len, Raw(b"ab")),
    "items of a set": ({1, 2}, lambda v: 2 if type(min(v)) is int else 3, {True, 2}),
    "zero in a set": ({0.0, 2.0}, lambda v: sign(min(v)), {-0.0, 2.0}),
    "order of a set": ({8, 0}, lambda v: next(iter(v)) + 1, {0, 8}),
    "zero in a dict": ({"a": 0.0}, lambda v: sign(v["a"]), {"a": -0.0}),
    "zero in a list": ([0.0], lambda v: sign(v[0]), [-0.0]),
    "zero in a tuple": ((0.0,), lambda v: sign(v[0]), (-0.0,)),
}


def model_with(read: Callable[[Any], Any], held: Any, strict: bool) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = held

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * read(self.held)

    return Model()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", REPLACED)
def test_what_only_compares_equal_is_a_change(name: str, strict: bool) -> None:
    held, read, other = REPLACED[name]
    model, x = model_with(read, held, strict), torch.ones(2)
    before = model(x).tolist()
    assert model(x).tolist() == before
    model.held = other
    assert eager(model, x).tolist() != before
    with pytest.raises(dl.GuardError):
        model(x)
    model.held = held
    assert model(x).tolist() == before


class Counted(Key):
    asked = 0

    def __hash__(self) -> int:
        Counted.asked += 1
        return super().__hash__()


def test_a_key_that_forward_makes_is_not_looked_up_again() -> None:
    """The key goes with the trace; what the dict holds is told by identity, and no code of the program's runs at a call."""
    key = Counted(5)
    model, x = (
        model_with(lambda held: held[Key(5)].value + held[key].value, {key: Key(2)}, True),
        torch.ones(2),
    )
    assert model(x).tolist() == [4.0, 4.0]
    asked = Counted.asked
    assert model(x).tolist() == [4.0, 4.0]
    assert Counted.asked == asked


@pytest.mark.parametrize(
    "change",
    [
        lambda key, held: setattr(held[key], "value", 3),
        lambda key, held: setattr(key, "value", 6),
        lambda key, held: held.clear(),
        lambda key, held: held.update({key: Key(3)}),
    ],
)
def test_what_lies_under_a_key_of_the_program_is_told(change: Callable[[Any, Any], Any]) -> None:
    key = Key(5)
    model, x = model_with(lambda held: held[Key(5)].value, {key: Key(2)}, True), torch.ones(2)
    assert model(x).tolist() == model(x).tolist() == [2.0, 2.0]
    change(key, model.held)
    with pytest.raises(dl.GuardError):
        model(x)


def test_sets_in_a_namespace_that_is_read_whole() -> None:
    class Held:
        def __init__(self) -> None:
            self.names = {"a", "b"}

    model, x = model_with(lambda held: len(vars(held)), Held(), True), torch.ones(2)
    assert model(x).tolist() == model(x).tolist() == [1.0, 1.0]
    model.held.names.add("c")
    model.held.other = 2
    with pytest.raises(dl.GuardError):
        model(x)
