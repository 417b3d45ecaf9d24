"""Our guards of an export beside those of ``torch.export``: which of ours theirs imply, and what eager does where one does not hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from dynamo_lite.torch_bridge.obligations import problem_of
from fx_ir.contract import TensorLeaf
from solver import expr as E
from solver.expr import BoolExpr, IntExpr
from solver.parse import parse
from solver.problem import Condition, Problem
from solver.prove import prove

Sizes = dict[str, IntExpr]


def beside(program: Any, theirs: Any, run: Callable[[list[Any]], Any], tensors: list[Any]) -> list[str]:
    """One line for each of our guards that is not settled without it: the guard, its line and the verdict.

    ``theirs`` is an ``ExportedProgram`` of PyTorch's on the same example; ``run`` calls the model on other tensors in the
    place of ``tensors``, the example's.
    """
    problem, sizes = problem_of(theirs), _sizes(program, theirs)
    premises = [*problem.spec, *problem.facts, *problem.guards]
    return [
        f"{guard.expr}  at {guard.location}: {_verdict(problem, premises, guard.expr, sizes, run, tensors, program)}"
        for guard in program.guards
    ]


def _leaves(program: Any) -> list[TensorLeaf]:
    return [leaf for leaf in program.contract.leaves if isinstance(leaf, TensorLeaf)]


def _sizes(program: Any, theirs: Any) -> Sizes:
    """Our symbols in terms of PyTorch's."""
    values = {node.name: node.meta.get("val") for node in theirs.graph.nodes if node.op == "placeholder"}
    given = [
        values[name]
        for name in theirs.graph_signature.user_inputs
        if isinstance(name, str) and name in values
    ]
    shapes = [value.shape for value in given if isinstance(value, torch.Tensor)]
    by_name = {name: value.shape for name, value in values.items() if isinstance(value, torch.Tensor)}
    found: Sizes = {}
    for leaf, shape in zip(_leaves(program), shapes, strict=True):
        for dim, size in zip(leaf.dims, by_name.get(leaf.name, shape), strict=True):
            if isinstance(dim, IntExpr) and len(E.free_symbols(dim)) == 1:
                read = parse(str(size))
                assert isinstance(read, IntExpr)
                found.setdefault(str(dim), read)
    return found


def _verdict(
    problem: Problem,
    premises: list[Condition],
    guard: BoolExpr,
    sizes: Sizes,
    run: Callable[[list[Any]], Any],
    tensors: list[Any],
    program: Any,
) -> str:
    if not E.free_symbols(guard) <= sizes.keys():
        return "speaks of a size that PyTorch does not know"
    goal = E.substitute(guard, sizes)
    asked = Problem("", dict(problem.symbols), premises, [], [Condition("ours", goal)])
    (report,) = prove(asked).guards
    if report.verdict == "proved":
        return "implied by PyTorch's"
    if report.counterexample is None:
        return f"not decided: {report.reason}"
    return _eager(program, sizes, report.counterexample, run, tensors)


def _eager(
    program: Any, sizes: Sizes, point: Any, run: Callable[[list[Any]], Any], tensors: list[Any]
) -> str:
    """What the model does at sizes that PyTorch's guards admit and ours does not."""
    values = {
        name: E.evaluate(size, point) for name, size in sizes.items() if E.free_symbols(size) <= point.keys()
    }
    given, shown = [], []
    for leaf, tensor in zip(_leaves(program), tensors, strict=True):
        shape = [values.get(str(dim), size) for dim, size in zip(leaf.dims, tensor.shape, strict=True)]
        given.append(_resized(tensor, shape))
        shown.append(f"{leaf.path}{shape}")
    where = " ".join(shown)
    if sum(each.numel() for each in given) > 10_000_000:
        return f"not implied: {where} is too large to try"
    try:
        run(given)
    except Exception as error:
        return f"eager raises at {where}: {type(error).__name__}: {str(error).splitlines()[0][:90]}"
    return f"NOT IMPLIED, and eager runs at {where}"


def _resized(tensor: Any, shape: list[int]) -> Any:
    """A tensor of another shape with the values of this one."""
    count = 1
    for size in shape:
        count *= size
    flat = tensor.reshape(-1)
    return flat[torch.arange(count) % max(1, flat.numel())].reshape(shape)


def replaced(args: tuple[Any, ...], kwargs: dict[str, Any], layers: Callable[[Any], list[Any]]) -> Any:
    """``(tensors, call)``: the example's tensors, and what puts others in their place (caches by their layers)."""

    def split(tree: Any) -> Iterator[Any]:
        for leaf in pytree.tree_leaves(tree):
            if hasattr(leaf, "layers"):
                yield from layers(leaf)
            elif isinstance(leaf, torch.Tensor):
                yield leaf

    def put(tensors: list[Any]) -> tuple[Any, Any]:
        new_args, new_kwargs = copy.deepcopy((args, kwargs))
        for old, new in zip(list(split((new_args, new_kwargs))), tensors, strict=True):
            old.data = new
        return new_args, new_kwargs

    return list(split((args, kwargs))), put
