"""What a function's cache held and what an imported module says are assumptions of the decorator: changed between calls it raises, and is never stale."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn

OFFSET = [1]


@functools.lru_cache(maxsize=2)
def _cached(value: int) -> int:
    return value + OFFSET[0]


class Holder:
    def __init__(self) -> None:
        self.number = 3

    @functools.cache  # noqa: B019
    def times(self, factor: int) -> int:
        return self.number * factor


HOLDER: Final = Holder()


def _settings(scale: int) -> Any:
    made: Any = types.ModuleType("settings_made_here")
    made.scale = scale
    return made


def _by_import() -> int:
    import settings_made_here  # type: ignore[import-not-found]

    return settings_made_here.scale


def _by_from() -> int:
    from settings_made_here import scale

    return scale


def _cleared() -> None:
    OFFSET[0] = 9
    _cached.cache_clear()


def _forgotten() -> None:
    """Others fill the cache until it has no room left."""
    OFFSET[0] = 9
    _cached(20)
    _cached(30)


def _changed_holder() -> None:
    HOLDER.number = 7
    Holder.times.cache_clear()


def _prepared() -> None:
    OFFSET[0], HOLDER.number = 1, 3
    _cached.cache_clear()
    Holder.times.cache_clear()
    _cached(2)
    HOLDER.times(4)
    sys.modules["settings_made_here"] = _settings(5)


# what forward computes, and what changes it
CASES: Final[dict[str, tuple[Callable[[], int], Callable[[], Any]]]] = {
    "cache that was cleared": (lambda: _cached(2), _cleared), "cache without room": (lambda: _cached(2), _forgotten),
    "cache of a method": (lambda: HOLDER.times(4), _changed_holder),
    "attribute of an imported module": (_by_import, lambda: setattr(sys.modules["settings_made_here"], "scale", 6)),
    "name imported from a module": (_by_from, lambda: setattr(sys.modules["settings_made_here"], "scale", 6)),
    "another module of the name": (_by_import, lambda: sys.modules.update(settings_made_here=_settings(6))),
}  # fmt: skip


class Model(nn.Module):
    def __init__(self, function: Callable[[], int]) -> None:
        super().__init__()
        self.function = function

    @dl.exported()
    def forward(self, x: Any) -> Any:
        return x * self.function()


@pytest.mark.parametrize("name", CASES)
def test_what_changed_is_never_stale(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "settings_made_here", _settings(0))
    function, change = CASES[name]
    _prepared()
    before = function()
    model, x = Model(function), torch.ones(2)
    assert [float(model(x)[0]) for _ in range(2)] == [before, before]
    change()
    assert function() != before
    with pytest.raises(dl.GuardError):
        model(x)


def test_a_cache_that_others_use_goes_on_to_serve() -> None:
    _prepared()
    model, x = Model(lambda: _cached(2)), torch.ones(2)
    before = float(model(x)[0])
    _cached(20)
    assert float(model(x)[0]) == before == _cached(2)
