"""Sample calls of operators: arrays of many types and layouts, made from a seed and a name alone."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fx_ir import dtypes
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import OPS, Operator

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class T:
    """A tensor to be made: ``layout`` says how it lies in memory, ``values`` what its elements are like, ``given`` what they are."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    layout: str = "plain"
    values: str = "normal"
    low: int = -4
    high: int = 5
    given: tuple[float, ...] = ()


def F(*shape: int, layout: str = "plain", values: str = "normal") -> T:
    return T(shape, "float32", layout, values)


def L(*shape: int, low: int = -4, high: int = 5, layout: str = "plain") -> T:
    return T(shape, "int64", layout, "range", low, high)


def N(*values: int) -> T:
    """Exactly these integers."""
    return T((len(values),), "int64", given=values)


def B(*shape: int, layout: str = "plain") -> T:
    return T(shape, "bool", layout, "range", 0, 2)


@dataclass(frozen=True)
class Sample:
    """One call. ``compare`` names what is compared with PyTorch beyond shape and type."""

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    compare: str = "values strides"
    tolerance: float = 2e-5

    def __str__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))}, {dict(self.kwargs)})"

    @property
    def operator(self) -> Operator:
        return OPS[self.op]


def sample(
    op: str, *args: Any, _compare: str = "values strides", _tolerance: float = 2e-5, **kwargs: Any
) -> Sample:
    return Sample(f"aten::{op}", args, kwargs, _compare, _tolerance)


def _draw(spec: T, shape: Sequence[int], rng: np.random.Generator) -> Array:
    numpy = np.dtype(spec.dtype)
    if spec.given:
        return np.array(spec.given, numpy).reshape(shape)
    if numpy.kind in "iub":
        low = max(spec.low, 0) if numpy.kind in "ub" else spec.low
        high = 2 if numpy.kind == "b" else spec.high
        return np.asarray(rng.integers(low, max(high, low + 1), shape)).astype(numpy)
    drawn = np.asarray(rng.standard_normal(shape))
    if spec.values == "positive":
        drawn = np.abs(drawn) + 0.1
    elif spec.values == "above":
        drawn = np.abs(drawn) + 1.01
    elif spec.values == "unit":
        drawn = np.asarray(rng.random(shape)) * 0.98 + 0.01
    elif spec.values == "special":
        drawn = np.asarray(rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], shape))
    elif spec.values == "halves":
        drawn = np.asarray(rng.integers(-6, 7, shape)) / 2
    elif spec.values == "ties":
        drawn = np.asarray(rng.integers(-2, 3, shape)).astype(np.float64)
    if numpy.kind == "c":
        drawn = drawn + 1j * np.asarray(rng.standard_normal(shape))
    return np.asarray(drawn).astype(numpy)


def make(spec: T, rng: np.random.Generator) -> Array:
    """The array: ``t`` is transposed memory, ``step`` every second element, ``last`` channels last, ``between`` dimensions 1 and 2 swapped, ``wide`` stride 0,
    ``thin`` transposed memory with stride 0 where the size is 1."""
    shape = spec.shape
    if spec.layout == "plain" or not shape:
        return _draw(spec, shape, rng)
    if spec.layout == "t":
        return _draw(spec, shape[::-1], rng).transpose()
    if spec.layout == "swap":
        return _draw(spec, (*shape[:-2], shape[-1], shape[-2]), rng).swapaxes(-1, -2)
    if spec.layout == "step":
        return _draw(spec, (*shape[:-1], shape[-1] * 2), rng)[..., ::2]
    if spec.layout == "last":
        return np.moveaxis(_draw(spec, (shape[0], *shape[2:], shape[1]), rng), -1, 1)
    if spec.layout == "between":
        return _draw(spec, (shape[0], shape[2], shape[1], *shape[3:]), rng).swapaxes(1, 2)
    if spec.layout == "wide":
        return np.broadcast_to(_draw(spec, (1, *shape[1:]), rng), shape)
    if spec.layout == "thin":
        kept = tuple([size for size in shape if size != 1])
        whole: Any = tuple([None if size == 1 else slice(None) for size in shape])
        thin: Array = _draw(spec, kept[::-1], rng).transpose()[whole]
        return thin
    raise ValueError(spec.layout)


def realise(value: Any, rng: np.random.Generator) -> Any:
    """The value with arrays in place of specifications."""
    if isinstance(value, T):
        return make(value, rng)
    if isinstance(value, (list, tuple)):
        return type(value)([realise(item, rng) for item in value])
    return value


def arguments(call: Sample) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arrays and numbers for a call, the same at each request."""
    rng = np.random.default_rng(zlib.crc32(str(call).encode()))
    return tuple([realise(arg, rng) for arg in call.args]), {
        key: realise(arg, rng) for key, arg in call.kwargs.items()
    }


def strides_of(array: Array) -> tuple[int, ...]:
    return tuple([stride // array.itemsize for stride in array.strides])


def is_contiguous(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    """PyTorch's rule: dimensions of size 1 do not count, empty tensors are contiguous."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return 0 in shape
            expected *= size
    return True


def describe(value: Any) -> Any:
    """Metadata in place of arrays: what a fake rule takes. A layout that is contiguous is passed as unknown."""
    if isinstance(value, np.ndarray):
        strides = strides_of(value)
        plain = is_contiguous(value.shape, strides)
        return TensorMeta(value.shape, dtypes.from_numpy(value.dtype), dtypes.CPU, None if plain else strides)
    if isinstance(value, (list, tuple)):
        return type(value)([describe(item) for item in value])
    return value


def bound(
    call: Sample, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All arguments of the operator, defaults included."""
    return call.operator.bind(args, kwargs)


def leaves(result: Any) -> list[Any]:
    """The results as a flat list."""
    return (
        [leaf for item in result for leaf in leaves(item)] if isinstance(result, (list, tuple)) else [result]
    )


def significant(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides that matter: of dimensions longer than 1, and none if the tensor is empty."""
    if 0 in shape:
        return ()
    return tuple([stride for size, stride in zip(shape, strides, strict=True) if size != 1])
