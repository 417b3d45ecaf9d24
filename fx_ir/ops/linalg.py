"""Solving, factors, powers and exponentials of matrices, batched over leading dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fx_ir.dtypes import Category
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import broadcast_shapes, differ, same
from solver.sym import sym_min


def check_square(name: str, matrix: TensorMeta) -> None:
    check_matrix(name, matrix)
    rows, columns = matrix.shape[-2:]
    if differ(rows, columns):
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )


def check_matrix(name: str, matrix: TensorMeta) -> None:
    if matrix.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if matrix.dtype.category < Category.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {matrix.dtype.name}"
        )


def columns_strides(shape: tuple[Size, ...]) -> tuple[Size, ...]:
    """Strides of a batch of matrices in column order, as LAPACK returns them."""
    strides: list[Size] = [1, shape[-2]]
    step: Size = shape[-2] * shape[-1]
    for size in reversed(shape[:-2]):
        strides.insert(0, step)
        step = step * size
    return tuple(strides)


def by_columns(shape: tuple[Size, ...], like: TensorMeta) -> TensorMeta:
    return TensorMeta(shape, like.dtype, like.device, lambda: columns_strides(shape))


def to_columns(matrix: Array) -> Array:
    return np.ascontiguousarray(matrix.swapaxes(-1, -2)).swapaxes(-1, -2)


def fake_solve(A: TensorMeta, B: TensorMeta, *, left: bool = True) -> TensorMeta:
    check_square("linalg.solve", A)
    check_same_dtype(A, B)
    if B.ndim == 1 or _is_vector(A.shape, B.shape):
        shape = (*broadcast_shapes(A.shape[:-2], B.shape[:-1]), B.shape[-1])
        return by_columns(shape, A) if len(shape) > 1 else TensorMeta(shape, A.dtype, A.device)
    shape = (*broadcast_shapes(A.shape[:-2], B.shape[:-2]), *B.shape[-2:])
    return by_columns(shape, A) if left else TensorMeta(shape, A.dtype, A.device)


def _is_vector(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """PyTorch's rule: B is a batch of vectors where its shape is that of A without the last dimension."""
    return len(a) - 1 == len(b) and all(same(x, y) or x == y for x, y in zip(a[:-1], b, strict=True))


