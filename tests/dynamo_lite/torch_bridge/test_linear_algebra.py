"""Linear algebra over dynamic sizes, in both modes: eager's bits and gradients at every size, on NumPy what determines the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    assert_same,
    both_modes,
    export_both,
    module,
)

L: Final = torch.linalg


def spd(x: Any) -> Any:
    return x @ x.mT + 2 * torch.eye(x.shape[-2])


def factors(x: Any) -> Any:
    u, s, v = L.svd(x, full_matrices=False)
    old = torch.svd(x)
    return (
        u,
        s,
        v,
        u * s[..., None, :] @ v,
        old.U,
        old.S,
        old.V,
        *L.qr(x),
        *torch.qr(x),
        *L.svd(x),
        L.svdvals(x),
    )


def eigen(x: Any) -> Any:
    values, vectors = L.eigh(spd(x))
    return values, vectors @ vectors.mT, L.eigvalsh(spd(x)), L.eigvals(x[..., :2, :2]).abs()


def triangles(x: Any) -> Any:
    lower, right = L.cholesky(spd(x)), x[..., :1]
    return (
        lower, L.cholesky_ex(spd(x)).info, torch.cholesky_solve(right, lower), torch.cholesky_inverse(lower),
        L.solve_triangular(lower, right, upper=False), torch.triangular_solve(right, lower, upper=False).solution,
        *L.lu_factor(spd(x)), *L.lu(spd(x)), L.lu_solve(*L.lu_factor(spd(x)), right),
        *torch.lu_unpack(*L.lu_factor(spd(x))), torch.lu_solve(right, *L.lu_factor(spd(x))), torch.linalg.solve_ex(spd(x), right).result,
    )  # fmt: skip


def numbers(x: Any) -> Any:
    square = spd(x)
    return (
        L.det(square), torch.det(square), L.slogdet(square).logabsdet, torch.slogdet(square)[0], torch.logdet(square), L.matrix_rank(x),
        L.matrix_rank(square, hermitian=True), L.cond(x), L.matrix_norm(x), L.matrix_norm(x, "nuc"), L.matrix_norm(x, 2, (-1, 0)),
        L.vecdot(x, x), L.norm(x, "fro", (-2, -1)), torch.norm(x), x.norm(), torch.norm(x, "nuc", (1, 2)), x[0].norm("nuc"), torch.norm(x, dim=1),
        torch.frobenius_norm(x, (0, 1)),
    )  # fmt: skip


def inverses(x: Any) -> Any:
    square = spd(x)
    return (
        L.cond(square.detach(), 1), L.inv(square), torch.inverse(square), L.inv_ex(square).inverse, L.pinv(x), torch.pinverse(x), L.pinv(square, hermitian=True),
        L.solve(square, x), L.matrix_exp(square / 9), L.matrix_power(square, 3), L.multi_dot([x[0], x[0].T, x[0]]), L.vander(x[0, 0]),
        torch.diagflat(x[0, :, 0]), L.lstsq(x, x[..., :1]).rank, L.lstsq(x[..., :1], x, driver="gels").solution,
    )  # fmt: skip


FAMILIES: Final[tuple[Callable[[Any], Any], ...]] = (factors, eigen, triangles, numbers, inverses)
SPECS: Final = {
    "batch": ({0: dl.Dim.DYNAMIC},),
    "rows": ({1: dl.Dim.DYNAMIC},),
    "both": ({0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC},),
}
SIZES: Final = ((2, 3), (1, 3), (4, 2), (3, 5))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family.__name__))
def test_equals_eager_at_every_size(family: Any, spec: str) -> None:
    torch.manual_seed(0)
    model = module(lambda self, x: family(x))
    program = export_both(model, (torch.randn(2, 3, 5),), dynamic_shapes=SPECS[spec])
    reached = 0
    for batch, rows in SIZES:
        x = torch.randn(batch if spec != "rows" else 2, rows if spec != "batch" else 3, 5)
        assert_equals_eager(model, program, (x,))
        reached += 1
    assert reached == len(SIZES)


@both_modes
def test_whether_there_are_residuals_is_a_question_of_sizes(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        return L.lstsq(x, x[:, :1], driver="gels").residuals

    model = module(forward)
    program = dl.export(model, (torch.randn(5, 3),), dynamic_shapes=({0: dl.Dim.DYNAMIC},), strict=strict)
    assert [str(guard.expr) for guard in program.guards] == ["s0 >= 4"]
    assert_equals_eager(model, program, (torch.randn(7, 3),))
    with pytest.raises(dl.GuardError):
        program.module()(torch.randn(3, 3))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES[1:], ids=lambda family: str(family.__name__))
def test_gradients(family: Any) -> None:
    torch.manual_seed(0)
    model = module(lambda self, x: family(x))
    x = torch.randn(2, 3, 5, requires_grad=True)
    program = dl.export(model, (x,), dynamic_shapes=SPECS["batch"]).module()
    found = []
    for run in (model, program):
        ends = [y for y in run(x) if y.requires_grad]
        found.append((len(ends), *torch.autograd.grad(sum(y.sum() for y in ends), x)))
    assert_same(*found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", FAMILIES[2:], ids=lambda family: str(family.__name__))
def test_on_numpy(family: Any) -> None:
    import dynamo_lite.torchlite as torchlite

    torch.manual_seed(0)
    x = torch.randn(3, 3, 5, dtype=torch.float64)
    model = module(lambda self, x: family(x))
    program = dl.export(model, (x[:2],), dynamic_shapes=SPECS["batch"])
    for expected, given in zip(
        model(x), program.module("torchlite")(torchlite.from_numpy(x.numpy())), strict=True
    ):
        torch.testing.assert_close(torch.from_numpy(given.numpy()), expected, rtol=1e-6, atol=1e-6)
