"""The undo log and the effect ledger of a trace.

Every write that the machine announces saves what it will overwrite, once per place; ``rollback`` puts it all back, newest
first. Entries are made for all writes alike. Whether a place is *outside* (existed before) or *fresh* matters for the
ledger alone and is decided when the ledger is read: beginning a transaction freezes the garbage collector's objects
(``gc.freeze``, which only relinks lists), so what it tracks outside the permanent generation afterwards is fresh. Objects
that the collector does not track (dicts of plain values, bytearrays, arrays) are fresh if they were noted when made.
"""

from __future__ import annotations

import array
import contextlib
import gc
import operator
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from dynamo_lite import collector
from dynamo_lite.strict.machine.slots import name_of
from dynamo_lite.strict.undo import SAVERS, Restore, namespace_of, save_dict, save_key
from fx_ir.provenance import Became, Effect, EffectKind
from solver.errors import Location

_KINDS: Final[dict[str, EffectKind]] = {
    "attr": "attribute",
    "item": "item",
    "global": "global",
    "deref": "cell",
    "content": "container",
}
_UNTRACKED: Final = frozenset(map(id, (dict, bytearray, array.array, types.CellType)))


@dataclass(slots=True)
class _Entry:
    obj: Any
    kind: str
    key: Any
    effect: Effect
    untracked: bool
    whole: bool  # whether a container is put back as a whole
    restore: Restore


@dataclass(slots=True)
class Rehearsal:
    """What a run that was undone again did: its writes as ``(kind, object, key)``, and its notes."""

    writes: list[tuple[str, Any, Any]] = field(default_factory=list)
    notes: list[Effect] = field(default_factory=list)


