"""Slots that C code calls by itself while a model is captured: rehearsed, announced and rolled back, or refused by name."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn

X = torch.ones(4, 3)
LOG: list[str] = []
OFFSET = [1]


class Key:
    """A key whose slots are Python."""

    made = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.name == other.name

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Counting(Key):
    def __hash__(self) -> int:
        Counting.made += 1
        LOG.append(self.name)
        return 7

    def __eq__(self, other: object) -> bool:
        LOG.append("eq")
        return isinstance(other, Counting) and self.name == other.name


class Offset(Key):
    """Its hash, and so the order of a set, and its equality read outside state."""

    def __hash__(self) -> int:
        return OFFSET[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Offset) and (self.name == other.name or OFFSET[0] > 1)


class Tensors(Key):
    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 1 if self.value.sum() > 0 else 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensors) and bool((self.value == other.value).all())


class Sizes(Key):
    def __init__(self, size: Any) -> None:
        self.size = size

    def __hash__(self) -> int:
        return hash(self.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sizes) and type(self.size) is type(other.size) and self.size == other.size


class Printing(Key):
    def __hash__(self) -> int:
        print(self.name)
        return 1


class Timed(Key):
    def __hash__(self) -> int:
        import time

        return int(time.time())


class Updates(Key):
    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __hash__(self) -> int:
        self.owner.seen.add_(1)
        return 3


class Updating(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        return {Updates(self): x + self.seen}


class Finalized:
    def __del__(self) -> None:
        LOG.append("del")


def lookup(x: Any) -> Any:
    table = {Key("a"): 2, Key("b"): 3}
    return x * table[Key("b")] + (Key("a") in table) + len({Key("a"), Key("a")})


def counted(x: Any) -> Any:
    table = {Counting("a"): 2}
    return x * table[Counting("a")] + Counting.made + len(LOG)


def offset(x: Any) -> Any:
    return x * len({Offset("a"), Offset("b")})


def shown(x: Any) -> Any:
    return x * len(repr([Key("a"), {Key("bc"): 1}])) + len("%s %r" % (Key("a"), [Key("b")]))  # noqa: UP031


def formatted(x: Any) -> Any:
    return x * len("{!r} {}".format([Key("a")], Key("bcd")))


def listed(x: Any) -> Any:
    keys = [Key("a"), Key("b")]
    return x * (keys == [Key("a"), Key("b")]) + keys.index(Key("b")) + keys.count(Key("a"))


def joined(x: Any) -> Any:
    left, right = {Key("a"), Key("b")}, {Key("b"), Key("c")}
    merged = {Key("a"): 1} | {Key("a"): 5}
    return x * len(left & right) + len(left | right) + merged[Key("a")] + len(dict.fromkeys([Key("a")] * 2))


@functools.cache
def area(key: Key, factor: int) -> int:
    LOG.append("area")
    return len(key.name) * factor


def cached(x: Any) -> Any:
    return x * area(Key("abc"), 2) + area(Key("abc"), 2) + len(LOG)


def tensors(x: Any) -> Any:
    return {Tensors(x): x}[Tensors(x)]


def sizes(x: Any) -> Any:
    return x * {Sizes(x.shape[0]): 2}[Sizes(x.shape[0])]


def printing(x: Any) -> Any:
    return x * len({Printing("a")})


def timed(x: Any) -> Any:
    return x * len({Timed("a")})


def finalized(x: Any) -> Any:
    Finalized()
    return x


def weak(x: Any) -> Any:
    key = Key("a")
    reference = weakref.ref(key, lambda dead: LOG.append("dead"))
    return x * (reference() is key)


def weakly(x: Any) -> Any:
    key = Key("a")
    table = weakref.WeakKeyDictionary({key: 3})
    return x * table[key]


def module_of(forward: Callable[..., Any]) -> Any:
    return type("Model", (nn.Module,), {"forward": staticmethod(forward)})()


def reset() -> None:
    LOG.clear()
    Counting.made = 0
    area.cache_clear()
    OFFSET[:] = [1]


SOUND = (lookup, counted, offset, shown, formatted, listed, joined, cached)


@pytest.mark.parametrize("forward", SOUND, ids=lambda forward: forward.__name__)
def test_as_eager_and_everything_as_before(forward: Callable[..., Any]) -> None:
    model = module_of(forward)
    reset()
    expected = model(X).numpy()
    reset()
    program = dl.export(model, (X,), strict=True)
    assert (LOG, Counting.made, area.cache_info().currsize) == ([], 0, 0)
    np.testing.assert_array_equal(program.module()(X).numpy(), expected)


REFUSED = (
    (tensors, "Tensors.__hash__"),
    (sizes, "Sizes.__hash__"),
    (printing, "Printing.__hash__"),
    (timed, "time.time"),
    (finalized, "Finalized.__del__"),
    (weak, "lambda"),
    (weakly, "weak reference"),
)


@pytest.mark.parametrize(("forward", "name"), REFUSED, ids=lambda value: getattr(value, "__name__", ""))
def test_refused_by_name(forward: Callable[..., Any], name: str) -> None:
    reset()
    with pytest.raises(dl.UnsupportedError, match=name):
        dl.export(module_of(forward), (X,), dynamic_shapes={"x": {0: dl.Dim("n")}}, strict=True)
    assert LOG == []


def test_a_slot_that_updates_a_buffer_is_refused() -> None:
    model = Updating()
    with pytest.raises(dl.UnsupportedError, match="__hash__"):
        dl.export(model, (X,), strict=True)
    assert model.seen.item() == 0


def test_the_ledger_names_what_a_slot_wrote() -> None:
    reset()
    effects = {effect.what for effect in dl.export(module_of(counted), (X,), strict=True).effects}
    assert any("made" in what for what in effects) and any(
        "LOG" in what or "list" in what for what in effects
    )


def test_what_a_slot_read_is_an_assumption() -> None:
    reset()
    assumed = [
        each for each in dl.export(module_of(offset), (X,), strict=True).assumptions if "OFFSET" in each.path
    ]
    assert [each.expected for each in assumed if each.path.endswith("[0]")] == [1]
    OFFSET[:] = [2]
    np.testing.assert_array_equal(
        dl.export(module_of(offset), (X,), strict=True).module()(X).numpy(), module_of(offset)(X).numpy()
    )


def test_what_a_cache_holds_is_taken() -> None:
    """Eager would give the old value, even where the function would now give another one."""
    reset()
    area(Key("abc"), 2)
    area.__wrapped__.__defaults__ = None
    expected = module_of(cached)(X).numpy()
    LOG[:] = ["area"]
    before = area.cache_info().currsize
    program = dl.export(module_of(cached), (X,), strict=True)
    assert area.cache_info().currsize == before == 1
    np.testing.assert_array_equal(program.module()(X).numpy(), expected)


def test_interpret_alone_lets_c_call() -> None:
    reset()

    def run() -> int:
        return {Counting("a"): 1}[Counting("a")]

    assert dl.interpret(run)() == 1
    assert LOG == ["a", "a", "eq"]
