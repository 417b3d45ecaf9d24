"""The tables of what strict mode refuses name functions as they are called here (M3)."""

from __future__ import annotations

import atexit
import builtins
import copy
import datetime
import gc
import hashlib
import importlib
import io
import itertools
import locale
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.strict.policy import impure, modules
from dynamo_lite.torchlite import nn

COUNT = itertools.count()
DIGEST = hashlib.sha256()


@pytest.mark.parametrize("entry", sorted(name for name, why in modules.FUNCTIONS.items() if why is not None))
def test_every_entry_is_met_under_its_name(entry: str) -> None:
    """A function that an entry names is refused, whatever it calls itself on this version."""
    module, _, name = entry.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        pytest.skip(f"{entry} does not exist here")
    assert impure.reason(function) is not None


def standard() -> Iterator[tuple[str, Any]]:
    """Every C function and C class that the modules of the standard library hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(sys.stdlib_module_names | set(sys.builtin_module_names)):
            if name in NOT_IMPORTED or name.startswith(("_test", "_xx", "xx")):
                continue
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue  # not of this platform
            for value in list(vars(module).values()):
                if isinstance(value, BuiltinFunctionType) or (
                    isinstance(value, type) and not value.__flags__ & HEAP
                ):
                    yield name, value


HEAP = 1 << 9
# programs that start when imported, and the tests of CPython itself
NOT_IMPORTED = frozenset(
    {"antigravity", "this", "idlelib", "turtledemo", "turtle", "tkinter", "test", "__main__"}
)


def test_nothing_of_the_standard_library_is_unknown() -> None:
    found = list(standard())
    assert len(found) > 1500
    assert sorted({name for name, value in found if impure.refusal(value) is modules.UNKNOWN}) == []


def test_unknown_c_code_is_refused_with_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert modules.classify("somewhere._speedups", "fast") is modules.UNKNOWN
    assert "register_pure_module" in modules.UNKNOWN[1]
    monkeypatch.setattr(modules, "_registered", set())
    modules.register_pure_module("somewhere")
    assert modules.classify("somewhere._speedups", "fast") is None


def test_a_method_of_c_behind_one_in_python_has_the_module_of_c() -> None:
    class Table(dict[str, int]):
        def get(self, key: str, default: Any = None) -> Any:
            return super().get(key, default)

    assert impure.module_of(super(Table, Table()).get) == "builtins"


IMPURE: list[Callable[[], Any]] = [
    time.time, time.perf_counter, random.random, random.Random(1).random, uuid.uuid4, secrets.token_bytes, os.getpid,
    lambda: id(IMPURE), lambda: open(__file__),  # noqa: SIM115
    lambda: os.listdir("."), lambda: os.stat("."), lambda: os.urandom(2),
    socket.socket, lambda: threading.Thread(target=print).start(), lambda: subprocess.run(["true"]), gc.collect, lambda: sys.getrefcount(IMPURE),
    lambda: sys.setswitchinterval(1.0), lambda: locale.setlocale(locale.LC_ALL, "C"), datetime.datetime.now,
    datetime.date.today, lambda: next(COUNT), lambda: list(zip(COUNT, range(2), strict=False)), DIGEST.hexdigest, lambda: DIGEST.update(b"x"), COUNT.__next__,
    lambda: weakref.getweakrefcount(test_what_is_pure_is_not_refused), lambda: os.environ.pop("HOME"), sys._current_frames,
    lambda: signal.getsignal(2), lambda: atexit.register(print), input, lambda: np.random.rand(2), tempfile.mkdtemp,
]  # fmt: skip


@pytest.mark.parametrize("act", IMPURE, ids=range(len(IMPURE)))
def test_impure_calls_are_refused_by_name(act: Callable[[], Any]) -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            act()
            return x + 1

    before = next(copy.copy(COUNT))
    with pytest.raises(dl.UnsupportedError) as caught:
        dl.export(Model(), (torch.ones(2),), strict=True)
    assert caught.value.hint
    assert next(copy.copy(COUNT)) == before


def test_what_is_pure_is_not_refused() -> None:
    """Neighbours of impure functions that only compute are called."""
    assert impure.reason(time.strptime) is None
    assert impure.reason(builtins.len) is None
    assert impure.reason(builtins.open) is impure.reason(io.open) is not None


@pytest.mark.parametrize("name", modules.OF_ARRAYS)
@pytest.mark.parametrize("bound", [True, False])
def test_arrays_keep_their_size_and_flags(name: str, bound: bool) -> None:
    array = np.arange(6)

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            given = {"resize": (3,), "setflags": (False,)}[name]
            if bound:
                getattr(array, name)(*given)
            else:
                getattr(np.ndarray, name)(array, *given)
            return x + int(np.resize(array, (2,))[0])

    with pytest.raises(dl.UnsupportedError, match="call-refused"):
        dl.export(Model(), (torch.ones(2),), strict=True)
    assert array.shape == (6,)
    assert array.flags.writeable
