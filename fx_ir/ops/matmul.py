"""Matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir.dtypes import Category, result_type
from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.binary import of_ufunc
from fx_ir.ops.registry import register, register_inplace
from fx_ir.ops.shapes import broadcast_shapes, differ


def check_same_dtype(*metas: TensorMeta | None) -> None:
    """Products do not promote, as in PyTorch."""
    given = [meta.dtype for meta in metas if meta is not None]
    for dtype in given[1:]:
        if dtype is not given[0]:
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {given[0].name} != {dtype.name}"
            )  # fmt: skip


def _check_inner(a: Size, b: Size, left: Sizes, right: Sizes) -> None:
    if differ(a, b):
        shapes = f"{_by(left)} and {_by(right)}"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")


def _by(shape: Sizes) -> str:
    return "x".join(str(size) for size in shape)


def _plain(self: TensorMeta, shape: Sizes) -> TensorMeta:
    return TensorMeta(shape, self.dtype, self.device)


# --- fake rules ------------------------------------------------------------------------------------------------------


def fake_linear(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None = None) -> TensorMeta:
    if weight.ndim not in (1, 2) or input.ndim == 0:
        raise RuntimeError(
            f"linear: input and weight must have 1 or 2 dimensions, got {input.ndim} and {weight.ndim}"
        )
    check_same_dtype(input, weight, bias)
    _check_inner(input.shape[-1], weight.shape[-1], input.shape, weight.shape[::-1])
    shape = (*input.shape[:-1], *weight.shape[:-1])
    if bias is not None:
        shape = broadcast_shapes(shape, bias.shape)
    return _plain(input, shape)


def fake_matmul(self: TensorMeta, other: TensorMeta) -> TensorMeta:
    if self.ndim == 0 or other.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {self.ndim}D and {other.ndim}D"
        )  # fmt: skip
    check_same_dtype(self, other)
    inner = other.shape[-2] if other.ndim > 1 else other.shape[0]
    _check_inner(self.shape[-1], inner, self.shape, other.shape)
    rows = self.shape[-2:-1]
    columns = other.shape[-1:] if other.ndim > 1 else ()
    batch = broadcast_shapes(self.shape[:-2], other.shape[:-2])
    return _plain(self, (*batch, *rows, *columns))


def fake_mm(self: TensorMeta, mat2: TensorMeta) -> TensorMeta:
    if self.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError("self must be a matrix" if self.ndim != 2 else "mat2 must be a matrix")
    return fake_matmul(self, mat2)


def fake_bmm(self: TensorMeta, mat2: TensorMeta) -> TensorMeta:
    if self.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor" if self.ndim != 3 else "batch2 must be a 3D tensor")
    check_same_dtype(self, mat2)
    for a, b in ((self.shape[0], mat2.shape[0]), (self.shape[2], mat2.shape[1])):
        if differ(a, b):
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{self.shape[0]}, {self.shape[2]}] but "
                f"got: [{mat2.shape[0]}, {mat2.shape[1]}]."
            )
    return _plain(self, (self.shape[0], self.shape[1], mat2.shape[2]))


def fake_mv(self: TensorMeta, vec: TensorMeta) -> TensorMeta:
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {self.ndim}, {vec.ndim}")
    return fake_matmul(self, vec)


def fake_dot(self: TensorMeta, tensor: TensorMeta) -> TensorMeta:
    if self.ndim != 1 or tensor.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors")
    check_same_dtype(self, tensor)
    if self.shape[0] != tensor.shape[0]:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self.shape[0]}] and src [{tensor.shape[0]}] to have the same "
            "number of elements"
        )
    return _plain(self, ())


def fake_outer(self: TensorMeta, vec2: TensorMeta) -> TensorMeta:
    if self.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {self.ndim}-D and {vec2.ndim}-D")
    return TensorMeta((self.shape[0], vec2.shape[0]), result_type(self, vec2), self.device)


def _fake_add(product: Callable[..., TensorMeta], cuts: bool = True) -> Callable[..., TensorMeta]:
    """``self * beta + product * alpha``: self broadcasts to the product's shape. Where integers are computed the factors are cut
    to integers, or refused unless ``cuts``."""

    def fake(self: TensorMeta, a: TensorMeta, b: TensorMeta, *, beta: Any = 1, alpha: Any = 1) -> TensorMeta:
        result = product(a, b)
        check_same_dtype(self, a)
        for name, number in (("beta", beta), ("alpha", alpha)):
            if not cuts and isinstance(number, float) and result.dtype.category < Category.FLOAT:
                raise RuntimeError(
                    f"For integral input tensors, argument {name} must not be a floating point number."
                )
        broadcast_shapes(result.shape, self.shape)
        return result

    return fake


def _fake_sum_bmm(batch1: TensorMeta, batch2: TensorMeta) -> TensorMeta:
    product = fake_bmm(batch1, batch2)
    return _plain(product, product.shape[1:])


# --- kernels ---------------------------------------------------------------------------------------------------------


def matmul(self: Array, other: Array) -> Array:
    """NumPy's product; half precisions are multiplied in float32, bools as PyTorch's logical sums."""
    dtype = self.dtype
    wide = compute_type(dtype)
    if wide is not dtype and wide != dtype:
        return as_array(np.matmul(self.astype(wide), other.astype(wide))).astype(dtype)
    if other.ndim == 2 and self.ndim > 2:
        rows = self.reshape(-1, self.shape[-1])
        product: Array = np.matmul(rows, other)
        return product.reshape(*self.shape[:-1], other.shape[-1])
    return as_array(np.matmul(self, other))


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """One product over all leading dimensions, the bias added in place."""
    dtype = input.dtype
    if compute_type(dtype) != dtype:
        result = matmul(input, weight.T)
        return result if bias is None else as_array(result + bias)
    if input.ndim == 2 or weight.ndim == 1:
        result = as_array(np.matmul(input, weight.T))
    else:
        rows = np.matmul(input.reshape(-1, input.shape[-1]), weight.T)
        result = rows.reshape(*input.shape[:-1], weight.shape[0])
    if bias is not None:
        if result.ndim and bias.ndim <= result.ndim:
            np.add(result, bias, out=result)
        else:
            result = as_array(result + bias)
    return result


def dot(self: Array, tensor: Array) -> Array:
    return matmul(self, tensor)


def vdot(self: Array, tensor: Array) -> Array:
    return as_array(np.vdot(self, tensor))


_multiply = of_ufunc(np.multiply)


def outer(self: Array, vec2: Array) -> Array:
    return _multiply(self[:, None], vec2[None, :])


def _add(product: Callable[..., Array]) -> Callable[..., Array]:
    def kernel(self: Array, a: Array, b: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
        dtype = a.dtype
        wide = compute_type(dtype)
        result = product(a.astype(wide, copy=False), b.astype(wide, copy=False))
        if alpha != 1:
            result = result * _scale(result, alpha)
        if beta != 0:
            addend = self.astype(wide, copy=False)
            result = np.add(result, addend if beta == 1 else addend * _scale(addend, beta))
        return as_array(result).astype(dtype, copy=False)

    return kernel


def _scale(array: Array, number: Any) -> Any:
    return int(number) if array.dtype.kind in "iu" else number


def _sum_bmm(batch1: Array, batch2: Array) -> Array:
    return as_array(matmul(batch1, batch2).sum(axis=0, dtype=batch1.dtype))


def _declare() -> None:
    products: dict[str, tuple[Any, Any]] = {
        "linear(Tensor input, Tensor weight, Tensor? bias=None)": (fake_linear, linear),
        "matmul(Tensor self, Tensor other)": (fake_matmul, matmul),
        "mm(Tensor self, Tensor mat2)": (fake_mm, matmul),
        "bmm(Tensor self, Tensor mat2)": (fake_bmm, matmul),
        "mv(Tensor self, Tensor vec)": (fake_mv, matmul),
        "dot(Tensor self, Tensor tensor)": (fake_dot, dot),
        "vdot(Tensor self, Tensor other)": (fake_dot, vdot),
        "outer(Tensor self, Tensor vec2)": (fake_outer, outer),
        "ger(Tensor self, Tensor vec2)": (fake_outer, outer),
    }
    for schema, (fake, kernel) in products.items():
        register(f"aten::{schema} -> Tensor", fake=fake, kernel=kernel)
    sums: dict[str, tuple[Any, Any]] = {
        "addmm|Tensor mat1, Tensor mat2": (fake_mm, matmul),
        "addmv|Tensor mat, Tensor vec": (fake_mv, matmul),
        "addr|Tensor vec1, Tensor vec2": (fake_outer, outer),
        "baddbmm|Tensor batch1, Tensor batch2": (fake_bmm, matmul),
        "addbmm|Tensor batch1, Tensor batch2": (_fake_sum_bmm, _sum_bmm),
    }
    for text, (fake, kernel) in sums.items():
        name, _, operands = text.partition("|")
        rest = f"{operands}, *, Scalar beta=1, Scalar alpha=1)"
        register(
            f"aten::{name}(Tensor self, {rest} -> Tensor",
            fake=_fake_add(fake, name != "addr"),
            kernel=_add(kernel),
        )
        register_inplace(f"aten::{name}_(Tensor(a!) self, {rest} -> Tensor(a!)", f"aten::{name}")


_declare()
