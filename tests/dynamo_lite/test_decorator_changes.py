"""A decorated call on a module that has changed: what was burned in is checked, what is live is read."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite import live_model
from tests.dynamo_lite.live_model import eager, model_class
from tests.exporting import arrays, both_modes, numbers


def change_training(model: Any) -> None:
    model.train()


def change_attribute(model: Any) -> None:
    model.factor = 4


def change_number_type(model: Any) -> None:
    model.factor = 3.0


def change_submodule(model: Any) -> None:
    model.drop = nn.ReLU()


def change_submodule_attribute(model: Any) -> None:
    model.drop.p = 0.25


def change_shape(model: Any) -> None:
    model.lin.bias = nn.Parameter(torch.zeros(1))


def change_dtype(model: Any) -> None:
    model.double()


def remove_bias(model: Any) -> None:
    model.lin.bias = None


CHANGES = [
    change_training,
    change_attribute,
    change_number_type,
    change_submodule,
    change_shape,
    change_dtype,
    remove_bias,
]


@both_modes
@pytest.mark.parametrize("change", CHANGES)
def test_changed_module_is_a_miss(change: Any, strict: bool) -> None:
    """Burned-in assumptions are checked at each call; ``"error"`` raises and names what changed."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    change(model)
    with pytest.raises(dl.GuardError) as caught:
        model(x)
    assert caught.value.id == "live-state-changed"
    assert caught.value.hint


@both_modes
def test_restored_module_hits_again(strict: bool) -> None:
    """After a miss the same program runs again once the module is as it was."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    model.train()
    with pytest.raises(dl.GuardError, match="training"):
        model(x)
    model.eval()
    model(x)
    assert len(model.forward.exported_programs(model)) == 1


@both_modes
def test_same_submodule_anew_is_no_miss(strict: bool) -> None:
    """A submodule replaced by another of the same kind, size and attributes is read from then on."""
    model = model_class(strict)()
    twin = copy.deepcopy(model)
    x = numbers(4, 3)
    assert arrays(model(x)) == arrays(eager(twin, x))
    model.lin = nn.Linear(3, 3).eval()
    twin.lin = copy.deepcopy(model.lin)
    assert arrays(model(x)) == arrays(eager(twin, x))
    assert len(model.forward.exported_programs(model)) == 1


@both_modes
def test_changed_global_and_closure(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Globals and closure variables that forward reads are assumptions too."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    monkeypatch.setattr(live_model, "SCALE", 7)
    with pytest.raises(dl.GuardError, match="SCALE"):
        model(x)
    assert any("SCALE" in line for line in model.forward.exported_program(model).check_assumptions(model))


@both_modes
def test_writes_of_attributes_are_no_assumptions_about_the_written_value(strict: bool) -> None:
    """M29: what forward reads back after writing it is its own value; the module's is not assumed to be that."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = 0

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            self.last = 7
            return x + self.last

    model = Model()
    for _ in range(3):
        assert arrays(model(numbers(3))) == arrays(numbers(3) + 7)


class Settings:
    def __init__(self) -> None:
        self.scale = 2
        self.offsets = [1, 2]


TABLE = {"a": 1}


@both_modes
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda model: setattr(model.settings, "scale", 3), id="attribute of an object"),
        pytest.param(lambda model: model.settings.offsets.append(3), id="list of an object"),
        pytest.param(lambda model: model.sizes.__setitem__(0, 9), id="item of a list"),
        pytest.param(lambda model: setattr(model, "sizes", [3, 4]), id="another list"),
        pytest.param(lambda model: TABLE.update(a=5), id="item of a global"),
    ],
)
def test_changed_containers_and_objects(change: Any, strict: bool) -> None:
    """What forward reads of containers and objects that the module or its globals hold is checked too."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.settings = Settings()
            self.sizes = [4, 5]

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * self.settings.scale + sum(self.settings.offsets) + self.sizes[0] + TABLE["a"]

    model = Model()
    try:
        for _ in range(2):
            assert arrays(model(numbers(3))) == arrays(numbers(3) * 2 + 3 + 4 + 1)
        change(model)
        with pytest.raises(dl.GuardError):
            model(numbers(3))
    finally:
        TABLE["a"] = 1
