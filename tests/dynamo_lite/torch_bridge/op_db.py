"""PyTorch's own samples of its operators (``op_db``), each captured as a module of one call and compared with eager."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.utils import _pytree as pytree

import dynamo_lite as dl
from dynamo_lite.torch_bridge.convert import TORCH_DTYPES
from fx_ir.meta import TensorMeta
from fx_ir.node import Node
from fx_ir.signature import OutputKind
from solver.errors import ExportError
from tests.dynamo_lite.torch_bridge.support import module

DTYPES: Final = (torch.float32, torch.int64, torch.bool)
UNDETERMINED: Final = frozenset({
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "linalg.lstsq",
})  # fmt: skip
"""Values are whatever memory holds, or depend in their last bits on where the operands lie."""
SAMPLES: Final = 30  # of one operator and dtype


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one sample: ``same``, ``refused`` (with the id of the error), or ``wrong`` (with what differs)."""

    kind: str
    what: str
    sample: str


def operators() -> list[Any]:
    """PyTorch's descriptions of its operators; those of random ones no longer set the seed, which a program could not do."""
    import torch.testing._internal.common_methods_invocations as invocations

    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    return list(invocations.op_db)


def outcomes(op: Any, most: int = SAMPLES) -> Iterator[Outcome]:
    """What becomes of the samples of an operator, ``most`` of a dtype: as function, method and in place, and of its gradients."""
    for dtype in DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for sample in samples(op, dtype, most):
            for call in variants(op):
                yield from filter(None, [outcome(call, sample, op.name not in UNDETERMINED)])
            if dtype is torch.float32 and op.supports_autograd:
                yield from filter(None, [outcome(op.op, sample, op.name not in UNDETERMINED, grad=True)])


def variants(op: Any) -> Iterator[Callable[..., Any]]:
    """The function, the method, the method in place."""
    yield op.op
    if op.method_variant is not None and op.method_variant is not op.op:
        yield op.method_variant
    if op.inplace_variant is not None:
        yield op.inplace_variant


Sample = tuple[Any, tuple[Any, ...], dict[str, Any]]


