"""The roots that origins start from: the module tree, the closure and the globals of its forward."""

from __future__ import annotations

import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from dynamo_lite import places
from dynamo_lite.library import TensorLibrary
from dynamo_lite.strict.machine.frame import NULL, cell_value
from dynamo_lite.strict.machine.slots import inherits
from dynamo_lite.strict.policy.contents import PLAIN
from dynamo_lite.strict.policy.origins import Origin, Origins, StepKind

_CONTAINERS: Final = (tuple, list, dict, set, frozenset, deque, bytearray, array, np.ndarray, np.generic)
_CODE: Final = frozenset(
    {FunctionType, BuiltinFunctionType, ModuleType, type, type(None)}
)  # most globals, and none
_DEPTH: Final = 2  # how far objects held by objects are followed


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
    for owner in placed.values():
        registry = origins.place(owner.value._modules, owner, "attr", "_modules")
        for key, child in registry.value.items():
            if child is not None:
                origins.read_from(registry, "item", key, child)  # one module under two names
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

    def take(root: Origin, kind: StepKind, name: str, value: Any) -> None:
        if type(value) in PLAIN or isinstance(value, _CONTAINERS):
            origins.read_from(root, kind, name, value)

    named = [*functions]
    for function in named:
        space = function.__globals__
        for name in mentions(function.__code__).names:
            if type(value := space.get(name)) not in _CODE:
                take(globals_root(origins, space), "item", name, value)
    _assume_cells(origins, named, take)
    _assume_of_modules(library, origins, module, named)


def assume_named(
    library: TensorLibrary, origins: Origins, module: Any, functions: Iterable[FunctionType]
) -> None:
    """The same, further: what the user's functions name that these call; tensors, and what objects hold."""
    named = Named(functions)
    names = {name for function in named.functions for name in mentions(function.__code__).names}

    def take(root: Origin, kind: StepKind, name: str, value: Any) -> None:
        if type(value) in PLAIN or isinstance(value, _CONTAINERS) or library.is_tensor(value):
            origins.read_from(root, kind, name, value)
        elif _is_simple_object(value) and not origins.is_outside(value):
            origins.read_from(root, kind, name, value)
            _assume_attributes(library.is_tensor, origins, value, names, set(), _DEPTH)

    for space, wanted in named.spaces.values():
        for name in wanted:
            if type(value := space.get(name)) not in _CODE:
                take(globals_root(origins, space), "item", name, value)
    _assume_cells(origins, named.functions, take)
    _assume_of_modules(library, origins, module, named.functions)


def _assume_cells(origins: Origins, functions: Iterable[FunctionType], take: Callable[..., None]) -> None:
    for function in functions:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = cell_value(cell)
            if value is not NULL and (value is None or type(value) not in _CODE):
                take(origins.root(f"closure {name}", cell), "cell", name, value)


def _assume_of_modules(
    library: TensorLibrary, origins: Origins, module: Any, functions: Iterable[FunctionType]
) -> None:
    """What the modules of the tree hold under names that functions mention."""
    found = [mentions(function.__code__) for function in functions]
    asked = {name for mentioned in found for name in mentioned.asked}
    names = {"training", *asked}.union(*(mentioned.names for mentioned in found))
    whole = any(mentioned.whole for mentioned in found)  # whether namespaces are read as a whole
    for _, child in library.named_modules(module):
        _assume_attributes(_never, origins, child, names, asked, _DEPTH)
        owner = origins.of(child)
        if whole and owner is not None:
            origins.assume_keys(origins.place(vars(child), owner, "attr", "__dict__"))


