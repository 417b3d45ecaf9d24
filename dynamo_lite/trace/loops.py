"""``map``, ``while_loop``, ``scan`` and ``associative_scan``: run step by step, or recorded with their body as a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.library import library_of_tensor
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.trace.control import Branch, Function, attach, public
from dynamo_lite.trace.errors import LOOP_OPERANDS, LOOP_STATE_CHANGES, LOOP_WRITES
from fx_ir import higher_order
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.ops.registry import find
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
            self.meta: Any = outer.like(shape=outer.shape)
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
) -> tuple[Branch, list[Any]]:
    """Records ``function(*trees, *rest)``; the leaves of each tree become placeholders. Returns what they are inside, too."""
    inside: list[Any] = []

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

    return Branch(tracer, body, rest, what, also), [operand.meta for operand in inside]


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
        return tracer.fake_of(value).meta
    if isinstance(value, SymInt) or type(value) is int:
        return value
    raise LOOP_OPERANDS(what=what, problem=f"it carries a {type(value).__name__}", location=tracer.locate())


def _node(tracer: Tracer, value: Any) -> Any:
    if isinstance(value, SymInt):
        return tracer.level.sizes.of(value.expr)
    return value if type(value) is int else tracer.node_of(tracer.fake_of(value))


def _same_state(
    tracer: Tracer, what: str, spec: TreeSpec, metas: Sequence[Any], branch: Branch, results: Sequence[int]
) -> None:
    """A step gives back what it was given: as many values, of the same dtypes and sizes."""
    if len(results) != len(metas):
        raise LOOP_STATE_CHANGES(
            what=what, given=f"{len(results)} values", held=f"{len(metas)}", location=tracer.locate()
        )
    for index, held in zip(results, metas, strict=True):
        given = branch.meta(index)
        if isinstance(held, TensorMeta) != isinstance(given, TensorMeta):
            raise LOOP_STATE_CHANGES(what=what, given=given, held=held, location=tracer.locate())
        if not isinstance(held, TensorMeta):
            continue
        same = given.dtype is held.dtype and len(given.shape) == len(held.shape)
        if not same or any(a is not b and a != b for a, b in zip(given.shape, held.shape, strict=True)):
            raise LOOP_STATE_CHANGES(what=what, given=given, held=held, location=tracer.locate())


def _after(tracer: Tracer, given: Any, made: Any) -> Any:
    """What is known of a carried value when the loop has ended."""
    if isinstance(given, TensorMeta):
        return given.like(shape=given.shape, requires_grad=given.requires_grad or made.requires_grad)
    return tracer.unbacked("a value carried by a loop")


def _finish(tracer: Tracer, op: Any, args: tuple[Any, ...], metas: tuple[Any, ...]) -> list[Any]:
    node = tracer.level.graph.call_function(op, args, meta=tracer.node_meta(metas))
    return tracer.outputs_of(node, metas)


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
    return fakes, spec, length, [fake.meta.like(shape=fake.meta.shape[1:]) for fake in fakes]


def _stacked(length: Any, meta: Any) -> Any:
    return meta.like(shape=(length, *meta.shape)) if isinstance(meta, TensorMeta) else meta


def trace_map(tracer: Tracer, function: Function, xs: Any, args: Sequence[Any]) -> Any:
    """The body recorded on one slice of ``xs``; results stacked along a new first dimension."""
    fakes, spec, length, slices = _sliced(tracer, "map", xs)
    branch, _ = _record(tracer, function, [(slices, spec)], args, "the body of map")
    captured = _captured(tracer, branch)
    attribute = attach(tracer, "body_graph", branch)
    metas = tuple(_stacked(length, branch.meta(index)) for index in range(branch.spec.num_leaves))
    operands = (attribute, tuple(map_nodes_of(tracer, fakes)), tuple(captured))
    return branch.spec.unflatten(_finish(tracer, higher_order.map_impl, operands, metas))


def map_nodes_of(tracer: Tracer, fakes: Sequence[Any]) -> list[Node]:
    """The nodes that hold tensors now."""
    return [tracer.node_of(fake) for fake in fakes]


def trace_while_loop(
    tracer: Tracer, cond_fn: Function, body_fn: Function, carried: Sequence[Any], extra: Sequence[Any]
) -> Any:
    """Condition and body recorded on values like the carried ones; how often it runs is decided when the program runs."""
    leaves, spec = tree_flatten(tuple(carried))
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
    _same_state(tracer, "while_loop", spec, inside, body, range(body.spec.num_leaves))
    captured = _captured(tracer, test, body)
    attributes = attach(tracer, "cond_graph", test), attach(tracer, "body_graph", body)
    outer = tuple(_node(tracer, leaf) for leaf in leaves)
    after = tuple(_after(tracer, meta, body.meta(index)) for index, meta in enumerate(metas))
    outputs = _finish(tracer, higher_order.while_loop, (*attributes, outer, tuple(captured)), after)
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
    carried, carried_spec = tree_flatten(init)
    metas = [_leaf(tracer, leaf, "scan") for leaf in carried]
    branch, inside = _record(
        tracer, function, [(metas, carried_spec), (slices, spec)], (), "the step of scan"
    )
    kinds = branch.spec.children_specs
    if branch.spec.type not in (tuple, list) or len(kinds) != 2 or kinds[0] != carried_spec:
        raise LOOP_OPERANDS(
            what="scan", problem="the step must return (carry, y), carry like init", location=tracer.locate()
        )
    width = len(carried)
    _same_state(tracer, "scan", carried_spec, inside[:width], branch, range(width))
    captured = _captured(tracer, branch)
    attribute = attach(tracer, "step_graph", branch)
    after = [_after(tracer, meta, branch.meta(index)) for index, meta in enumerate(metas)]
    columns = [_stacked(length, branch.meta(index)) for index in range(width, branch.spec.num_leaves)]
    given = (
        attribute,
        tuple(_node(tracer, leaf) for leaf in carried),
        tuple(map_nodes_of(tracer, fakes)),
        tuple(captured),
    )
    outputs = _finish(tracer, higher_order.scan, given, (*after, *columns))
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
    _same_state(tracer, "associative_scan", spec, inside[: len(slices)], branch, range(len(slices)))
    captured = _captured(tracer, branch)
    attribute = attach(tracer, "combine_graph", branch)
    metas = tuple(_stacked(length, branch.meta(index)) for index in range(len(slices)))
    given = (attribute, tuple(map_nodes_of(tracer, fakes)), tuple(captured))
    return spec.unflatten(_finish(tracer, higher_order.associative_scan, given, metas))


# --- the public functions ----------------------------------------------------------------------------------------------


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
        raise LOOP_OPERANDS(what="map", problem="there is nothing to map over")
    columns = zip(*[found for found, _ in results], strict=True)
    return results[0][1].unflatten([_apply("stack", list(column)) for column in columns])


def _while_loop(
    cond_fn: Function, body_fn: Function, carried_inputs: Any, additional_inputs: Any = ()
) -> Any:
    """Runs ``body_fn`` on the carried values while ``cond_fn`` of them is true.

    Both are given the carried values and then ``additional_inputs``. Each step returns as many values of the same dtypes and
    sizes. Raises InputError and UnsupportedError where the loop cannot be recorded.
    """
    tracer: Any = dispatch.recorder()
    extra = tuple(additional_inputs)
    if tracer is not None:
        return trace_while_loop(tracer, cond_fn, body_fn, carried_inputs, extra)
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried, *extra)):
        carried = tuple(body_fn(*carried, *extra))
    return carried


def _scan(combine_fn: Function, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> Any:
    """``carry, y = combine_fn(carry, x)`` over the slices of ``xs`` along ``dim``; the last carry and the stacked ``y``.

    ``reverse`` goes from the last slice to the first. Raises as :func:`while_loop` does.
    """
    tracer: Any = dispatch.recorder()
    if tracer is not None:
        carry, ys = trace_scan(tracer, combine_fn, init, _turned(xs, dim, reverse))
        return carry, _turned_back(ys, dim, reverse)
    leaves, spec = tree_flatten(xs)
    count = meta_of(leaves[0]).shape[dim]
    carry, collected = init, []
    for index in reversed(range(count)) if reverse else range(count):
        carry, y = combine_fn(
            carry, spec.unflatten([_apply("select.int", value, dim, index) for value in leaves])
        )
        collected.append(tree_flatten(y))
    if reverse:
        collected.reverse()
    if not collected:
        raise LOOP_OPERANDS(what="scan", problem="there is nothing to go over")
    columns = zip(*[found for found, _ in collected], strict=True)
    ys = collected[0][1].unflatten([_apply("stack", list(column)) for column in columns])
    return carry, _turned_back(ys, dim, False)


def _associative_scan(
    combine_fn: Function, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Inclusive scan of an associative function along ``dim``, from the end if ``reverse``. Raises as :func:`scan` does."""
    tracer: Any = dispatch.recorder()
    if tracer is not None:
        return _turned_back(
            trace_associative_scan(tracer, combine_fn, _turned(xs, dim, reverse)), dim, reverse
        )
    leaves, spec = tree_flatten(xs)
    count = meta_of(leaves[0]).shape[dim]
    running: Any = None
    collected = []
    for index in reversed(range(count)) if reverse else range(count):
        here = spec.unflatten([_apply("select.int", value, dim, index) for value in leaves])
        running = here if running is None else combine_fn(running, here)
        collected.append(tree_flatten(running)[0])
    if reverse:
        collected.reverse()
    if not collected:
        return xs
    return spec.unflatten([_apply("stack", list(column), dim) for column in zip(*collected, strict=True)])


