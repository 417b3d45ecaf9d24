"""``torch.linalg``: what there are operators for."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.packets import lazy

_NAMES = (
    "norm", "vector_norm", "inv", "det", "cross", "solve", "solve_triangular", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh",
    "eig", "eigvals", "slogdet", "pinv", "matrix_rank", "matrix_norm", "matrix_power", "matrix_exp", "cond", "multi_dot", "vecdot", "lstsq",
    "lu", "lu_factor", "lu_solve", "diagonal", "vander", "householder_product", "tensorsolve",
)  # fmt: skip
_FUNCTIONS = {name: lazy(f"linalg.{name}", f"linalg_{name}") for name in _NAMES}


def __getattr__(name: str) -> Any:
    found = _FUNCTIONS.get(name)
    if found is not None:
        return found
    raise AttributeError(f"torchlite has no torch.linalg.{name}")
