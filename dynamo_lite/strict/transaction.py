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
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dynamo_lite.strict.machine.slots import MISSING, dict_of, lookup, mro_of, plain_dict
from fx_ir.provenance import Became, Effect, EffectKind
from solver.errors import Location

_KINDS: Final[dict[str, EffectKind]] = {
    "attr": "attribute",
    "item": "item",
    "global": "global",
    "deref": "cell",
    "content": "container",
}
_FROZEN_AT_START: Final = gc.get_freeze_count()  # some versions of CPython start with frozen objects
_UNTRACKED: Final = (dict, bytearray, array.array, types.CellType)


@dataclass(slots=True)
class _Entry:
    obj: Any
    kind: str
    key: Any
    effect: Effect
    untracked: bool
    restore: Callable[[], None]


class Transaction:
    """Use: ``with Transaction(locate) as transaction: …``; leaving it rolls back, however it is left."""

    def __init__(self, locate: Callable[[], Location | None] = lambda: None) -> None:
        self._locate = locate
        self._entries: list[_Entry] = []
        self._seen: dict[tuple[int, Any], _Entry] = {}
        self._made: dict[int, Any] = {}
        self._notes: list[Effect] = []
        self._froze = False
        self._known: set[int] = set()

    def __enter__(self) -> Transaction:
        # where the program froze objects itself they stay so, and the slow way is taken: all identities are kept
        self._froze = gc.get_freeze_count() <= _FROZEN_AT_START
        if self._froze:
            gc.freeze()
        else:
            self._known = {id(each) for each in gc.get_objects()}
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.rollback()
        finally:
            if self._froze:
                gc.unfreeze()
                self._froze = False

    # --- recording

    def write(self, kind: str, obj: Any, key: Any) -> None:
        """Saves what a write of this kind is about to overwrite (kinds as in ``Policy.before_write``)."""
        mark = _mark(kind, obj, key)
        if mark in self._seen:
            return
        restore = _RESTORERS[kind](obj, key)
        effect = Effect(_KINDS[kind], _describe(kind, obj, key), self._locate(), "rolled back")
        entry = _Entry(obj, kind, key, effect, not gc.is_tracked(obj), restore)
        self._entries.append(entry)
        self._seen[mark] = entry

    def note(self, kind: EffectKind, what: str, became: Became) -> None:
        """Enters in the ledger what has nothing to undo: something skipped, burned in or assumed."""
        self._notes.append(Effect(kind, what, self._locate(), became))

    def made(self, value: Any) -> None:
        """Notes a fresh object of a kind that the collector may not track."""
        if type(value) in _UNTRACKED:
            self._made[id(value)] = value

    def entry(self, obj: Any, kind: str, key: Any) -> Effect | None:
        """The ledger's entry for a place, if it was written."""
        found = self._seen.get(_mark(kind, obj, key))
        return None if found is None else found.effect

    # --- reading

    def is_fresh(self, obj: Any) -> bool:
        """Whether the object was made inside the transaction."""
        return id(obj) in self._fresh_ids() or id(obj) in self._made

    def _fresh_ids(self) -> set[int]:
        return {id(each) for each in gc.get_objects()} - self._known

    def _outside(self) -> list[_Entry]:
        """The entries of objects that existed before.

        A container that the collector did not track when it was first written (an empty dict) may be tracked since, and
        look new: such a one is fresh only if it was noted when made.
        """
        fresh = self._fresh_ids()
        return [
            entry
            for entry in self._entries
            if id(entry.obj) not in self._made and (entry.untracked or id(entry.obj) not in fresh)
        ]

    def ledger(self) -> list[Effect]:
        """Effects on outside objects, in the order of their first write, then the notes. Read it before leaving."""
        return [entry.effect for entry in self._outside()] + self._notes

    def outside_writes(self) -> list[tuple[Any, str, Any, Effect]]:
        """The outside objects that were written, each with the kind and the key of the write, and its effect."""
        return [(entry.obj, entry.kind, entry.key, entry.effect) for entry in self._outside()]

    # --- undoing

    def rollback(self) -> None:
        """Puts everything back, newest first. An interrupt or error in between is raised after all is done."""
        problem: BaseException | None = None
        while self._entries:
            entry = self._entries[-1]
            try:
                entry.restore()
                self._entries.pop()
            except KeyboardInterrupt as error:
                problem = error  # restoring again does no harm
            except BaseException as error:
                problem = problem or error
                self._entries.pop()
        self._seen.clear()
        if problem is not None:
            raise problem


