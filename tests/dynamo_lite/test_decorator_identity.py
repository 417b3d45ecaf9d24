"""Which object lies where: a tensor that lies outside the module is replaced, and objects that were apart become one."""

from __future__ import annotations

import enum
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.live_model import eager


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Thing:
    def __init__(self, value: Any = 3) -> None:
        self.value = value


def three() -> Any:
    return torch.ones(2) * 3


LIST: Final[list[Any]] = []
BOX: Final = Thing()


def closing() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    held = three()

    def get() -> Any:
        return held

    def put(value: Any) -> None:
        nonlocal held
        held = value

    return get, put


def make(read: Callable[[Any], Any], strict: bool) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.box, self.first, self.second = Thing(three()), Thing(), Thing()
            self.list = [Thing()]
            self.table = {Thing(): 5, Mode.SLOW: 7}
            self.mode = Mode.FAST
            self.plain, self.other = three(), three()
            self.weight = nn.Parameter(three())
            self.bias = nn.Parameter(three())
            self.tied = self.weight
            self.left, self.right = nn.Linear(2, 2), nn.Linear(2, 2)
            self.get, self.put = closing()
            self.plains, self.named = [1, 2], {"a": 1}
            self.other_thing = Thing(5)
            self.reference = weakref.ref(self.first)
            self.register_parameter("none", None)
            self.eval()

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * read(self)

    LIST[:] = [three(), three()]
    BOX.value = three()
    Made.number, Made.numbers = 2, [2]
    IMPORTED.number = 2  # type: ignore[attr-defined]
    return Model()


def five() -> Any:
    return torch.ones(2) * 5


# what forward reads, and a change of where things lie
Row = tuple[Callable[[Any], Any], Callable[[Any], Any]]
TENSORS: Final[dict[str, Row]] = {
    "in an object": (lambda m: m.box.value, lambda m: setattr(m.box, "value", five())),
    "in a namespace": (lambda m: vars(m.box)["value"], lambda m: setattr(m.box, "value", five())),
    "in a global list": (lambda m: LIST[1], lambda m: LIST.__setitem__(1, five())),
    "in a sum": (lambda m: sum(LIST), lambda m: LIST.__setitem__(1, five())),
    "in a copy": (lambda m: LIST.copy()[1], lambda m: LIST.__setitem__(1, five())),
    "in a slice": (lambda m: LIST[1:][0], lambda m: LIST.__setitem__(1, five())),
    "in a stack": (lambda m: torch.stack(LIST).sum(), lambda m: LIST.__setitem__(1, five())),
    "in a global object": (lambda m: BOX.value, lambda m: setattr(BOX, "value", five())),
    "in a closure": (lambda m: m.get(), lambda m: m.put(five())),
    "under a second name": (lambda m: m.tied, lambda m: setattr(m, "tied", nn.Parameter(five()))),
}
MERGED: Final[dict[str, Row]] = {
    "objects": (lambda m: 1 if m.first is m.second else 2, lambda m: setattr(m, "second", m.first)),
    "equal objects": (lambda m: 1 if m.first == m.second else 2, lambda m: setattr(m, "second", m.first)),
    "object in a list": (lambda m: 1 if m.first in m.list else 2, lambda m: setattr(m, "first", m.list[0])),
    "index in a list": (
        lambda m: m.list.index(m.first) + 2 if m.first in m.list else 1,
        lambda m: setattr(m, "first", m.list[0]),
    ),
    "count in a list": (lambda m: 1 + m.list.count(m.first), lambda m: setattr(m, "first", m.list[0])),
    "key": (lambda m: m.table.get(m.first, 2), lambda m: setattr(m, "first", next(iter(m.table)))),
    "set": (lambda m: len({m.first, m.second}), lambda m: setattr(m, "second", m.first)),
    "enumeration": (lambda m: 1 if m.mode is Mode.SLOW else 2, lambda m: setattr(m, "mode", Mode.SLOW)),
    "equal enumeration": (lambda m: 1 if m.mode == Mode.SLOW else 2, lambda m: setattr(m, "mode", Mode.SLOW)),
    "enumeration as a key": (lambda m: m.table.get(m.mode, 2), lambda m: setattr(m, "mode", Mode.SLOW)),
    "modules": (lambda m: 1 if m.left is m.right else 2, lambda m: setattr(m, "right", m.left)),
    "parameters": (lambda m: 1 if m.weight is m.bias else 2, lambda m: setattr(m, "bias", m.weight)),
    "tensors": (lambda m: 1 if m.plain is m.other else 2, lambda m: setattr(m, "other", m.plain)),
}