class Named:
    """What functions name, and the user's functions that they name, as globals, in cells or in the user's modules, and so on."""

    def __init__(self, functions: Iterable[FunctionType]) -> None:
        self.functions: list[FunctionType] = []
        self.spaces: dict[
            int, tuple[dict[str, Any], dict[str, None]]
        ] = {}  # namespaces and the names looked up there
        self._inner: dict[
            int, list[dict[str, Any]]
        ] = {}  # the namespaces of the user's modules that a namespace names
        self._waiting = [*functions][::-1]
        met: set[int] = set()
        while self._waiting:
            function = self._waiting.pop()
            if id(function) not in met:
                met.add(id(function))
                self.functions.append(function)
                self._look(function.__globals__, mentions(function.__code__).names)
                for cell in function.__closure__ or ():
                    self._follow(cell_value(cell))

    def _look(self, space: dict[str, Any], names: Iterable[str]) -> None:
        known = self.spaces.setdefault(id(space), (space, {}))[1]
        inner = self._inner.setdefault(id(space), [])
        new = [name for name in names if name not in known]
        known.update(dict.fromkeys(new))
        for name in new:
            value = space.get(name)
            self._follow(value)
            if type(value) is ModuleType and _is_users(vars(value).get("__file__")):
                inner.append(vars(value))
                self._look_within(vars(value), known)
        for each in inner:
            self._look_within(each, new)

    def _look_within(self, space: dict[str, Any], names: Iterable[str]) -> None:
        """What is named may be an attribute of a module."""
        known = self.spaces.setdefault(id(space), (space, {}))[1]
        for name in [name for name in names if name in space and name not in known]:
            known[name] = None
            self._follow(space[name])

    def _follow(self, value: Any) -> None:
        if type(value) is FunctionType and _is_users(value.__code__.co_filename):
            self._waiting.append(value)


def _is_users(file: Any) -> bool:
    return type(file) is str and not places.is_library_file(file)


def _never(value: Any) -> bool:
    """What a module itself holds of tensors is state, which is read at each call."""
    return False


def _assume_attributes(
    is_tensor: Callable[[Any], bool],
    origins: Origins,
    owner: Any,
    names: set[str],
    asked: set[str],
    depth: int,
) -> None:
    """Attributes of an object that are mentioned: plain values, containers of them, and the same of objects they hold.

    An object that a module holds goes on to lack what it lacks of the names that are ``asked`` for.
    """
    state = object.__getattribute__(owner, "__dict__")
    origin = origins.of(owner)
    if origin is not None and depth < _DEPTH:
        for name in sorted(asked.difference(state)):
            origins.absent(origin, name)
    for name in [name for name in state if name in names]:
        value = state[name]
        if type(value) in PLAIN or isinstance(value, _CONTAINERS) or is_tensor(value):
            origins.read(owner, "attr", name, value)
        elif depth and _is_simple_object(value):
            known = origins.is_outside(value)
            origins.read(owner, "attr", name, value)
            if not known:
                _assume_attributes(is_tensor, origins, value, names, asked, depth - 1)


def _is_simple_object(value: Any) -> bool:
    """An instance of a user's class with a dictionary: a configuration object, say."""
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    try:
        return type(object.__getattribute__(value, "__dict__")) is dict
    except AttributeError:
        return False


def globals_root(origins: Origins, namespace: dict[str, Any]) -> Origin:
    """The origin of a module's globals."""
    found = origins.of(namespace)
    if found is None:
        found = origins.root(f"global {namespace.get('__file__', '') or ''}:", namespace)
    return found


class Mentioned(NamedTuple):
    """What a function's code and the code inside it name."""

    names: tuple[str, ...]
    asked: frozenset[str]  # attributes that it may only ask about
    whole: bool  # whether it reads namespaces as a whole


_MENTIONED: Final[dict[int, tuple[CodeType, Mentioned]]] = {}


def mentions(code: CodeType) -> Mentioned:
    """What a code object names, found once."""
    known = _MENTIONED.get(id(code))
    if known is None:
        names = tuple(dict.fromkeys(_names_in(code)))
        found = Mentioned(names, frozenset(_asked_in(code)), not {"__dict__", "vars"}.isdisjoint(names))
        known = _MENTIONED[id(code)] = (code, found)
    return known[1]


def _asked_in(code: CodeType) -> Iterable[str]:
    """Names of attributes that a function may only ask about: by ``hasattr`` and ``getattr``, or catching AttributeError."""
    if "AttributeError" in code.co_names:
        yield from code.co_names
    if "getattr" in code.co_names or "hasattr" in code.co_names:
        yield from (const for const in code.co_consts if isinstance(const, str) and const.isidentifier())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _asked_in(constant)


def place_import(origins: Origins, module: Any, asked: str) -> None:
    """Gives a module that forward imports its origin: what is read of it, and that it is the one loaded, are assumptions."""
    own = None
    if inherits(type(module), ModuleType):
        own = object.__getattribute__(module, "__dict__").get("__name__")
    for name in (own, asked, asked.partition(".")[0]):
        if type(name) is str and sys.modules.get(name) is module:
            origins.place(module, origins.root("sys.modules", sys.modules), "item", name)
            return


def _names_in(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
