"""What code a front end that sees no reads takes for granted: the classes of the modules, and what the user's functions name."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType
from typing import Any, Final

from dynamo_lite import places
from dynamo_lite.strict.machine.frame import cell_value
from dynamo_lite.strict.machine.slots import MISSING, dict_of, inherits, mro_of
from dynamo_lite.strict.policy.origins import Origins
from dynamo_lite.strict.policy.roots import mentions
from dynamo_lite.strict.policy.seen import Seen
from dynamo_lite.strict.transaction import Transaction

_BUILTINS: Final = vars(builtins)


def visible_code(origins: Origins, modules: Iterable[Any], functions: Iterable[FunctionType]) -> Seen:
    """The functions that these functions name, and so on; their globals that are functions, classes or builtins; methods of the modules."""
    seen = Seen(Transaction())
    met: dict[int, FunctionType] = {}
    names: set[str] = set()
    children = list(modules)
    waiting = [*functions, *(forward for each in children if (forward := _forward(each)) is not None)]
    while waiting:
        function = waiting.pop()
        if id(function) in met:
            continue
        met[id(function)] = function
        seen.entered(function)
        if not places.is_library_file(function.__code__.co_filename):
            names.update(mentions(function.__code__).names)
            waiting += _named_by(seen, function)
    for child in children:
        _shadow_methods(origins, child, names)
    return seen


def _forward(module: Any) -> FunctionType | None:
    found = type(module).forward
    return found if type(found) is FunctionType else None


def _named_by(seen: Seen, function: FunctionType) -> Iterator[FunctionType]:
    namespace = function.__globals__
    for name in mentions(function.__code__).names:
        value = namespace.get(name, MISSING)
        if type(value) is FunctionType or inherits(type(value), type):
            seen.named(namespace, name, value)
            if type(value) is FunctionType:
                yield value
        elif value is MISSING and name in _BUILTINS:
            seen.missing(namespace, name, _BUILTINS[name])
    cells: tuple[CellType, ...] = function.__closure__ or ()
    yield from (value for cell in cells if type(value := cell_value(cell)) is FunctionType)


def _shadow_methods(origins: Origins, module: Any, names: set[str]) -> None:
    """Methods that are named stay those of the class."""
    origin = origins.of(module)
    if origin is not None:
        for cls in mro_of(type(module)):
            for name in names.intersection(dict_of(cls)):
                origins.shadow(origin, name)