class Numbers(list[Any]):
    pass


class Table(dict[Any, Any]):
    def __missing__(self, key: Any) -> int:
        return 9


class Made:
    number = 2
    numbers = [2]


IMPORTED: Final = types.ModuleType("another_name")
sys.modules["imported_by_a_test"] = IMPORTED


def imported() -> Any:
    import imported_by_a_test  # type: ignore[import-not-found]

    return imported_by_a_test.number


def untie(m: Any) -> None:
    m.tied = nn.Parameter(three())


def tie(m: Any) -> None:
    m.bias = m.weight


def freeze(m: Any) -> None:
    m.bias.requires_grad_(False)


OTHERS: Final[dict[str, Row]] = {
    "list by a tuple": (lambda m: 2 if m.plains == [1, 2] else 3, lambda m: setattr(m, "plains", (1, 2))),
    "list by a subclass": (
        lambda m: len(type(m.plains).__name__),
        lambda m: setattr(m, "plains", Numbers([1, 2])),
    ),
    "dict by a subclass": (
        lambda m: m.named.get("b") or caught(m),
        lambda m: setattr(m, "named", Table(a=1)),
    ),
    "class of a new object": (lambda m: Made().number, lambda m: setattr(Made, "number", 3)),
    "list of a new object's class": (lambda m: Made().numbers[0], lambda m: Made.numbers.insert(0, 3)),
    "module under another name": (lambda m: imported(), lambda m: setattr(IMPORTED, "number", 3)),
    "weak reference": (
        lambda m: m.reference().value,
        lambda m: setattr(m, "reference", weakref.ref(m.other_thing)),
    ),
    "untied": (lambda m: len(list(m.parameters())), untie),
    "tied": (lambda m: len(list(m.parameters())), tie),
    "registered as None": (
        lambda m: len(list(m.parameters())),
        lambda m: setattr(m, "none", nn.Parameter(three())),
    ),
    "None by now": (lambda m: len(list(m.parameters())), lambda m: setattr(m, "bias", None)),
    "frozen": (lambda m: sum(each.requires_grad for each in m.parameters()), freeze),
    "counted": (lambda m: len(m._parameters), lambda m: setattr(m, "later", nn.Parameter(three()))),
}


def caught(m: Any) -> int:
    try:
        return m.named["b"]
    except KeyError:
        return 2


def check(row: Row, strict: bool) -> None:
    read, change = row
    model, x = make(read, strict), torch.ones(1, 2)
    before = model(x).tolist()
    assert before == model(x).tolist() == eager(model, x).tolist()
    change(model)
    assert eager(model, x).tolist() != before
    with pytest.raises(dl.GuardError) as caught:
        model(x)
    assert caught.value.id == "live-state-changed"


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_outside_the_module_is_replaced(name: str) -> None:
    check(TENSORS[name], strict=True)


@pytest.mark.parametrize("name", MERGED)
def test_what_was_apart_becomes_one(name: str) -> None:
    check(MERGED[name], strict=True)


@pytest.mark.parametrize("name", OTHERS)
def test_what_was_told_is_told_otherwise(name: str) -> None:
    check(OTHERS[name], strict=True)


@pytest.mark.parametrize("strict", [True, False])
def test_tensors_of_the_module_are_read_at_each_call(strict: bool) -> None:
    """Replaced tensors of the module, also in its containers, are no miss; what is updated outside is seen."""
    model, x = (
        make(lambda m: m.plain * m.weight * m.left.weight.sum() + m.box.value, strict),
        torch.ones(1, 2),
    )
    model(x)
    model.plain, model.weight = five(), nn.Parameter(five())
    model.left.weight = nn.Parameter(torch.ones(2, 2))
    assert model(x).tolist() == eager(model, x).tolist() == [[103.0, 103.0]]
    model.box.value[:] = 1
    assert model(x).tolist() == eager(model, x).tolist() == [[101.0, 101.0]]


def test_a_tied_parameter_is_untied() -> None:
    """The program reads it under its first name, forward under the second."""
    model, x = make(lambda m: m.tied, True), torch.ones(1, 2)
    assert model(x).tolist() == [[3.0, 3.0]]
    model.weight = nn.Parameter(five())
    with pytest.raises(dl.GuardError):
        model(x)
    model.tied = model.weight  # tied again
    assert model(x).tolist() == [[5.0, 5.0]]
