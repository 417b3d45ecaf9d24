"""Operators that the table lacks are lent by PyTorch where sizes are static, and refused by name elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
import dynamo_lite.torchlite as torchlite
from dynamo_lite.torch_bridge.borrowed import LENT
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    assert_same,
    both_modes,
    export_both,
    module,
)


def rearranged(self: Any, x: Any) -> Any:
    square = x @ x.T + torch.eye(3)
    return torch.linalg.tensorinv(square, 1), torch.vander(x[0]), torch.renorm(x, 2, 0, 1.0)


def special(self: Any, x: Any) -> Any:
    positive = x.abs() + 1
    y = torch.igamma(positive, positive)
    positive.igamma_(y)
    return (
        y,
        positive,
        y.polygamma(1),
        torch.special.i1(x),
        torch.special.erfcx(x),
        torch.special.zeta(y + 2, y + 1),
    )


def drawn(self: Any, x: Any) -> Any:
    torch.poisson(x.abs())  # drawn though nobody looks
    return torch.poisson(x.abs() * 9), torch._standard_gamma(x.abs() + 1), torch.rand_like(x)


@pytest.mark.parametrize("forward", [rearranged, special, drawn], ids=lambda forward: str(forward.__name__))
def test_equals_eager(forward: Any, tmp_path: Path) -> None:
    model, x = module(forward), torch.randn(3, 4)
    program = export_both(model, (x,))
    assert_equals_eager(model, program, (x,))
    assert_equals_eager(model, program, (torch.randn(3, 4),))
    dl.save(program, tmp_path / "program.dlp")
    assert_equals_eager(model, dl.load(tmp_path / "program.dlp"), (x,))


@both_modes
def test_gradients(strict: bool) -> None:
    model, x = module(special), torch.randn(3, 4, requires_grad=True)
    program = dl.export(model, (x,), strict=strict).module()
    both = [torch.autograd.grad(sum(y.sum() for y in each(x)[3:5]), x) for each in (model, program)]
    assert_same(*both)


def under_autocast(self: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return torch.linalg.svdvals(x), torch.linalg.multi_dot([x, x.T, x])


def updates_in_secret(self: Any, x: Any) -> Any:
    return torch.native_batch_norm(x, None, None, self.buf, self.buf * 1, True, 0.1, 1e-5)[0]


def asked_for_strides(self: Any, x: Any) -> Any:
    return x * 2 if torch.linalg.tensorinv(x[:, :3], 1).is_contiguous() else x


@both_modes
@pytest.mark.parametrize(
    ("forward", "kind", "spec"),
    [
        (lambda self, x: torch.renorm(x, 2, 0, 1.0), "missing-operator", [{0: dl.Dim("n", min=2)}]),
        (lambda self, x: torch.linalg.lstsq(x.T, x.T, driver="gelsd").rank, "rank-depends-on-data", None),
        (lambda self, x: x.to_sparse(), "missing-operator", None),
        (updates_in_secret, "missing-operator", None),
        (under_autocast, "autocast-operator", None),
        (asked_for_strides, "layout-unknown", None),
    ],
)
def test_refused_by_name(forward: Any, kind: str, spec: Any, strict: bool) -> None:
    with pytest.raises(dl.UnsupportedError, match=kind) as caught:
        dl.export(module(forward), (torch.randn(3, 4),), dynamic_shapes=spec, strict=strict)
    assert caught.value.location is not None and caught.value.location.file == __file__


@both_modes
def test_nothing_is_lent_to_another_library(strict: bool, tmp_path: Path) -> None:
    program = dl.export(module(lambda self, x: torch.special.i1(x)), (torch.randn(3),), strict=strict)
    assert "aten::special_i1" in LENT
    with pytest.raises(dl.UnsupportedError, match="kernel-missing"):
        program.module("torchlite")

    class Model(torchlite.nn.Module):
        def forward(self, x: Any) -> Any:
            return torchlite.linalg.tensorsolve(x, x)

    with pytest.raises(dl.UnsupportedError, match="missing-operator"):
        dl.export(Model(), (torchlite.ones(3, 3),), strict=strict)


@both_modes
def test_pointwise_operators_take_symbolic_sizes(strict: bool) -> None:
    def forward(self: Any, x: Any, y: Any) -> Any:
        scaled, exponent = torch.frexp(x)
        return [
            *special(self, x),
            torch.special.gammainc(x.abs(), y.abs()),
            torch.special.ndtr(x),
            torch.special.polygamma(1, x.abs() + 1),
            torch.special.multigammaln(x.abs() + 3, 2),
            torch.special.xlog1py(x, y[0].abs()),
            torch.nextafter(x, y),
            torch.special.chebyshev_polynomial_t(x, 3),
            torch.special.xlogy(2, y.abs()),
            torch.lcm(exponent, exponent + 1),
            scaled,
        ]

    model = module(forward)
    program = dl.export(
        model,
        (torch.randn(3, 4), torch.randn(1, 4)),
        dynamic_shapes=({0: dl.Dim("n"), 1: dl.Dim.DYNAMIC}, {1: dl.Dim.DYNAMIC}),
        strict=strict,
    )
    for rows, columns in ((3, 4), (1, 4), (5, 2)):
        assert_equals_eager(model, program, (torch.randn(rows, columns), torch.randn(1, columns)))
    with pytest.raises(dl.GuardError):
        program.module()(torch.randn(3, 4), torch.randn(2, 4))


SYNONYMS: Final[dict[str, Callable[[Any], Any]]] = {
    "special": lambda x: [
        torch.special.digamma(x), torch.special.psi(x), torch.special.gammaln(x), torch.special.erfc(x), torch.special.exp2(x),
        torch.special.round(x, decimals=1), torch.special.softmax(x, 0), torch.special.log_softmax(x, 1), torch.special.logsumexp(x, 1),
        torch.special.logit(x.sigmoid(), 0.1), torch.special.sinc(x), torch.special.i0(x), torch.special.expm1(x), torch.special.log1p(x.abs()),
    ],
    "linalg": lambda x: [torch.linalg.matmul(x, x.T), torch.orgqr(x.T[:, :1], x[0, :1])],
}  # fmt: skip


@both_modes
@pytest.mark.parametrize("name", SYNONYMS)
def test_second_names(name: str, strict: bool) -> None:
    function = SYNONYMS[name]
    model = module(lambda self, x: function(x))
    program = dl.export(model, (torch.randn(3, 4),), dynamic_shapes=({0: dl.Dim.DYNAMIC},), strict=strict)
    for size in (3, 2, 7):
        assert_equals_eager(model, program, (torch.randn(size, 4),))
