"""The recursion limit: the process has one, which is raised while machines run, in whatever threads."""

from __future__ import annotations

import sys
import threading
from typing import Final

# of what runs in C, this many levels fit in a stack of eight megabytes
_DEEP_ENOUGH: Final = 10_000


def host_limit(limit: int) -> int:
    """The host's own limit while a machine runs: a level of recursion through C takes several host frames.

    CPython 3.11 bounds the C stack by this alone: a program that raises the limit gets no more of it than it would have had there.
    """
    return min(limit * 8, max(limit, _DEEP_ENOUGH))


class _Limit:
    """The limit as programs know it, and the threads for whose machines the host's is raised."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may begin a run in between
        self._threads: set[int] = set()
        self.known = 0

    def raise_it(self) -> int:
        """For the running thread; returns the limit as programs know it."""
        with self._lock:
            if not self._threads:
                self.known = sys.getrecursionlimit()
            self._threads.add(threading.get_ident())
            sys.setrecursionlimit(host_limit(self.known))
            return self.known

    def change(self, limit: int) -> None:
        """A program has set it."""
        with self._lock:
            self.known = limit
            sys.setrecursionlimit(host_limit(limit))

    def lower(self) -> None:
        """The running thread's machine has ended."""
        with self._lock:
            self._threads.discard(threading.get_ident())
            if not self._threads:
                sys.setrecursionlimit(max(self.known, 1))


LIMIT: Final = _Limit()
