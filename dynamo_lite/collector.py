"""What exists when a capture begins is set aside from the cycle collector (``gc.freeze``) until the last capture ends.

A full collection visits all that the process holds, which with PyTorch loaded takes longer than most captures; and what the collector
tracks outside the permanent generation is then new. Freezing only relinks lists, but it also takes young objects out of the
collector's counts: a process that does nothing but capture would never collect, so some releases do.
"""

from __future__ import annotations

import gc
import threading
from typing import Final

_FROZEN_AT_START: Final = gc.get_freeze_count()  # some versions of CPython start with frozen objects
_COLLECTS_EVERY: Final = 50


class _Holds:
    """Which captures run, whether the frozen objects are ours to give back, and how often they were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._ours = False
        self._released = 0

    def hold(self, who: object) -> bool:
        with self._lock:
            self._running.add(id(who))
            if gc.get_freeze_count() > _FROZEN_AT_START:
                return False
            gc.freeze()
            self._ours = True
            return True

    def release(self, who: object) -> None:
        with self._lock:
            self._running.discard(id(who))
            if self._running or not self._ours:
                return
            gc.unfreeze()
            self._ours = False
            self._released += 1
            due = self._released % _COLLECTS_EVERY == 0 and gc.isenabled()
        if due:
            gc.collect()


def is_old(value: object) -> bool:
    """Whether a tracked object was there before the capture began; False where that cannot be told."""
    return all(value is not other for other in gc.get_objects())


_HOLDS: Final = _Holds()
hold: Final = _HOLDS.hold
"""Begins the capture of ``who``: True where objects are frozen by it, False where another capture or the program has frozen some already."""
release: Final = _HOLDS.release
"""Ends a capture; twice is as good as once. What another capture still counts on, or the program froze, stays frozen."""
