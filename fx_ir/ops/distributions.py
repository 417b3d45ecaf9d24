"""Numbers of other distributions drawn over a tensor: integers, Cauchy, geometric, log-normal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fx_ir import rng
from fx_ir.dtypes import Category, DType, bool_, from_numpy
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.random import laid_out_as
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import elementwise

_DIGITS: Final = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Binary digits of a float: integers up to that power of two are exact."""


def _last(dtype: DType) -> int:
    """The largest integer that is drawn where no end is given."""
    if dtype is bool_:
        return 1
    return 2 ** _DIGITS[dtype.name] if dtype.name in _DIGITS else int(np.iinfo(dtype.numpy).max)


def _bounds(dtype: DType, bounds: tuple[Any, ...]) -> tuple[Any, Any]:
    """First and last integer of ``random_()``, ``random_(to)`` and ``random_(from, to)``."""
    if not bounds:
        return 0, _last(dtype)
    first, end = bounds if len(bounds) == 2 else (0, bounds[0])
    return first, _last(dtype) if end is None else end - 1


def _fake_random(self: TensorMeta, *bounds: Size | None, **_: Any) -> TensorMeta:
    if self.dtype.is_complex:
        raise NotImplementedError(f"random_ is not implemented for {self.dtype.name}")
    first, last = _bounds(self.dtype, bounds)
    if first > last:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last + 1}"
        )
    if bounds and not self.dtype.is_floating_point:
        low = 0 if self.dtype is bool_ else int(np.iinfo(self.dtype.numpy).min)
        for name, value in (("from", first), ("to - 1", last)):
            if value < low or value > _last(self.dtype):
                raise RuntimeError(f"{name} is out of bounds for {self.dtype.name}")
    return elementwise(self.dtype, self)


def _random(self: Array, *bounds: int | None, generator: np.random.Generator | None = None) -> Array:
    first, last = _bounds(from_numpy(self.dtype), bounds)
    drawn = rng.generator(generator).integers(first, last, self.shape, endpoint=True)
    return laid_out_as(as_array(drawn).astype(self.dtype), self)


def _checked(name: str, check: Callable[[float], str | None], floats: bool) -> Callable[..., TensorMeta]:
    """The fake rule of a distribution whose parameter ``check`` finds fault with."""

    def fake(self: TensorMeta, *parameters: float, **_: Any) -> TensorMeta:
        if floats and (self.dtype.category < Category.FLOAT or self.dtype.is_complex):
            raise RuntimeError(
                f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
                f"specified {self.dtype.name}"
            )
        problem = check(parameters[-1])
        if problem is not None:
            raise RuntimeError(problem)
        return elementwise(self.dtype, self)

    return fake


def _probability(p: float) -> str | None:
    return None if 0 < p < 1 else f"geometric_ expects p to be in (0, 1), but got p={p}"


def _spread(name: str, parameter: str) -> Callable[[float], str | None]:
    return lambda value: (
        None if value > 0 else f"{name} expects {parameter} > 0.0, but found {parameter}={value}"
    )


def _drawn(draw: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(self: Array, *parameters: float, generator: np.random.Generator | None = None) -> Array:
        drawn = as_array(draw(rng.generator(generator), self.shape, *parameters))
        return laid_out_as(drawn.astype(self.dtype), self)

    return kernel


def _draw_cauchy(
    source: np.random.Generator, shape: tuple[int, ...], median: float = 0.0, sigma: float = 1.0
) -> Any:
    return source.standard_cauchy(shape) * sigma + median


def _draw_log_normal(
    source: np.random.Generator, shape: tuple[int, ...], mean: float = 1.0, std: float = 2.0
) -> Any:
    return source.lognormal(mean, std, shape)


def _draw_geometric(source: np.random.Generator, shape: tuple[int, ...], p: float) -> Any:
    return source.geometric(p, shape)


def _declare() -> None:
    tail = "*, Generator? generator=None) -> Tensor"
    rows: list[tuple[str, str, Any, Any]] = [
        ("random.from", "int from, int? to, ", _fake_random, _random),
        ("random.to", "int to, ", _fake_random, _random),
        ("random", "", _fake_random, _random),
        (
            "cauchy",
            "float median=0., float sigma=1., ",
            _checked("Cauchy", _spread("cauchy_", "sigma"), True),
            _drawn(_draw_cauchy),
        ),
        (
            "log_normal",
            "float mean=1., float std=2., ",
            _checked("log-normal", _spread("log_normal_", "std"), True),
            _drawn(_draw_log_normal),
        ),
        ("geometric", "float p, ", _checked("geometric", _probability, False), _drawn(_draw_geometric)),
    ]
    for name, parameters, fake, kernel in rows:
        register(f"aten::{name}(Tensor self, {parameters}{tail}", fake=fake, kernel=kernel, random=True)
        base, dot, overload = name.partition(".")
        register_inplace(
            f"aten::{base}_{dot}{overload}(Tensor(a!) self, {parameters}{tail}(a!)", f"aten::{name}"
        )


_declare()