def _apply(name: str, *args: Any) -> Any:
    """An operator on tensors of whichever library: run now, or recorded."""
    recorder: Any = dispatch.recorder()
    op = find(f"aten::{name}")
    if recorder is not None:
        return recorder.call(op, *op.bind(args, {}))
    first = args[0][0] if isinstance(args[0], list) else args[0]
    return library_of_tensor(first).apply(op, args, {})


def _each(tree: Any, change: Callable[[Any], Any]) -> Any:
    leaves, spec = tree_flatten(tree)
    return spec.unflatten([change(leaf) if is_tensor(leaf) else leaf for leaf in leaves])


def _turned(tree: Any, dim: int, reverse: bool) -> Any:
    """``dim`` first, and its order reversed if asked."""

    def turn(tensor: Any) -> Any:
        turned = _apply("movedim.int", tensor, dim, 0) if dim % max(meta_of(tensor).ndim, 1) else tensor
        return _apply("flip", turned, [0]) if reverse else turned

    return _each(tree, turn)


def _turned_back(tree: Any, dim: int, reverse: bool) -> Any:
    """The first dimension at ``dim``; left where it is in results that have no such dimension, as in PyTorch."""

    def turn(tensor: Any) -> Any:
        turned = _apply("flip", tensor, [0]) if reverse else tensor
        return _apply("movedim.int", turned, 0, dim) if dim and dim < meta_of(tensor).ndim else turned

    return _each(tree, turn)


