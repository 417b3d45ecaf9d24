"""``torch.linalg``: what there are operators for."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.packets import lazy

norm = lazy("linalg.norm", "linalg_norm")
vector_norm = lazy("linalg.vector_norm", "linalg_vector_norm")
matrix_norm = lazy("linalg.matrix_norm", "linalg_matrix_norm")
inv = lazy("linalg.inv", "linalg_inv")
det = lazy("linalg.det", "linalg_det")
solve = lazy("linalg.solve", "linalg_solve")
cholesky = lazy("linalg.cholesky", "linalg_cholesky")
qr = lazy("linalg.qr", "linalg_qr")
svd = lazy("linalg.svd", "linalg_svd")
eigh = lazy("linalg.eigh", "linalg_eigh")
cross = lazy("linalg.cross", "linalg_cross")
vecdot = lazy("linalg.vecdot", "linalg_vecdot")
multi_dot = lazy("linalg.multi_dot", "linalg_multi_dot")
matmul = lazy("linalg.matmul", "linalg_matmul")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no torch.linalg.{name}")
