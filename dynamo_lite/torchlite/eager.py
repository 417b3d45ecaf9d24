"""Running an operator now: unwrap, kernel, wrap. In-place operators write the result of their functional counterpart."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dynamo_lite import dispatch
from dynamo_lite.lowering import modes
from dynamo_lite.torchlite._tensor import Tensor, describe, wrap
from dynamo_lite.torchlite.random import Generator
from fx_ir import fake_context
from fx_ir.dtypes import Device
from fx_ir.errors import KERNEL_MISSING
from fx_ir.ops.registry import OPS, Operator

_PLAIN: Final = frozenset({int, float, bool, str, type(None)})
_NEVER_GRAD: Final = frozenset({"detach", "detach_", "lift_fresh_copy"})
_FILLS: Final = frozenset({"fill_", "zero_"})


def on_host(value: Any) -> Any:
    """``value``, unless it is a device other than the one there is here. Raises as PyTorch does where it has no CUDA."""
    if type(value) is Device and value.type != "cpu":
        if value.type == "cuda":
            raise AssertionError("Torch not compiled with CUDA enabled")
        raise RuntimeError(f"torchlite computes on the CPU alone, not on {value}")
    return value


def _native(value: Any) -> Any:
    """An argument as kernels take it."""
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, Generator):
        return value.stream
    if type(value) in (list, tuple):
        return [_native(item) for item in value]
    return on_host(value)


def _wants_grad(args: Any) -> bool:
    for value in args:
        if isinstance(value, Tensor):
            if value._requires_grad:
                return True
        elif type(value) in (list, tuple) and _wants_grad(value):
            return True
    return False


class _NoSize(Exception):
    """A fake rule asked for a size that depends on data."""


class _Eager:
    """The fake context of the checks made here: a rule that needs an unbacked size has nothing more to say."""

    env: Any = None

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        raise _NoSize


# Refused or not by strides, which kernels do not look at.
_LAYOUT_DECIDES: Final = frozenset({"view", "view_as"})
_SMALL: Final = 9


def _small_numbers(values: list[Any]) -> bool:
    return all(type(value) is int and -_SMALL < value < _SMALL for value in values)


_CHECKED: Final[set[Any]] = set()


def check(op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Applies the fake rule for its errors, which are PyTorch's. (One written by a user need not know them.)"""
    if op.namespace != "aten":
        return
    with fake_context.activate(_Eager()), contextlib.suppress(_NoSize):
        op.fake(*_described(args), **{name: _described(value) for name, value in kwargs.items()})


def _described(value: Any) -> Any:
    if isinstance(value, Tensor):
        return describe(value)
    if type(value) in (list, tuple):
        return type(value)([_described(item) for item in value])
    return value


