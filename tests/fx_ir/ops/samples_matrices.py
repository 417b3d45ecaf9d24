"""Sample calls of operators of linear algebra. Factors that are not determined (signs, phases) are compared in kind alone."""

from __future__ import annotations

from typing import Any, Final

from fx_ir.dtypes import by_name
from tests.fx_ir.ops.sampling import F, L, Sample, T, sample

TOLERANT: Final = 1e-3
POSITIVE: Final = (4, 1, 0, 1, 3, 1, 0, 1, 5)


def C(*shape: int) -> T:
    """Complex numbers."""
    return T(shape, "complex64")


def _solved() -> list[Sample]:
    square, tall, wide = F(2, 4, 4), F(2, 5, 3), F(2, 3, 5)
    return [
        sample("linalg_solve", square, F(2, 4, 3), _tolerance=1e-2),
        sample("linalg_solve", square, F(2, 4), _tolerance=1e-2),
        sample("linalg_solve", F(4, 4), F(4), _tolerance=1e-2),
        sample("linalg_solve", square, F(2, 3, 4), left=False, _tolerance=1e-2),
        sample("linalg_householder_product", tall, F(2, 3), _tolerance=TOLERANT),
        sample("linalg_householder_product", F(4, 4), F(2), _tolerance=TOLERANT),
        sample("linalg_qr", tall, _tolerance=TOLERANT),
        sample("linalg_qr", wide, "complete", _tolerance=TOLERANT),
        sample("linalg_qr", tall, "r", _tolerance=TOLERANT),
        sample("linalg_svdvals", tall, _tolerance=TOLERANT),
        sample("linalg_eigvalsh", square, _tolerance=TOLERANT),
        sample("linalg_eigvalsh", square, "U", _tolerance=TOLERANT),
        sample("block_diag", [F(2, 3), F(4), F(), F(1, 2)]),
        *[
            sample(
                "linalg_solve_triangular",
                T((2, 4, 4), values="above"),
                B,
                upper=upper,
                left=left,
                unitriangular=unit,
                _tolerance=1e-2,
            )
            for left, B in ((True, F(2, 4, 3)), (False, F(3, 4)), (True, F(5, 1, 4, 2)))
            for upper, unit in ((True, False), (False, False), (False, True))
        ],
        sample("linalg_cholesky", F(1, 1, values="positive")),
        *[
            sample("linalg_cholesky", T((3, 3), given=(4, 1, 0, 1, 3, 1, 0, 1, 5)), upper=upper)
            for upper in (False, True)
        ],
        *[
            sample(
                "linalg_cholesky", T((2, 2), given=(5, 1, 2, 3)), upper=upper
            )  # each reads its own triangle
            for upper in (False, True)
        ],
        sample("linalg_cholesky", F(1, 1, values="positive"), upper=True),
    ]


