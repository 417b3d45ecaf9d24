"""No Python code of the program runs natively, whatever calls it back."""

from __future__ import annotations

import enum
import functools
import itertools
import logging
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from benchmarks.export import capture, model_of
from benchmarks.interpreter_programs import PROGRAMS
from dynamo_lite.strict.interpret import interpret
from dynamo_lite.strict.policy import watch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.strict import leaks
from tests.dynamo_lite.strict.leaks import Detector, watched


class Item:
    """Every slot in Python."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: Item) -> bool:
        return self.value < other.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Item) and self.value == other.value

    def __hash__(self) -> int:
        return 1

    def __add__(self, other: Item) -> Item:
        return Item(self.value + other.value)

    def __radd__(self, other: int) -> Item:
        return Item(self.value + other)

    def __bool__(self) -> bool:
        return self.value != 0

    def __len__(self) -> int:
        return self.value

    def __iter__(self) -> Iterator[int]:
        yield from range(self.value)

    def __contains__(self, value: int) -> bool:
        return value == self.value

    def __index__(self) -> int:
        return self.value

    def __repr__(self) -> str:
        return f"Item({self.value})"

    def __format__(self, spec: str) -> str:
        return f"<{self.value}:{spec}>"

    def __call__(self, x: int) -> int:
        return x + self.value

    def __getattr__(self, name: str) -> str:
        return name

    @property
    def double(self) -> int:
        return self.value * 2


def reductions() -> Any:
    items = [Item(3), Item(1), Item(2)]
    return (
        sorted(items), max(items, key=lambda item: item.value), min(items), sum(items), any(items), all(items),
        functools.reduce(lambda a, b: a + b, items), sorted([3, 1], key=lambda x: -x), len(items[0]), bool(items[1]),
    )  # fmt: skip


def _difference(a: int, b: int) -> int:
    return a - b


def lazies() -> Any:
    return (
        list(map(lambda x: x + 1, [1, 2])),  # noqa: C417
        list(filter(lambda x: x > 1, [1, 2])),
        list(itertools.accumulate([1, 2, 3], lambda a, b: a * b)), list(itertools.starmap(lambda a, b: a + b, [(1, 2)])),
        [(k, list(g)) for k, g in itertools.groupby([1, 1, 2], key=lambda x: x % 2)],
        list(itertools.takewhile(lambda x: x < 2, [1, 2, 1])), list(itertools.dropwhile(lambda x: x < 2, [1, 2, 1])),
        list(iter(iter([1, 2, 0]).__next__, 0)), re.sub("a", lambda match: match.group() * 2, "banana"),
        sorted([2, 1], key=functools.cmp_to_key(_difference)),
    )  # fmt: skip


def containers() -> Any:
    table: defaultdict[int, list[int]] = defaultdict(lambda: [0])
    table[1].append(2)
    item = Item(2)
    return (
        dict(table), list(item), tuple(item), [*item], item in [Item(1), Item(2)], 2 in item, [0, 1, 2][item],
        "abc"[: item], max([item], default=None), f"{item:x}{item!r}", str(item), repr(item), format(item, "y"),
        item(3), item.missing, item.double, operator.attrgetter("double")(item), operator.itemgetter(0)([item]),
        operator.methodcaller("__len__")(item), item.other, divmod(7, 2),
    )  # fmt: skip


class Point(NamedTuple):
    x: int
    y: int = 0


def classes() -> Any:
    @dataclass(order=True)
    class Data:
        a: int
        b: list[int]

        def total(self) -> int:
            return self.a + sum(self.b)

    class Kind(enum.Enum):
        ONE = 1
        TWO = 2

    class Meta(type):
        def __call__(cls, *args: Any) -> Any:
            return super().__call__(*args)

        def __instancecheck__(cls, obj: object) -> bool:
            return obj == 5

    class Described:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, obj: object, owner: type) -> str:
            return self.name

    class Base:
        names: list[str] = []

        def __init_subclass__(cls, **kwargs: Any) -> None:
            Base.names.append(cls.__name__)

    class Child(Base, metaclass=Meta):
        described = Described()

        def __init__(self, value: int) -> None:
            self.value = value

    return (
        Data(1, [2]).total(), Data(1, [2]) < Data(2, []), Kind.ONE.name, Kind(2).value, isinstance(5, Child),
        Child(3).value, Child(1).described, Base.names, Point(1) + (2,),  # noqa: RUF005
    )  # fmt: skip


PROBES: list[Callable[[], Any]] = [reductions, lazies, containers, classes]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
def test_callbacks_and_slots_are_interpreted(probe: Callable[[], Any]) -> None:
    expected = probe()
    run = interpret(probe)
    run()
    found: list[str] = []
    with watched(found):
        result = run()
    assert repr(result) == repr(expected)
    assert found == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_benchmark_programs_do_not_escape(name: str) -> None:
    fn, size = PROGRAMS[name]
    run = interpret(fn)
    run(size // 20 + 1)
    found: list[str] = []
    with watched(found):
        result = run(size // 20 + 1)
    assert result == fn(size // 20 + 1)
    assert found == []


def test_the_detector_detects() -> None:
    def probe() -> str:
        return "%s" % Item(1)  # noqa: UP031 C formats the operand itself

    run = interpret(probe)
    found: list[str] = []
    with watched(found):
        run()
    assert any("Item.__repr__" in each for each in found)


# --- while tracing


def test_the_classes_of_native_code_stand_in_the_documentation() -> None:
    text = (Path(__file__).parents[3] / "docs" / "interpreter.md").read_text(encoding="utf-8")
    rows = text.partition("| class | why it is sound |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    assert rows == [f"| {name} | {why} |" for name, why in leaks.CLASSES.items()]


class Probe(nn.Module):
    """One model that meets every listed class."""

    def __init__(self) -> None:
        super().__init__()
        self.table = {Keyed("a"): 2}

    def forward(self, x: Any) -> Any:
        logging.getLogger("probe").info("x")
        memory = {Keyed("b"): 1}
        return x * self.table[Keyed("a")] + _allowed() + _cached(3) + len(memory)


class Keyed:
    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and self.name == other.name


@dl.allow_call
def _allowed() -> int:
    return 1


@functools.cache
def _cached(value: int) -> int:
    return value + 1


def test_while_tracing_only_the_listed_classes_run_natively() -> None:
    model, x = Probe(), torch.ones(2)
    detector = Detector()
    with detector.installed():
        program = dl.export(model, (x,), strict=True)
    assert detector.escaped == []
    met = {kind for kind, count in detector.classes.items() if count}
    assert {leaks.REHEARSED, leaks.WAY_OUT, leaks.LIBRARY} <= met
    assert program.module()(x).tolist() == model(x).tolist()


def test_the_detector_detects_while_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the watch, C's call of a hash escapes."""
    monkeypatch.setattr(watch.Watch, "call", lambda self, fn, args, kwargs: fn(*args, **kwargs))
    detector = Detector()
    with detector.installed():
        dl.export(Probe(), (torch.ones(2),), strict=True)
    assert any("Keyed.__hash__" in each for each in detector.escaped)


def test_a_capture_of_the_sentence_encoder_does_not_escape() -> None:
    model, forward = model_of(1)
    detector = Detector()
    with detector.installed():
        capture(model, forward)
    assert detector.escaped == []
