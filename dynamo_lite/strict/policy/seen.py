"""What code a trace met: types that were looked at, functions that ran, names taken from the builtins, abstract classes asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Final
from weakref import ref

from dynamo_lite.strict.machine.slots import MISSING, WATCHERS, inherits, mro_of, type_flags
from dynamo_lite.strict.policy.contents import PLAIN
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.transaction import Transaction

_HEAP: Final = 1 << 9
_IMMUTABLE: Final = 1 << 8
ALL: Final = "*"


def may_change(cls: type) -> bool:
    """Whether attributes of a class can be set."""
    return type_flags(cls) & (_HEAP | _IMMUTABLE) == _HEAP


class Seen:
    """Collected while a trace runs; read after it. What the trace itself made is left out."""

    __slots__ = ("_functions", "_transaction", "_types", "behind", "held", "judgements", "names", "wanted")

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._types: list[ref[type]] = []
        self.behind: tuple[type, ...] = ()  # types that the machine does not look at: they stand behind fakes
        self._functions: list[ref[FunctionType]] = []
        self.judgements: dict[tuple[int, int], tuple[type, type]] = {}
        # by class, names that matter whatever they stand for
        self.wanted: dict[int, tuple[type, set[str]]] = {}
        self.held: dict[tuple[int, str], tuple[dict[str, Any], str, Any]] = {}
        # the globals in which a name was not found, the name, and what the builtins held for it
        self.names: dict[tuple[int, str], tuple[dict[str, Any], str, Any]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """In the block, types that are looked at are noted."""
        WATCHERS.append(self._types)
        try:
            yield
        finally:
            WATCHERS[:] = [each for each in WATCHERS if each is not self._types]

    def entered(self, fn: FunctionType) -> bool:
        """A function is called; returns whether it may be one from outside."""
        if self._transaction.is_known_fresh(fn):
            return False
        self._functions.append(ref(fn))
        return True

    def judged(self, abstract: type, cls: type) -> None:
        """An abstract class was asked about a class."""
        self.judgements[id(abstract), id(cls)] = abstract, cls

    def want(self, cls: type, name: str) -> None:
        """What a class and its bases hold for a name matters, if only that it is nothing. ``ALL`` stands for each of the names."""
        self.wanted.setdefault(id(cls), (cls, set()))[1].add(name)

    def missing(self, namespace: dict[str, Any], name: str, value: Any = MISSING) -> None:
        """A global was not found; the builtins held ``value`` for it, or nothing."""
        self.names.setdefault((id(namespace), name), (namespace, name, value))

    def named(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """A global is a function or a class, and goes on to be."""
        self.held.setdefault((id(namespace), name), (namespace, name, value))

    def functions(self) -> list[FunctionType]:
        """The functions from outside that ran."""
        found = [fn for reference in self._functions if (fn := reference()) is not None]
        return [fn for fn in found if not self._transaction.is_known_fresh(fn)]

    def classes(self, origins: Origins) -> list[type]:
        """The classes that mattered: what was looked at, what outside objects are, and what these classes are of."""
        found: dict[int, type] = {}
        waiting = [cls for reference in self._types if (cls := reference()) is not None]
        waiting += self.behind
        waiting += [cls for pair in self.judgements.values() for cls in pair]
        for origin in origins.known():
            value = origin.value
            waiting.append(type(value))
            if inherits(type(value), type):
                waiting.append(value)
        waiting += [cls for cls, _ in self.wanted.values()]
        for read in origins.reads():
            if read.meaning == "contents":
                waiting += [type(item) for item in read.value if type(item) not in PLAIN]
        while waiting:
            cls = waiting.pop()
            if id(cls) not in found and not self._transaction.is_known_fresh(cls):
                found[id(cls)] = cls
                waiting.append(type(cls))
        return [cls for cls in found.values() if any(map(may_change, mro_of(cls)))]
