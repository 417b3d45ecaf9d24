"""Locks that a model enters and leaves: they change no result, so a trace leaves them alone and says so."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch

PLAIN = threading.Lock()
REENTRANT = threading.RLock()


class Guarded(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        with PLAIN, REENTRANT:
            y = x + 1
        PLAIN.acquire()
        try:
            return y * 2
        finally:
            PLAIN.release()


class Impatient(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 1 if PLAIN.acquire(blocking=False) else x


def test_a_lock_is_neither_taken_nor_released() -> None:
    program = dl.export(Guarded(), (torch.ones(3),), strict=True)
    assert program.module()(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]
    assert not PLAIN.locked()
    dropped = [effect.what for effect in program.effects if effect.became == "dropped"]
    assert "_thread.acquire" in dropped and "_thread.release" in dropped


def test_a_lock_that_another_holds_keeps_nobody_waiting() -> None:
    with PLAIN:
        program = dl.export(Guarded(), (torch.ones(3),), strict=True)
        assert PLAIN.locked()
    assert program.module()(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]


def test_an_answer_that_depends_on_other_threads_is_refused() -> None:
    with pytest.raises(dl.UnsupportedError) as caught:
        dl.export(Impatient(), (torch.ones(3),), strict=True)
    assert caught.value.id == "call-refused"
