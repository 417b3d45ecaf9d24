"""The handler of every instruction."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from dynamo_lite.strict.decode.fuse import FUSED
from dynamo_lite.strict.decode.instructions import INSTRUCTIONS
from dynamo_lite.strict.machine import (
    attribute_loads,
    build,
    call_instructions,
    coroutines,
    drivers,
    exceptions,
    functions,
    fused,
    fused_operators,
    generators,
    items,
    iteration,
    matching,
    modules,
    names,
    operators,
    stores,
    truth,
)
from dynamo_lite.strict.machine.code import HANDLERS, MAKERS

_MODULES: Final[tuple[ModuleType, ...]] = (
    names, attribute_loads, stores, items, operators, truth, iteration, call_instructions, functions, generators, drivers, coroutines,
    exceptions, build, matching, modules,
)  # fmt: skip


def _handler(op: str) -> Any:
    name = f"{op}_" if op == "raise" else op
    found = [
        vars(module)[name]
        for module in _MODULES
        if getattr(vars(module).get(name), "__module__", None) == module.__name__
    ]
    if len(found) != 1:
        raise LookupError(f"instruction {op!r} has {len(found)} handlers")
    return found[0]


HANDLERS.update(
    {op: _handler(op) for op in INSTRUCTIONS if op not in ("binary_op", "compare", "compare_bool")}
)
_MAKERS: Final = {**vars(fused_operators), **vars(fused)}
MAKERS.update({op: _MAKERS[op] for op in FUSED})
MAKERS["binary_op"] = operators.BINARY_HANDLERS.__getitem__
MAKERS["compare"] = MAKERS["compare_bool"] = operators.COMPARE_HANDLERS.__getitem__
