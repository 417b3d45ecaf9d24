"""Why something in a program is as it is: the assumptions, conditions and guards that speak of it, with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fx_ir.contract import ConstLeaf, InputLeaf, TensorLeaf
from fx_ir.node import Node
from fx_ir.printer import format_call, format_ranges, format_value, location_comment

if TYPE_CHECKING:
    from fx_ir.program import ExportedProgram

_DIMENSION = re.compile(r"(.+?)\.(?:shape\[|size\()(-?\d+)[\])]$")


def explain(program: ExportedProgram, what: str = "") -> str:
    """Text about an input (``x``), a dimension (``x.shape[0]``), a symbol (``b``), a value of the graph (``linear``) or an
    attribute (``self.training``); without ``what`` about everything that the program takes for granted."""
    lines = list(_about(program, what.strip())) if what.strip() else list(_everything(program))
    if not lines:
        known = ", ".join([leaf.path for leaf in program.contract.leaves] + list(program.contract.ranges))
        return f"nothing in the program is called {what!r}; inputs and symbols are: {known or 'none'}"
    return "\n".join(lines)


def _everything(program: ExportedProgram) -> Iterator[str]:
    for leaf in program.contract.leaves:
        yield _leaf_line(leaf)
    if program.contract.ranges:
        yield f"ranges: {format_ranges(program.contract.ranges)}"
    yield from _conditions(program, None)
    yield from (f"assumed: {assumption}" for assumption in program.assumptions)
    yield from (f"effect: {effect}" for effect in program.effects)
    yield from (f"note: {note}" for note in program.notes)


def _about(program: ExportedProgram, what: str) -> Iterator[str]:
    dimension = _DIMENSION.match(what)
    path, dim = (dimension.group(1), int(dimension.group(2))) if dimension else (what, None)
    for leaf in program.contract.leaves:
        if path in (leaf.path, leaf.name):
            yield from _leaf(program, leaf, dim)
    if what in program.contract.ranges:
        yield from _symbol(program, what)
    for node in program.graph.nodes:
        if node.name == what and node.op == "call_function":
            yield from _node(node)
    for assumption in program.assumptions:
        if (
            what == assumption.path
            or assumption.path.startswith((f"{what}.", f"{what}["))
            or assumption.path.endswith(f".{what}")
        ):
            yield f"assumed: {assumption}"
    yield from (f"effect: {effect}" for effect in program.effects if what in effect.what)
    yield from (f"note: {note}" for note in program.notes if what in note)


def _leaf_line(leaf: InputLeaf) -> str:
    if isinstance(leaf, TensorLeaf):
        return f"{leaf.path}: {leaf.dtype.short}[{', '.join(map(str, leaf.dims))}] on {leaf.device}"
    if isinstance(leaf, ConstLeaf):
        return f"{leaf.path} = {leaf.value!r}: burned in, any other value is refused"
    return f"{leaf.path} = {leaf.expr}: a dynamic integer"


def _leaf(program: ExportedProgram, leaf: InputLeaf, dim: int | None) -> Iterator[str]:
    if not isinstance(leaf, TensorLeaf) or dim is None:
        yield _leaf_line(leaf)
        if isinstance(leaf, TensorLeaf):
            yield from _facts(leaf)
            symbols = {symbol for size in leaf.dims for symbol in _symbols_of(size)}
            yield from _conditions(program, symbols)
        return
    if not -len(leaf.dims) <= dim < len(leaf.dims):
        yield f"{leaf.path} has {len(leaf.dims)} dimensions, there is no {leaf.path}.shape[{dim}]"
        return
    size = leaf.dims[dim]
    if isinstance(size, int):
        yield f"{leaf.path}.shape[{dim}] = {size}: static, any other size is refused"
        yield from (f"note: {note}" for note in program.notes if f"{leaf.path}.shape[{dim}]" in note)
        return
    yield f"{leaf.path}.shape[{dim}] = {size}: dynamic"
    symbols = set(_symbols_of(size))
    for symbol in sorted(symbols):
        yield f"range: {format_ranges({symbol: program.contract.ranges.get(symbol, (None, None))})}"
    yield from _conditions(program, symbols)


def _facts(leaf: TensorLeaf) -> Iterator[str]:
    place = "" if leaf.location is None else f"  (asked at {leaf.location})"
    if leaf.requires_grad is not None:
        yield f"requires_grad is {leaf.requires_grad}{place}"
    if leaf.contiguous is not None:
        yield f"contiguous is {leaf.contiguous}{place}"
    if leaf.strides is not None:
        yield f"strides are {leaf.strides}{place}"


def _symbol(program: ExportedProgram, symbol: str) -> Iterator[str]:
    yield f"{symbol}: {format_ranges({symbol: program.contract.ranges[symbol]})}"
    for leaf in program.contract.leaves:
        for index, size in enumerate(leaf.dims if isinstance(leaf, TensorLeaf) else ()):
            if symbol in _symbols_of(size):
                yield f"{leaf.path}.shape[{index}] = {size}"
    yield from _conditions(program, {symbol})


def _symbols_of(size: object) -> Iterable[str]:
    from solver.expr import IntExpr, free_symbols

    return free_symbols(size) if isinstance(size, IntExpr) else ()


def _conditions(program: ExportedProgram, symbols: set[str] | None) -> Iterator[str]:
    """Conditions of the contract and proof obligations that speak of the symbols (None: all)."""
    from solver.expr import free_symbols

    for condition in program.contract.conditions:
        if symbols is None or symbols & free_symbols(condition.expr):
            place = "" if condition.location is None else f"  (at {condition.location})"
            yield f"checked at each call: {condition.text} ({condition.kind}){place}"
    if program.problem is None:
        return
    verdicts = {} if program.proof is None else {result.id: result.verdict for result in program.proof.guards}
    for guard in program.problem.guards:
        if symbols is None or symbols & free_symbols(guard.expr):
            origin = f" from {guard.origin}" if guard.origin else ""
            place = f"  (at {guard.at})" if guard.at else ""
            yield f"guard: {guard.text}{origin}: {verdicts.get(guard.id, 'not proved')}{place}"


def _node(node: Node) -> Iterator[str]:
    described = format_value(node.meta.get("val"))
    yield f"{node.name}{f': {described}' if described else ''} = {format_call(node)}"
    yield location_comment(node).removeprefix("# ")
    stack = node.meta.get("nn_module_stack") or ()
    if stack:
        yield "in " + " > ".join(f"{path or 'the model'} ({name})" for path, name in stack)