map = public("map", _map)
while_loop = public("while_loop", _while_loop)
scan = public("scan", _scan)
associative_scan = public("associative_scan", _associative_scan)


def apply_higher_order(name: str, branches: Sequence[Function], groups: Sequence[Any]) -> Any:
    """A control-flow operator as graphs hold it: branches of flat operands, groups of flat values, a flat tuple back."""
    from dynamo_lite.trace.control import cond

    if name == "cond":
        return cond(groups[0], *branches, *groups[1:])
    extra = tuple(groups[-1]) if len(groups) > (2 if name == "scan" else 1) else ()
    if name == "map_impl":
        return map(lambda xs: branches[0](*xs, *extra), tuple(groups[0]))
    if name == "while_loop":
        test, body = branches
        return while_loop(lambda *state: test(*state)[0], body, tuple(groups[0]), extra)
    if name == "associative_scan":
        return associative_scan(lambda left, right: branches[0](*left, *right, *extra), tuple(groups[0]), 0)
    width = len(groups[0])

    def step(carry: Any, xs: Any) -> Any:
        result = branches[0](*carry, *xs, *extra)
        return tuple(result[:width]), tuple(result[width:])

    carry, ys = scan(step, tuple(groups[0]), tuple(groups[1]))
    return (*carry, *ys)
