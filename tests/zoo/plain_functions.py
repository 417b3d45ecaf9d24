"""Functions over whole tensors: images, losses, linear algebra, spectra, order statistics."""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as F

from tests.zoo.building import BOTH as BS
from tests.zoo.building import ROWS as B
from tests.zoo.building import PlainModels

FUNCTIONS: Final = PlainModels()
plain, fn = FUNCTIONS.plain, FUNCTIONS.fn
SEQ: Final = [BS]
IMG: Final = [{0: "b", 2: "h", 3: "w"}]


def img(b: int, s: int) -> tuple[torch.Tensor]:
    return (torch.randn(b, 4, s, s + 4),)


# interpolation, sampling
fn(
    "interpolate",
    img,
    IMG,
    lambda self, x: (
        F.interpolate(x, scale_factor=2),
        F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True),
        F.interpolate(x, scale_factor=(0.5, 1.5), mode="bicubic"),
        F.interpolate(x, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True),
        F.interpolate(x, size=(5, 6), mode="area"),
        F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    ),
)
fn(
    "interpolate_to",
    lambda b, s: (torch.randn(b, 4, s, s), torch.randn(b, 4, s + 3, s + 1)),
    [{0: "b", 2: "h", 3: "w"}, {0: "b", 2: "h2", 3: "w2"}],
    lambda self, x, y: F.interpolate(x, size=y.shape[-2:], mode="bilinear", align_corners=False) + y,
)
fn(
    "interpolate_1d",
    lambda b, s: (torch.randn(b, 4, s),),
    [{0: "b", 2: "s"}],
    lambda self, x: (
        F.interpolate(x, scale_factor=2.0, mode="linear"),
        F.interpolate(x[..., None, None], size=(5, 2, 2), mode="trilinear"),
    ),
)
fn(
    "grid_sample",
    lambda b, s: (torch.randn(b, 4, s, s + 1), torch.rand(b, 5, 6, 2) * 2 - 1),
    [{0: "b", 2: "h", 3: "w"}, B],
    lambda self, x, g: (
        F.grid_sample(x, g, align_corners=False),
        F.grid_sample(x, g, mode="nearest", padding_mode="border", align_corners=True),
        F.grid_sample(
            x,
            F.affine_grid(
                torch.eye(2, 3).expand(x.shape[0], 2, 3), [x.shape[0], 4, 5, 6], align_corners=False
            ),
            padding_mode="reflection",
            align_corners=False,
        ),
    ),
)
# losses


