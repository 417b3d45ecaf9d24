"""Elementwise operators of one operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, bool_, get_default_dtype, int64
from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type, copied, in_float32, to_float
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import elementwise
from fx_ir.ops.views import WHOLE_RULE

Kernel = Callable[[Array], Array]


def fake_same(self: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
    return elementwise(self.dtype, self)


def fake_float(self: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
    """Integers become the default floating type."""
    dtype = self.dtype
    return elementwise(get_default_dtype() if dtype.category < Category.FLOAT else dtype, self)


def fake_bool(self: TensorMeta) -> TensorMeta:
    return elementwise(bool_, self)


def fake_real(self: TensorMeta) -> TensorMeta:
    return elementwise(self.dtype.to_real(), self)


def _fake_angle(self: TensorMeta) -> TensorMeta:
    result = fake_real(fake_float(self))
    return result.like() if self.dtype.is_complex else result


def fake_floating_only(self: TensorMeta, *args: Any, **kwargs: Any) -> TensorMeta:
    """As PyTorch's activations: integers are refused."""
    if self.dtype.category < Category.FLOAT:
        raise RuntimeError(f"this operator is not implemented for '{self.dtype}'")
    return elementwise(self.dtype, self)


def _fake_neg(self: TensorMeta) -> TensorMeta:
    if self.dtype is bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )
    return elementwise(self.dtype, self)


def _fake_abs(self: TensorMeta) -> TensorMeta:
    if self.dtype is bool_:
        raise RuntimeError("abs is not implemented for 'Bool'")
    return fake_real(self)


def _fake_square(self: TensorMeta) -> TensorMeta:
    return elementwise(int64 if self.dtype is bool_ else self.dtype, self)


def square(self: Array) -> Array:
    return as_array(np.multiply(self, self, dtype=np.int64 if self.dtype.kind == "b" else None))


def _fake_conjugate(self: TensorMeta) -> TensorMeta:
    return elementwise(self.dtype, self) if self.dtype.is_complex else self


def _is_real(result: TensorMeta, self: TensorMeta) -> bool:
    return not self.dtype.is_complex


def conjugate(self: Array) -> Array:
    return as_array(np.conjugate(self)) if self.dtype.kind == "c" else self


def _fake_bits(self: TensorMeta) -> TensorMeta:
    if self.dtype.category > Category.INTEGER:
        raise RuntimeError(f"bitwise_not is not implemented for '{self.dtype}'")
    return elementwise(self.dtype, self)


def of_float_ufunc(ufunc: Any) -> Kernel:
    """The ufunc, integers computed in floats."""

    def kernel(self: Array) -> Array:
        return as_array(ufunc(self if self.dtype.kind in "fc" else to_float(self)))

    return kernel


def of_ufunc(ufunc: Any) -> Kernel:
    return lambda self: as_array(ufunc(self))


def of_special(name: str) -> Kernel:
    """A function of ``scipy.special``, imported at the first call; half precisions go through float32."""

    def kernel(self: Array) -> Array:
        import scipy.special

        self = to_float(self)
        return as_array(
            getattr(scipy.special, name)(self.astype(compute_type(self.dtype), copy=False))
        ).astype(self.dtype, copy=False)

    return kernel


def rsqrt(self: Array) -> Array:
    root = np.sqrt(to_float(self))
    return as_array(np.divide(1, root, dtype=root.dtype)) if root.ndim == 0 else np.reciprocal(root, out=root)


def reciprocal(self: Array) -> Array:
    return as_array(np.reciprocal(to_float(self)))


@in_float32
def sigmoid(self: Array) -> Array:
    from scipy.special import expit

    return as_array(expit(self))


def _rounding(ufunc: Any) -> Kernel:
    """Integers stay as they are."""
    return lambda self: as_array(ufunc(self)) if self.dtype.kind in "fcV" else self.copy()


def sign(self: Array) -> Array:
    if self.dtype.kind == "b":
        return self.copy()
    return as_array(np.nan_to_num(np.sign(self), nan=0.0) if self.dtype.kind == "f" else np.sign(self))


def sgn(self: Array) -> Array:
    if self.dtype.kind != "c":
        return sign(self)
    size = np.abs(self)
    return as_array(np.where(size == 0, 0, self / np.where(size == 0, 1, size)).astype(self.dtype))


def frac(self: Array) -> Array:
    return as_array(self - np.trunc(self))


def angle(self: Array) -> Array:
    if self.dtype.kind == "c":
        return np.ascontiguousarray(np.angle(self)).reshape(self.shape)
    array = to_float(self)
    return as_array(np.where(np.isnan(array), array, np.where(array < 0, np.pi, 0)).astype(array.dtype))


def abs_(self: Array) -> Array:
    return as_array(np.abs(self))


def deg2rad(self: Array) -> Array:
    return as_array(to_float(self) * (np.pi / 180))


def rad2deg(self: Array) -> Array:
    return as_array(to_float(self) * (180 / np.pi))


def round_decimals(self: Array, *, decimals: int) -> Array:
    if decimals == 0:
        return as_array(np.round(self))
    scale = 10 ** abs(decimals)
    if decimals > 0:
        return as_array(np.round(self * scale) / scale)
    return as_array(np.round(self / scale) * scale)


def logit(self: Array, eps: float | None = None) -> Array:
    array = to_float(self)
    if eps is not None:
        array = np.clip(array, eps, 1 - eps)
    return as_array(np.log(array / (1 - array)))


