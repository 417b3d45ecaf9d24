"""How the executor writes higher-order operators, and the loops behind ``map``, ``scan`` and ``associative_scan``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from fx_ir.backend import Backend
from fx_ir.graph import GraphModule
from fx_ir.node import Node
from fx_ir.ops.registry import OPS
from fx_ir.purity import branch_modules


class Writer(Protocol):
    """What the executor's writer offers."""

    backend: Backend

    def function(self, module: GraphModule, wish: str) -> str: ...

    def bind(self, value: Any, wish: str) -> str: ...

    def argument(self, value: Any) -> str: ...


Values = Sequence[Any]


class Slices:
    """Taking tensors apart along dimension 0 and putting them together, with one library's kernels."""

    def __init__(self, backend: Backend) -> None:
        self._select = _bound(backend, "aten::select.int")
        self._stack = _bound(backend, "aten::stack")
        self._zeros = _bound(backend, "aten::new_zeros")

    def at(self, xs: Values, index: int) -> list[Any]:
        """The slices of all ``xs`` at an index."""
        return [self._select(x, 0, index) for x in xs]

    def blank(self, xs: Values) -> list[Any]:
        """Zero slices of the shapes that ``xs`` of length 0 would have."""
        return [self._zeros(x, list(x.shape[1:])) for x in xs]

    def together(self, rows: Sequence[Values]) -> tuple[Any, ...]:
        """Stacks what each step gave."""
        return tuple(self._stack(list(column), 0) for column in zip(*rows, strict=True))

    def none_of(self, row: Values) -> tuple[Any, ...]:
        """Stacks of no steps at all, of the shapes that ``row`` shows."""
        return tuple(self._zeros(value, [0, *value.shape]) for value in row)


def _bound(backend: Backend, name: str) -> Callable[..., Any]:
    """A kernel that fills in the defaults of its operator."""
    op = OPS[name]
    kernel = backend.kernel(op)

    def call(*args: Any) -> Any:
        full, keywords = op.bind(args, {})
        return kernel(*full, **keywords)

    return call


def run_map(slices: Slices, body: Callable[..., Any], xs: Values, extra: Values) -> tuple[Any, ...]:
    """``body`` on each slice of ``xs``; its results stacked."""
    count = xs[0].shape[0]
    if count == 0:
        return slices.none_of(body(*slices.blank(xs), *extra))
    return slices.together([body(*slices.at(xs, index), *extra) for index in range(count)])


def run_scan(
    slices: Slices, body: Callable[..., Any], init: Values, xs: Values, extra: Values
) -> tuple[Any, ...]:
    """Carries values over the slices of ``xs``; returns the last carry and what each step gave, stacked."""
    width = len(init)
    carry: Values = tuple(init)
    count = xs[0].shape[0]
    if count == 0:
        return (*carry, *slices.none_of(body(*carry, *slices.blank(xs), *extra)[width:]))
    rows: list[Values] = []
    for index in range(count):
        result = body(*carry, *slices.at(xs, index), *extra)
        carry = result[:width]
        rows.append(result[width:])
    return (*carry, *slices.together(rows))


def run_associative_scan(
    slices: Slices, body: Callable[..., Any], xs: Values, extra: Values
) -> tuple[Any, ...]:
    """The inclusive scan, from left to right."""
    count = xs[0].shape[0]
    if count == 0:
        return tuple(xs)
    rows: list[Values] = [slices.at(xs, 0)]
    for index in range(1, count):
        rows.append(body(*rows[-1], *slices.at(xs, index), *extra))
    return slices.together(rows)


def _arguments(writer: Writer, *groups: Any) -> str:
    return ", ".join(writer.argument(value) for group in groups for value in group)


def _branches(writer: Writer, node: Node) -> list[str]:
    return [writer.function(module, "branch") for module in branch_modules(node)]


def _write_cond(writer: Writer, node: Node) -> Iterator[str]:
    pred, operands = node.args[0], node.args[3] if len(node.args) > 3 else ()
    then, otherwise = _branches(writer, node)
    given = _arguments(writer, operands)
    yield f"{node.name} = {then}({given}) if {writer.argument(pred)} else {otherwise}({given})"


def _write_while(writer: Writer, node: Node) -> Iterator[str]:
    carried = node.args[2]
    extra = node.args[3] if len(node.args) > 3 else ()
    test, body = _branches(writer, node)
    held = branch_modules(node)[0].graph.output_node().args[0]
    first = "[0]" if isinstance(held, (tuple, list)) else ""
    given = f"*{node.name}" + "".join(f", {writer.argument(value)}" for value in extra)
    yield f"{node.name} = {writer.argument(tuple(carried))}"
    yield f"while {test}({given}){first}:"
    yield f"    {node.name} = {body}({given})"


def _loop(run: Callable[..., Any]) -> Callable[[Writer, Node], Iterator[str]]:
    def write(writer: Writer, node: Node) -> Iterator[str]:
        (body,) = _branches(writer, node)
        groups = [writer.argument(group) for group in node.args[1:]]
        wanted = {run_map: 2, run_scan: 3, run_associative_scan: 2}[run]
        groups += ["()"] * (wanted - len(groups))
        slices = writer.bind(Slices(writer.backend), "slices")
        yield f"{node.name} = {writer.bind(run, 'loop')}({slices}, {body}, {', '.join(groups)})"

    return write


WRITERS: Final[dict[str, Callable[[Any, Node], Iterator[str]]]] = {
    "cond": _write_cond,
    "map_impl": _loop(run_map),
    "while_loop": _write_while,
    "scan": _loop(run_scan),
    "associative_scan": _loop(run_associative_scan),
}