def _factors() -> list[Sample]:
    square, tall, wide = F(2, 4, 4), F(2, 5, 3), F(2, 3, 5)
    spd, pivots = T((3, 3), given=POSITIVE), T((2, 4), "int32", given=(2, 2, 4, 4, 1, 3, 3, 4))
    free: dict[str, Any] = {"_compare": "strides"}
    found: list[Sample] = []
    for matrix in (square, tall, wide, C(3, 3), F(5, 3, layout="t")):
        found += [sample("linalg_svd", matrix, full, **free) for full in (True, False)]
        found += [sample("svd", matrix, some, **free) for some in (True, False)]
        found += [sample("svd", matrix, True, False), sample("linalg_svdvals", matrix, _tolerance=TOLERANT)]
        found += [sample("qr", matrix, some, **free) for some in (True, False)]
        found += [
            sample(name, matrix, _tolerance=TOLERANT)
            for name in ("linalg_lu_factor_ex", "linalg_lu_factor", "linalg_lu", "_lu_with_info")
        ]
    for matrix in (square, C(2, 3, 3)):
        found += [sample("linalg_eigh", matrix, half, **free) for half in ("L", "U")]
        found += [
            sample("linalg_eigvalsh", matrix, _tolerance=TOLERANT),
            sample("linalg_eig", matrix, **free),
        ]
        found += [sample("linalg_eigvals", matrix, **free)]
    for upper in (False, True):
        found += [sample("cholesky", spd, upper), sample("linalg_cholesky_ex", spd, upper=upper)]
        found += [sample("cholesky_inverse", T((3, 3), values="above"), upper, _tolerance=TOLERANT)]
        found += [
            sample("cholesky_solve", given, T((2, 3, 3), values="above"), upper, _tolerance=TOLERANT)
            for given in (F(3, 2), F(2, 3, 2))
        ]
    indefinite = T((2, 2, 2), given=(1, 2, 2, 1, 2, 0, 0, 2))
    found += [sample("linalg_cholesky_ex", indefinite, _compare="strides")]
    above = T((2, 4, 4), values="above")
    for flags in ((True, False, False), (False, True, False), (True, False, True), (False, False, False)):
        found += [
            sample("triangular_solve", F(2, 4, 3), above, *flags, _tolerance=1e-2),
            sample("triangular_solve", F(4, 3), above, *flags, _tolerance=1e-2),
        ]
    found += [
        sample("lu_unpack", square, pivots, *flags) for flags in ((True, True), (True, False), (False, True))
    ]
    found += [
        sample("lu_unpack", tall, T((2, 3), "int32", given=(2, 5, 4, 1, 2, 5))),
        sample("lu_unpack", wide, T((2, 3), "int32", given=(2, 3, 3, 1, 2, 3))),
    ]
    for adjoint in (False, True):
        found += [sample("linalg_lu_solve", above, pivots, F(2, 4, 3), adjoint=adjoint, _tolerance=1e-2)]
        found += [
            sample("linalg_lu_solve", above, pivots, F(2, 3, 4), left=False, adjoint=adjoint, _tolerance=1e-2)
        ]
    found += [sample("lu_solve", F(2, 4, 3), above, pivots, _tolerance=1e-2)]
    found += [sample("linalg_solve_ex", square, given, _tolerance=1e-2) for given in (F(2, 4, 3), F(2, 4))]
    found += [sample("linalg_solve_ex", F(4, 4), F(2, 3, 4), left=False, _tolerance=1e-2)]
    for a, b in (
        (tall, F(2, 5, 2)),
        (wide, F(2, 3, 2)),
        (tall, F(2, 5)),
        (F(5, 3), F(5)),
        (F(1, 5, 3), F(2, 5, 2)),
    ):
        found += [
            sample("linalg_lstsq", a, b, driver=driver, _tolerance=1e-3) for driver in (None, "gels", "gelsy")
        ]
    found += [
        sample("linalg_lstsq", wide, F(2, 3, 2), driver=driver, _tolerance=1e-3)
        for driver in ("gelsd", "gelss")
    ]
    return found  # fmt: skip