def run(op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Runs ``op`` on tensors and plain values bound to its schema.

    The fake rule is asked once for each combination of operator and types, and whenever a kernel fails: it knows the
    conditions, and words them as PyTorch does; kernels only compute.
    """
    if op.lower is not None:
        result = op.lower(call, write, *args, **kwargs)
        if result is not NotImplemented:
            return result
    if op.is_inplace:
        return _run_inplace(op, args, kwargs)
    grad = False
    natives: list[Any] = []
    key: list[Any] = [op]
    for value in args:
        kind = type(value)
        if kind is Tensor:
            array = value._array
            natives.append(array)
            key.append(array.dtype.num)
            key.append(array.ndim)
            grad = grad or value._requires_grad
        elif kind in _PLAIN:
            natives.append(value)
            # What rules ask of a number is its sign; a small one may be a dimension, and a string is a mode.
            if kind is str or value is None or (kind is int and -_SMALL < value < _SMALL):
                key.append(value)
            else:
                key.append(kind)
                key.append(value < 0)
        else:
            natives.append(_native(value))
            if isinstance(value, Tensor):
                key += (value._array.dtype, value._array.ndim)
            else:
                key.append(tuple(value) if kind is list and _small_numbers(value) else kind)
            grad = grad or _wants_grad((value,))
    signature = tuple(key)
    if signature not in _CHECKED or (op.name in _LAYOUT_DECIDES and not natives[0].flags.c_contiguous):
        check(op, args, kwargs)
        _CHECKED.add(signature)
    kernel = op.kernel
    if kernel is None:
        raise KERNEL_MISSING(op=op, backend="torchlite")
    if kwargs:
        kwargs = {name: value if type(value) in _PLAIN else _native(value) for name, value in kwargs.items()}
    try:
        if op.view is not None:
            result = kernel(*natives, **kwargs)
        else:
            with np.errstate(all="ignore"):
                result = kernel(*natives, **kwargs)
    except Exception as error:
        check(op, args, kwargs)
        if isinstance(error, ValueError):  # NumPy's word for what PyTorch calls a RuntimeError
            raise RuntimeError(str(error)) from error
        raise
    if grad:
        return _with_grad(op, args, result)
    return _wrapped(result, args, op.maybe_view is not None)


def _wrapped(result: Any, args: tuple[Any, ...], maybe_itself: bool) -> Any:
    """A kernel's result as users see it. What gives its very argument back is the argument."""
    kind = type(result)
    if kind is np.ndarray:
        if maybe_itself and isinstance(args[0], Tensor) and result is args[0]._array:
            return args[0]
        made: Tensor = object.__new__(Tensor)
        made._array = result
        return made
    if kind is tuple or kind is list:
        return kind([_wrapped(item, args, False) for item in result])
    if isinstance(result, tuple):
        return type(result)(*[_wrapped(item, args, False) for item in result])
    if isinstance(result, np.generic):
        return wrap(np.asarray(result))
    return result


def _with_grad(op: Operator, args: tuple[Any, ...], result: Any) -> Any:
    """As :func:`_wrapped`, with ``requires_grad`` on floating results where the mode and the operator say so."""
    wrapped = _wrapped(result, args, op.maybe_view is not None)
    if not modes.grad_enabled() or op.nondifferentiable or op.name in _NEVER_GRAD:
        return wrapped
    base = args[0] if args and isinstance(args[0], Tensor) else None
    for made in wrapped if isinstance(wrapped, (tuple, list)) else (wrapped,):
        if isinstance(made, Tensor) and made is not base and made.dtype.category > 1:
            made._requires_grad = True
            made._leaf = False
            if op.view is not None and base is not None and (base._leaf or base._of_leaf):
                made._of_leaf = base._of_leaf or base._requires_grad
    return wrapped


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Applies the operator of a qualified name."""
    op = OPS[name.removesuffix(".default")]
    return run(op, *op.match(args, kwargs))


def write(target: Tensor, value: Any) -> None:
    """Copies ``value`` into the memory of ``target``, cast to its type. Raises PyTorch's errors for what does not fit."""
    source = value._array if isinstance(value, Tensor) else np.asarray(value)
    memory = target._array
    if source.shape != memory.shape:
        raise RuntimeError(
            f"output with shape {list(memory.shape)} doesn't match the broadcast shape {list(source.shape)}"
        )
    np.copyto(memory if memory.flags.writeable else _writeable(memory), source, casting="unsafe")


def _writeable(memory: Any) -> Any:
    """A writeable view of memory that NumPy protects (a broadcast view of writeable memory)."""
    base = memory
    while isinstance(base.base, np.ndarray) and not base.flags.writeable:
        base = base.base
    if not base.flags.writeable:
        raise RuntimeError("the tensor views memory that may not be written")
    interface = dict(memory.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder: Any = type("_Memory", (), {"__array_interface__": interface, "base": base})()
    return np.asarray(holder)


def check_writable(op_name: str, target: Tensor) -> None:
    """Raises as PyTorch does where an in-place operator must not write."""
    if target._requires_grad and modes.grad_enabled():
        if target._leaf:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        if target._of_leaf:
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )
    memory = target._array
    if 0 in memory.strides and op_name not in _FILLS:
        for size, stride in zip(memory.shape, memory.strides, strict=True):
            if size > 1 and stride == 0 and memory.size:
                raise RuntimeError(
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                    "location. Please clone() the tensor before performing the operation."
                )


def _run_inplace(op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    target = args[0]
    functional = op.functional
    assert functional is not None
    if op.name == "detach_":
        target._requires_grad, target._leaf, target._of_leaf = False, True, False
        return target
    if functional.view is None:
        check_writable(op.name, target)
    result = run(functional, args, kwargs)
    if functional.view is not None and functional.maybe_view is None:
        target._array = result._array
        return target
    produced = result.dtype
    if produced.category > target.dtype.category and op.name not in ("copy_", "fill_"):
        raise RuntimeError(
            f"result type {_scalar_name(produced)} can't be cast to the desired output type "
            f"{_scalar_name(target.dtype)}"
        )
    write(target, result)
    if result._requires_grad and not target._requires_grad:
        target._requires_grad, target._leaf = True, False
    return target


def _scalar_name(dtype: Any) -> str:
    from dynamo_lite.lowering.indexing import _LEGACY

    return _LEGACY[dtype.name]


dispatch.set_eager(run)
