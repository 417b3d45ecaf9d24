"""The machine asks classes nothing: hash, equality, checks and attributes of a metaclass are called where CPython calls them, and interpreted."""

from __future__ import annotations

import abc
import collections.abc
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.strict.leaks import Detector

LOG: list[str] = []


class Equal(type):
    """Its classes have no hash."""

    def __eq__(cls, other: object) -> bool:
        LOG.append("eq")
        return cls is other


class Hashed(Equal):
    def __hash__(cls) -> int:
        LOG.append("hash")
        return 1


class Dynamic(type):
    def __getattr__(cls, name: str) -> Any:
        LOG.append(f"getattr {name}")
        raise AttributeError(name)


class Checks(type):
    def __instancecheck__(cls, obj: object) -> bool:
        LOG.append("instancecheck")
        return True

    def __subclasscheck__(cls, other: type) -> bool:
        LOG.append("subclasscheck")
        return True


METACLASSES: Final = (Equal, Hashed, Dynamic, Checks)


def program(meta: type) -> Any:
    """Operators, containers, checks and attributes of instances of a class with this metaclass."""

    class First(metaclass=meta):  # type: ignore[metaclass]
        def __init__(self, value: int) -> None:
            self.value = value

        def __add__(self, other: Any) -> Any:
            return First(self.value + 1)

        def __radd__(self, other: Any) -> int:
            return 6

        def __lt__(self, other: Any) -> bool:
            return True

        def __len__(self) -> int:
            return 3

        def __getitem__(self, position: Any) -> int:
            return self.value

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 3

    class Second(First):
        def __radd__(self, other: Any) -> int:
            return 7

    def run() -> list[Any]:
        first, second = First(2), Second(3)
        first.value += 1
        table = {first: 3}
        checks = [
            isinstance(first, First),
            isinstance(1, Second),
            issubclass(Second, First),
            issubclass(int, First),
        ]
        return [
            (first + 1).value, first + second, first < second, len(first), first[0], bool(first), first == second,
            table[second], [first, second].index(second), first in [second], sum([second], 1), type(first) is First, checks,
            hasattr(First, "missing"), First.__name__, str(first)[:1], len({first, second}), tuple(map(bool, [first])),
        ]  # fmt: skip

    return run


@pytest.mark.parametrize("meta", METACLASSES, ids=lambda meta: meta.__name__)
def test_asked_as_by_cpython(meta: type) -> None:
    run = program(meta)
    LOG.clear()
    expected = run()
    asked = list(LOG)
    LOG.clear()
    assert dl.interpret(run)() == expected
    assert asked == LOG


@pytest.mark.parametrize("meta", METACLASSES, ids=lambda meta: meta.__name__)
def test_nothing_runs_natively_under_export(meta: type) -> None:
    run = program(meta)
    model: Any = type("Model", (nn.Module,), {"forward": lambda self, x: (x, run())})()
    x = torch.ones(2)
    detector = Detector()
    LOG.clear()
    with detector.installed():
        exported = dl.export(model, (x,), strict=True)
    assert LOG == []
    assert detector.escaped == []
    assert exported.module()(x)[1] == run()


def test_a_tensor_is_no_instance_of_an_abstract_class() -> None:
    class Own(abc.ABC):  # noqa: B024
        @classmethod
        def __subclasshook__(cls, other: type) -> bool:
            return other is torch.Tensor

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + isinstance(x, collections.abc.Sequence) + 2 * isinstance(x, (int, Own))

    model, x = Model(), torch.ones(2)
    detector = Detector()
    with detector.installed():
        exported = dl.export(model, (x,), strict=True)
    assert detector.escaped == []
    assert exported.module()(x).tolist() == model(x).tolist()
