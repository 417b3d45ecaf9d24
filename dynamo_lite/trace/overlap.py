"""An operator in place must not read, through another view, what it writes: its result would depend on the order of its steps.

Which elements two views share is asked of the NumPy kernels, over the elements' numbers. With dynamic sizes views are told apart by
how they were taken alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from dynamo_lite.fake import FakeTensor
from dynamo_lite.lowering import modes
from dynamo_lite.trace.errors import GRADIENT_WRITTEN
from dynamo_lite.trace.write_errors import READS_WRITTEN
from fx_ir import functionalize
from fx_ir.functionalize import Alias
from fx_ir.ops.registry import PACKETS, Operator
from fx_ir.ops.shapes import same
from solver.sym import SymInt, SymNumber

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

Relation = Literal["same", "apart", "shares", "may share"]

# They read and write an element at several steps: even the very tensor that is written must not be read.
_BY_PARTS: Final = frozenset(
    {
        "addmm_", "addbmm_", "baddbmm_", "addmv_", "addr_", "index_add_", "index_copy_", "index_reduce_", "index_put_",
        "scatter_", "scatter_add_", "scatter_reduce_", "masked_scatter_", "cumsum_", "cumprod_",
    }
)  # fmt: skip
_TOGETHER: Final = frozenset({"chunk", "split", "split_with_sizes", "unbind"})
"""Their results are views that autograd knows together alone."""
_APART: Final = frozenset({"unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"})
"""Their results are views that autograd takes for new tensors."""
_LARGEST: Final = 1 << 24  # elements that are numbered one by one


def check(
    tracer: Tracer, op: Operator, written: FakeTensor, args: Iterable[Any], kwargs: Mapping[str, Any]
) -> None:
    """What eager asks of an update in place.

    Raises ``reads-what-it-writes`` where an operand shares elements with ``written``, unless both are the same whole, and for one
    of several views what :func:`check_piece` raises.
    """
    operands = list(_tensors(tracer, (*args, *kwargs.values())))
    check_piece(tracer, written, operands)
    _check_apart(tracer, op.name, op.name in _BY_PARTS, written, operands)


def check_out(
    tracer: Tracer, name: str, targets: Sequence[Any], args: Any, kwargs: Mapping[str, Any]
) -> None:
    """The same for tensors given to an operator as ``out``, which may not share elements with each other either.

    An operator that has no form in place reads its operands at several steps. Raises RuntimeError, as autograd does, where
    gradients are asked of one of them.
    """
    operands = list(_tensors(tracer, (*args, *kwargs.values())))
    by_parts = f"{name}_" in _BY_PARTS or f"aten::{name}_" not in PACKETS
    written = list(_tensors(tracer, targets))
    if _requires_grad(tracer, [*written, *operands]):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    for index, target in enumerate(written):
        _check_apart(tracer, name, by_parts, target, operands)
        _check_apart(tracer, name, True, target, written[:index])


def _check_apart(
    tracer: Tracer, name: str, by_parts: bool, written: FakeTensor, operands: Iterable[FakeTensor]
) -> None:
    settled = False
    for operand in operands:
        if operand is written:
            relation: Relation = "same"
        elif operand.view_of is None and written.view_of is None:
            continue
        else:
            settled = settled or functionalize.settle(written) or True
            if functionalize.root_of(operand) is not functionalize.root_of(written):
                continue
            relation = relate(written, operand)
        if relation == "apart" or (relation == "same" and not by_parts):
            continue
        problem = "may share" if relation == "may share" else "shares"
        raise READS_WRITTEN(op=name, problem=problem, location=tracer.locate())


def check_piece(tracer: Tracer, written: FakeTensor, operands: Sequence[FakeTensor]) -> None:
    """Raises RuntimeError, as autograd does, for an update of one of several views of which gradients are asked.

    Raises ``gradient-written`` for a piece of ``unsafe_split``, which has the memory of the whole and a history of its own.
    """
    if not (tracer.library.autograd and modes.grad_enabled()):
        return
    value: Any = written
    while value.view_of is not None and value.view_of.operator.name != "detach":
        alias = value.view_of
        if alias.operator.name in _APART and tracer.gradients.carries(value.view_of.parent):
            raise GRADIENT_WRITTEN(name=f"a piece of {alias.operator.name}", location=tracer.locate())
        if alias.operator.name in _TOGETHER and _requires_grad(tracer, [written, *operands]):
            raise RuntimeError(
                f"Output {alias.index} of {alias.operator.name} is a view and is being modified inplace. This view is the "
                "output of a function that returns multiple views. Such functions do not allow the output views to be "
                "modified inplace. You should replace the inplace operation by an out-of-place one."
            )
        value = alias.parent


def _requires_grad(tracer: Tracer, values: Iterable[FakeTensor]) -> bool:
    """Whether autograd follows one of the values now; the contract then holds that of the inputs."""
    if not (tracer.library.autograd and modes.grad_enabled()):
        return False
    tracer.looked("grad")
    tracer.looked("state")
    return any(value.meta.requires_grad for value in values)


def _tensors(tracer: Tracer, values: Iterable[Any]) -> Iterator[FakeTensor]:
    for value in values:
        if issubclass(type(value), FakeTensor):
            yield value
        elif type(value) in (list, tuple):
            yield from _tensors(tracer, value)
        elif tracer.library.is_tensor(value):
            yield tracer.fake_of(value)


def relate(first: Any, second: Any) -> Relation:
    """How the elements of two tensors of one storage lie to each other."""
    one, other = _chain(first), _chain(second)
    if len(one) == len(other) and all(map(_same_step, one, other)):
        return "same"
    if _told_apart(one, other):
        return "apart"
    root = functionalize.root_of(first).meta  # type: ignore[attr-defined]
    try:
        ours, theirs = _numbered(root.shape, one), _numbered(root.shape, other)
    except _Unknown:
        return "may share"
    if ours.shape == theirs.shape and bool((ours == theirs).all()):
        return "same"
    return "shares" if np.intersect1d(ours, theirs).size else "apart"


def _chain(value: Any) -> list[Alias]:
    """The views from the root to a tensor; those of everything as it is (``detach``) left out."""
    steps: list[Alias] = []
    while value.view_of is not None:
        steps.append(value.view_of)
        value = value.view_of.parent
    return [step for step in reversed(steps) if step.operator.name not in ("alias", "detach")]


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, SymNumber) and isinstance(second, SymNumber):
        equal = type(first) is type(second) and isinstance(first, SymInt) and same(first, second)  # type: ignore[arg-type]
        return first.expr is second.expr or equal
    if isinstance(first, (list, tuple)):
        return type(first) is type(second) and len(first) == len(second) and all(map(_same, first, second))
    return first is second or (type(first) is type(second) and type(first) in (int, str) and first == second)


def _same_step(first: Alias, second: Alias) -> bool:
    return (
        first.operator is second.operator
        and first.index == second.index
        and _same(tuple(first.args), tuple(second.args))
        and first.kwargs.keys() == second.kwargs.keys()
        and all(_same(first.kwargs[name], second.kwargs[name]) for name in first.kwargs)
    )


def _told_apart(one: list[Alias], other: list[Alias]) -> bool:
    """Whether the first step in which two chains differ takes different parts of one dimension."""
    for first, second in zip(one, other, strict=False):
        if _same_step(first, second):
            continue
        if first.index is not None and first.operator is second.operator:
            given = _same(tuple(first.args), tuple(second.args))
            return given and first.index != second.index
        spans = _span(first), _span(second)
        if None in spans or first.args[0] != second.args[0]:
            return False
        ordered = sorted(span for span in spans if span is not None)
        return all(before[1] <= after[0] for before, after in pairwise(ordered))
    return False


def _span(step: Alias) -> tuple[int, float] | None:
    """The places along its dimension that a view takes, where that is known of all sizes."""
    name, args = step.operator.name, step.args
    start: Any
    end: Any
    if name == "select":
        start = args[1]
        end = start + 1 if type(start) is int else None
    elif name == "slice":
        start = 0 if args[1] is None else args[1]
        end = math.inf if args[2] is None or (type(args[2]) is int and args[2] > 1 << 60) else args[2]
    else:
        return None
    if type(args[0]) is not int or type(start) is not int or type(end) not in (int, float):
        return None
    return (start, end) if start >= 0 and end >= 0 else None


class _Unknown(Exception):
    """Elements cannot be numbered: sizes are dynamic, or a view looks at them as something else."""


def _numbered(shape: tuple[Any, ...], chain: list[Alias]) -> Any:
    if any(type(size) is not int for size in shape) or np.prod(shape, dtype=np.int64) > _LARGEST:
        raise _Unknown
    view: Any = np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int32).reshape(shape)
    for step in chain:
        args = [_plain(arg) for arg in step.args]
        kernel = step.operator.kernel
        if kernel is None or step.operator.name.startswith("view_as_") or "dtype" in step.operator.overload:
            raise _Unknown
        view = kernel(view, *args, **{name: _plain(arg) for name, arg in step.kwargs.items()})
        if step.index is not None:
            view = view[step.index]
    return view


def _plain(value: Any) -> Any:
    if isinstance(value, SymNumber):
        raise _Unknown
    if isinstance(value, FakeTensor):  # for its shape alone
        if any(type(size) is not int for size in value.meta.shape):
            raise _Unknown
        return np.empty(value.meta.shape, dtype=np.int8)
    return [_plain(item) for item in value] if type(value) in (list, tuple) else value