def logits(b: int, s: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(b, 5, s), torch.randint(0, 5, (b, s))


fn(
    "cross_entropy",
    logits,
    [{0: "b", 2: "s"}, BS],
    lambda self, x, y: (
        F.cross_entropy(x, y, label_smoothing=0.1),
        F.cross_entropy(x, y, reduction="none", ignore_index=2),
        F.nll_loss(F.log_softmax(x, 1), y, weight=torch.ones(5)),
    ),
)
fn(
    "losses",
    lambda b, s: (torch.randn(b, s), torch.rand(b, s)),
    [BS, BS],
    lambda self, x, y: (
        F.mse_loss(x, y),
        F.l1_loss(x, y),
        F.smooth_l1_loss(x, y),
        F.huber_loss(x, y),
        F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(2.0)),
        F.binary_cross_entropy(x.sigmoid(), y),
        F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
    ),
)
fn(
    "losses2",
    lambda b, s: (torch.randn(b, s), torch.randn(b, s), torch.randn(b, s)),
    [BS] * 3,
    lambda self, x, y, z: (
        F.triplet_margin_loss(x, y, z),
        F.cosine_embedding_loss(x, y, torch.ones(x.shape[0])),
        F.margin_ranking_loss(x, y, torch.ones_like(x)),
        F.hinge_embedding_loss(x, y.sign()),
        F.multilabel_soft_margin_loss(x, (y > 0).float()),
        F.pairwise_distance(x, y),
        F.cosine_similarity(x, y, -1),
        torch.cdist(x, y),
    ),
)
fn(
    "ctc",
    lambda b, s: (
        torch.randn(s, b, 6),
        torch.randint(1, 6, (b, 3)),
        torch.full((b,), s),
        torch.full((b,), 3),
    ),
    [{0: "s", 1: "b"}, B, B, B],
    lambda self, x, t, n, m: F.ctc_loss(x.log_softmax(-1), t, n, m, reduction="none"),
)
# einsum and linear algebra
fn(
    "einsum",
    lambda b, s: (torch.randn(b, s, 8), torch.randn(b, s, 8)),
    [BS, BS],
    lambda self, x, y: (
        torch.einsum("bsd,btd->bst", x, y),
        torch.einsum("bsd,bsd->bs", x, y),
        torch.einsum("...d,d->...", x, torch.ones(8)),
        torch.einsum("bsd->b", x),
        torch.einsum("bii->bi", x @ y.transpose(1, 2)),
        torch.einsum(x, [0, 1, 2], y, [0, 3, 2], [0, 1, 3]),
    ),
)
fn(
    "linalg",
    lambda b, s: (torch.randn(b, 4, 4),),
    [B],
    lambda self, x: (
        torch.linalg.norm(x, dim=(1, 2)),
        torch.linalg.vector_norm(x, dim=-1),
        torch.baddbmm(x, x, x, beta=0.5),
        torch.tril(x) + torch.triu(x, 1),
        torch.diagonal(x, 0, 1, 2),
        torch.diag_embed(x[:, 0]),
        torch.kron(x[0], x[0]),
        torch.outer(x[0, 0], x[0, 1]),
        torch.trace(x[0]),
        torch.linalg.det(x),
        torch.linalg.inv(x + 5 * torch.eye(4)),
        torch.cross(x[:, :3], x[:, :3], dim=1),
        torch.addmm(x[0], x[0], x[0]),
    ),
)
fn(
    "linalg2",
    lambda b, s: (torch.randn(b, 4, 4),),
    [B],
    lambda self, x: (
        torch.linalg.solve(x + 5 * torch.eye(4), x),
        torch.linalg.cholesky(x @ x.mT + 5 * torch.eye(4)),
        torch.linalg.qr(x).R.abs(),
        torch.linalg.svdvals(x),
        torch.linalg.eigvalsh(x + x.mT),
    ),
)
fn(
    "fft",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        torch.fft.rfft(x).abs(),
        torch.fft.irfft(torch.fft.rfft(x), n=x.shape[-1]),
        torch.fft.fft(x).real,
        torch.fft.fft2(x).imag,
        torch.fft.fftshift(x),
    ),
)
fn(
    "stft",
    lambda b, s: (torch.randn(b, 64),),
    [B],
    lambda self, x: torch.istft(
        torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True),
        16,
        4,
        window=torch.hann_window(16),
    ),
)


# order statistics, integrals, margins, antialiased images
fn(
    "quantiles",
    lambda b, s: (torch.randn(b, s), torch.rand(2)),
    [BS, {}],
    lambda self, x, q: (
        x.quantile(q, dim=-1),
        torch.nanquantile(x, 0.3),
        x.nanmedian(-1),
        x.round().mode(-1),
        torch.cov(x),
        torch.corrcoef(x),
        torch.trapezoid(x, dx=0.5),
        torch.cumulative_trapezoid(x, dim=0),
        torch.combinations(x[0]),
        (x @ x.T).matrix_power(3),
        torch.fft.fftfreq(8),
    ),
)
fn(
    "losses3",
    lambda b, s: (torch.randn(b, 5), torch.rand(b, 5), torch.randint(0, 5, (b,))),
    [B, B, B],
    lambda self, x, y, t: (
        F.multi_margin_loss(x, t),
        F.multi_margin_loss(x, t, p=2, margin=0.5, weight=torch.ones(5), reduction="none"),
        F.poisson_nll_loss(x, y),
        F.poisson_nll_loss(y, y * 4, log_input=False, full=True, reduction="none"),
        F.soft_margin_loss(x, y.sign()),
    ),
)
fn(
    "antialias",
    img,
    IMG,
    lambda self, x: (
        F.interpolate(x, scale_factor=0.5, mode="bilinear", antialias=True),
        F.interpolate(x, size=(5, 7), mode="bicubic", antialias=True, align_corners=True),
    ),
)
