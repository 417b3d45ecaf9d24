"""Tensors that forward leaves in attributes: what each call makes anew is rolled back, what a later call could tell is refused (M29, M30)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite as dl
from dynamo_lite import torchlite as torch
from dynamo_lite.torchlite import nn
from tests.exporting import arrays

both_modes = pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
FREE = [{0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}]


class Caches(nn.Module):
    """A module whose forward is the function that it is given; ``caches`` is a dict, the other places are None."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(12.0))
        self.table = torch.zeros(3)
        self.function = function
        self.caches: dict[str, Any] = {}
        self.held: Any = None
        self.length: Any = None
        self.calls = 0
        self.several: list[Any] = []

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def of_parameters(self: Any, x: Any) -> Any:
    if "sum" not in self.caches:
        self.caches["sum"] = self.weight.cumsum(0).sum()
    return x * self.caches["sum"]


def in_an_attribute(self: Any, x: Any) -> Any:
    if self.held is None:
        self.held = self.weight.exp().sum()
    return x - self.held


def in_a_new_attribute(self: Any, x: Any) -> Any:
    if not hasattr(self, "fresh"):
        self.fresh = (self.weight * 2).sum()
    return x - self.fresh


def by_length(self: Any, x: Any) -> Any:
    if self.held is None or self.length != x.shape[1]:
        self.length = x.shape[1]
        self.held = torch.arange(x.shape[1]) * self.weight.sum()
    return x + self.held


def scratch(self: Any, x: Any) -> Any:
    self.held = None
    for factor in (2, 3):
        self.held = x * factor if self.held is None else self.held + x
    return self.held.sum(-1)


def written_first(self: Any, x: Any) -> Any:
    self.held = x.cumsum(0)
    return self.held + 1


MADE_ANEW = [of_parameters, in_an_attribute, in_a_new_attribute, by_length]


@both_modes
@pytest.mark.parametrize("function", MADE_ANEW)
def test_what_each_call_makes_anew(function: Callable[[Any, Any], Any], strict: bool) -> None:
    """Call by call equal to eager, whatever the sizes of the calls before were; the module stays as it was."""
    model = Caches(function)
    before = dict(vars(model))
    program = dl.export(model, (torch.ones(2, 3),), dynamic_shapes=FREE, strict=strict)
    assert {name: value for name, value in vars(model).items() if name in before} == before
    assert model.caches == {}
    assert not hasattr(model, "fresh")
    assert any(effect.became == "rolled back" for effect in program.effects)
    run = program.module()
    for rows, columns in ((2, 3), (4, 3), (2, 5), (2, 5), (1, 2), (2, 3)):
        x = torch.arange(float(rows * columns)).reshape(rows, columns)
        assert arrays(run(x)) == arrays(model(x))


def state(self: Any, x: Any) -> Any:
    self.held = x.sum() if self.held is None else self.held + x.sum()
    return x * self.held


def earlier_input(self: Any, x: Any) -> Any:
    before, self.held = self.held, x
    return x if before is None else x + before.sum()


def told_by_identity(self: Any, x: Any) -> Any:
    if self.length is not x:
        self.length, self.held = x, x * 2
    return self.held


def never_remade(self: Any, x: Any) -> Any:
    if self.held is None:
        self.held = torch.arange(x.shape[1]) * self.weight.sum()
    return x + self.held[: x.shape[1]]


def grown(self: Any, x: Any) -> Any:
    if self.held is None or x.shape[1] > self.held.shape[0]:
        self.held = torch.arange(x.shape[1]) * self.weight.sum()
    return x + self.held[: x.shape[1]]


def by_length_of_a_batch(self: Any, x: Any) -> Any:
    if self.held is None or self.length != x.shape[1]:
        self.length = x.shape[1]
        self.held = torch.zeros(x.shape[0], x.shape[1]) + self.weight.sum()
    return x + self.held[:1]


def first_call_is_another(self: Any, x: Any) -> Any:
    if self.held is not None:
        return x * self.held
    self.held = self.weight.sum()
    return x + self.held


def counted(self: Any, x: Any) -> Any:
    self.calls += 1
    if self.held is None:
        self.held = self.weight.sum()
    return x * self.held * self.calls


def gathered(self: Any, x: Any) -> Any:
    self.several.append(x)
    return x + len(self.several)


def drawn(self: Any, x: Any) -> Any:
    if self.held is None:
        self.held = torch.rand(3)
    return x + self.held


def new_result(self: Any, x: Any) -> Any:
    self.fresh = x * 2
    return self.fresh + 1


def tensor_replaced(self: Any, x: Any) -> Any:
    self.table = self.weight.cumsum(0)[:3]
    return x + self.table


STATE = [
    scratch, written_first, state, earlier_input, told_by_identity, never_remade, grown, by_length_of_a_batch, first_call_is_another, counted, gathered, drawn,
    new_result, tensor_replaced,
]  # fmt: skip


@both_modes
@pytest.mark.parametrize("function", STATE)
def test_what_a_later_call_could_tell(function: Callable[[Any, Any], Any], strict: bool) -> None:
    """Refused with the line of the write; the module stays as it was."""
    model = Caches(function)
    with pytest.raises(dl.StateError) as refusal:
        dl.export(
            model, (torch.ones(2, 3),), dynamic_shapes=FREE if function is not drawn else None, strict=strict
        )
    assert refusal.value.id == "tensor-left-outside"
    assert refusal.value.location is not None
    # non-strict mode sees no write of a container, and names the line that made the tensor
    assert refusal.value.location.function == function.__qualname__ or (function is gathered and not strict)
    assert model.held is None
    assert model.several == []
    assert model.calls == 0


@both_modes
def test_a_cache_that_is_not_remade_may_be_one_where_sizes_are_static(strict: bool) -> None:
    model = Caches(never_remade)
    run = dl.export(model, (torch.ones(2, 3),), strict=strict).module()
    for _ in range(2):
        assert arrays(run(torch.ones(2, 3))) == arrays(model(torch.ones(2, 3)))


@both_modes
def test_a_decorated_forward_leaves_nothing_out(strict: bool) -> None:
    """What eager leaves in the live module could be looked at: refused."""

    @dl.exported(strict=strict)
    class Model(Caches):
        def forward(self, x: Any) -> Any:
            return self.function(self, x)

    with pytest.raises(dl.StateError, match=r"stores a tensor in self\.held"):
        Model(in_an_attribute)(torch.ones(2, 3))
