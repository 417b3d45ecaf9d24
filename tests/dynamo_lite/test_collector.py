"""What a capture sets aside from the cycle collector, and gives back."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest

from dynamo_lite import collector
from dynamo_lite.strict.transaction import Transaction


class Ring:
    """Garbage that only the cycle collector finds."""

    def __init__(self) -> None:
        self.itself = self


def test_the_last_capture_gives_back_what_is_frozen() -> None:
    before = gc.get_freeze_count()
    first, second = object(), object()
    assert collector.hold(first)
    assert not collector.hold(second)
    for _ in range(2):  # an interrupt may have it done again
        collector.release(first)
    assert gc.get_freeze_count() > before
    collector.release(second)
    assert gc.get_freeze_count() <= before


def test_what_the_program_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        assert not collector.hold(gc)
        collector.release(gc)
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()


def test_captures_that_overlap_tell_fresh_objects_apart() -> None:
    outside = [1]
    first, second = Transaction(), Transaction()
    first.__enter__()
    between = [2]
    second.__enter__()
    first.__exit__()
    fresh = [3]
    assert second.is_fresh(fresh)
    assert not second.is_fresh(outside)
    assert not second.is_fresh(between)
    second.__exit__()


def test_captures_alone_do_not_keep_garbage() -> None:
    seen: list[weakref.ref[Ring]] = []
    for _ in range(200):
        collector.hold(seen)
        seen.append(weakref.ref(Ring()))
        collector.release(seen)
    assert sum(ref() is not None for ref in seen) < 100


@pytest.mark.parametrize("switch", (gc.disable, gc.enable))
def test_a_collector_that_is_off_stays_off(switch: Callable[[], None]) -> None:
    enabled = gc.isenabled()
    switch()
    try:
        now = gc.isenabled()
        kept = Ring()
        ref = weakref.ref(kept)
        del kept
        for _ in range(200):
            collector.hold(switch)
            collector.release(switch)
        assert gc.isenabled() == now
        assert (ref() is not None) == (not now)
    finally:
        (gc.enable if enabled else gc.disable)()
        gc.collect()
