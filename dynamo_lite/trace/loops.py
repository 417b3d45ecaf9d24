"""``map``, ``while_loop``, ``scan`` and ``associative_scan`` recorded, with their body as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dynamo_lite.fake import is_fake
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.trace.control import Branch, Function, attach
from dynamo_lite.trace.errors import LOOP_OPERANDS, LOOP_RESULT, LOOP_STATE_CHANGES, LOOP_WRITES
from dynamo_lite.trace.results import after_loop, carried, check_steps, share, slice_of, sources
from fx_ir import higher_order
from fx_ir.functionalize import root_of
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.pytree import TreeSpec, tree_flatten
from solver.sym import SymBool, SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer


# --- recording ---------------------------------------------------------------------------------------------------------


class Operand:
    """A value that each step sees anew: how it looks inside the body."""

    __slots__ = ("fake", "meta", "node", "value")

    def __init__(self, tracer: Tracer, outer: Any) -> None:
        """``outer``: the description of a tensor, or a number that changes from step to step."""
        self.fake: Any = None
        if isinstance(outer, TensorMeta):
            self.meta: Any = outer
            self.node = tracer.level.graph.placeholder("x", meta={"val": self.meta})
            self.value = self.fake = tracer.value(self.meta, self.node)
        else:
            self.value = self.meta = tracer.env.unbacked("a value carried by a loop")
            self.node = tracer.level.graph.placeholder("n", meta={"val": self.meta})
            tracer.definitions.by_value(str(self.meta.expr), self.node)


def _record(
    tracer: Tracer,
    function: Function,
    groups: Sequence[tuple[Sequence[Any], TreeSpec]],
    rest: Sequence[Any],
    what: str,
    also: tuple[type, ...] = (),
) -> tuple[Branch, list[Operand]]:
    """Records ``function(*trees, *rest)``; the leaves of each tree become placeholders. Returns what they are inside, too."""
    inside: list[Operand] = []

    def body(*others: Any) -> Any:
        trees = []
        for leaves, spec in groups:
            operands = [Operand(tracer, leaf) for leaf in leaves]
            inside.extend(operands)
            trees.append(spec.unflatten([operand.value for operand in operands]))
        result = tracer.invoke(function, (*trees, *others))
        for operand in inside:
            if operand.fake is not None and tracer.node_of(operand.fake) is not operand.node:
                raise LOOP_WRITES(what=what, location=tracer.locate())
        return result

    return Branch(tracer, body, rest, what, also), inside


def _captured(tracer: Tracer, *branches: Branch) -> list[Node]:
    """Nodes of the enclosing graph that the bodies use, in one order for all."""
    union = dict.fromkeys(node for branch in branches for node in branch.level.captured)
    captured = [node for node in union if node.graph is tracer.level.graph]
    for branch in branches:
        branch.close(captured)
    return captured


def _leaf(tracer: Tracer, value: Any, what: str) -> Any:
    """A carried value as the body is told of it."""
    if is_fake(value) or tracer.library.is_tensor(value):
        return carried(tracer, tracer.fake_of(value).meta, f"a value carried by {what}")
    if isinstance(value, SymInt) or type(value) is int:
        return value
    raise LOOP_OPERANDS(what=what, problem=f"it carries a {type(value).__name__}", location=tracer.locate())


def _node(tracer: Tracer, value: Any) -> Any:
    if isinstance(value, SymInt):
        return tracer.level.sizes.of(value.expr)
    return value if type(value) is int else tracer.node_of(tracer.fake_of(value))


def _same_state(
    tracer: Tracer, what: str, inside: Sequence[Operand], branch: Branch, results: Sequence[int]
) -> list[tuple[Any, Any]]:
    """A step gives back what it was given: as many values, of the same dtypes and sizes. Returns both, in pairs."""
    if len(results) != len(inside):
        raise LOOP_STATE_CHANGES(
            what=what, given=f"{len(results)} values", held=f"{len(inside)}", location=tracer.locate()
        )
    steps = [(operand.meta, branch.meta(index)) for index, operand in zip(results, inside, strict=True)]
    for held, given in steps:
        if isinstance(held, TensorMeta) != isinstance(given, TensorMeta):
            raise LOOP_STATE_CHANGES(what=what, given=given, held=held, location=tracer.locate())
        if not isinstance(held, TensorMeta):
            continue
        same = given.dtype is held.dtype and len(given.shape) == len(held.shape)
        if not same or any(a is not b and a != b for a, b in zip(given.shape, held.shape, strict=True)):
            raise LOOP_STATE_CHANGES(what=what, given=given, held=held, location=tracer.locate())
    check_steps(tracer, steps, f"a value carried by {what}")
    return steps


def _after(
    tracer: Tracer, what: str, carry: Sequence[Any], branch: Branch, steps: Sequence[tuple[Any, Any]]
) -> list[Any]:
    """What is known of the carried values when the loop has ended."""
    return [
        after_loop(tracer, tracer.fake_of(leaf).meta, branch.meta(index), steps, f"a value carried by {what}")
        if is_tensor(leaf)
        else tracer.unbacked("a value carried by a loop")
        for index, leaf in enumerate(carry)
    ]


def _share_carried(
    tracer: Tracer,
    what: str,
    carry: Sequence[Any],
    xs: Sequence[Any],
    body: Branch,
    inside: Sequence[Operand],
    outputs: Sequence[Any],
) -> None:
    """Carried values may be what the loop was given (after no step), or what a step has passed on."""
    first = [root_of(tracer.fake_of(leaf)) if is_tensor(leaf) else None for leaf in carry]
    outside = [root for root in [*first, *map(root_of, xs)] if root is not None]
    stand_for = {id(operand.fake): outside for operand in inside if operand.fake is not None}
    passed = [sources(body, index, stand_for) for index in range(len(carry))]
    anything = [other for others in passed for other in others]
    for output, root, others in zip(outputs, first, passed, strict=False):
        if root is not None:
            share(tracer, output, [root, *anything] if others else [root], f"a value carried by {what}")


def _finish(tracer: Tracer, op: Any, args: tuple[Any, ...], metas: tuple[Any, ...]) -> list[Any]:
    node = tracer.level.graph.call_function(op, args, meta=tracer.node_meta(metas))
    return tracer.outputs_of(op, node, metas)


def _sliced(tracer: Tracer, what: str, xs: Any) -> tuple[list[Any], TreeSpec, Any, list[TensorMeta]]:
    """The tensors that a loop goes over: their fakes, their structure, their common length, and what a step sees of them."""
    leaves, spec = tree_flatten(xs)
    if not leaves or any(not is_tensor(leaf) or meta_of(leaf).ndim == 0 for leaf in leaves):
        raise LOOP_OPERANDS(
            what=what, problem="xs must hold tensors with a dimension to loop over", location=tracer.locate()
        )
    fakes = [tracer.fake_of(leaf) for leaf in leaves]
    length = fakes[0].meta.shape[0]
    for fake in fakes[1:]:
        if fake.meta.shape[0] != length:
            raise LOOP_OPERANDS(
                what=what,
                problem="the tensors of xs differ in the dimension that is looped over",
                location=tracer.locate(),
            )
    return fakes, spec, length, [slice_of(tracer, fake.meta, f"a slice in {what}") for fake in fakes]


def _stacked(tracer: Tracer, what: str, length: Any, meta: Any) -> TensorMeta:
    if isinstance(meta, TensorMeta):
        return meta.like(shape=(length, *meta.shape))
    raise LOOP_RESULT(what=what, type=type(meta).__name__, location=tracer.locate())


def trace_map(tracer: Tracer, function: Function, xs: Any, args: Sequence[Any]) -> Any:
    """The body recorded on one slice of ``xs``; results stacked along a new first dimension."""
    fakes, spec, length, slices = _sliced(tracer, "map", xs)
    branch, _ = _record(tracer, function, [(slices, spec)], args, "the body of map")
    captured = _captured(tracer, branch)
    attribute = attach(tracer, "body_graph", branch)
    metas = tuple(
        _stacked(tracer, "map", length, branch.meta(index)) for index in range(branch.spec.num_leaves)
    )
    operands = (attribute, tuple(_nodes_of(tracer, fakes)), tuple(captured))
    return branch.spec.unflatten(_finish(tracer, higher_order.map_impl, operands, metas))


def _nodes_of(tracer: Tracer, fakes: Sequence[Any]) -> list[Node]:
    """The nodes that hold tensors now."""
    return [tracer.node_of(fake) for fake in fakes]


def trace_while_loop(
    tracer: Tracer, cond_fn: Function, body_fn: Function, carry: Sequence[Any], extra: Sequence[Any]
) -> Any:
    """Condition and body recorded on values like the carried ones; how often it runs is decided when the program runs."""
    leaves, spec = tree_flatten(tuple(carry))
    metas = [_leaf(tracer, leaf, "while_loop") for leaf in leaves]
    what = "the condition of while_loop"
    test, _ = _record(tracer, _through(tracer, cond_fn), [(metas, spec)], extra, what, (SymBool,))
    if test.spec.num_leaves != 1 or not _is_condition(test.meta(0)):
        raise LOOP_OPERANDS(
            what="while_loop",
            problem="its condition must return one bool or one tensor with a single element",
            location=tracer.locate(),
        )
    body, inside = _record(
        tracer, _through(tracer, body_fn), [(metas, spec)], extra, "the body of while_loop"
    )
    steps = _same_state(tracer, "while_loop", inside, body, range(body.spec.num_leaves))
    captured = _captured(tracer, test, body)
    attributes = attach(tracer, "cond_graph", test), attach(tracer, "body_graph", body)
    outer = tuple(_node(tracer, leaf) for leaf in leaves)
    after = tuple(_after(tracer, "while_loop", leaves, body, steps))
    outputs = _finish(tracer, higher_order.while_loop, (*attributes, outer, tuple(captured)), after)
    _share_carried(tracer, "while_loop", leaves, (), body, inside, outputs)
    return spec.unflatten(outputs)


def _through(tracer: Tracer, function: Function) -> Function:
    """A function of the carried values as one of their tuple."""
    return lambda state, *rest: tracer.invoke(function, (*state, *rest))


def _is_condition(meta: Any) -> bool:
    return (
        bool(meta.numel() == 1) if isinstance(meta, TensorMeta) else not isinstance(meta, (float, type(None)))
    )


def trace_scan(tracer: Tracer, function: Function, init: Any, xs: Any) -> Any:
    """The step recorded on the carried values and one slice of ``xs``; loops over dimension 0."""
    fakes, spec, length, slices = _sliced(tracer, "scan", xs)
    carry, carried_spec = tree_flatten(init)
    metas = [_leaf(tracer, leaf, "scan") for leaf in carry]
    branch, inside = _record(
        tracer, function, [(metas, carried_spec), (slices, spec)], (), "the step of scan"
    )
    kinds = branch.spec.children_specs
    if branch.spec.type not in (tuple, list) or len(kinds) != 2 or kinds[0] != carried_spec:
        raise LOOP_OPERANDS(
            what="scan", problem="the step must return (carry, y), carry like init", location=tracer.locate()
        )
    width = len(carry)
    steps = _same_state(tracer, "scan", inside[:width], branch, range(width))
    captured = _captured(tracer, branch)
    attribute = attach(tracer, "step_graph", branch)
    after = _after(tracer, "scan", carry, branch, steps)
    columns = [
        _stacked(tracer, "scan", length, branch.meta(index)) for index in range(width, branch.spec.num_leaves)
    ]
    given = (
        attribute,
        tuple(_node(tracer, leaf) for leaf in carry),
        tuple(_nodes_of(tracer, fakes)),
        tuple(captured),
    )
    outputs = _finish(tracer, higher_order.scan, given, (*after, *columns))
    _share_carried(tracer, "scan", carry, fakes, branch, inside, outputs)
    return carried_spec.unflatten(outputs[:width]), kinds[1].unflatten(outputs[width:])


def trace_associative_scan(tracer: Tracer, function: Function, xs: Any) -> Any:
    """The combination recorded on two slices of ``xs``; loops over dimension 0."""
    fakes, spec, length, slices = _sliced(tracer, "associative_scan", xs)
    what = "the function of associative_scan"
    branch, inside = _record(tracer, function, [(slices, spec), (slices, spec)], (), what)
    if branch.spec != spec:
        raise LOOP_OPERANDS(
            what="associative_scan",
            problem="the function must return what xs holds",
            location=tracer.locate(),
        )
    _same_state(tracer, "associative_scan", inside[: len(slices)], branch, range(len(slices)))
    captured = _captured(tracer, branch)
    attribute = attach(tracer, "combine_graph", branch)
    metas = tuple(
        _stacked(tracer, "associative_scan", length, branch.meta(index)) for index in range(len(slices))
    )
    given = (attribute, tuple(_nodes_of(tracer, fakes)), tuple(captured))
    return spec.unflatten(_finish(tracer, higher_order.associative_scan, given, metas))
