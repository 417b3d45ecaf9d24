"""What C code reads for the program is an assumption: a decorated model that changed is never given its old result."""

from __future__ import annotations

import itertools
import operator
import random
import types
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn


class Plain:
    def __init__(self) -> None:
        self.n = 3


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 3


class Asking(Plain):
    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


class AskingClass(type):
    def __getattribute__(cls, name: str) -> Any:
        return super().__getattribute__(name)


class AskingModule(types.ModuleType):
    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


def made_class() -> Any:
    return AskingClass("Made", (), {"n": 3})


def made_module(kind: type[types.ModuleType]) -> Any:
    module: Any = kind("made")
    module.n = 3
    return module


_READS: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]] = {
    "object": (Plain, lambda held: object.__getattribute__(held, "n")),
    "slot": (Slotted, lambda held: object.__getattribute__(held, "n")),
    "super": (Asking, lambda held: held.n),
    "class": (made_class, lambda held: type.__getattribute__(held, "n")),
    "metaclass": (made_class, lambda held: held.n),
    "module": (
        lambda: made_module(types.ModuleType),
        lambda held: types.ModuleType.__getattribute__(held, "n"),
    ),
    "module's class": (lambda: made_module(AskingModule), lambda held: held.n),
    "caller": (Asking, lambda held: operator.methodcaller("__getattribute__", "n")(held)),
    "map of getattr": (Plain, lambda held: next(map(getattr, [held], ["n"]))),
    "map of a getter": (Plain, lambda held: next(map(operator.attrgetter("n"), [held]))),
    "starmap": (Plain, lambda held: next(itertools.starmap(getattr, [(held, "n")]))),
}


def model(held: Any, read: Callable[[Any], Any]) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = held

        @dl.exported(strict=True)
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * read(self.held)

    return Model()


@pytest.mark.parametrize("name", _READS)
def test_an_attribute_that_c_reads_is_an_assumption(name: str) -> None:
    make, read = _READS[name]
    held = make()
    made = model(held, read)
    assert made(torch.ones(2)).tolist() == [3.0, 3.0]
    held.n = 5
    with pytest.raises(dl.GuardError):
        made(torch.ones(2))
    held.n = 3
    assert made(torch.ones(2)).tolist() == [3.0, 3.0]


def test_what_an_iterator_of_c_calls_is_judged_as_any_call() -> None:
    made = model(None, lambda held: next(itertools.starmap(random.random, [()])))
    with pytest.raises(dl.UnsupportedError) as caught:
        made(torch.ones(2))
    assert caught.value.id == "call-refused"
