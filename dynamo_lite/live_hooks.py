"""Hooks and overridden forwards of a live module's submodules: what runs beside the code that was captured.

Hooks of the module itself run outside its forward, as ever; those of submodules, and those for all modules, are part of what
was captured, so that a program holds only while they are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

REGISTRIES: Final = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_Hooks = Mapping[Any, Any]


class Hooks:
    """The hooks of a module tree as they were at export; ``everywhere`` are the library's registries for all modules.

    ``forwards``: whether each module's own ``forward`` is looked at as well. Those that a trace saw are among its reads.
    """

    __slots__ = ("_before", "_everywhere", "_forwards")

    def __init__(self, module: Any, everywhere: Sequence[_Hooks], forwards: bool) -> None:
        self._everywhere = tuple(everywhere)
        self._forwards = forwards
        self._before = {name: _content(held) for name, held in self._found(module)}

    def _found(self, module: Any) -> Iterator[tuple[str, Any]]:
        """Every registry and every forward of an instance's own, by name."""
        for index, registry in enumerate(self._everywhere):
            yield f"hooks of all modules ({index})", registry
        for path, child in _descendants(module, "self"):
            state = vars(child)
            for name in REGISTRIES:
                if name in state:
                    yield f"{path}.{name}", state[name]
            if self._forwards:
                yield f"{path}.forward", state.get("forward")

    def problem(self, module: Any) -> str | None:
        """The name of what is not as it was; None if all is."""
        now = {name: _content(held) for name, held in self._found(module)}
        if now == self._before:
            return None
        names = [*now, *self._before]
        return next(name for name in names if now.get(name) != self._before.get(name))

    def bind(self, module: Any) -> Callable[[], bool]:
        """A fast check over the objects that ``module`` consists of now."""
        empty: list[_Hooks] = []
        filled: list[tuple[_Hooks, Any]] = []
        for name, held in self._found(module):
            if isinstance(held, Mapping):
                before = self._before[name]
                if before:
                    filled.append((held, before))
                else:
                    empty.append(held)
        children = _descendants(module, "self") if self._forwards else ()
        spaces = [(vars(child), vars(child).get("forward")) for _, child in children]

        def holds() -> bool:
            return (
                not any(empty)
                and all(space.get("forward") is forward for space, forward in spaces)
                and all(_content(held) == before for held, before in filled)
            )

        return holds


def _content(held: Any) -> Any:
    return tuple(held) if isinstance(held, Mapping) else held


def _descendants(module: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, child in module._modules.items():
        if child is not None:
            yield f"{path}.{name}", child
            yield from _descendants(child, f"{path}.{name}")
