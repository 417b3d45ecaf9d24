"""Which object lies where: a tensor that lies outside the module is replaced, and objects that were apart become one."""

from __future__ import annotations

import enum
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
            self.eval()

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * read(self)

    LIST[:] = [three(), three()]
    BOX.value = three()
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
