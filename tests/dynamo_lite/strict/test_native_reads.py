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
from dynamo_lite.decorator import _programs_of
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


def test_what_each_read_makes_anew_is_checked_without_binding_anew() -> None:
    def held(a: Any, b: Any) -> None: ...

    def other(a: Any, b: Any, c: Any) -> None: ...

    made = model(held, lambda function: len(function.__code__.co_varnames) + 1)
    assert made(torch.ones(2)).tolist() == [3.0, 3.0]
    assert made(torch.ones(2)).tolist() == [3.0, 3.0]
    (programs,) = _programs_of(made).values()
    bound = programs[-1]._bound
    assert bound is not None
    assert made(torch.ones(2)).tolist() == [3.0, 3.0]
    assert programs[-1]._bound is bound
    held.__code__ = other.__code__
    with pytest.raises(dl.GuardError):
        made(torch.ones(2))


# --- a module's own look-up, which is not interpreted


class Registered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2) * 3)
        self.register_buffer("scale", torch.ones(2) * 5)
        self.register_buffer("nothing", None)
        self.child = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> Any:
        found = x * self.weight + self.scale
        if self.nothing is None and self.child.bias is not None:
            found = found + self.child.weight.sum()
        try:
            return found + self.absent
        except AttributeError as error:
            return found + len(str(error))


def test_registered_attributes_are_found_as_in_eager() -> None:
    made = Registered()
    x = torch.arange(2.0)
    assert dl.export(made, (x,), strict=True).module()(x).tolist() == made(x).tolist()


def test_a_look_up_put_in_the_place_of_the_librarys_is_the_one_that_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = nn.Module.__getattr__
    made = Registered()

    def tripling(self: Any, name: str) -> Any:
        value = original(self, name)
        return value * 3 if name == "scale" else value

    monkeypatch.setattr(nn.Module, "__getattr__", tripling)
    x = torch.arange(2.0)
    expected = made(x)
    monkeypatch.undo()
    assert expected.tolist() != made(x).tolist()
    monkeypatch.setattr(nn.Module, "__getattr__", tripling)
    assert dl.export(made, (x,), strict=True).module()(x).tolist() == expected.tolist()


class Colliding:
    """A key that has the hash of a name and writes when it is compared."""

    asked: Final[list[str]] = []

    def __hash__(self) -> int:
        return hash("weight")

    def __eq__(self, other: object) -> bool:
        Colliding.asked.append("eq")
        return False


def test_keys_of_a_registry_that_compare_in_python_are_rehearsed() -> None:
    made = Registered()
    weight = made._parameters.pop("weight")
    made._parameters[Colliding()] = None  # type: ignore[index]
    made._parameters["weight"] = weight
    Colliding.asked.clear()
    program = dl.export(made, (torch.ones(2),), strict=True)
    assert Colliding.asked == []
    assert any("list contents" in effect.what or "asked" in effect.what for effect in program.effects)
