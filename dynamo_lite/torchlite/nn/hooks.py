"""Hooks of a module: dictionaries of callables, removable through a handle."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any, Final

Hooks = MutableMapping[int, Any]

GLOBAL_FORWARD_PRE: Final[Hooks] = OrderedDict()
GLOBAL_FORWARD: Final[Hooks] = OrderedDict()

_NUMBERS: Final = itertools.count()


class RemovableHandle:
    """Takes a hook away again; usable as a context manager."""

    def __init__(self, *tables: Hooks) -> None:
        self.id = next(_NUMBERS)
        self._tables = tables

    def remove(self) -> None:
        for table in self._tables:
            table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class Hook:
    """One hook and how it wants to be called."""

    __slots__ = ("always", "call", "with_kwargs")

    def __init__(self, call: Callable[..., Any], with_kwargs: bool = False, always: bool = False) -> None:
        self.call = call
        self.with_kwargs = with_kwargs
        self.always = always


def add(table: Hooks, hook: Any, prepend: bool = False) -> RemovableHandle:
    """Enters ``hook`` last (or first) and returns its handle."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend and isinstance(table, OrderedDict):
        table.move_to_end(handle.id, last=False)
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before the forward of every module."""
    return add(GLOBAL_FORWARD_PRE, Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args, output)`` after the forward of every module."""
    return add(GLOBAL_FORWARD, Hook(hook, with_kwargs, always_call))


def run_pre(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as the forward pre-hooks leave them."""
    for table in (GLOBAL_FORWARD_PRE, module._forward_pre_hooks):
        for hook in tuple(table.values()):
            if hook.with_kwargs:
                changed = hook.call(module, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook.call(module, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def run_post(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
    """The result as the forward hooks leave it."""
    for table in (GLOBAL_FORWARD, module._forward_hooks):
        for hook in tuple(table.values()):
            if hook.with_kwargs:
                changed = hook.call(module, args, kwargs, result)
            else:
                changed = hook.call(module, args, result)
            if changed is not None:
                result = changed
    return result


def run_always(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Calls, after a forward that raised, the hooks that asked for it; their own errors do not hide the first."""
    for table in (GLOBAL_FORWARD, module._forward_hooks):
        for hook in tuple(table.values()):
            if hook.always:
                arguments = (args, kwargs, None) if hook.with_kwargs else (args, None)
                try:
                    hook.call(module, *arguments)
                except Exception:
                    continue