def _mark(kind: str, obj: Any, key: Any) -> tuple[int, Any]:
    """Identifies a place: containers are saved whole, the rest by name."""
    return id(obj), "content" if kind in ("item", "content") else (kind, key)


# --- saving: each returns what restores


def _save_mapping_key(mapping: Any, key: Any) -> Callable[[], None]:
    old = mapping.get(key, MISSING)

    def restore() -> None:
        if old is MISSING:
            mapping.pop(key, None)
        else:
            mapping[key] = old

    return restore


def _save_cell(cell: Any, key: Any) -> Callable[[], None]:
    try:
        old = cell.cell_contents
    except ValueError:
        old = MISSING

    def restore() -> None:
        if old is not MISSING:
            cell.cell_contents = old
            return
        with contextlib.suppress(ValueError):
            del cell.cell_contents

    return restore


def _save_attribute(obj: Any, name: str) -> Callable[[], None]:
    kind = type(obj)
    if issubclass(kind, type):
        return _save_class_attribute(obj, name)
    attribute = lookup(kind, name)
    if name == "__dict__" and type(attribute) is types.GetSetDescriptorType:
        return _save_dict_object(obj, attribute)
    if attribute is not MISSING and lookup(type(attribute), "__set__") is not MISSING:
        return _save_descriptor(obj, attribute)
    namespace = plain_dict(obj)
    if namespace is None:
        return lambda: None  # the write itself will fail
    return _save_dict(namespace, None)


def _save_class_attribute(cls: Any, name: str) -> Callable[[], None]:
    own = dict_of(cls)
    # names such as __name__ are kept by the class itself, not in its dictionary
    described = lookup(type(cls), name)
    in_type = type(described) is types.GetSetDescriptorType and name not in own
    try:
        old = type.__getattribute__(cls, name) if in_type else own.get(name, MISSING)
    except AttributeError:
        old = MISSING

    def restore() -> None:
        if old is not MISSING:
            type.__setattr__(cls, name, old)
        elif in_type or name in dict_of(cls):
            with contextlib.suppress(AttributeError):
                type.__delattr__(cls, name)

    return restore


def _save_dict_object(obj: Any, getset: Any) -> Callable[[], None]:
    namespace = getset.__get__(obj)
    content = _save_dict(namespace, None)

    def restore() -> None:
        getset.__set__(obj, namespace)
        content()

    return restore


def _save_descriptor(obj: Any, descriptor: Any) -> Callable[[], None]:
    """A slot or another attribute kept by C (``__class__``, ``__defaults__``)."""
    kind = type(descriptor)
    try:
        old = kind.__get__(descriptor, obj, type(obj))
    except AttributeError:
        old = MISSING

    def restore() -> None:
        if old is not MISSING:
            kind.__set__(descriptor, obj, old)
            return
        with contextlib.suppress(AttributeError):
            kind.__delete__(descriptor, obj)

    return restore


def _save_content(obj: Any, key: Any) -> Callable[[], None]:
    """A whole container, at its first write."""
    for cls, save in _CONTENT:
        if cls in mro_of(type(obj)):
            return save(obj, key)
    return lambda: None  # not a container that C keeps: its own attributes are announced one by one


def _save_list(obj: Any, key: Any) -> Callable[[], None]:
    old = list.copy(obj)
    return lambda: list.__setitem__(obj, slice(None), old)


def _save_dict(obj: Any, key: Any) -> Callable[[], None]:
    old = dict.copy(obj)

    def restore() -> None:
        if not _same_dict(obj, old):
            dict.clear(obj)
            dict.update(obj, old)

    return restore


def _same_dict(left: Any, right: Any) -> bool:
    """The same keys and values, by identity and in the same order: then nothing is put back."""
    if len(left) != len(right):
        return False
    pairs = zip(dict.items(left), dict.items(right), strict=True)
    return all(a is b and x is y for (a, x), (b, y) in pairs)


def _save_ordered(obj: Any, key: Any) -> Callable[[], None]:
    old = list(OrderedDict.items(obj))

    def restore() -> None:
        OrderedDict.clear(obj)
        for each, value in old:
            OrderedDict.__setitem__(obj, each, value)

    return restore


