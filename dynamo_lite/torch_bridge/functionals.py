"""Functions of PyTorch that take functions, by our own loops; and the paths that its layers leave only to its exporter."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from torch import _higher_order_ops as theirs
from torch._functorch import apis
from torch.nn.modules import activation

import dynamo_lite as ours
from dynamo_lite import dispatch
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.errors import where
from dynamo_lite.lowering.packets import apply
from dynamo_lite.torch_bridge.answers import PATCHED, answers
from dynamo_lite.torch_bridge.errors import LOOP_LOOKED_UP, TRANSFORM
from dynamo_lite.torch_bridge.shell import Shell
from dynamo_lite.trace.loops import trace_map
from fx_ir.pytree import tree_map

_LOOPS: Final = ("associative_scan", "map", "scan", "while_loop")


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise LOOP_LOOKED_UP(name=name, location=where())

    return refuse


# Non-strict mode meets the public functions where forward looks them up, and the operators behind them when their
# function was imported by name: there the branches are wrapped in code of PyTorch's already.
for _name in _LOOPS:
    _public = getattr(theirs, _name)
    _home = sys.modules[_public.__module__]
    answers(_public)(getattr(ours, _name))
    PATCHED.extend([(theirs, _name, getattr(ours, _name)), (_home, _name, getattr(ours, _name))])
    _operator = getattr(_home, f"{_name}_op", None) or getattr(_home, f"{_name}_impl")
    _operator.py_impl(Shell)(_refuse(f"torch._higher_order_ops.{_name}"))


def _moved(tree: Any, source: int, target: int) -> Any:
    def move(value: Any) -> Any:
        if not is_tensor(value) or meta_of(value).ndim < 2 or source == target:
            return value
        return apply("movedim", value, source, target)

    return tree_map(move, tree)


@answers(apis.vmap_impl)
def vmap_impl(
    func: Callable[..., Any],
    in_dims: Any,
    out_dims: Any,
    randomness: str,
    chunk_size: int | None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """``torch.vmap`` as a loop over the batch. Raises ``function-transform`` where that would not say the same."""
    dims: Sequence[Any] = [in_dims] * len(args) if isinstance(in_dims, int) else in_dims
    plain = all(dim is None or type(dim) is int for dim in dims) and type(out_dims) is int
    if not plain or len(dims) != len(args) or randomness != "error":
        given = f"torch.vmap with in_dims={in_dims}, out_dims={out_dims}, randomness={randomness!r}"
        raise TRANSFORM(name=given, location=where())
    batched = [_moved(arg, dim, 0) for arg, dim in zip(args, dims, strict=True) if dim is not None]
    tracer: Any = dispatch.recorder()

    def one(slices: Any, *rest: Any) -> Any:
        each, others = iter(slices), iter(rest)
        given = [next(others) if dim is None else next(each) for dim in dims]
        return tracer.invoke(functools.partial(func, **kwargs) if kwargs else func, tuple(given))

    whole = [arg for arg, dim in zip(args, dims, strict=True) if dim is None]
    return _moved(trace_map(tracer, one, tuple(batched), whole), 0, out_dims)


PATCHED.append((apis, "vmap_impl", vmap_impl))


@answers(activation._is_make_fx_tracing)
def _tracing() -> bool:
    """Asked before the fast path of self-attention, which our programs can hold: as eager takes it."""
    return False


PATCHED.append((activation, "_is_make_fx_tracing", _tracing))