def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    vector = B.ndim == 1 or _is_vector(A.shape, B.shape)
    right = B[..., None] if vector else B
    try:
        if left:
            found = np.linalg.solve(A, right)
        else:
            found = np.linalg.solve(A.swapaxes(-1, -2), right.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        raise RuntimeError("linalg.solve: The solver failed because the input matrix is singular.") from None
    if vector:
        vectors = np.ascontiguousarray(found[..., 0])
        return to_columns(vectors) if vectors.ndim > 1 else vectors
    return to_columns(found) if left else np.ascontiguousarray(found)


def fake_solve_triangular(
    self: TensorMeta, B: TensorMeta, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> TensorMeta:
    check_square("linalg.solve_triangular", self)
    check_matrix("linalg.solve_triangular", B)
    check_same_dtype(self, B)
    rows, given = self.shape[-1], B.shape[-2 if left else -1]
    if differ(rows, given):
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({list(self.shape[-2:])} and {list(B.shape[-2:])})"
        )
    return by_columns((*broadcast_shapes(self.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B)


def solve_triangular(
    self: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """By substitution; what is on the other side of the diagonal is not looked at."""
    if not left:
        turned = solve_triangular(
            self.swapaxes(-1, -2), B.swapaxes(-1, -2), upper=not upper, unitriangular=unitriangular
        )
        return to_columns(turned.swapaxes(-1, -2))
    batch = np.broadcast_shapes(self.shape[:-2], B.shape[:-2])
    found = np.broadcast_to(B, (*batch, *B.shape[-2:])).copy()
    rows = range(self.shape[-1])
    for row in reversed(rows) if upper else rows:
        known = slice(row + 1, None) if upper else slice(None, row)
        done = self[..., row : row + 1, known] @ found[..., known, :]
        found[..., row, :] -= done[..., 0, :]
        if not unitriangular:
            found[..., row, :] /= self[..., row, row, None]
    return to_columns(found)


def fake_cholesky(self: TensorMeta, *, upper: bool = False) -> TensorMeta:
    check_square("linalg.cholesky", self)
    return by_columns(self.shape, self)


def cholesky(self: Array, *, upper: bool = False) -> Array:
    try:
        lower = np.linalg.cholesky(
            self.conj().swapaxes(-1, -2) if upper else self
        )  # it reads the lower triangle
    except np.linalg.LinAlgError:
        raise RuntimeError("linalg.cholesky: The input is not positive-definite.") from None
    return to_columns(lower.conj().swapaxes(-1, -2) if upper else lower)


def fake_householder(input: TensorMeta, tau: TensorMeta) -> TensorMeta:
    check_matrix("torch.linalg.householder_product", input)
    check_same_dtype(input, tau)
    return by_columns(input.shape, input)


def householder(input: Array, tau: Array) -> Array:
    """The first columns of ``H_1 … H_k``, ``H_i = I - tau_i v_i v_i^H`` (LAPACK's orgqr)."""
    rows, columns = input.shape[-2:]
    result = np.broadcast_to(np.eye(rows, columns, dtype=input.dtype), input.shape).copy()
    for i in reversed(range(tau.shape[-1])):
        v = input[..., i].copy()
        v[..., :i] = 0
        v[..., i] = 1
        along = np.einsum("...i,...ij->...j", v.conj(), result)
        result = result - tau[..., i, None, None] * v[..., None] * along[..., None, :]
    return to_columns(as_array(result))


def fake_qr(A: TensorMeta, mode: str = "reduced") -> tuple[TensorMeta, TensorMeta]:
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    lead, (rows, columns) = A.shape[:-2], A.shape[-2:]
    inner = rows if mode == "complete" else sym_min(rows, columns)
    q = TensorMeta((0,), A.dtype, A.device) if mode == "r" else by_columns((*lead, rows, inner), A)
    return q, by_columns((*lead, inner, columns), A)


def qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    if mode == "r":
        triangle = as_array(np.linalg.qr(A, "r"))
        return np.zeros(0, A.dtype), to_columns(triangle)
    q, r = np.linalg.qr(A, "complete" if mode == "complete" else "reduced")
    return to_columns(q), to_columns(r)


def fake_svdvals(A: TensorMeta, *, driver: str | None = None) -> TensorMeta:
    check_matrix("linalg.svdvals", A)
    return TensorMeta((*A.shape[:-2], sym_min(*A.shape[-2:])), A.dtype.to_real(), A.device)


def svdvals(A: Array, *, driver: str | None = None) -> Array:
    return as_array(np.linalg.svd(A, compute_uv=False))


def fake_eigvalsh(self: TensorMeta, UPLO: str = "L") -> TensorMeta:
    check_square("linalg.eigvalsh", self)
    return TensorMeta(self.shape[:-1], self.dtype.to_real(), self.device)


def eigvalsh(self: Array, UPLO: str = "L") -> Array:
    return as_array(np.linalg.eigvalsh(self, "U" if UPLO.upper() == "U" else "L"))


def fake_block_diag(tensors: Sequence[TensorMeta]) -> TensorMeta:
    sizes = [(1,) * (2 - tensor.ndim) + tuple(tensor.shape) for tensor in tensors]
    check_same_dtype(*tensors)
    return TensorMeta(
        (sum(s[0] for s in sizes), sum(s[1] for s in sizes)), tensors[0].dtype, tensors[0].device
    )


def block_diag(tensors: Sequence[Array]) -> Array:
    blocks = [np.atleast_2d(tensor) for tensor in tensors]
    result = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), blocks[0].dtype)
    top = left = 0
    for block in blocks:
        result[top : top + block.shape[0], left : left + block.shape[1]] = block
        top, left = top + block.shape[0], left + block.shape[1]
    return result


def fake_matrix_power(self: TensorMeta, n: int) -> TensorMeta:
    check_square("linalg.matrix_power", self)
    return by_columns(self.shape, self) if n == -1 else TensorMeta(self.shape, self.dtype, self.device)


def matrix_power(self: Array, n: int) -> Array:
    try:
        found = as_array(np.linalg.matrix_power(self, n))
    except np.linalg.LinAlgError:
        raise RuntimeError("linalg.inv: The inversion could not be completed because the input matrix is singular.") from None  # fmt: skip
    return to_columns(found) if n == -1 else as_array(found.copy(order="C"))


_TERMS = 18  # of the exponential's series: enough for doubles where the norm is at most 1/2


def fake_matrix_exp(self: TensorMeta) -> TensorMeta:
    check_square("linalg.matrix_exp", self)
    return TensorMeta(self.shape, self.dtype, self.device)


def matrix_exp(self: Array) -> Array:
    """By scaling and squaring: ``exp(A) = exp(A / 2**k) ** (2**k)``, the inner one by its series."""
    wide = self.astype(np.result_type(self.dtype, np.float64))
    largest = float(np.abs(wide).sum(-1).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(largest))) + 1) if 0 < largest < np.inf else 0
    scaled = wide / 2**halvings
    result = term = np.broadcast_to(np.eye(self.shape[-1], dtype=wide.dtype), wide.shape)
    for number in range(1, _TERMS):
        term = term @ scaled / number
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return np.ascontiguousarray(result.astype(self.dtype))


for _name in ("matrix_power", "linalg_matrix_power"):
    register(f"aten::{_name}(Tensor self, int n) -> Tensor", fake=fake_matrix_power, kernel=matrix_power)
register("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", fake=fake_solve, kernel=solve)
register(
    "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    fake=fake_solve_triangular,
    kernel=solve_triangular,
)
register(
    "aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", fake=fake_cholesky, kernel=cholesky
)
register(
    "aten::cholesky(Tensor self, bool upper=False) -> Tensor",
    fake=lambda self, upper=False: fake_cholesky(self, upper=upper),
    kernel=lambda self, upper=False: cholesky(self, upper=upper),
)
register(
    "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    fake=fake_householder,
    kernel=householder,
)
register('aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', fake=fake_qr, kernel=qr)
register("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", fake=fake_svdvals, kernel=svdvals)
register('aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor', fake=fake_eigvalsh, kernel=eigvalsh)
register("aten::block_diag(Tensor[] tensors) -> Tensor", fake=fake_block_diag, kernel=block_diag)
for _name in ("matrix_exp", "linalg_matrix_exp"):
    register(f"aten::{_name}(Tensor self) -> Tensor", fake=fake_matrix_exp, kernel=matrix_exp)
