"""Control-flow operators: each branch or body is recorded as a graph of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.leaf import TensorFunction, leaf
from dynamo_lite.lowering.packets import apply
from dynamo_lite.trace.errors import (
    BRANCH_OUTPUT,
    BRANCHES_DIFFER,
    LOOP_STATE_CHANGES,
    LOOPS_NOT_TRACED,
    PREDICATE_KIND,
)
from dynamo_lite.trace.level import Level
from fx_ir import higher_order
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.pytree import TreeSpec, tree_flatten
from solver.sym import SymBool, SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

Function = Callable[..., Any]


class Branch:
    """A recorded branch: its graph, the outer nodes it captures, and what it returns."""

    __slots__ = ("leaves", "level", "nodes", "spec")

    def __init__(self, tracer: Tracer, function: Function, operands: Sequence[Any], what: str) -> None:
        self.level = Level(tracer, tracer.level)
        outer, tracer.level = tracer.level, self.level
        try:
            with tracer.env.scope():
                result = tracer.invoke(function, tuple(operands))
                self.leaves, self.spec = tree_flatten(result)
                self.nodes = [self._output(tracer, value, what) for value in self.leaves]
        finally:
            tracer.level = outer

    def _output(self, tracer: Tracer, value: Any, what: str) -> Any:
        if is_fake(value) or tracer.library.is_tensor(value):
            return tracer.node_of(tracer.fake_of(value))
        if isinstance(value, SymInt):
            return self.level.sizes.of(value.expr)
        if value is None or isinstance(value, (int, float, bool)):
            return value
        raise BRANCH_OUTPUT(what=what, type=type(value).__name__, location=tracer.locate())

    def meta(self, index: int) -> Any:
        """The description of an output."""
        held = self.nodes[index]
        return held.meta["val"] if isinstance(held, Node) else held

    def close(self, captured: Sequence[Node]) -> None:
        """Gives the graph one placeholder for each of ``captured``, in that order, and its output."""
        graph = self.level.graph
        for outer in captured:
            self.level.own(outer)
        ordered = [self.level.captured[outer] for outer in captured]
        anchor = next((n for n in graph.nodes if n.op != "placeholder"), None)
        for node in ordered:
            if anchor is not None:
                anchor.prepend(node)
        if anchor is None:
            for before, after in pairwise(ordered):
                before.append(after)
        graph.output(tuple(self.nodes))
        graph.eliminate_dead_code()
        graph.rename_canonically()


def _attach(tracer: Tracer, wish: str, branch: Branch) -> Node:
    owner = tracer.level.module
    number = 0
    while f"{wish}_{number}" in owner.submodules:
        number += 1
    name = f"{wish}_{number}"
    owner.add_submodule(name, branch.level.module)
    return tracer.level.graph.get_attr(name, meta={"val": None})


def trace_cond(
    tracer: Tracer, pred: Any, true_fn: Function, false_fn: Function, operands: Sequence[Any]
) -> Any:
    """Both branches recorded; neither adds a guard about ``pred``."""
    predicate = _predicate(tracer, pred)
    branches = (
        Branch(tracer, true_fn, operands, "the true branch of cond"),
        Branch(tracer, false_fn, operands, "the false branch of cond"),
    )
    spec = _agree(tracer, *branches)
    captured = list(dict.fromkeys([*branches[0].level.captured, *branches[1].level.captured]))
    captured = [node for node in captured if node.graph is tracer.level.graph]
    attributes = []
    for branch, wish in zip(branches, ("true_graph", "false_graph"), strict=True):
        branch.close(captured)
        attributes.append(_attach(tracer, wish, branch))
    metas = tuple(
        _joined(tracer, *(branch.meta(index) for branch in branches)) for index in range(spec.num_leaves)
    )
    node = tracer.level.graph.call_function(
        higher_order.cond,
        (predicate, attributes[0], attributes[1], tuple(captured)),
        meta=tracer.node_meta(metas),
    )
    return spec.unflatten(tracer.outputs_of(node, metas))


def _predicate(tracer: Tracer, pred: Any) -> Any:
    if isinstance(pred, SymBool):
        return tracer.level.sizes.of(pred.expr)
    if is_fake(pred) or tracer.library.is_tensor(pred):
        fake = tracer.fake_of(pred)
        if fake.meta.numel() != 1:
            raise PREDICATE_KIND(given=fake.meta, location=tracer.locate())
        return tracer.node_of(fake)
    raise PREDICATE_KIND(given=type(pred).__name__, location=tracer.locate())


def _agree(tracer: Tracer, a: Branch, b: Branch) -> TreeSpec:
    if a.spec != b.spec:
        raise BRANCHES_DIFFER(first=a.spec, second=b.spec, location=tracer.locate())
    for index in range(a.spec.num_leaves):
        x, y = a.meta(index), b.meta(index)
        same = type(x) is type(y)
        if same and isinstance(x, TensorMeta):
            same = x.dtype is y.dtype and len(x.shape) == len(y.shape)
        elif same and not isinstance(x, (SymInt, int)):
            same = x is y or x == y
        if not same:
            raise BRANCHES_DIFFER(first=x, second=y, location=tracer.locate())
    return a.spec


def _joined(tracer: Tracer, x: Any, y: Any) -> Any:
    """What is known of a value that is one of two."""
    if not isinstance(x, TensorMeta):
        return x if x is y else tracer.branch_size(x, y)
    shape = tuple(
        a if a is b or _same(a, b) else tracer.branch_size(a, b)
        for a, b in zip(x.shape, y.shape, strict=True)
    )
    return x.like(shape=shape, requires_grad=x.requires_grad or y.requires_grad)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, SymInt) and isinstance(b, SymInt):
        return a.expr is b.expr
    return type(a) is int and type(b) is int and a == b


def trace_map(tracer: Tracer, function: Function, xs: Any, args: Sequence[Any]) -> Any:
    """The body recorded on one slice of ``xs``; results stacked along a new first dimension."""
    leaves, spec = tree_flatten(xs)
    if not leaves or any(not is_tensor(leaf_) or meta_of(leaf_).ndim == 0 for leaf_ in leaves):
        raise LOOP_STATE_CHANGES(
            what="map", problem="xs must hold tensors with a first dimension", location=tracer.locate()
        )
    fakes = [tracer.fake_of(value) for value in leaves]
    length = fakes[0].meta.shape[0]
    for fake in fakes[1:]:
        if fake.meta.shape[0] != length:
            raise LOOP_STATE_CHANGES(
                what="map",
                problem="the tensors of xs differ in their first dimension",
                location=tracer.locate(),
            )
    outer = tracer.level

    def body(*rest: Any) -> Any:
        slices = []
        for fake in fakes:
            meta = fake.meta.like(shape=fake.meta.shape[1:])
            node = tracer.level.graph.placeholder("x", meta={"val": meta})
            slices.append(tracer.value(meta, node))
        return tracer.invoke(function, (spec.unflatten(slices), *rest))

    branch = Branch(tracer, body, args, "the body of map")
    captured = [node for node in branch.level.captured if node.graph is outer.graph]
    branch.close(captured)
    attribute = _attach(tracer, "body_graph", branch)
    metas = tuple(
        meta.like(shape=(length, *meta.shape)) if isinstance(meta := branch.meta(i), TensorMeta) else meta
        for i in range(branch.spec.num_leaves)
    )
    node = outer.graph.call_function(
        higher_order.map_impl,
        (attribute, tuple(tracer.node_of(fake) for fake in fakes), tuple(captured)),
        meta=tracer.node_meta(metas),
    )
    return branch.spec.unflatten(tracer.outputs_of(node, metas))


# --- the public functions ----------------------------------------------------------------------------------------------


def _cond(pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
    """``true_fn(*operands)`` if ``pred`` else ``false_fn(*operands)``, with both kept in an exported program.

    ``pred`` is a bool, a condition on sizes (no guard is added) or a tensor with one element; a constant one takes its branch.
    Both branches return the same structure. Raises DataDependentError or UnsupportedError where they cannot be recorded.
    """
    tracer: Any = dispatch.recorder()
    if isinstance(pred, bool):
        chosen = true_fn if pred else false_fn
        return chosen(*operands) if tracer is None else tracer.invoke(chosen, tuple(operands))
    if tracer is not None:
        return trace_cond(tracer, pred, true_fn, false_fn, tuple(operands))
    if is_tensor(pred) and meta_of(pred).numel() != 1:
        raise PREDICATE_KIND(given=meta_of(pred))
    return (true_fn if bool(pred) else false_fn)(*operands)


def _map(f: Function, xs: Any, *args: Any) -> Any:
    """Applies ``f(x, *args)`` to every slice of ``xs`` along its first dimension and stacks the results."""
    tracer: Any = dispatch.recorder()
    if tracer is not None:
        return trace_map(tracer, f, xs, args)
    leaves, spec = tree_flatten(xs)
    results = [
        tree_flatten(f(spec.unflatten([value[index] for value in leaves]), *args))
        for index in range(meta_of(leaves[0]).shape[0])
    ]
    if not results:
        raise LOOP_STATE_CHANGES(what="map", problem="there is nothing to map over")
    columns = zip(*[found for found, _ in results], strict=True)
    return results[0][1].unflatten([apply("stack", list(column)) for column in columns])


def _while_loop(cond_fn: Function, body_fn: Function, carried_inputs: Any) -> Any:
    """Runs ``body_fn`` on the carried values while ``cond_fn`` of them is true."""
    if dispatch.recorder() is not None:
        raise LOOPS_NOT_TRACED(what="while_loop", location=dispatch.recorder().locate())  # type: ignore[union-attr]
    carried = carried_inputs
    while bool(cond_fn(*carried)):
        carried = body_fn(*carried)
    return carried


def _scan(combine_fn: Function, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """``carry, y = combine_fn(carry, x)`` over the slices of ``xs``; the last carry and the stacked ``y``."""
    if dispatch.recorder() is not None:
        raise LOOPS_NOT_TRACED(what="scan", location=dispatch.recorder().locate())  # type: ignore[union-attr]
    leaves, spec = tree_flatten(xs)
    count = meta_of(leaves[0]).shape[dim]
    carry, collected = init, []
    for index in reversed(range(count)) if reverse else range(count):
        carry, y = combine_fn(carry, spec.unflatten([apply("select", value, dim, index) for value in leaves]))
        collected.append(tree_flatten(y))
    if reverse:
        collected.reverse()
    columns = zip(*[found for found, _ in collected], strict=True)
    return carry, collected[0][1].unflatten([apply("stack", list(column), dim) for column in columns])


def _associative_scan(
    combine_fn: Function, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Inclusive scan of an associative function along ``dim``."""
    if dispatch.recorder() is not None:
        raise LOOPS_NOT_TRACED(what="associative_scan", location=dispatch.recorder().locate())  # type: ignore[union-attr]
    leaves, spec = tree_flatten(xs)
    count = meta_of(leaves[0]).shape[dim]
    running: Any = None
    collected = []
    for index in reversed(range(count)) if reverse else range(count):
        here = spec.unflatten([apply("select", value, dim, index) for value in leaves])
        running = here if running is None else combine_fn(running, here)
        collected.append(tree_flatten(running)[0])
    if reverse:
        collected.reverse()
    return spec.unflatten([apply("stack", list(column), dim) for column in zip(*collected, strict=True)])


def _public(name: str, function: Function) -> TensorFunction:
    return leaf(f"torch.{name}", lambda args, kwargs: function(*args, **kwargs), function.__doc__)


cond = _public("cond", _cond)
map = _public("map", _map)
while_loop = _public("while_loop", _while_loop)
scan = _public("scan", _scan)
associative_scan = _public("associative_scan", _associative_scan)
