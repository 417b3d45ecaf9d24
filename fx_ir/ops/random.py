"""Operators that draw random numbers. Each draws from the default generator, or from the one that it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir import rng
from fx_ir.dtypes import CPU, Category, Device, DType, MemoryFormat, get_default_dtype, int64
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.convert import formatted, with_format
from fx_ir.ops.creation import made
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import broadcast_shapes, elementwise, fails

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
_INTEGER_OPTIONS = _OPTIONS.replace("dtype=None", "dtype=4")
_FORMAT = "MemoryFormat? memory_format=None"
Draw = Callable[[np.random.Generator, Sequence[int], np.dtype[Any]], Array]


def _normal(generator: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "c":
        half = _normal(generator, shape, np.dtype(dtype.type(0).real.dtype))
        other = _normal(generator, shape, half.dtype)
        return as_array((half + 1j * other) * np.sqrt(0.5)).astype(dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    return as_array(generator.standard_normal(tuple(shape), wide)).astype(dtype, copy=False)


def _uniform(generator: np.random.Generator, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    wide = np.float64 if dtype == np.float64 else np.float32
    return as_array(generator.random(tuple(shape), wide)).astype(dtype, copy=False)


# --- from sizes ------------------------------------------------------------------------------------------------------


def _fake_floating(
    size: Sequence[Size], *, dtype: DType | None = None, device: Device | None = None, **_: Any
) -> TensorMeta:
    target = get_default_dtype() if dtype is None else dtype
    if target.category < Category.FLOAT:
        raise RuntimeError(f"random numbers of this distribution are not implemented for '{target}'")
    return made(size, target, device)


def _drawn(draw: Draw) -> Callable[..., Array]:
    def kernel(
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        generator: np.random.Generator | None = None,
        **_: Any,
    ) -> Array:
        return draw(rng.generator(generator), size, (get_default_dtype() if dtype is None else dtype).numpy)

    return kernel


def _fake_randint(
    *args: Any, dtype: DType | None = int64, device: Device | None = None, **_: Any
) -> TensorMeta:
    *bounds, size = args
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    if fails(low >= high, "a range to draw from is not empty"):
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return made(size, dtype or int64, device)


def _randint(
    *args: Any, dtype: DType | None = int64, generator: np.random.Generator | None = None, **_: Any
) -> Array:
    *bounds, size = args
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    drawn = rng.generator(generator).integers(low, high, tuple(size))
    return as_array(drawn).astype((dtype or int64).numpy, copy=False)


def _fake_randperm(
    n: Size, *, dtype: DType | None = int64, device: Device | None = None, **_: Any
) -> TensorMeta:
    return made((n,), dtype or int64, device)


def _randperm(
    n: int, *, dtype: DType | None = int64, generator: np.random.Generator | None = None, **_: Any
) -> Array:
    return rng.generator(generator).permutation(n).astype((dtype or int64).numpy, copy=False)


# --- like another tensor ---------------------------------------------------------------------------------------------


def _fake_like(
    self: TensorMeta,
    *args: Any,
    dtype: DType | None = None,
    memory_format: MemoryFormat | None = None,
    **_: Any,
) -> TensorMeta:
    return formatted(elementwise(self.dtype if dtype is None else dtype, self), memory_format)


def _like(draw: Draw) -> Callable[..., Array]:
    def kernel(
        self: Array,
        *,
        dtype: DType | None = None,
        memory_format: MemoryFormat | None = None,
        generator: np.random.Generator | None = None,
        **_: Any,
    ) -> Array:
        target = self.dtype if dtype is None else dtype.numpy
        return laid_out_as(draw(rng.generator(generator), self.shape, target), self, memory_format)

    return kernel


def laid_out_as(drawn: Array, pattern: Array, memory_format: MemoryFormat | None = None) -> Array:
    """What was drawn, in the order of memory of ``pattern`` or in the one given."""
    if pattern.flags.c_contiguous:
        return with_format(drawn, memory_format)
    result = np.empty_like(pattern, dtype=drawn.dtype, subok=False)
    result[...] = drawn
    return with_format(result, memory_format)


def _randint_like(
    self: Array, *bounds: int, dtype: DType | None = None, memory_format: MemoryFormat | None = None, **_: Any
) -> Array:
    low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
    drawn = as_array(rng.generator().integers(low, high, self.shape))
    return laid_out_as(
        drawn.astype(self.dtype if dtype is None else dtype.numpy, copy=False), self, memory_format
    )


# --- values drawn over a tensor --------------------------------------------------------------------------------------


def _fake_over(self: TensorMeta, *args: Any, **_: Any) -> TensorMeta:
    return elementwise(self.dtype, self)


def _bernoulli(self: Array, p: Any = None, *, generator: np.random.Generator | None = None) -> Array:
    chance = self if p is None else p
    drawn = rng.generator(generator).random(self.shape, np.float32) < chance
    return laid_out_as(as_array(drawn).astype(self.dtype), self)


def _over(draw: Callable[..., Any]) -> Callable[..., Array]:
    def kernel(self: Array, *args: float, generator: np.random.Generator | None = None) -> Array:
        return laid_out_as(as_array(draw(rng.generator(generator), self, *args)).astype(self.dtype), self)

    return kernel


def _draw_uniform(generator: np.random.Generator, self: Array, low: float = 0.0, high: float = 1.0) -> Any:
    return _uniform(generator, self.shape, self.dtype) * (high - low) + low


def _draw_normal(generator: np.random.Generator, self: Array, mean: float = 0.0, std: float = 1.0) -> Any:
    return _normal(generator, self.shape, self.dtype) * std + mean


def _draw_exponential(generator: np.random.Generator, self: Array, lambd: float = 1.0) -> Any:
    return generator.exponential(1.0 / lambd, self.shape)


def _fake_normal(mean: Any, std: Any = 1.0, **_: Any) -> TensorMeta:
    metas = [operand for operand in (mean, std) if isinstance(operand, TensorMeta)]
    return TensorMeta(broadcast_shapes(*[meta.shape for meta in metas]), metas[0].dtype, metas[0].device)


def _normal_of(mean: Any, std: Any = 1.0, *, generator: np.random.Generator | None = None) -> Array:
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    return as_array(_normal(rng.generator(generator), shape, dtype) * std + mean).astype(dtype, copy=False)


def _fake_normal_sized(
    mean: float,
    std: float,
    size: Sequence[Size],
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    **_: Any,
) -> TensorMeta:
    return made(size, dtype, device)


def _normal_sized(
    mean: float,
    std: float,
    size: Sequence[int],
    *,
    dtype: DType | None = None,
    generator: np.random.Generator | None = None,
    **_: Any,
) -> Array:
    target = (get_default_dtype() if dtype is None else dtype).numpy
    return as_array(_normal(rng.generator(generator), size, target) * std + mean).astype(target, copy=False)


def _fake_multinomial(self: TensorMeta, num_samples: Size, replacement: bool = False, **_: Any) -> TensorMeta:
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if self.dtype.category < Category.FLOAT:
        raise RuntimeError(
            f"multinomial only supports floating-point dtypes for input, got: {self.dtype.name}"
        )
    if not replacement and num_samples > self.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    return TensorMeta((*self.shape[:-1], num_samples), int64, self.device)


def _multinomial(
    self: Array, num_samples: int, replacement: bool = False, *, generator: np.random.Generator | None = None
) -> Array:
    rows = self.reshape(-1, self.shape[-1]).astype(np.float64)
    source = rng.generator(generator)
    if replacement:
        steps = np.cumsum(rows, axis=-1)
        drawn = source.random((len(rows), num_samples)) * steps[:, -1:]
        chosen = np.stack(
            [np.searchsorted(step, row, side="right") for step, row in zip(steps, drawn, strict=True)]
        )
    else:
        keys = source.exponential(1.0, rows.shape) / np.where(rows > 0, rows, 1e-300)
        chosen = np.argsort(keys, axis=-1, kind="stable")[:, :num_samples]
    return chosen.reshape(*self.shape[:-1], num_samples).astype(np.int64, copy=False)


def _declare_sized() -> None:
    for name, draw in (("randn", _normal), ("rand", _uniform)):
        kernel = _drawn(draw)
        register(
            f"aten::{name}(SymInt[] size, *, {_OPTIONS}) -> Tensor",
            fake=_fake_floating,
            kernel=kernel,
            random=True,
        )
        register(
            f"aten::{name}.generator(SymInt[] size, *, Generator? generator, {_OPTIONS}) -> Tensor",
            fake=_fake_floating,
            kernel=kernel,
            random=True,
        )
        register(
            f"aten::{name}_like(Tensor self, *, {_OPTIONS}, {_FORMAT}) -> Tensor",
            fake=_fake_like,
            kernel=_like(draw),
            random=True,
        )
    for overload, bounds in (("", "SymInt high"), (".low", "SymInt low, SymInt high")):
        register(
            f"aten::randint{overload}({bounds}, SymInt[] size, *, {_INTEGER_OPTIONS}) -> Tensor",
            fake=_fake_randint,
            kernel=_randint,
            random=True,
        )
        register(
            f"aten::randint.{overload[1:] + '_' if overload else ''}generator({bounds}, SymInt[] size, *, "
            f"Generator? generator, {_INTEGER_OPTIONS}) -> Tensor",
            fake=_fake_randint,
            kernel=_randint,
            random=True,
        )
        register(
            f"aten::randint_like{overload + '_dtype' if overload else ''}(Tensor self, {bounds}, *, {_OPTIONS}, {_FORMAT}) -> Tensor",
            fake=_fake_like,
            kernel=_randint_like,
            random=True,
        )
    register(
        f"aten::randperm(SymInt n, *, {_INTEGER_OPTIONS}) -> Tensor",
        fake=_fake_randperm,
        kernel=_randperm,
        random=True,
    )
    register(
        f"aten::randperm.generator(SymInt n, *, Generator? generator, {_INTEGER_OPTIONS}) -> Tensor",
        fake=_fake_randperm,
        kernel=_randperm,
        random=True,
    )


def _declare_over() -> None:
    tail = "*, Generator? generator=None) -> Tensor"
    over: list[tuple[str, str, Any]] = [
        ("uniform", "float from=0., float to=1.", _over(_draw_uniform)),
        ("normal_functional", "float mean=0., float std=1.", _over(_draw_normal)),
        ("exponential", "float lambd=1.", _over(_draw_exponential)),
    ]
    for name, arguments, kernel in over:
        register(
            f"aten::{name}(Tensor self, {arguments}, {tail}", fake=_fake_over, kernel=kernel, random=True
        )
        inplace = "normal_" if name == "normal_functional" else f"{name}_"
        register_inplace(f"aten::{inplace}(Tensor(a!) self, {arguments}, {tail}(a!)", f"aten::{name}")
    for overload, argument in (("", ""), (".p", "float p, "), (".Tensor", "Tensor p, ")):
        register(
            f"aten::bernoulli{overload}(Tensor self, {argument}{tail}",
            fake=_fake_over,
            kernel=_bernoulli,
            random=True,
        )
    register_inplace(
        f"aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, {tail}(a!)", "aten::bernoulli.Tensor"
    )
    register_inplace(f"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, {tail}(a!)", "aten::bernoulli.p")
    for arguments in (
        "Tensor_float(Tensor mean, float std=1.",
        "float_Tensor(float mean, Tensor std",
        "Tensor_Tensor(Tensor mean, Tensor std",
    ):
        register(f"aten::normal.{arguments}, {tail}", fake=_fake_normal, kernel=_normal_of, random=True)
    register(
        f"aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {_OPTIONS}) -> Tensor",
        fake=_fake_normal_sized,
        kernel=_normal_sized,
        random=True,
    )
    register(
        f"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, {tail}",
        fake=_fake_multinomial,
        kernel=_multinomial,
        random=True,
        nondifferentiable=True,
    )


_declare_sized()
_declare_over()

__all__ = ["CPU"]
