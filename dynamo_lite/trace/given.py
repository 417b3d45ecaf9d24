"""The lists and dicts among a call's arguments: a program cannot change its caller's, so forward may not either.

Of an instance of a registered class (a cache, a dataclass) forward gets a copy, whose changes are its own: they are effects.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dynamo_lite.trace.errors import INPUT_CHANGED
from fx_ir.provenance import Effect
from fx_ir.pytree import TreeSpec, tree_flatten
from fx_ir.pytree_registry import node_def
from solver.errors import Location

CONTAINERS: Final = frozenset({list, tuple, dict, OrderedDict, defaultdict, deque})


class Given:
    """Containers as they were handed to forward. ``names`` are the parameters that positional arguments fill."""

    __slots__ = ("_known", "_names", "_objects")

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = names
        self._known: dict[int, tuple[str, Any, Any]] = {}
        self._objects: list[tuple[str, Any, list[Any], TreeSpec]] = []

    def watch(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Notes what the arguments that forward is about to be given hold."""
        for name, value in (*zip(self._names, args, strict=False), *kwargs.items()):
            self._note(name, value)

    def _note(self, path: str, value: Any) -> None:
        kind = type(value)
        if kind not in CONTAINERS:
            if node_def(kind) is not None:
                self._objects.append((path, value, *tree_flatten(value)))
            return
        if id(value) in self._known:
            return
        if kind is not tuple:
            self._known[id(value)] = (path, value, value.copy())
        for key, item in _items(value):
            self._note(f"{path}[{key!r}]", item)

    def __contains__(self, container: Any) -> bool:
        return id(container) in self._known

    def check(self, where: Location | None, only: Any = None) -> None:
        """Raises ``input-changed`` where a container (``only`` that one, if it is given) holds something else now."""
        rows = self._known.values() if only is None else [self._known[id(only)]]
        for path, now, before in rows:
            if not _same(now, before):
                raise INPUT_CHANGED(type=type(now).__name__, path=path, location=where)

    def effects(self, where: Location | None) -> list[Effect]:
        """One for each object whose copy forward has changed."""
        found: list[Effect] = []
        for path, value, leaves, spec in self._objects:
            now, structure = tree_flatten(value)
            if structure != spec or not _same(now, leaves):
                found.append(
                    Effect("attribute", f"{path}, of which the caller's stays", where, "rolled back")
                )
        return found


def _items(container: Any) -> Iterable[tuple[Any, Any]]:
    found: Iterable[tuple[Any, Any]] = (
        container.items() if isinstance(container, dict) else enumerate(container)
    )
    return found


def _same(now: Any, before: Any) -> bool:
    pairs = zip(_items(now), _items(before), strict=False)
    return len(now) == len(before) and all(k == m and a is b for (k, a), (m, b) in pairs)
