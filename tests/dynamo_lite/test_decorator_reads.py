"""What C code reads of outside objects, and one object under two paths: changed between decorated calls it raises, and is never stale."""

from __future__ import annotations

import copy
import os
import pickle
import types
import weakref
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn


class Holder:
    def __init__(self) -> None:
        self.n: Any = 3
        self.items = [3]

    def get(self) -> Any:
        return self.n


class Slotted:
    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 3


def set_n(held: Any) -> None:
    held.n = 5


def set_item(held: Any) -> None:
    held.items[0] = 5


def set_method(method: Any) -> None:
    method.__self__.n = 5


def set_args(error: Any) -> None:
    error.args = (5,)


KEPT: Final[list[Any]] = []


def reference() -> Any:
    KEPT.append(Holder())
    return weakref.ref(KEPT[-1])


def set_referent(found: Any) -> None:
    found().n = 5


def references() -> Any:
    KEPT.append(Holder())
    return weakref.WeakValueDictionary(a=KEPT[-1])


ATTRIBUTE, ITEM = "{0.n}", "{0.items[0]}"
Row = tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], None]]
ROWS: Final[dict[str, Row]] = {
    "copy": (Holder, lambda held: copy.copy(held).n, set_n),
    "deepcopy": (Holder, lambda held: copy.deepcopy(held).n, set_n),
    "copy_then_item": (Holder, lambda held: copy.copy(held).items[0], set_item),
    "deepcopy_then_item": (Holder, lambda held: copy.deepcopy(held).items[0], set_item),
    "reduce": (Holder, lambda held: held.__reduce_ex__(2)[2]["n"], set_n),
    "getstate": (Holder, lambda held: held.__getstate__()["n"], set_n),
    "pickle": (Holder, lambda held: pickle.loads(pickle.dumps(held)).n, set_n),
    "format_attribute": (Holder, lambda held: float(ATTRIBUTE.format(held)), set_n),
    "format_item": (Holder, lambda held: float(ITEM.format(held)), set_item),
    "format_map": (Holder, lambda held: float("{c.n}".format_map({"c": held})), set_n),
    "dir": (Holder, lambda held: 5.0 if "extra" in dir(held) else 3.0, lambda held: setattr(held, "extra", 1)),
    "slot": (Slotted, lambda held: vars(Slotted)["n"].__get__(held), set_n),
    "dict_of": (Holder, lambda held: Holder.__dict__["__dict__"].__get__(held)["n"], set_n),
    "namespace_items": (Holder, lambda held: dict(vars(held))["items"][0], set_item),
    "namespace_get": (Holder, lambda held: held.__dict__.get("items")[0], set_item),
    "simple_text": (lambda: types.SimpleNamespace(n=3), lambda held: float(repr(held)[-2]), set_n),
    "simple_equal": (
        lambda: types.SimpleNamespace(n=3),
        lambda held: 3.0 if held == types.SimpleNamespace(n=3) else 5.0,
        set_n,
    ),
    "exception_text": (lambda: ValueError(3), lambda held: float(str(held)), set_args),
    "weak_reference": (reference, lambda held: held().n, set_referent),
    "weak_values": (references, lambda held: held["a"].n, lambda held: set_n(held["a"])),
    "bound_method": (lambda: Holder().get, lambda held: held(), set_method),
}  # fmt: skip


def model_with(held: Any, read: Callable[[Any], Any]) -> Any:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.held = held

        @dl.exported(strict=True)
        def forward(self, x: Any) -> Any:
            return x * read(self.held)

    return Model()


@pytest.mark.parametrize("name", ROWS)
def test_a_read_in_c_is_an_assumption(name: str) -> None:
    make, read, change = ROWS[name]
    model = model_with(make(), read)
    x = torch.ones(2)
    assert model(x).tolist() == [3.0, 3.0]
    assert model(x).tolist() == [3.0, 3.0]
    change(model.held)
    with pytest.raises(dl.GuardError):
        model(x)


@pytest.mark.parametrize("strict", [True, False])
def test_one_object_under_two_names(strict: bool) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = self.second = Holder()

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * self.first.n + self.second.n

    model = Model()
    x = torch.ones(2)
    assert model(x).tolist() == [6.0, 6.0]
    other = Holder()
    other.n = 5
    model.second = other
    with pytest.raises(dl.GuardError):
        model(x)


@pytest.mark.parametrize("strict", [True, False])
def test_one_module_under_two_names(strict: bool) -> None:
    class Inner(nn.Module):
        def __init__(self, factor: int) -> None:
            super().__init__()
            self.factor = factor

        def forward(self, x: Any) -> Any:
            return x * self.factor

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = self.second = Inner(2)

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return self.second(self.first(x))

    model = Model()
    x = torch.ones(2)
    assert model(x).tolist() == [4.0, 4.0]
    model.second = Inner(5)
    with pytest.raises(dl.GuardError):
        model(x)


@pytest.mark.parametrize("strict", [True, False])
def test_the_environment(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Model(nn.Module):
        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * (2 if os.environ.get("SWITCH") == "on" else 3)

    monkeypatch.setenv("SWITCH", "on")
    model = Model()
    x = torch.ones(2)
    assert model(x).tolist() == [2.0, 2.0]
    monkeypatch.delenv("SWITCH")
    with pytest.raises(dl.GuardError, match="environment SWITCH"):
        model(x)


def test_aliases_are_listed_and_checked() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = self.second = Holder()

        def forward(self, x: Any) -> Any:
            return x * self.first.n + self.second.n

    model = Model()
    program = dl.export(model, (torch.ones(2),), strict=True)
    assert "self.second is self.first" in [str(each).split("  ")[0] for each in program.assumptions]
    assert program.check_assumptions(model) == []
    model.second = Holder()
    assert any("self.second" in problem for problem in program.check_assumptions(model))
