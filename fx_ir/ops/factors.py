"""Factors of matrices (singular values, eigenvalues, LU, Cholesky) and what is solved with them, batched over leading dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fx_ir import fake_context
from fx_ir.dtypes import DType, int32, int64
from fx_ir.errors import RANK_UNKNOWN
from fx_ir.meta import Size, Sizes, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.linalg import (
    by_columns,
    check_matrix,
    check_square,
    columns_strides,
    fake_cholesky,
    fake_qr,
    fake_solve,
    fake_solve_triangular,
    qr,
    solve,
    solve_triangular,
    to_columns,
)
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes
from solver.sym import sym_max, sym_min

Pair = tuple[TensorMeta, TensorMeta]
Triple = tuple[TensorMeta, TensorMeta, TensorMeta]


def _plain(shape: Sizes, like: TensorMeta, dtype: DType | None = None) -> TensorMeta:
    return TensorMeta(tuple(shape), like.dtype if dtype is None else dtype, like.device)


def _real(meta: TensorMeta) -> DType:
    return meta.dtype.to_real()


# --- singular values and eigenvalues ---------------------------------------------------------------------------------


def fake_svd(A: TensorMeta, full_matrices: bool = True, *, driver: str | None = None) -> Triple:
    check_matrix("linalg.svd", A)
    lead, (rows, columns) = A.shape[:-2], A.shape[-2:]
    inner = sym_min(rows, columns)
    u = by_columns((*lead, rows, rows if full_matrices else inner), A)
    v = by_columns((*lead, columns if full_matrices else inner, columns), A)
    return u, _plain((*lead, inner), A, _real(A)), v


def svd(A: Array, full_matrices: bool = True, *, driver: str | None = None) -> tuple[Array, ...]:
    u, s, v = np.linalg.svd(A, full_matrices)
    return to_columns(u), as_array(s), to_columns(v)


def fake_old_svd(self: TensorMeta, some: bool = True, compute_uv: bool = True) -> Triple:
    check_matrix("linalg.svd", self)
    lead, (rows, columns) = self.shape[:-2], self.shape[-2:]
    if not compute_uv:
        s = _plain((*lead, sym_min(rows, columns)), self, _real(self))
        return _plain((*lead, rows, rows), self), s, by_columns((*lead, columns, columns), self)
    u, s, v = fake_svd(self, not some)
    return u, s, _plain((*lead, v.shape[-1], v.shape[-2]), self)


def old_svd(self: Array, some: bool = True, compute_uv: bool = True) -> tuple[Array, ...]:
    lead, (rows, columns) = self.shape[:-2], self.shape[-2:]
    if not compute_uv:
        s = np.linalg.svd(self, compute_uv=False)
        return np.zeros((*lead, rows, rows), self.dtype), as_array(s), to_columns(np.zeros((*lead, columns, columns), self.dtype))  # fmt: skip
    u, s, v = np.linalg.svd(self, not some)
    return to_columns(u), as_array(s), np.ascontiguousarray(v.conj().swapaxes(-1, -2))


def fake_eigh(self: TensorMeta, UPLO: str = "L") -> Pair:
    check_square("linalg.eigh", self)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return _plain(self.shape[:-1], self, _real(self)), by_columns(self.shape, self)


def eigh(self: Array, UPLO: str = "L") -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(self, "U" if UPLO.upper() == "U" else "L")
    return as_array(values), to_columns(vectors)


def fake_eig(self: TensorMeta) -> Pair:
    check_square("linalg.eig", self)
    dtype = self.dtype.to_complex()
    vectors = by_columns(self.shape, self.like(dtype=dtype))
    return _plain(self.shape[:-1], self, dtype), vectors


def eig(self: Array) -> tuple[Array, Array]:
    wide = self.astype(np.result_type(self.dtype, np.complex64), copy=False)
    values, vectors = np.linalg.eig(wide)
    return as_array(values), to_columns(vectors)


def fake_eigvals(self: TensorMeta) -> TensorMeta:
    return fake_eig(self)[0]


def eigvals(self: Array) -> Array:
    return eig(self)[0]


def fake_old_qr(self: TensorMeta, some: bool = True) -> Pair:
    return fake_qr(self, "reduced" if some else "complete")


def old_qr(self: Array, some: bool = True) -> tuple[Array, Array]:
    return qr(self, "reduced" if some else "complete")


# --- Cholesky --------------------------------------------------------------------------------------------------------


def fake_cholesky_ex(self: TensorMeta, *, upper: bool = False, check_errors: bool = False) -> Pair:
    return fake_cholesky(self, upper=upper), _plain(self.shape[:-2], self, int32)


def cholesky_ex(self: Array, *, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    """Row by row; ``info`` is the order of the first leading minor that is not positive, 0 if there is none."""
    matrix = self.conj().swapaxes(-1, -2) if upper else self
    lower, info = np.zeros_like(matrix), np.zeros(self.shape[:-2], np.int32)
    for row in range(self.shape[-1]):
        done = lower[..., row, :row]
        pivot = matrix[..., row, row].real - (done * done.conj()).real.sum(-1)
        info = np.where((info == 0) & ~(pivot > 0), row + 1, info)
        root = np.sqrt(np.where(pivot > 0, pivot, np.nan))
        lower[..., row, row] = root
        below = (lower[..., row + 1 :, :row] @ done.conj()[..., None])[..., 0]
        lower[..., row + 1 :, row] = (matrix[..., row + 1 :, row] - below) / root[..., None]
    if check_errors and info.any():
        raise RuntimeError("linalg.cholesky_ex: The factorization could not be completed because the input is not positive-definite.")  # fmt: skip
    return to_columns(lower.conj().swapaxes(-1, -2) if upper else lower), as_array(info.astype(np.int32))


def fake_cholesky_inverse(self: TensorMeta, upper: bool = False) -> TensorMeta:
    check_square("cholesky_inverse", self)
    return by_columns(self.shape, self)


def cholesky_inverse(self: Array, upper: bool = False) -> Array:
    return cholesky_solve(np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape), self, upper)


def fake_cholesky_solve(self: TensorMeta, input2: TensorMeta, upper: bool = False) -> TensorMeta:
    check_matrix("cholesky_solve", self)
    return fake_solve_triangular(input2, self, upper=upper)


def cholesky_solve(self: Array, input2: Array, upper: bool = False) -> Array:
    lower = input2.conj().swapaxes(-1, -2) if upper else input2
    half = solve_triangular(lower, self, upper=False)
    return solve_triangular(lower.conj().swapaxes(-1, -2), half, upper=True)


def fake_triangular(
    self: TensorMeta, A: TensorMeta, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Pair:
    solution = fake_solve_triangular(A, self, upper=upper)
    return solution, by_columns((*solution.shape[:-2], *A.shape[-2:]), A)


def triangular(
    self: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    matrix = A.swapaxes(-1, -2) if transpose else A
    solution = solve_triangular(matrix, self, upper=upper is not transpose, unitriangular=unitriangular)
    return solution, to_columns(np.broadcast_to(A, (*solution.shape[:-2], *A.shape[-2:])))


# --- LU --------------------------------------------------------------------------------------------------------------


def fake_lu_factor_ex(A: TensorMeta, *, pivot: bool = True, check_errors: bool = False) -> Triple:
    check_matrix("torch.lu_factor", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    pivots = _plain((*A.shape[:-2], sym_min(*A.shape[-2:])), A, int32)
    return by_columns(A.shape, A), pivots, _plain(A.shape[:-2], A, int32)


def lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False) -> tuple[Array, Array, Array]:
    """By elimination with the largest pivot of each column (LAPACK's getrf); pivots count rows from 1."""
    flat = A.reshape(-1, *A.shape[-2:]).copy()
    steps = min(A.shape[-2:])
    pivots, info = np.zeros((len(flat), steps), np.int32), np.zeros(len(flat), np.int32)
    for index, matrix in enumerate(flat):
        for step in range(steps):
            chosen = step + int(np.argmax(np.abs(matrix[step:, step])))
            pivots[index, step] = chosen + 1
            matrix[[step, chosen]] = matrix[[chosen, step]]
            if matrix[step, step] != 0:
                matrix[step + 1 :, step] /= matrix[step, step]
            elif not info[index]:
                info[index] = step + 1
            matrix[step + 1 :, step + 1 :] -= np.outer(matrix[step + 1 :, step], matrix[step, step + 1 :])
    if check_errors and info.any():
        raise RuntimeError("torch.linalg.lu_factor_ex: U is singular, and using it on lu_solve would result in a division by zero.")  # fmt: skip
    lead = A.shape[:-2]
    return to_columns(flat.reshape(A.shape)), pivots.reshape(*lead, steps), info.reshape(lead)


def _some(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The first results of several."""
    return lambda *args, **options: function(*args, **options)[:count]


def fake_old_lu(self: TensorMeta, pivot: bool = True, check_errors: bool = True) -> Triple:
    return fake_lu_factor_ex(self, pivot=pivot)


def old_lu(self: Array, pivot: bool = True, check_errors: bool = True) -> tuple[Array, Array, Array]:
    return lu_factor_ex(self, check_errors=check_errors)


def fake_lu_unpack(
    LU_data: TensorMeta, LU_pivots: TensorMeta, unpack_data: bool = True, unpack_pivots: bool = True
) -> Triple:
    lead, (rows, columns) = LU_data.shape[:-2], LU_data.shape[-2:]
    inner = sym_min(rows, columns)
    nothing = _plain((0,), LU_data)
    p = _plain((*lead, rows, rows), LU_data) if unpack_pivots else nothing
    if not unpack_data:
        return p, nothing, nothing
    return p, _plain((*lead, rows, inner), LU_data), _plain((*lead, inner, columns), LU_data)


def lu_unpack(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, Array, Array]:
    rows, columns = LU_data.shape[-2:]
    inner = min(rows, columns)
    p = lower = upper = np.zeros(0, LU_data.dtype)
    if unpack_pivots:
        p = np.eye(rows, dtype=LU_data.dtype)[_permutation(LU_pivots, rows)].swapaxes(-1, -2)
    if unpack_data:
        lower = np.tril(LU_data[..., :inner], -1) + np.eye(rows, inner, dtype=LU_data.dtype)
        upper = np.triu(LU_data[..., :inner, :])
    return np.ascontiguousarray(p), np.ascontiguousarray(lower), np.ascontiguousarray(upper)


def _permutation(pivots: Array, rows: int) -> Array:
    """The rows in the order in which the swaps leave them."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for step in range(pivots.shape[-1]):
        chosen = pivots[..., step, None].astype(np.int64) - 1
        other = np.take_along_axis(order, chosen, -1)
        np.put_along_axis(order, chosen, order[..., step, None].copy(), -1)
        order[..., step] = other[..., 0]
    return order


def fake_lu(A: TensorMeta, *, pivot: bool = True) -> Triple:
    factors, pivots, _ = fake_lu_factor_ex(A, pivot=pivot)
    return fake_lu_unpack(factors, pivots)


def lu(A: Array, *, pivot: bool = True) -> tuple[Array, Array, Array]:
    return lu_unpack(*lu_factor_ex(A)[:2])


def fake_lu_solve(
    LU: TensorMeta, pivots: TensorMeta, B: TensorMeta, *, left: bool = True, adjoint: bool = False
) -> TensorMeta:
    check_square("torch.linalg.lu_solve", LU)
    check_same_dtype(LU, B)
    shape = (*broadcast_shapes(LU.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    return by_columns(shape, B) if left else _plain(shape, B)


def lu_solve(LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False) -> Array:
    """``PLU`` (its conjugate transpose if ``adjoint``) times the result is ``B``; the result times it unless ``left``."""
    if not left:
        turned = lu_solve(LU, pivots, B.conj().swapaxes(-1, -2), adjoint=not adjoint)
        return np.ascontiguousarray(turned.conj().swapaxes(-1, -2))
    p, lower, upper = lu_unpack(LU, pivots)
    if not adjoint:
        return solve_triangular(
            upper, solve_triangular(lower, p.swapaxes(-1, -2) @ B, upper=False), upper=True
        )
    first, second = upper.conj().swapaxes(-1, -2), lower.conj().swapaxes(-1, -2)
    return to_columns(p @ solve_triangular(second, solve_triangular(first, B, upper=False), upper=True))


def fake_old_lu_solve(self: TensorMeta, LU_data: TensorMeta, LU_pivots: TensorMeta) -> TensorMeta:
    return fake_lu_solve(LU_data, LU_pivots, self)


def old_lu_solve(self: Array, LU_data: Array, LU_pivots: Array) -> Array:
    return lu_solve(LU_data, LU_pivots, self)


# --- solving ---------------------------------------------------------------------------------------------------------


def fake_solve_ex(A: TensorMeta, B: TensorMeta, *, left: bool = True, check_errors: bool = False) -> Pair:
    return fake_solve(A, B, left=left), _plain(A.shape[:-2], A, int32)


def solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> tuple[Array, Array]:
    return solve(A, B, left=left), lu_factor_ex(A, check_errors=check_errors)[2]


def _is_vectors(self: TensorMeta | Array, b: TensorMeta | Array) -> bool:
    return self.ndim - 1 == b.ndim and tuple(self.shape[:-1]) == tuple(b.shape)


def fake_lstsq(
    self: TensorMeta, b: TensorMeta, rcond: float | None = None, *, driver: str | None = None
) -> tuple[TensorMeta, ...]:
    check_matrix("torch.linalg.lstsq", self)
    check_same_dtype(self, b)
    rows, columns = self.shape[-2:]
    vectors = _is_vectors(self, b)
    right: Size = 1 if vectors else b.shape[-1]
    lead = broadcast_shapes(self.shape[:-2], b.shape[: -1 if vectors else -2])
    taller = driver in ("gels", "gelsd", "gelss") and bool(rows > columns)
    if taller and driver != "gels":
        env = fake_context.current().env
        raise RANK_UNKNOWN(driver=driver, location=None if env is None else env.locate())
    whole = columns_strides((*lead, sym_max(rows, columns), right))
    shape, strides = (*lead, columns, right), whole
    if vectors:
        shape, strides = shape[:-1], whole[:-1]
    solution = TensorMeta(shape, self.dtype, self.device, strides)
    nothing = _plain((0,), self, _real(self))
    rank = _plain((0,), self, int64) if driver == "gels" else _plain(self.shape[:-2], self, int64)
    residuals = _plain((*lead, right), self, _real(self)) if taller else nothing
    if driver in ("gelsd", "gelss"):
        return (
            solution,
            residuals,
            rank,
            _plain((*self.shape[:-2], sym_min(rows, columns)), self, _real(self)),
        )
    return solution, residuals, rank, nothing


def lstsq(
    self: Array, b: Array, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Array, ...]:
    vectors = _is_vectors(self, b)
    given = b[..., None] if vectors else b
    rows, columns = self.shape[-2:]
    lead = np.broadcast_shapes(self.shape[:-2], given.shape[:-2])
    bound = float(np.finfo(self.dtype).eps) * max(rows, columns) if rcond is None else rcond
    u, s, v = np.linalg.svd(self, full_matrices=False)
    kept = s > bound * s.max(-1, initial=0.0)[..., None]
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0).astype(s.dtype)
    found = v.conj().swapaxes(-1, -2) @ (inverse[..., None] * (u.conj().swapaxes(-1, -2) @ given))
    held = to_columns(np.zeros((*lead, max(rows, columns), given.shape[-1]), self.dtype))
    held[..., :columns, :] = found
    solution = held[..., :columns, 0] if vectors else held[..., :columns, :]
    nothing = np.zeros(0, s.dtype)
    left = np.square(np.abs(given - self @ found)).sum(-2) if driver == "gels" and rows > columns else nothing
    rank = np.zeros(0, np.int64) if driver == "gels" else as_array(kept.sum(-1)).astype(np.int64)
    return solution, as_array(left), rank, as_array(s) if driver in ("gelsd", "gelss") else nothing


def _declare() -> None:
    names = "(Tensor U, Tensor S, Tensor Vh)"
    matrix = "Tensor A, *, bool pivot=True"
    rows: tuple[tuple[str, Any, Any], ...] = (
        (f"linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> {names}", fake_svd, svd),
        ("svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", fake_old_svd, old_svd),
        ('linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)', fake_eigh, eigh),
        ("linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", fake_eig, eig),
        ("linalg_eigvals(Tensor self) -> Tensor", fake_eigvals, eigvals),
        ("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", fake_old_qr, old_qr),
        ("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", fake_cholesky_ex, cholesky_ex),
        ("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", fake_cholesky_inverse, cholesky_inverse),
        ("cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", fake_cholesky_solve, cholesky_solve),
        ("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)", fake_triangular, triangular),
        (f"linalg_lu_factor_ex({matrix}, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)", fake_lu_factor_ex, lu_factor_ex),
        (f"linalg_lu_factor({matrix}) -> (Tensor LU, Tensor pivots)", _some(fake_lu_factor_ex, 2), _some(lu_factor_ex, 2)),
        (f"linalg_lu({matrix}) -> (Tensor P, Tensor L, Tensor U)", fake_lu, lu),
        ("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor info)", fake_old_lu, old_lu),
        ("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)", fake_lu_unpack, lu_unpack),
        ("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", fake_lu_solve, lu_solve),
        ("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", fake_old_lu_solve, old_lu_solve),
        ("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)", fake_solve_ex, solve_ex),
        ("linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)", fake_lstsq, lstsq),
    )  # fmt: skip
    for schema, fake, kernel in rows:
        register(f"aten::{schema}", fake=fake, kernel=kernel)


_declare()