def bfloat16_max() -> float:
    """The largest finite bfloat16."""
    return (2 - 2**-7) * 2.0**127


def nan_to_num(
    self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    if self.dtype.kind in "iub":
        return copied(self)
    if self.dtype.kind == "V":
        largest = bfloat16_max()
        top, bottom = largest if posinf is None else posinf, -largest if neginf is None else neginf
        return nan_to_num(self.astype(np.float32), nan, top, bottom).astype(self.dtype)
    self = copied(self)
    return as_array(
        np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf, copy=False)
    )


_FLOAT: dict[str, Kernel] = {
    "arcsin": of_float_ufunc(np.arcsin), "arccos": of_float_ufunc(np.arccos), "arctan": of_float_ufunc(np.arctan),
    "arcsinh": of_float_ufunc(np.arcsinh), "arccosh": of_float_ufunc(np.arccosh), "arctanh": of_float_ufunc(np.arctanh),
    "exp": of_float_ufunc(np.exp), "exp2": of_float_ufunc(np.exp2), "expm1": of_float_ufunc(np.expm1),
    "log": of_float_ufunc(np.log), "log2": of_float_ufunc(np.log2), "log10": of_float_ufunc(np.log10),
    "log1p": of_float_ufunc(np.log1p), "sqrt": of_float_ufunc(np.sqrt), "sin": of_float_ufunc(np.sin),
    "cos": of_float_ufunc(np.cos), "tan": of_float_ufunc(np.tan), "asin": of_float_ufunc(np.arcsin),
    "acos": of_float_ufunc(np.arccos), "atan": of_float_ufunc(np.arctan), "sinh": of_float_ufunc(np.sinh),
    "cosh": of_float_ufunc(np.cosh), "tanh": of_float_ufunc(np.tanh), "asinh": of_float_ufunc(np.arcsinh),
    "acosh": of_float_ufunc(np.arccosh), "atanh": of_float_ufunc(np.arctanh), "rsqrt": rsqrt, "reciprocal": reciprocal,
    "sigmoid": sigmoid, "erf": of_special("erf"), "erfc": of_special("erfc"), "erfinv": of_special("erfinv"),
    "special_erf": of_special("erf"), "lgamma": of_special("gammaln"), "digamma": of_special("digamma"),
    "i0": of_special("i0"), "sinc": of_float_ufunc(np.sinc), "deg2rad": deg2rad, "rad2deg": rad2deg,
}  # fmt: skip
_SAME: dict[str, Kernel] = {
    "floor": _rounding(np.floor), "ceil": _rounding(np.ceil),
    "trunc": _rounding(np.trunc), "fix": _rounding(np.trunc), "round": _rounding(np.rint), "sign": sign, "sgn": sgn,
}  # fmt: skip
_BOOL: dict[str, Kernel] = {
    "isnan": of_ufunc(np.isnan), "isinf": of_ufunc(np.isinf), "isfinite": of_ufunc(np.isfinite),
    "isposinf": of_ufunc(np.isposinf), "isneginf": of_ufunc(np.isneginf), "signbit": lambda self: as_array(self < 0)
    if self.dtype.kind in "iub" else as_array(np.signbit(self)), "logical_not": of_ufunc(np.logical_not),
    "isreal": of_ufunc(np.isreal),
}  # fmt: skip
_INPLACE = (
    *_FLOAT, "square", "floor", "ceil", "trunc", "round", "sign", "sgn", "abs", "absolute", "neg", "negative", "frac",
    "bitwise_not", "logical_not",
)  # fmt: skip


def _declare() -> None:
    families: list[tuple[dict[str, Kernel], Any, bool]] = [
        (_FLOAT, fake_float, False), (_SAME, fake_same, False), (_BOOL, fake_bool, True),
        ({"abs": abs_, "absolute": abs_}, _fake_abs, False),
        ({"square": square}, _fake_square, False),
        ({"neg": of_ufunc(np.negative), "negative": of_ufunc(np.negative)}, _fake_neg, False),
        ({"bitwise_not": of_ufunc(np.invert)}, _fake_bits, True),
        ({"frac": frac}, fake_floating_only, False),
        ({"angle": angle}, _fake_angle, False),
    ]  # fmt: skip
    for kernels, fake, flag in families:
        for name, kernel in kernels.items():
            register(f"aten::{name}(Tensor self) -> Tensor", fake=fake, kernel=kernel, nondifferentiable=flag)
    register(
        "aten::conj_physical(Tensor self) -> Tensor",
        fake=_fake_conjugate,
        kernel=conjugate,
        view=WHOLE_RULE,
        maybe_view=_is_real,
    )
    register(
        "aten::round.decimals(Tensor self, *, int decimals) -> Tensor", fake=fake_same, kernel=round_decimals
    )
    register_inplace(
        "aten::round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)", "aten::round.decimals"
    )
    register("aten::logit(Tensor self, float? eps=None) -> Tensor", fake=fake_float, kernel=logit)
    register(
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        fake=fake_same,
        kernel=nan_to_num,
    )
    register_inplace("aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)", "aten::logit")
    register_inplace(
        "aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)",
        "aten::nan_to_num",
    )
    register_inplace("aten::conj_physical_(Tensor(a!) self) -> Tensor(a!)", "aten::conj_physical")
    for name in _INPLACE:
        if name != "special_erf":
            register_inplace(f"aten::{name}_(Tensor(a!) self) -> Tensor(a!)", f"aten::{name}")


_declare()
