"""``map``, ``while_loop``, ``scan`` and ``associative_scan`` as users call them: run step by step, or recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dynamo_lite import dispatch
from dynamo_lite.library import library_of_tensor
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.trace.control import Function, cond, public
from dynamo_lite.trace.errors import LOOP_RESULT
from dynamo_lite.trace.loops import trace_associative_scan, trace_map, trace_scan, trace_while_loop
from fx_ir.ops.registry import find
from fx_ir.pytree import tree_flatten


def _map(f: Function, xs: Any, *args: Any) -> Any:
    """Applies ``f(x, *args)`` to every slice of ``xs`` along its first dimension and stacks the results.

    Where there is no slice, ``f`` runs once on zeros, for the shapes of its results. Raises as :func:`while_loop` does.
    """
    tracer: Any = dispatch.recorder()
    if tracer is not None:
        return trace_map(tracer, f, xs, args)
    leaves, spec = tree_flatten(xs)
    return _stacked([f(spec.unflatten(row), *args) for row in _rows(leaves)], lambda: f(_blank(xs), *args))


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

    ``reverse`` goes from the last slice to the first. Where there is no slice, ``combine_fn`` runs once on zeros, for the shapes
    of ``y``. Raises as :func:`while_loop` does.
    """
    tracer: Any = dispatch.recorder()
    dim = _dimension(xs, dim)
    if tracer is not None:
        carry, ys = trace_scan(tracer, combine_fn, init, _turned(xs, dim, reverse))
        return carry, _turned_back(ys, dim, reverse)
    turned = _turned(xs, dim, reverse)
    leaves, spec = tree_flatten(turned)
    carry, collected = init, []
    for row in _rows(leaves):
        carry, y = combine_fn(carry, spec.unflatten(row))
        collected.append(y)
    return carry, _turned_back(_stacked(collected, lambda: combine_fn(init, _blank(turned))[1]), dim, reverse)


def _associative_scan(
    combine_fn: Function, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """Inclusive scan of an associative function along ``dim``, from the end if ``reverse``. Raises as :func:`scan` does."""
    tracer: Any = dispatch.recorder()
    dim = _dimension(xs, dim)
    if tracer is not None:
        return _turned_back(
            trace_associative_scan(tracer, combine_fn, _turned(xs, dim, reverse)), dim, reverse
        )
    turned = _turned(xs, dim, reverse)
    leaves, spec = tree_flatten(turned)
    collected: list[Any] = []
    for row in _rows(leaves):
        here = spec.unflatten(row)
        collected.append(combine_fn(collected[-1], here) if collected else here)
    return _turned_back(_stacked(collected, None) if collected else turned, dim, reverse)


def _dimension(xs: Any, dim: int) -> int:
    """``dim`` counted from the front."""
    first = next(filter(is_tensor, tree_flatten(xs)[0]), None)
    return dim if first is None or dim >= 0 else dim + meta_of(first).ndim


def _rows(leaves: Sequence[Any]) -> Iterator[list[Any]]:
    """The slices along dimension 0."""
    for index in range(meta_of(leaves[0]).shape[0]):
        yield [_apply("select.int", value, 0, index) for value in leaves]


def _blank(xs: Any) -> Any:
    return _each(xs, lambda tensor: _apply("new_zeros", tensor, list(meta_of(tensor).shape[1:])))


def _stacked(results: Sequence[Any], shown: Any) -> Any:
    """Results of steps along a new first dimension; of no steps, with the shapes that ``shown()`` has."""
    rows = [tree_flatten(result) for result in results or [shown()]]
    columns = list(zip(*[found for found, _ in rows], strict=True))
    for value in rows[0][0]:
        if not is_tensor(value):
            raise LOOP_RESULT(what="a loop", type=type(value).__name__)
    if not results:
        return rows[0][1].unflatten(
            [_apply("new_zeros", value, [0, *meta_of(value).shape]) for (value,) in columns]
        )
    return rows[0][1].unflatten([_apply("stack", list(column)) for column in columns])


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
