"""The recursion limit: the process has one, which is raised while machines run, in whatever threads."""

from __future__ import annotations

import sys
import threading
from typing import Final

# of what runs in C, this many levels fit in a stack of eight megabytes (but of a sort in a sort, two thousand)
_DEEP_ENOUGH: Final = 12_000
# host frames of ours beneath what C code calls natively; and while tracing, when what it calls was rehearsed interpreted, and
# when sizes are expressions as deep as the program computes them
_OURS: Final = 300
_OURS_TRACING: Final = 7_000
# host frames of the machine for a run of its own beneath C: the run, a handler, a stand-in
_FRAMES_A_RUN: Final = 12
# for so many runs at a time the limit is raised
STEP: Final = 16


def host_limit(limit: int, more: int) -> int:
    """The host's own limit where the machines take ``more`` frames of it.

    What C code calls natively finds about the program's own limit: CPython 3.11 bounds the C stack by this alone, so a program that
    raises the limit gets no more of it than it would have had there.
    """
    return max(limit, min(limit + more, _DEEP_ENOUGH))


def _frames(runs: int, tracing: bool) -> int:
    """How many frames a machine takes in so many runs, each beneath C code that another one called."""
    return (_OURS_TRACING if tracing else _OURS) + runs * _FRAMES_A_RUN


class _Limit:
    """The limit as programs know it, and the threads for whose machines the host's is raised."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may begin a run in between
        self._threads: dict[int, int] = {}  # how many frames of ours each may have
        self.known = 0

    def raise_it(self, tracing: bool = False) -> int:
        """For the running thread; returns the limit as programs know it."""
        with self._lock:
            if not self._threads:
                self.known = sys.getrecursionlimit()
            self._threads[threading.get_ident()] = _frames(STEP, tracing)
            self._set()
            return self.known

    def grant(self, runs: int, tracing: bool) -> None:
        """Lets the running thread's machine begin so many runs, one beneath the other."""
        with self._lock:
            self._threads[threading.get_ident()] = _frames(runs, tracing)
            self._set()

    def _set(self) -> None:
        try:  # noqa: SIM105 (nothing of the library's may run here)
            sys.setrecursionlimit(host_limit(self.known, max(self._threads.values(), default=0)))
        except RecursionError:  # a lower one than is used now
            pass

    def change(self, limit: int) -> None:
        """A program has set it."""
        with self._lock:
            self.known = limit
            self._set()

    def lower(self) -> None:
        """The running thread's machine has ended."""
        with self._lock:
            self._threads.pop(threading.get_ident(), None)
            if not self._threads:
                sys.setrecursionlimit(max(self.known, 1))


LIMIT: Final = _Limit()
