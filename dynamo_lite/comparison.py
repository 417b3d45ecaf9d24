"""``compare``: the same model captured in both modes, and by PyTorch where the model is PyTorch's."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from dynamo_lite.capture import export, library_for
from fx_ir.program import ExportedProgram
from fx_ir.structure import same_graph

_PARTS: Final = ("dynamo_lite.strict.capture", "dynamo_lite.nonstrict", "solver.prove")


@dataclass(slots=True)
class Side:
    """One capture: how long it took, and its program or its error."""

    name: str
    seconds: float
    program: Any = None
    error: BaseException | None = None
    nodes: int = 0
    guards: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "seconds": self.seconds,
            "nodes": self.nodes,
            "guards": self.guards,
            "error": None if self.error is None else f"{type(self.error).__name__}: {self.error}",
        }

    def __str__(self) -> str:
        if self.error is not None:
            first = str(self.error).splitlines()[0]
            return f"{self.name:<20} {type(self.error).__name__}: {first}"
        return (
            f"{self.name:<20} {self.seconds * 1e3:9.1f} ms  {self.nodes:5} nodes  {len(self.guards):3} guards"
        )


@dataclass(slots=True)
class Comparison:
    """``differences`` are between our strict and our non-strict graph, one sentence each; empty when they are equal."""

    sides: list[Side]
    differences: list[str]

    @property
    def equal(self) -> bool:
        """True where both of our modes captured and the graphs are equal."""
        return not self.differences and all(side.error is None for side in self.sides[:2])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "equal": self.equal,
            "sides": [side.to_dict() for side in self.sides],
            "differences": self.differences,
        }

    def __str__(self) -> str:
        lines = [str(side) for side in self.sides]
        lines.append(
            "the strict and the non-strict graph are equal" if self.equal else "the two modes differ:"
        )
        lines += [f"  {text}" for text in self.differences]
        return "\n".join(lines)


def compare(
    mod: Any,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
) -> Comparison:
    """Captures in strict and in non-strict mode (and with PyTorch's own two modes, where ``mod`` is PyTorch's) and compares.

    A mode that fails is a :class:`Side` with its error; nothing is raised for it. Raises InputError where ``mod`` is no module.
    """
    library = library_for(mod)
    for part in _PARTS:  # what a mode imports at its first use is no part of its time
        import_module(part)
    sides = [
        _ours(name, mod, args, kwargs, dynamic_shapes, strict)
        for name, strict in (("strict", True), ("non-strict", False))
    ]
    if library.name == "torch":
        from dynamo_lite.torch_bridge.peer import torch_sides

        sides += torch_sides(mod, args, kwargs, dynamic_shapes)
    return Comparison(sides, _differences(sides[0], sides[1]))


def _ours(name: str, mod: Any, args: Any, kwargs: Any, shapes: Any, strict: bool) -> Side:
    start = time.perf_counter()
    try:
        program = export(mod, args, kwargs, dynamic_shapes=shapes, strict=strict)
    except Exception as error:
        return Side(name, time.perf_counter() - start, error=error)
    elapsed = time.perf_counter() - start
    nodes = sum(1 for _ in program.graph.nodes)
    return Side(name, elapsed, program, None, nodes, [str(guard) for guard in program.guards])


def _differences(strict: Side, native: Side) -> list[str]:
    if not isinstance(strict.program, ExportedProgram) or not isinstance(native.program, ExportedProgram):
        return (
            ["only one of the modes captured the model"]
            if (strict.error is None) != (native.error is None)
            else []
        )
    found = same_graph(strict.program.graph_module, native.program.graph_module)
    only = sorted({*strict.guards} ^ {*native.guards})
    return found + [f"guard {guard} in one mode only" for guard in only]