def samples(op: Any, dtype: torch.dtype, most: int) -> Iterator[Sample]:
    """About ``most`` of an operator, spread over all that PyTorch has."""
    torch.manual_seed(0)
    found = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    step = max(1, len(found) // most)
    for sample in found[::step]:
        if op.name != "nn.functional.batch_norm" or sample.input.ndim > 1:  # a vector has no channels
            yield sample.input, tuple(sample.args), dict(sample.kwargs)


def outcome(
    call: Callable[..., Any], sample: Sample, values: bool = True, grad: bool = False
) -> Outcome | None:
    """Eager and our program on copies of one sample under one seed; None where eager raises.

    ``values``: are compared too. ``grad``: and so are gradients of all floating-point inputs.
    """
    leaves, spec = pytree.tree_flatten(sample)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if any(leaves[i].layout is not torch.strided for i in places):
        return None

    def given() -> list[torch.Tensor]:
        return copies([leaves[i] for i in places], grad)

    model, shown = _calling(call, leaves, places, spec), repr(pytree.tree_map(short, sample))[:300]
    with torch.set_grad_enabled(grad):
        try:
            expected = ran(model, given(), grad)
        except Exception:
            return None
        try:
            program = dl.export(model, (given(),), strict=False)
        except ExportError as error:
            return Outcome("refused", f"{error.id}: {str(error).splitlines()[0][:150]}", shown)
        except Exception as error:
            return Outcome("wrong", f"raises {type(error).__name__}: {str(error)[:150]}", shown)
        try:
            found = ran(program.module(), given(), grad)
        except Exception as error:
            return Outcome("wrong", f"runs into {type(error).__name__}: {str(error)[:150]}", shown)
    problem = differs(expected, found, values) or misdescribed(program, found[0])
    return Outcome("wrong" if problem else "same", problem or "", shown)


def dynamic_outcomes(op: Any, most: int) -> Iterator[Outcome]:
    """What becomes of the samples of an operator where the first size of every tensor is dynamic."""
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            for sample in samples(op, dtype, most):
                yield from filter(None, [dynamic_outcome(op.op, sample, op.name not in UNDETERMINED)])


def dynamic_outcome(call: Callable[..., Any], sample: Sample, values: bool) -> Outcome | None:
    """As :func:`outcome`, of dynamic sizes: at the example, with all tensors repeated, cut to one row, and with one alone repeated.

    What the contract refuses then is no fault.
    """
    leaves, spec = pytree.tree_flatten(sample)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    given = [leaves[i] for i in places]
    if not given or any(tensor.layout is not torch.strided for tensor in given):
        return None
    model, shown = _calling(call, leaves, places, spec), repr(pytree.tree_map(short, sample))[:300]
    with torch.no_grad():
        try:
            ran(model, copies(given, False), False)
        except Exception:
            return None
        sizes = ([{0: dl.Dim.AUTO} if tensor.ndim else {} for tensor in given],)
        try:
            program = dl.export(model, (copies(given, False),), dynamic_shapes=sizes, strict=False).module()
        except ExportError as error:
            return Outcome("refused", f"{error.id}: {str(error).splitlines()[0][:150]}", shown)
        except Exception as error:
            return Outcome("wrong", f"raises {type(error).__name__}: {str(error)[:150]}", shown)
        for settings in (
            given,
            [_rows(t, 2) for t in given],
            [_rows(t, 0) for t in given],
            [_rows(given[0], 2), *given[1:]],
        ):
            problem = _differs_at(model, program, settings, values)
            if problem is not None:
                return Outcome("wrong", problem, shown)
    return Outcome("same", "", shown)


def _rows(tensor: torch.Tensor, times: int) -> torch.Tensor:
    """The tensor repeated along its first dimension; its first row where ``times`` is 0."""
    if not tensor.ndim or not tensor.shape[0]:
        return tensor
    return torch.cat([tensor] * times) if times else tensor[:1].clone()


def _differs_at(model: Any, program: Any, given: list[torch.Tensor], values: bool) -> str | None:
    found: Any
    expected: Any
    try:
        found = ran(program, copies(given, False), False)
    except dl.GuardError:
        return None
    except Exception as error:
        found = error
    try:
        expected = ran(model, copies(given, False), False)
    except Exception as error:
        expected = error
    if isinstance(found, Exception) or isinstance(expected, Exception):
        both = isinstance(found, Exception) and isinstance(expected, Exception)
        return None if both else f"{[short(t) for t in given]}: {found!r:.150} and {expected!r:.150}"
    return differs(expected, found, values)


def _calling(call: Callable[..., Any], leaves: list[Any], places: list[int], spec: Any) -> Any:
    """A module of one call, which is given the tensors among its arguments."""

    def forward(self: Any, tensors: Any) -> Any:
        held = list(leaves)
        for i, tensor in zip(places, tensors, strict=True):
            held[i] = tensor
        first, rest, named = pytree.tree_unflatten(held, spec)
        return call(first, *rest, **named)

    return module(forward)


def misdescribed(program: Any, results: Any) -> str | None:
    """A result that is not of the shape, dtype or strides that the graph says it has."""
    specs = program.graph_signature.output_specs
    nodes = program.graph.output_node().args[0]
    shown = [node for spec, node in zip(specs, nodes, strict=True) if spec.kind is OutputKind.USER_OUTPUT]
    for node, tensor in zip(shown, pytree.tree_leaves(results), strict=False):
        meta = node.meta["val"] if isinstance(node, Node) else None
        if not isinstance(meta, TensorMeta) or not isinstance(tensor, torch.Tensor):
            continue
        if any(type(size) is not int for size in meta.shape):
            continue  # depends on data
        if tuple(meta.shape) != tuple(tensor.shape) or TORCH_DTYPES[meta.dtype] is not tensor.dtype:
            return f"described as {meta!r}, and it is {short(tensor)}"
        try:
            strides = tuple(meta.strides)
        except ExportError:
            continue
        counted = [dim for dim, size in enumerate(meta.shape) if size > 1] if tensor.numel() else []
        if any(strides[dim] != tensor.stride(dim) for dim in counted):
            return f"described with strides {strides}, and it is {short(tensor)}"
    return None


def ran(model: Any, tensors: list[torch.Tensor], grad: bool) -> Any:
    """Results, the inputs as they are afterwards, and gradients if asked for."""
    torch.manual_seed(1)
    results = model(tensors)
    if not grad:
        return results, tensors
    leaves = [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
    follows = [leaf for leaf in leaves if leaf.requires_grad]
    over = [tensor for tensor in tensors if tensor.requires_grad]
    total = sum((leaf * leaf.conj()).real.sum() for leaf in follows)
    slopes = torch.autograd.grad(total, over, allow_unused=True) if follows else ()
    return results, tensors, [leaf.requires_grad for leaf in leaves], slopes


def copies(tensors: list[torch.Tensor], grad: bool) -> list[torch.Tensor]:
    """Copies with the strides of their originals; floating-point ones require gradients if ``grad``."""
    made = [
        tensor.detach().clone() if tensor.is_contiguous() else copy.deepcopy(tensor.detach())
        for tensor in tensors
    ]
    return [tensor.requires_grad_(grad and tensor.is_floating_point()) for tensor in made]


def short(value: Any) -> Any:
    """A tensor as its kind and strides, for a message."""
    return f"{value.dtype}{tuple(value.shape)}/{value.stride()}" if isinstance(value, torch.Tensor) else value


def differs(expected: Any, found: Any, values: bool) -> str | None:
    """What differs between two results: structure, types, dtype, shape, strides, bits."""
    first, spec = pytree.tree_flatten(expected)
    second, other = pytree.tree_flatten(found)
    if len(first) != len(second) or spec != other:
        return f"structure {spec} and {other}"
    for a, b in zip(first, second, strict=True):
        if not isinstance(a, torch.Tensor):
            if type(a) is not type(b) or not (a == b or a != a):
                return f"value {a!r} and {b!r}"
        elif a.layout is not torch.strided:
            return differs(a.coalesce().to_dense(), b.coalesce().to_dense(), values)
        elif short(a) != short(b):
            return f"kind {short(a)} and {short(b)}"
        elif values and not torch.equal(bits(a), bits(b)):
            return f"values {a.flatten()[:8].tolist()} and {b.flatten()[:8].tolist()}"
    return None


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Values that compare equal where they are, NaN being one value."""
    tensor = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    return tensor.nan_to_num(nan=12345.0) if tensor.is_floating_point() else tensor