def _save_set(obj: Any, key: Any) -> Callable[[], None]:
    old = set.copy(obj)

    def restore() -> None:
        set.clear(obj)
        set.update(obj, old)

    return restore


def _save_deque(obj: Any, key: Any) -> Callable[[], None]:
    old = tuple(deque.__iter__(obj))

    def restore() -> None:
        deque.clear(obj)
        deque.extend(obj, old)

    return restore


def _save_bytearray(obj: Any, key: Any) -> Callable[[], None]:
    old = bytes(obj)
    return lambda: bytearray.__setitem__(obj, slice(None), old)


def _save_array(obj: Any, key: Any) -> Callable[[], None]:
    old = obj[:]

    def restore() -> None:
        del obj[:]
        obj.extend(old)

    return restore


_CONTENT: Final[tuple[tuple[type, Callable[[Any, Any], Callable[[], None]]], ...]] = (
    (list, _save_list),
    (OrderedDict, _save_ordered),
    (dict, _save_dict),
    (set, _save_set),
    (deque, _save_deque),
    (bytearray, _save_bytearray),
    (array.array, _save_array),
)
_RESTORERS: Final[dict[str, Callable[[Any, Any], Callable[[], None]]]] = {
    "attr": _save_attribute,
    "global": _save_mapping_key,
    "deref": _save_cell,
    "item": _save_content,
    "content": _save_content,
}


def _describe(kind: str, obj: Any, key: Any) -> str:
    """What is written, without asking the object."""
    if kind == "global":
        return f"global {key}"
    if kind == "deref":
        return f"closure variable {key}"
    if kind == "attr":
        owner = type.__getattribute__(obj, "__name__") if issubclass(type(obj), type) else type(obj).__name__
        return f"{owner}.{key}"
    return f"{type(obj).__name__} contents"


# --- C methods that change their object


MUTATORS: Final[dict[type, frozenset[str]]] = {
    list: frozenset(
        [
            "append",
            "extend",
            "insert",
            "remove",
            "pop",
            "clear",
            "sort",
            "reverse",
            "__setitem__",
            "__delitem__",
            "__iadd__",
            "__imul__",
            "__init__",
        ]
    ),
    dict: frozenset(
        [
            "update",
            "setdefault",
            "pop",
            "popitem",
            "clear",
            "__setitem__",
            "__delitem__",
            "__ior__",
            "__init__",
        ]
    ),
    OrderedDict: frozenset(
        [
            "move_to_end",
            "update",
            "setdefault",
            "pop",
            "popitem",
            "clear",
            "__setitem__",
            "__delitem__",
            "__ior__",
        ]
    ),
    set: frozenset(
        [
            "add",
            "update",
            "remove",
            "discard",
            "pop",
            "clear",
            "intersection_update",
            "difference_update",
            "symmetric_difference_update",
            "__ior__",
            "__iand__",
            "__isub__",
            "__ixor__",
            "__init__",
        ]
    ),
    deque: frozenset(
        [
            "append",
            "appendleft",
            "extend",
            "extendleft",
            "insert",
            "remove",
            "pop",
            "popleft",
            "clear",
            "rotate",
            "reverse",
            "__setitem__",
            "__delitem__",
            "__iadd__",
            "__imul__",
            "__init__",
        ]
    ),
    bytearray: frozenset(
        [
            "append",
            "extend",
            "insert",
            "remove",
            "pop",
            "clear",
            "reverse",
            "__setitem__",
            "__delitem__",
            "__iadd__",
            "__imul__",
            "__init__",
        ]
    ),
    array.array: frozenset(
        [
            "append",
            "extend",
            "fromlist",
            "frombytes",
            "fromfile",
            "insert",
            "remove",
            "pop",
            "reverse",
            "byteswap",
            "__setitem__",
            "__delitem__",
            "__iadd__",
            "__imul__",
        ]
    ),
}


def mutated(fn: Any, args: tuple[Any, ...]) -> Any:
    """The container that a call of a C method will change, or MISSING."""
    name = fn.__name__ if type(fn) in _METHODS else None
    if name is None:
        return MISSING
    if type(fn) in (types.MethodDescriptorType, types.WrapperDescriptorType):
        owner = args[0] if args else MISSING
    else:
        owner = fn.__self__
    for cls, names in MUTATORS.items():
        if name in names and cls in mro_of(type(owner)):
            return owner
    return MISSING


_METHODS: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
)
