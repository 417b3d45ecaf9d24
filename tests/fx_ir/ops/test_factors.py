"""Factors multiply to the matrix that they were taken of, and eigenvectors are eigenvectors: their signs are nobody's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir.ops import OPS

RNG = np.random.default_rng(0)
SHAPES = ((4, 4), (2, 5, 3), (2, 3, 5), (1, 1), (0, 3, 2))


def matrices(dtype: str) -> list[np.ndarray[Any, Any]]:
    found = []
    for shape in SHAPES:
        drawn = RNG.standard_normal(shape)
        drawn = drawn + 1j * RNG.standard_normal(shape) if dtype.startswith("complex") else drawn
        found.append(drawn.astype(dtype))
    return found


def run(name: str, *args: Any, **kwargs: Any) -> Any:
    full, keywords = OPS[f"aten::{name}"].bind(args, kwargs)
    kernel = OPS[f"aten::{name}"].kernel
    assert kernel is not None
    return kernel(*full, **keywords)


def hermitian(matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(matrix + matrix.conj().swapaxes(-1, -2))


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("full", [False, True])
def test_singular_values(dtype: str, full: bool) -> None:
    for matrix in matrices(dtype):
        inner = min(matrix.shape[-2:])
        u, s, v = run("linalg_svd", matrix, full)
        np.testing.assert_allclose(u[..., :inner] * s[..., None, :] @ v[..., :inner, :], matrix, atol=1e-12)
        u, s, v = run("svd", matrix, not full)
        turned = v.conj().swapaxes(-1, -2)[..., :inner, :]
        np.testing.assert_allclose(u[..., :inner] * s[..., None, :] @ turned, matrix, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors(dtype: str) -> None:
    square = [matrix for matrix in matrices(dtype) if matrix.shape[-1] == matrix.shape[-2]]
    for matrix in square:
        values, vectors = run("linalg_eig", matrix)
        np.testing.assert_allclose(matrix @ vectors, vectors * values[..., None, :], atol=1e-12)
        whole = hermitian(matrix)
        for half, given in (("L", np.tril(whole)), ("U", np.triu(whole))):
            values, vectors = run("linalg_eigh", given, half)
            np.testing.assert_allclose(whole @ vectors, vectors * values[..., None, :], atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_triangles(dtype: str) -> None:
    for matrix in matrices(dtype):
        for q, r in (run("qr", matrix), run("qr", matrix, False), run("linalg_qr", matrix)):
            np.testing.assert_allclose(q @ r, matrix, atol=1e-12)
        p, lower, upper = run("linalg_lu", matrix)
        np.testing.assert_allclose(p @ lower @ upper, matrix, atol=1e-12)
        positive = matrix @ matrix.conj().swapaxes(-1, -2) + np.eye(matrix.shape[-2])
        for triangle in (False, True):
            factor, info = run("linalg_cholesky_ex", positive, upper=triangle)
            turned = factor.conj().swapaxes(-1, -2)
            np.testing.assert_allclose(turned @ factor if triangle else factor @ turned, positive, atol=1e-12)
            assert not info.any()


def test_what_is_not_positive_is_told_by_its_minor() -> None:
    matrix = np.array([[4.0, 0, 0], [0, -1, 0], [0, 0, 3]])
    assert run("linalg_cholesky_ex", matrix)[1].item() == 2
    with pytest.raises(RuntimeError, match="not positive-definite"):
        run("linalg_cholesky_ex", matrix, check_errors=True)
    for name in ("linalg_inv_ex", "linalg_lu_factor_ex"):
        assert run(name, np.zeros((2, 2)))[-1].item() != 0
        with pytest.raises(RuntimeError, match=r"singular"):
            run(name, np.zeros((2, 2)), check_errors=True)
