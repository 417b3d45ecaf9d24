"""A decorated non-strict forward sees no reads: what the user's functions name is held instead."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite import outside_values

THIS: Any = __import__(__name__, fromlist=["THIS"])
TENSOR = torch.ones(2)
HELD = [torch.ones(2)]
NAMED = {"t": torch.ones(2)}
BOX: Any = None
FIVE = torch.ones(2) * 5


def helper(x: Any) -> Any:
    return deeper(x) + 1


def deeper(x: Any) -> Any:
    return x + TENSOR


def _forward(forward: Callable[[Any, Any], Any]) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.box = SimpleNamespace(t=torch.ones(2), s=1.0)

        @dl.exported(strict=False)
        def forward(self, x: Any) -> Any:
            return forward(self, x)

    return Model()


CASES: dict[str, tuple[Callable[[Any, Any], Any], str, Any]] = {
    "tensor": (lambda self, x: x + TENSOR, "TENSOR", FIVE),
    "through helpers": (lambda self, x: helper(x), "TENSOR", FIVE),
    "item of a list": (lambda self, x: x + HELD[0], "HELD", [FIVE]),
    "item of a dict": (lambda self, x: x + NAMED["t"], "NAMED", {"t": FIVE}),
    "tensor of an object": (lambda self, x: x + BOX.t, "BOX.t", FIVE),
    "number of an object": (lambda self, x: x + BOX.s, "BOX.s", 7.0),
    "tensor of an object's object": (lambda self, x: x + BOX.inner.t, "BOX.inner.t", FIVE),
    "number of an object's object": (lambda self, x: x + BOX.inner.s, "BOX.inner.s", 7.0),
    "function of a module, its number": (
        lambda self, x: outside_values.scaled(x),
        "outside_values.SCALE",
        7.0,
    ),
    "function of a module, its tensor": (
        lambda self, x: outside_values.scaled(x),
        "outside_values.TENSOR",
        FIVE,
    ),
    "number of a module": (lambda self, x: x * outside_values.SCALE, "outside_values.SCALE", 7.0),
    "tensor of a module": (lambda self, x: x * outside_values.TENSOR, "outside_values.TENSOR", FIVE),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_named_is_held(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forward, path, value = CASES[name]
    inner = SimpleNamespace(t=torch.ones(2), s=1.0)
    monkeypatch.setattr(THIS, "BOX", SimpleNamespace(t=torch.ones(2), s=1.0, inner=inner))
    model, x = _forward(forward), torch.ones(2)
    before = model(x).tolist()
    assert before == forward(model, x).tolist() == model(x).tolist()
    owner, _, attribute = path.rpartition(".")
    monkeypatch.setattr(eval(owner) if owner else THIS, attribute, value)
    assert forward(model, x).tolist() != before
    with pytest.raises(dl.GuardError, match="live-state-changed"):
        model(x)
    monkeypatch.undo()
    if "BOX" not in path:
        assert model(x).tolist() == before
