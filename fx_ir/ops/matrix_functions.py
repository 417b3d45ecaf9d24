"""Numbers and matrices that are functions of matrices: inverses, determinants, norms, ranks, products of several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fx_ir.dtypes import DType, int32, int64
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, copied, to
from fx_ir.ops.linalg import by_columns, check_matrix, check_square, to_columns
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.reduction import reduced, sum_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes, differ, elementwise, wrap_dim

# --- inverses and determinants ---------------------------------------------------------------------------------------


def fake_inv(A: TensorMeta) -> TensorMeta:
    check_square("linalg.inv", A)
    return by_columns(A.shape, A)


def inv(A: Array) -> Array:
    try:
        return to_columns(np.linalg.inv(A).astype(A.dtype, copy=False))
    except np.linalg.LinAlgError:
        raise RuntimeError("linalg.inv: The inversion could not be completed because the input matrix is singular.") from None  # fmt: skip


def fake_inv_ex(A: TensorMeta, *, check_errors: bool = False) -> tuple[TensorMeta, TensorMeta]:
    return fake_inv(A), TensorMeta(A.shape[:-2], int32, A.device)


def inv_ex(A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    """Where a matrix is singular its inverse is not a number, and ``info`` is not 0."""
    singular = np.asarray(np.linalg.det(A) == 0)
    if check_errors and singular.any():
        raise RuntimeError("linalg.inv: The diagonal element is zero, the inversion could not be completed because the input matrix is singular.")  # fmt: skip
    unit = np.eye(A.shape[-1], dtype=A.dtype)
    found = np.linalg.inv(np.where(singular[..., None, None], unit, A))
    found = np.where(singular[..., None, None], np.nan, found).astype(A.dtype)
    return to_columns(found), singular.astype(np.int32)


def fake_det(A: TensorMeta) -> TensorMeta:
    check_square("linalg.det", A)
    return TensorMeta(A.shape[:-2], A.dtype, A.device)


def det(A: Array) -> Array:
    return as_array(np.linalg.det(A)).astype(A.dtype, copy=False)


def fake_slogdet(A: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    return fake_det(A), TensorMeta(A.shape[:-2], A.dtype.to_real(), A.device)


def slogdet(A: Array) -> tuple[Array, Array]:
    sign, logarithm = np.linalg.slogdet(A)
    return as_array(sign), as_array(logarithm)


def logdet(self: Array) -> Array:
    sign, logarithm = np.linalg.slogdet(self)
    found = np.log(sign) + logarithm if self.dtype.kind == "c" else np.where(sign < 0, np.nan, logarithm)
    return as_array(found).astype(self.dtype, copy=False)


def fake_pinv(self: TensorMeta, *args: Any, **_: Any) -> TensorMeta:
    check_matrix("linalg.pinv", self)
    shape = (*self.shape[:-2], self.shape[-1], self.shape[-2])
    return TensorMeta(shape, self.dtype, self.device)


def _spectrum(array: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """``u``, ``s``, ``v`` with ``array = u * s @ v``; ``s`` may be negative where the matrix is Hermitian."""
    if hermitian:
        values, vectors = np.linalg.eigh(array)
        return vectors, values, vectors.conj().swapaxes(-1, -2)
    u, s, v = np.linalg.svd(array, full_matrices=False)
    return u, s, v


def _bound(array: Array, sizes: Array, atol: Any, rtol: Any) -> Array:
    """What counts as zero among singular values of these sizes."""
    if rtol is None:
        rtol = 0.0 if atol is not None and np.all(np.asarray(atol) > 0) else _precision(array)
    largest = sizes.max(-1, initial=0.0)
    return as_array(np.maximum(0.0 if atol is None else atol, np.asarray(rtol) * largest))


def _precision(array: Array) -> float:
    return float(float(np.finfo(array.dtype).eps) * max(array.shape[-2:]))


def pinv(self: Array, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    u, s, v = _spectrum(self, hermitian)
    kept = np.abs(s) > _bound(self, np.abs(s), atol, rtol)[..., None]
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)
    found = v.conj().swapaxes(-1, -2) @ (inverse[..., None] * u.conj().swapaxes(-1, -2))
    return np.ascontiguousarray(found.astype(self.dtype, copy=False))


def pinv_of(self: Array, rcond: Any = 1e-15, hermitian: bool = False) -> Array:
    return pinv(self, atol=0.0, rtol=rcond, hermitian=hermitian)


def fake_rank(input: TensorMeta, *args: Any, **_: Any) -> TensorMeta:
    check_matrix("linalg.matrix_rank", input)
    shapes = [value.shape for value in (*args, *_.values()) if isinstance(value, TensorMeta)]
    return TensorMeta(broadcast_shapes(input.shape[:-2], *shapes), int64, input.device)


def rank(input: Array, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    sizes = np.abs(np.linalg.eigvalsh(input) if hermitian else np.linalg.svd(input, compute_uv=False))
    bound = _bound(input, sizes, atol, rtol)
    return as_array((sizes > bound[..., None]).sum(-1)).astype(np.int64)


def rank_of(input: Array, tol: Any, hermitian: bool = False) -> Array:
    return rank(input, atol=tol, rtol=0.0, hermitian=hermitian)


# --- norms -----------------------------------------------------------------------------------------------------------


def fake_norm(
    self: TensorMeta,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> TensorMeta:
    check_matrix("linalg.matrix_norm", self)
    if len(dim) != 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple.")
    first, second = (wrap_dim(each, self.ndim) for each in dim)
    if first == second:
        raise RuntimeError("linalg.matrix_norm: dims must be different.")
    if ord not in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return reduced(self, (first, second), keepdim, (self.dtype if dtype is None else dtype).to_real())


def norm(
    self: Array,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Array:
    array = self if dtype is None else to(self, dtype)
    axes = (wrap_dim(dim[0], self.ndim), wrap_dim(dim[1], self.ndim))
    found = as_array(np.linalg.norm(array, ord, axes, keepdim))
    return found.astype(array.real.dtype, copy=False)


def fake_nuclear(self: TensorMeta, *arguments: Any) -> TensorMeta:
    return fake_norm(self, "nuc", *_dims(self.ndim, *arguments))


def nuclear(self: Array, *arguments: Any) -> Array:
    return norm(self, "nuc", *_dims(self.ndim, *arguments))


def _dims(ndim: int, first: Any = False, keepdim: Any = False) -> tuple[Sequence[int], bool]:
    """Dimensions and ``keepdim`` of a nuclear norm; without dimensions it is that of one matrix."""
    if isinstance(first, (list, tuple)):
        return first, keepdim
    if ndim != 2:
        raise RuntimeError(
            f"Expected a tensor with 2 dimensions, but got a tensor with {ndim} dimensions instead."
        )
    return (-2, -1), bool(first)


def fake_cond(self: TensorMeta, p: Any = None) -> TensorMeta:
    if p in (None, 2, -2):
        check_matrix("linalg.cond", self)
    else:
        check_square("linalg.cond", self)
    return TensorMeta(self.shape[:-2], self.dtype.to_real(), self.device)


def cond(self: Array, p: Any = None) -> Array:
    if p in (None, 2, -2):
        s = np.linalg.svd(self, compute_uv=False)
        return as_array(s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1])
    inverse, singular = inv_ex(self)
    found = norm(self, p) * norm(np.where(singular[..., None, None], 0, inverse), p)
    return as_array(np.where(singular != 0, np.inf, found)).astype(self.real.dtype, copy=False)


# --- products --------------------------------------------------------------------------------------------------------


def fake_multi_dot(tensors: Sequence[TensorMeta]) -> TensorMeta:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    check_same_dtype(*tensors)
    for place, tensor in enumerate(tensors):
        if tensor.ndim != 2 and not (tensor.ndim == 1 and place in (0, len(tensors) - 1)):
            raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {tensor.ndim}D")
    for left, right in pairwise(tensors):
        if differ(left.shape[-1], right.shape[0]):
            raise RuntimeError(f"multi_dot(): tensors with shapes {list(left.shape)} and {list(right.shape)} cannot be multiplied")  # fmt: skip
    first, last = tensors[0], tensors[-1]
    shape: tuple[Size, ...] = (*first.shape[:-1], *last.shape[1:])
    return TensorMeta(shape, first.dtype, first.device)


def multi_dot(tensors: Sequence[Array]) -> Array:
    if len(tensors) == 1:
        return copied(tensors[0])
    return as_array(np.linalg.multi_dot(list(tensors)) if len(tensors) > 2 else tensors[0] @ tensors[1])


def fake_chain(matrices: Sequence[TensorMeta]) -> TensorMeta:
    if any(matrix.ndim != 2 for matrix in matrices):
        raise RuntimeError("chain_matmul: Expected all tensors to be 2-dimensional")
    if len(matrices) == 1:
        return elementwise(matrices[0].dtype, matrices[0])
    return fake_multi_dot(matrices)


def fake_vecdot(x: TensorMeta, y: TensorMeta, *, dim: int = -1) -> TensorMeta:
    check_same_dtype(x, y)
    shape = broadcast_shapes(x.shape, y.shape)
    at = wrap_dim(dim, len(shape))
    return TensorMeta((*shape[:at], *shape[at + 1 :]), x.dtype, x.device)


def vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    return as_array((x.conj() * y).sum(dim)).astype(x.dtype, copy=False)


def fake_vander(x: TensorMeta, *, N: Size | None = None) -> TensorMeta:
    shape = x.shape or (1,)
    count = shape[-1] if N is None else N
    if type(count) is int and count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return TensorMeta((*shape, count), sum_dtype(x, None), x.device)


def vander(x: Array, *, N: int | None = None) -> Array:
    wide = np.atleast_1d(x.astype(np.int64) if x.dtype.kind in "iub" else x)
    powers = np.arange(wide.shape[-1] if N is None else N)
    return as_array(np.power(wide[..., None], powers)).astype(wide.dtype, copy=False)


def fake_diagflat(self: TensorMeta, offset: int = 0) -> TensorMeta:
    size = self.numel() + abs(offset)
    return TensorMeta((size, size), self.dtype, self.device)


def diagflat(self: Array, offset: int = 0) -> Array:
    return np.diag(self.reshape(-1), offset)


def _declare() -> None:
    inverse = "Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False"
    tensors = inverse.replace("float?", "Tensor?")
    options = "int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    signs = "(Tensor sign, Tensor logabsdet)"
    rows: tuple[tuple[str, Any, Any], ...] = (
        ("linalg_inv(Tensor A) -> Tensor", fake_inv, inv),
        ("inverse(Tensor self) -> Tensor", fake_inv, inv),
        ("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", fake_inv_ex, inv_ex),
        ("linalg_det(Tensor A) -> Tensor", fake_det, det),
        ("det(Tensor self) -> Tensor", fake_det, det),
        (f"linalg_slogdet(Tensor A) -> {signs}", fake_slogdet, slogdet),
        (f"slogdet(Tensor self) -> {signs}", fake_slogdet, slogdet),
        ("logdet(Tensor self) -> Tensor", fake_det, logdet),
        (f"linalg_pinv.atol_rtol_tensor({tensors}) -> Tensor", fake_pinv, pinv),
        (f"linalg_pinv.atol_rtol_float({inverse}) -> Tensor", fake_pinv, pinv),
        ("linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", fake_pinv, pinv_of),
        ("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", fake_pinv, pinv_of),
        ("pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor", fake_pinv, pinv_of),
        (f"linalg_matrix_rank.atol_rtol_tensor({tensors.replace('self', 'input')}) -> Tensor", fake_rank, rank),
        (f"linalg_matrix_rank.atol_rtol_float({inverse}) -> Tensor", fake_rank, rank),
        ("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", fake_rank, rank_of),
        ("linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor", fake_rank, rank_of),
        (f"linalg_matrix_norm(Tensor self, Scalar ord, {options}", fake_norm, norm),
        (f'linalg_matrix_norm.str_ord(Tensor self, str ord="fro", {options}', fake_norm, norm),
        ("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", fake_nuclear, nuclear),
        ("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor", fake_nuclear, nuclear),
        ("linalg_cond(Tensor self, Scalar? p=None) -> Tensor", fake_cond, cond),
        ("linalg_cond.p_str(Tensor self, str p) -> Tensor", fake_cond, cond),
        ("linalg_multi_dot(Tensor[] tensors) -> Tensor", fake_multi_dot, multi_dot),
        ("chain_matmul(Tensor[] matrices) -> Tensor", fake_chain, multi_dot),
        ("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", fake_vecdot, vecdot),
        ("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", fake_vander, vander),
        ("diagflat(Tensor self, int offset=0) -> Tensor", fake_diagflat, diagflat),
    )  # fmt: skip
    for schema, fake, kernel in rows:
        register(f"aten::{schema}", fake=fake, kernel=kernel, nondifferentiable="matrix_rank" in schema)


_declare()
