"""The roots that origins start from: the module tree, the closure and the globals of its forward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

from dynamo_lite.library import TensorLibrary
from dynamo_lite.strict.policy.origins import PLAIN, Origin, Origins


def place_module(library: TensorLibrary, origins: Origins, module: Any) -> dict[int, tuple[str, str]]:
    """Gives every submodule its origin; returns the path and class name of each by identity.

    The classes of the modules and the names of their children are assumptions: another submodule runs other code.
    """
    root = origins.root("self", module)
    placed: dict[str, Origin] = {"": root}
    paths = {id(module): ("", type(module).__name__)}
    origins.assume_class(root)
    for name, child in library.named_modules(module):
        if not name:
            continue
        paths[id(child)] = (name, type(child).__name__)
        parent, _, key = name.rpartition(".")
        owner = placed[parent]
        registry = origins.place(owner.value._modules, owner, "attr", "_modules")
        placed[name] = origins.place(child, registry, "item", key)
        origins.assume_keys(registry)
        origins.assume_class(placed[name])
    return paths


def place_closure(origins: Origins, forward: Callable[..., Any]) -> None:
    """Gives the cells of forward their origins."""
    plain = getattr(forward, "__func__", forward)
    if isinstance(plain, FunctionType):
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
            origins.root(f"closure {name}", cell)


def assume_visible(
    library: TensorLibrary, origins: Origins, module: Any, functions: Iterable[FunctionType]
) -> None:
    """Takes for granted what these functions name: attributes of the modules, globals and closure variables.

    For a front end that does not see the reads themselves: what is assumed may be more than what was read.
    """
    names: set[str] = {"training"}
    for function in functions:
        mentioned = list(_names_in(function.__code__))
        names.update(mentioned)
        _assume_globals(origins, function, mentioned)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if type(value) in PLAIN:
                origins.read_from(origins.root(f"closure {name}", cell), "cell", name, value)
    for _, child in library.named_modules(module):
        state = vars(child)
        for name in names.intersection(state):
            if type(state[name]) in PLAIN:
                origins.read(child, "attr", name, state[name])


def _assume_globals(origins: Origins, function: FunctionType, names: Iterable[str]) -> None:
    namespace = function.__globals__
    for name in names:
        value = namespace.get(name)
        if type(value) in PLAIN and value is not None:
            origins.read_from(globals_root(origins, namespace), "item", name, value)


def globals_root(origins: Origins, namespace: dict[str, Any]) -> Origin:
    """The origin of a module's globals."""
    found = origins.of(namespace)
    if found is None:
        found = origins.root(f"global {namespace.get('__file__', '') or ''}:", namespace)
    return found


def _names_in(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