def _functions() -> list[Sample]:
    square, tall, wide = F(2, 4, 4), F(2, 5, 3), F(2, 3, 5)
    found: list[Sample] = []
    for matrix in (F(3, 3), square, C(3, 3), F(3, 3, layout="t")):
        for name in (
            "linalg_inv",
            "inverse",
            "linalg_inv_ex",
            "linalg_det",
            "det",
            "linalg_slogdet",
            "slogdet",
        ):
            found.append(sample(name, matrix, _tolerance=TOLERANT))
        for p in (None, 2, -2, 1, -1, float("inf")):
            found.append(sample("linalg_cond", matrix, p, _tolerance=1e-2))
        found += [sample("linalg_cond.p_str", matrix, p, _tolerance=1e-2) for p in ("fro", "nuc")]
    found += [sample("logdet", F(5, 2, 2)), sample("logdet", T((3, 3), given=POSITIVE))]
    found += [sample("linalg_cond", tall), sample("linalg_cond", T((2, 2), given=(1, 2, 2, 4)), 1)]
    low = T((3, 3), given=(1, 2, 3, 2, 4, 6, 1, 0, 1))
    for matrix in (square, tall, wide, low, C(3, 2)):
        found += [
            sample("linalg_pinv", matrix, 1e-5, _tolerance=TOLERANT),
            sample("pinverse", matrix, 1e-5, _tolerance=TOLERANT),
        ]
        found += [sample("linalg_pinv.rcond_tensor", matrix, T((), given=(0.1,)), _tolerance=TOLERANT)]
        found += [
            sample("linalg_pinv.atol_rtol_float", matrix, atol=atol, rtol=rtol, _tolerance=TOLERANT)
            for atol, rtol in ((None, None), (0.5, None), (0.1, 0.01))
        ]
        found += [
            sample("linalg_pinv.atol_rtol_tensor", matrix, atol=T((), given=(0.5,)), _tolerance=TOLERANT)
        ]
        found += [
            sample("linalg_matrix_rank", matrix, 0.5),
            sample("linalg_matrix_rank.tol_tensor", matrix, T((), given=(0.5,))),
        ]
        found += [
            sample("linalg_matrix_rank.atol_rtol_float", matrix, atol=atol, rtol=rtol)
            for atol, rtol in ((None, None), (0.5, None), (0.1, 0.5))
        ]
        found += [sample("linalg_matrix_rank.atol_rtol_tensor", matrix, atol=T((), given=(0.5,)))]
        found += [
            sample("linalg_matrix_norm", matrix, order, _tolerance=TOLERANT)
            for order in (1, -1, 2, -2, float("inf"), -float("inf"))
        ]
        found += [
            sample("linalg_matrix_norm.str_ord", matrix, order, [-1, 0], True, _tolerance=TOLERANT)
            for order in ("fro", "nuc")
        ]
    found += [
        sample("nuclear_norm", F(3, 4), True, _tolerance=TOLERANT),
        sample("nuclear_norm.dim", F(2, 3, 4), [0, 2], _tolerance=TOLERANT),
        sample("frobenius_norm.dim", F(2, 3, 4), [0, 2]),
        sample("frobenius_norm.dim", C(2, 3), []),
        sample("frobenius_norm.dim", F(2, 3), [1], True),
    ]
    symmetric = T((3, 3), given=(1, 2, 0, 2, -3, 1, 0, 1, 2))
    found += [
        sample("linalg_pinv", symmetric, 1e-5, True, _tolerance=TOLERANT),
        sample("linalg_matrix_rank", symmetric, 1.6, True),
    ]
    found += [
        sample("linalg_matrix_norm.str_ord", F(3, 4), dtype=by_name("float64")),
        sample("linalg_matrix_norm.str_ord", F(0, 3, 4)),
    ]
    for name in ("linalg_multi_dot", "chain_matmul"):
        found += [sample(name, [F(3, 4), F(4, 5), F(5, 2)]), sample(name, [F(3, 4, layout="t"), F(4, 5)])]
    found += [
        sample("linalg_multi_dot", [F(4), F(4, 5), F(5)]),
        sample("linalg_multi_dot", [F(4, 5), F(5)]),
        sample("chain_matmul", [F(3, 4)]),
    ]
    found += [
        sample("linalg_vecdot", F(2, 3), F(2, 3)),
        sample("linalg_vecdot", F(2, 3), F(3, 2, 1), dim=0),
        sample("linalg_vecdot", C(2, 3), C(3)),
    ]
    found += [
        sample("linalg_vander", F(2, 3)),
        sample("linalg_vander", F(3), N=2),
        sample("linalg_vander", L(3), N=4),
        sample("linalg_vander", F(), N=2),
    ]
    found += [
        sample("diagflat", F(2, 3)),
        sample("diagflat", F(2), 1),
        sample("diagflat", F(), -2),
        sample("diagflat", F(3, 2, layout="t")),
    ]
    return found  # fmt: skip


def samples() -> list[Sample]:
    return [*_solved(), *_factors(), *_functions()]
