"""Objects that iterate in Python, given to C functions that iterate: their steps are interpreted, and see tensors."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.strict.interpret import interpret
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.strict.leaks import Detector


class Stepped:
    """``__iter__`` is a generator."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __iter__(self) -> Iterator[Any]:
        yield from self.items


class Walk:
    """An iterator in Python."""

    def __init__(self, *items: Any) -> None:
        self.items = items
        self.at = 0

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> Any:
        if self.at == len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]


class Row(Sequence[Any]):
    """Iterates by a generator of the standard library, over ``__getitem__``."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]


class Old:
    """Only ``__getitem__`` and a length."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]


class Odd(set[Any]):
    """A set that iterates over something else; set methods read it directly."""

    def __iter__(self) -> Iterator[Any]:
        yield 7


def _loop(made: Any) -> list[Any]:
    found = []
    for item in made:
        found.append(item)
    return found


def _delegated(made: Any) -> list[Any]:
    def walk() -> Iterator[Any]:
        yield from made

    return list(walk())


def _extended(items: Any) -> list[Any]:
    found = [0]
    found.extend(items)
    found += items
    return found


def _left(items: Any) -> deque[Any]:
    found: deque[Any] = deque([0])
    found.extend(items)
    found.extendleft(items)
    return found


def _stopped() -> list[int]:
    def failing() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError

    found: list[int] = []
    try:
        found.extend(failing())
    except ValueError:
        found.append(len(found))
    return found


# ``make(*items)`` makes the iterable
USES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "zip": lambda make: _loop(zip([1, 2, 3], make(1, 2), strict=False)),
    "zip strict": lambda make: _loop(zip([1, 2], make(1, 2), strict=True)),
    "enumerate": lambda make: _loop(enumerate(make(5, 6), 2)),
    "enumerate by name": lambda make: _loop(enumerate(iterable=make(5, 6))),
    "map": lambda make: _loop(map(str, make(1, 2))),
    "filter": lambda make: _loop(filter(None, make(0, 1, 2))),
    "chain": lambda make: _loop(itertools.chain(make(1), [2], make(3))),
    "from_iterable": lambda make: _loop(itertools.chain.from_iterable(make(make(1), [2], make(3)))),
    "starmap": lambda make: _loop(itertools.starmap(pow, [make(2, 3), make(3, 2)])),
    "islice": lambda make: _loop(itertools.islice(make(1, 2, 3), 2)),
    "product": lambda make: _loop(itertools.product(make(1, 2), make(3, 4))),
    "longest": lambda make: _loop(itertools.zip_longest(make(1, 2), make(3))),
    "accumulate": lambda make: _loop(itertools.accumulate(make(1, 2, 3))),
    "groupby": lambda make: [(key, list(group)) for key, group in itertools.groupby(make(1, 1, 2))],
    "takewhile": lambda make: _loop(itertools.takewhile(bool, make(1, 0, 1))),
    "compress": lambda make: _loop(itertools.compress(make(1, 2, 3), make(1, 0, 1))),
    "pairwise": lambda make: _loop(itertools.pairwise(make(1, 2, 3))),
    "combinations": lambda make: _loop(itertools.combinations(make(1, 2, 3), 2)),
    "cycle": lambda make: _loop(itertools.islice(itertools.cycle(make(1, 2)), 5)),
    "tee": lambda make: [_loop(each) for each in itertools.tee(make(1, 2))],
    "yield from": lambda make: _delegated(zip(make(1, 2), make(3, 4), strict=True)),
    "extend": lambda make: len(_extended(make(1, 2))),
    "deque": lambda make: list(_left(make(1, 2)))[:2],
    "made deque": lambda make: deque(make(1, 2)),
    "fsum": lambda make: math.fsum(make(1, 2.5)),
    "prod": lambda make: math.prod(make(3, 2.5)),
    "join": lambda make: ",".join(make("a", "b")),
    "fromkeys": lambda make: dict.fromkeys(make("a", "b")),
    "union": lambda make: {1}.union(make(2), [3], make(4)),
    "subset": lambda make: frozenset([1]).issubset(make(1, 2)),
    "starred": lambda make: max(*make(1, 2)),
    "max": lambda make: max(make(1, 2)),
}  # fmt: skip
OTHERS: dict[str, Callable[[], Any]] = {
    "reversed row": lambda: _loop(reversed(Row(1, 2, 3))),
    "reversed old": lambda: _loop(reversed(Old(1, 2, 3))),
    "set read directly": lambda: {1}.union(Odd([2, 3])),
    "set stepped": lambda: list(zip(Odd([2, 3]), [1], strict=True)),
    "mapping": lambda: _loop(MappingProxyType({1: 2})),
    "what came before an exception": _stopped,
}
_MAKERS = (Stepped, Walk, Row, Old)
CASES: dict[str, Callable[[], Any]] = {
    **OTHERS,
    **{
        f"{name} of {make.__name__}": lambda use=use, make=make: use(make)  # type: ignore[misc]
        for name, use in USES.items()
        for make in _MAKERS
    },
}


@pytest.mark.parametrize("name", CASES)
def test_gives_what_cpython_gives(name: str) -> None:
    assert repr(interpret(CASES[name])()) == repr(CASES[name]())


class Calls(nn.Module):
    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__()
        self.function = function
        self.results: list[str] = []

    def forward(self, x: Any) -> Any:
        return x * len(repr(self.function()))


@pytest.mark.parametrize("name", CASES)
def test_nothing_runs_natively_under_export(name: str) -> None:
    detector = Detector()
    x = torch.ones(2)
    with detector.installed():
        program = dl.export(Calls(CASES[name]), (x,), strict=True)
    assert detector.escaped == []
    assert float(program.module()(x)[0]) == len(repr(CASES[name]()))


class Heads(nn.Module):
    """What a generator gives to C may be computed from tensors, by the layers of an object of the user's."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])

    def forward(self, x: Any) -> Any:
        outputs = Stepped(*[layer(x) for layer in reversed(self.layers)])
        return sum(scale * out for scale, out in zip((2, 3), outputs, strict=True))


def test_tensors_pass_through() -> None:
    torch.manual_seed(0)
    model, x = Heads(), torch.ones(1, 2)
    program = dl.export(model, (x,), strict=True)
    assert torch.equal(program.module()(x), model(x))
