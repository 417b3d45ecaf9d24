"""Attributes that C computes by calling code of the program: what that code reads is an assumption, what it writes is not kept."""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn

STATE: Final = {"value": 7, "counting": True}
ASKED: Final[list[str]] = []


def asked() -> int:
    if STATE["counting"]:
        ASKED.append("once")
    return STATE["value"]


class Meta(type):
    @property
    def seen(cls) -> int:
        return asked()


class Called(metaclass=Meta):
    @property
    def seen(self) -> int:
        return asked()

    @property
    def __isabstractmethod__(self) -> bool:
        return asked() > 7

    def __call__(self, *args: Any) -> int:
        return 1


class Named(Called):
    @property
    def __name__(self) -> int:
        return asked()


class Documentation:
    def __get__(self, instance: object, owner: type) -> int:
        return asked()


class Documented:
    __doc__: Any = Documentation()


class Raw(io.RawIOBase):
    @property
    def name(self) -> int:
        return asked()

    def readable(self) -> bool:
        return True


class Above(classmethod):  # type: ignore[type-arg]
    @property
    def through(self) -> Any:
        return super().__isabstractmethod__


class Hooked(classmethod):  # type: ignore[type-arg]
    def __getattr__(self, name: str) -> int:
        raise AssertionError("C finds it")


_PARAMETERS: Final = """
def f[T: asked(), S: (asked(), 1)](): pass
type A = asked()
T, S = f.__type_params__
"""
_DEFAULTS: Final = """
def f[T = asked(), *Ts = asked(), **P = asked()](): pass
T, Ts, P = f.__type_params__
"""


def _defined(source: str, name: str) -> Callable[[], Any]:
    def make() -> Any:
        namespace: dict[str, Any] = {"asked": asked}
        exec(source, namespace)
        return namespace[name]

    return make


COMPUTED: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    "of what a method calls": (lambda: types.MethodType(Called(), 1), "seen"),
    "of the origin of an alias": (lambda: types.GenericAlias(Called, (int,)), "seen"),
    "of what a classmethod wraps": (lambda: classmethod(Called()), "__isabstractmethod__"),
    "of what a property wraps": (lambda: property(Called()), "__isabstractmethod__"),
    "of what is above": (lambda: Above(Called()), "through"),
    "of a class": (lambda: Documented, "__doc__"),
    "of what a reader reads": (lambda: io.BufferedReader(Raw()), "name"),
    "of what a text file reads": (lambda: io.TextIOWrapper(io.BufferedReader(Raw())), "name"),
    "of what has a hook": (lambda: Hooked(Called()), "__isabstractmethod__"),
}
if sys.version_info >= (3, 12):
    COMPUTED["bound"] = _defined(_PARAMETERS, "T"), "__bound__"
    COMPUTED["constraints"] = _defined(_PARAMETERS, "S"), "__constraints__"
    COMPUTED["alias"] = _defined(_PARAMETERS, "A"), "__value__"
if sys.version_info >= (3, 13):
    COMPUTED["default"] = _defined(_DEFAULTS, "T"), "__default__"
    COMPUTED["default of many"] = _defined(_DEFAULTS, "Ts"), "__default__"
    COMPUTED["default of a signature"] = _defined(_DEFAULTS, "P"), "__default__"
    COMPUTED["name of what a property wraps"] = (lambda: property(Named())), "__name__"


class Model(nn.Module):
    def __init__(self, held: Any, name: str) -> None:
        super().__init__()
        self.held = held
        self.name = name

    def forward(self, x: torch.Tensor) -> Any:
        return x + 1, repr(getattr(self.held, self.name))


class Guarded(Model):
    forward = dl.exported(strict=True)(Model.forward)


@pytest.mark.parametrize("case", COMPUTED)
def test_what_c_computes_by_the_programs_code(case: str) -> None:
    make, name = COMPUTED[case]
    held, other = make(), make()
    ASKED.clear()
    expected = repr(getattr(held, name))
    assert ASKED == ["once"]
    program = dl.export(Model(other, name), (torch.ones(2),), strict=True)
    assert ASKED == ["once"]
    assert any("ASKED" in effect.what for effect in program.effects)
    assert program.module()(torch.ones(2))[1] == expected


@pytest.mark.parametrize("case", COMPUTED)
def test_what_it_reads_is_an_assumption(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATE, "counting", False)  # to check what was read is to ask again
    made = Guarded(*[part() if callable(part) else part for part in COMPUTED[case]])
    before = made(torch.ones(2))[1]
    assert made(torch.ones(2))[1] == before
    monkeypatch.setitem(STATE, "value", 8)
    with pytest.raises(dl.GuardError):
        made(torch.ones(2))
