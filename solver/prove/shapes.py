"""A counterexample as the user sees it: sizes by their sources, and whole shapes of the inputs that have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from solver.expr import Value
from solver.prove.engine import Engine

_DIMENSION: Final = re.compile(r"(?P<input>.+)\.(?:shape|size)(?P<open>[\[(])(?P<dim>\d{1,2})[\])]\Z")
_OPEN: Final = "?"


def sizes(engine: Engine, values: Mapping[str, Value]) -> dict[str, str]:
    """Each value by the source of its symbol; symbols that only the specification has are left out."""
    symbols = engine.world.problem.symbols
    shown = [(symbols[name], name, value) for name, value in values.items()]
    return {s.source or name: str(value) for s, name, value in shown if s.kind != "phantom"}


def input_shapes(engine: Engine, values: Mapping[str, Value]) -> dict[str, str]:
    """``{"x": "(1, ?, 320)"}`` for each input that a value is a size of.

    Its other sizes take values that the specification admits; ``?`` is a size that the problem does not speak of,
    which is as in the example.
    """
    inputs: dict[str, dict[int, str]] = {}
    for name, symbol in engine.world.problem.symbols.items():
        match = _DIMENSION.match(symbol.source or "")
        if match:
            inputs.setdefault(match["input"], {})[int(match["dim"])] = name
    found: dict[str, str] = {}
    for place, dims in inputs.items():
        if any(name in values for name in dims.values()):
            parts = [_size(engine, dims.get(dim), values) for dim in range(max(dims) + 1)]
            found[place] = f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return found


def _size(engine: Engine, name: str | None, values: Mapping[str, Value]) -> str:
    if name is None:
        return _OPEN
    if name in values:
        return str(values[name])
    group = frozenset((engine.world.group_of(name),))
    point = next(iter(engine.sampler(group)), None)  # groups do not influence each other
    return _OPEN if point is None else str(point.assignment[name])
