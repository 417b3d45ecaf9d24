"""Properties and descriptors of classes that inherit from C types are interpreted, under whichever C look-up they are found."""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import functools
import threading
import types
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.strict.leaks import Detector, watched

LOG: list[Any] = []
# a C type, and what makes an instance of it
BASES: Final[dict[type, tuple[Any, ...]]] = {
    object: (), int: (3,), float: (1.5,), complex: (), str: ("a",), bytes: (b"a",), bytearray: (), tuple: (), list: (),
    dict: (), set: (), frozenset: (), Exception: (1,), property: (), staticmethod: (len,), classmethod: (len,),
    enumerate: ([],), zip: ([],), map: (len, []), types.ModuleType: ("m",), types.SimpleNamespace: (),
    collections.deque: (), collections.OrderedDict: (), collections.defaultdict: (), array.array: ("i",),
    functools.partial: (len,), decimal.Decimal: (1,), datetime.date: (2000, 1, 1), threading.local: (),
}  # fmt: skip
REFUSED: Final = (threading.local,)  # not made while tracing


class Data:
    """A data descriptor."""

    def __get__(self, obj: object, owner: type | None = None) -> str:
        LOG.append("get")
        return "data"

    def __set__(self, obj: object, value: Any) -> None:
        LOG.append(("set", value))

    def __delete__(self, obj: object) -> None:
        LOG.append("delete")


class Plain:
    """A descriptor without ``__set__``."""

    def __get__(self, obj: object, owner: type | None = None) -> str:
        return "plain"


def program(base: Any) -> Callable[[], Any]:
    class Child(base):
        data = Data()
        plain = Plain()

        @property
        def own(self) -> str:
            LOG.append("own")
            return "own"

        @own.setter
        def own(self, value: Any) -> None:
            LOG.append(("own", value))

        def __getattr__(self, name: str) -> str:
            LOG.append(name)
            return name

        def asked(self) -> Any:
            return super().__getattribute__("own"), super().__getattribute__("plain")

    class Hooked(Child):
        def __getattribute__(self, name: str) -> Any:
            LOG.append(("hook", name))
            return super().__getattribute__(name)

    def run() -> list[Any]:
        LOG.clear()
        found: list[Any] = []
        for cls in (Child, Hooked):
            made: Any = cls(*BASES[base])
            made.own = 3
            made.data = 4
            made.value = 5
            found += [
                made.own,
                made.data,
                made.plain,
                made.value,
                made.missing,
                made.own,
                hasattr(made, "other"),
            ]
            found += [made.asked(), base.__getattribute__(made, "data")]
            del made.data
        return [*found, *LOG]

    return run


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_interpreted(base: type) -> None:
    run = program(base)
    expected = run()
    interpreted = dl.interpret(run)
    interpreted()
    found: list[str] = []
    with watched(found):
        assert interpreted() == expected
    assert found == []


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.__name__)
def test_interpreted_under_export(base: type) -> None:
    run = program(base)
    expected = run()
    LOG[:] = ["before"]
    model: Any = type("Model", (nn.Module,), {"forward": lambda self, x: (x, run())})()
    detector = Detector()
    with detector.installed():
        if base in REFUSED:
            with pytest.raises(dl.UnsupportedError):
                dl.export(model, (torch.ones(2),), strict=True)
        else:
            assert dl.export(model, (torch.ones(2),), strict=True).module()(torch.ones(2))[1] == expected
    assert detector.escaped == []
    assert LOG == ["before"]
