"""Branches and bodies of control-flow operators, each recorded as a graph of its own; ``cond``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.leaf import TensorFunction, leaf
from dynamo_lite.trace.errors import (
    BRANCH_OUTPUT,
    BRANCHES_DIFFER,
    PREDICATE_KIND,
)
from dynamo_lite.trace.level import Level
from dynamo_lite.trace.results import one_of, share, sources
from fx_ir import higher_order
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.pytree import TreeSpec, tree_flatten, tree_map
from solver.sym import SymBool, SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

Function = Callable[..., Any]


class Branch:
    """A recorded branch: its graph, the outer nodes it captures, and what it returns (sizes, and numbers of the classes ``also``)."""

    __slots__ = ("fakes", "leaves", "level", "nodes", "sizes", "spec")

    def __init__(
        self,
        tracer: Tracer,
        function: Function,
        operands: Sequence[Any],
        what: str,
        also: tuple[type, ...] = (),
    ) -> None:
        self.sizes: tuple[Any, ...] = (SymInt, *also)
        self.fakes: list[Any] = []  # the tensors among the outputs, None elsewhere
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
        tensor = is_fake(value) or tracer.library.is_tensor(value)
        self.fakes.append(tracer.fake_of(value) if tensor else None)
        if tensor:
            return tracer.node_of(self.fakes[-1])
        if isinstance(value, self.sizes):
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


def attach(tracer: Tracer, wish: str, branch: Branch) -> Node:
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
        attributes.append(attach(tracer, wish, branch))
    metas = tuple(
        _joined(tracer, *(branch.meta(index) for branch in branches)) for index in range(spec.num_leaves)
    )
    node = tracer.level.graph.call_function(
        higher_order.cond,
        (predicate, attributes[0], attributes[1], tuple(captured)),
        meta=tracer.node_meta(metas),
    )
    outputs = tracer.outputs_of(higher_order.cond, node, metas)
    for index, output in enumerate(outputs):
        others = [each for branch in branches for each in sources(branch, index, {})]
        share(tracer, output, others, "a result of cond")
    return spec.unflatten(outputs)


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
    return one_of(tracer, (x, y), shape, "a result of cond")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, SymInt) and isinstance(b, SymInt):
        return a.expr is b.expr
    return type(a) is int and type(b) is int and a == b


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


def public(name: str, function: Function) -> TensorFunction:
    """``function`` as a tensor function that users call from any code, with tensors as that code holds them."""

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        tracer: Any = dispatch.recorder()
        if tracer is None:
            return function(*args, **kwargs)
        library = tracer.library
        given, named = tree_map(library.bare, (tuple(args), dict(kwargs)))
        return library.dressed(function(*given, **named))

    return leaf(f"torch.{name}", lower, function.__doc__, function)


cond = public("cond", _cond)