class Transaction:
    """Use: ``with Transaction(locate) as transaction: …``; leaving it rolls back, however it is left."""

    def __init__(self, locate: Callable[[], Location | None] = lambda: None) -> None:
        self._locate = locate
        self._entries: list[_Entry] = []
        self._seen: dict[tuple[int, Any], _Entry] = {}
        self._outer: list[dict[tuple[int, Any], _Entry]] = []
        self._whole: dict[int, Any] = {}  # dicts that are saved as a whole
        self._touched: set[int] = set()  # identities of what was written, and perhaps more
        self._made: dict[int, Any] = {}
        self._marked: set[int] = set()  # identities of functions and classes that were made
        self._notes: list[Effect] = []
        self._known: set[int] = set()
        self._kept: list[Any] = []

    def __enter__(self) -> Transaction:
        # where objects are frozen already they stay so, and the slow way is taken: all identities are kept
        if not collector.hold(self):
            self._kept = gc.get_objects()  # alive, so that no fresh object is given an identity of theirs
            self._known = set(map(id, self._kept))
        return self

    def __exit__(
        self, kind: object = None, error: BaseException | None = None, traceback: object = None
    ) -> None:
        try:
            self._let_go(error)
            self.rollback()
        finally:
            self._kept = []
            collector.release(self)

    def close(self) -> None:
        """Does what an interrupt has kept ``__exit__`` from doing."""
        Transaction.__exit__(self)

    def _let_go(self, error: BaseException | None) -> None:
        """An exception from outside that leaves the transaction does so with its traceback and what it happened beside."""
        leaving: set[int] = set()
        while error is not None and id(error) not in leaving:
            leaving.add(id(error))
            error = error.__cause__ or error.__context__
        if leaving:
            self._entries = [e for e in self._entries if e.kind != "content" or id(e.obj) not in leaving]

    # --- recording

    def write(self, kind: str, obj: Any, key: Any) -> None:
        """Saves what a write of this kind is about to overwrite (kinds as in ``Policy.before_write``)."""
        mark = _mark(kind, obj, key)
        if mark in self._seen:
            return
        whole, restore = self._save(kind, obj, key)
        effect = Effect(_KINDS[kind], _describe(kind, obj, key), self._locate(), "rolled back")
        entry = _Entry(obj, kind, key, effect, not gc.is_tracked(obj), whole, restore)
        self._entries.append(entry)
        self._seen[mark] = entry
        self._touched.add(id(obj))

    def _save(self, kind: str, obj: Any, key: Any) -> tuple[bool, Restore]:
        """Each dict is saved once: as a whole before anything of it is written, or else by the keys."""
        namespace, by_key = namespace_of(kind, obj, key)
        if namespace is None:
            return kind in ("item", "content"), SAVERS[kind](obj, key)
        if id(namespace) in self._whole:
            return False, _nothing
        if by_key:
            return False, save_key(namespace, key)
        self._whole[id(namespace)] = namespace
        return True, save_dict(namespace)

    def note(self, kind: EffectKind, what: str, became: Became) -> None:
        """Enters in the ledger what has nothing to undo: something skipped, burned in or assumed."""
        self._notes.append(Effect(kind, what, self._locate(), became))

    def made(self, value: Any) -> None:
        """Notes a fresh object of a kind that the collector may not track."""
        if id(type(value)) in _UNTRACKED:
            self._made[id(value)] = value

    def mark(self, code: Any) -> None:
        """Notes a function or a class that was made."""
        self._marked.add(id(code))

    def is_known_fresh(self, obj: Any) -> bool:
        """Whether the object was noted when it was made: of functions, classes and what :meth:`made` notes, all are."""
        return id(obj) in self._marked or id(obj) in self._made

    def touched(self, obj: Any) -> bool:
        """Whether something of the object may have been written; False is certain."""
        return id(obj) in self._touched

    def entry(self, obj: Any, kind: str, key: Any) -> Effect | None:
        """The ledger's entry for a place, if it was written."""
        if id(obj) not in self._touched:
            return None
        mark = _mark(kind, obj, key)
        found = self._seen.get(mark)
        for seen in self._outer if found is None else ():
            found = found or seen.get(mark)
        return None if found is None else found.effect

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[Rehearsal]:
        """A transaction of its own inside this one: what happens in it is undone at its end.

        The object given tells afterwards what was written and noted; :meth:`announce` then makes room for the same again.
        """
        outer = self._entries, self._seen, self._notes, self._whole
        done = Rehearsal()
        self._entries, self._seen, self._notes, self._whole = [], {}, [], {}
        self._outer.append(outer[1])
        try:
            yield done
        finally:
            done.writes = [(entry.kind, entry.obj, entry.key) for entry in self._entries]
            done.notes = self._notes
            try:
                self.rollback()
            finally:
                self._outer.pop()
                self._entries, self._seen, self._notes, self._whole = outer

    def announce(self, done: Rehearsal) -> None:
        """Saves what a rehearsal wrote: it is about to happen in earnest."""
        for kind, obj, key in done.writes:
            self.write(kind, obj, key)

    # --- reading

    def is_fresh(self, obj: Any) -> bool:
        """Whether the object was made inside the transaction."""
        return bool(self._fresh_among({id(obj)})) or id(obj) in self._made

    def _fresh_among(self, wanted: set[int]) -> set[int]:
        """Those of the identities that belong to objects which the collector tracks since the transaction began."""
        return wanted.intersection(map(id, gc.get_objects())) - self._known

    def _outside(self) -> list[_Entry]:
        """The entries of objects that existed before.

        A container that the collector did not track when it was first written (an empty dict) may be tracked since, and
        look new: such a one is fresh only if it was noted when made.
        """
        candidates = [entry for entry in self._entries if id(entry.obj) not in self._made]
        fresh = self._fresh_among({id(entry.obj) for entry in candidates}) if candidates else ()
        return [entry for entry in candidates if entry.untracked or id(entry.obj) not in fresh]

    def notes(self) -> list[Effect]:
        """What has nothing to undo, in order."""
        return list(self._notes)

    def outside_writes(self) -> list[tuple[Any, str, Any, Effect]]:
        """The outside objects that were written, each with the kind and the key of the write, and its effect.

        In the order of their first write. Read it before leaving.
        """
        return [(entry.obj, entry.kind, entry.key, entry.effect) for entry in self._outside()]

    # --- undoing

    def rollback(self) -> None:
        """Puts everything back, newest first. An interrupt or error in between is raised after all is done.

        Containers come before single places, which may have been saved earlier. Putting keys back may run their ``__hash__``; what that
        writes is put back by a second round, in which the containers are as they were.
        """
        problem: BaseException | None = None
        for _ in range(2):
            waiting = sorted(self._entries, key=_is_whole)
            while waiting:
                try:
                    waiting[-1].restore()
                    waiting.pop()
                except KeyboardInterrupt as error:
                    problem = error  # restoring again does no harm
                except BaseException as error:
                    problem = problem or error
                    waiting.pop()
        self._entries.clear()
        self._seen.clear()
        self._whole.clear()
        if problem is not None:
            raise problem


_is_whole: Final = operator.attrgetter("whole")


def _nothing() -> None:
    """A place that is put back with another."""


def _mark(kind: str, obj: Any, key: Any) -> tuple[int, Any]:
    """Identifies a place: containers are saved whole, the rest by name."""
    return id(obj), "content" if kind in ("item", "content") else (kind, key)


def _describe(kind: str, obj: Any, key: Any) -> str:
    """What is written, without asking the object."""
    if kind == "global":
        return f"global {key}"
    if kind == "deref":
        return f"closure variable {key}"
    if kind == "attr":
        owner = name_of(obj if issubclass(type(obj), type) else type(obj))
        return f"{owner}.{key}"
    return f"{name_of(type(obj))} contents"
