"""Tiny models of plain ``torch.nn`` and ``torch``: one a kind of layer, function or indexing that ``models`` lacks.

``PLAIN[name](b, s)`` gives ``(module, args, kwargs, dims)``; sizes follow ``b`` and ``s``.
"""

# ruff: noqa: E731
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

BS = {0: "b", 1: "s"}
B = {0: "b"}
PLAIN: dict[str, Any] = {}


class Of(nn.Module):
    def __init__(self, fn: Any, **members: Any) -> None:
        super().__init__()
        self.fn = fn
        for name, value in members.items():
            setattr(self, name, value)

    def forward(self, *args: Any) -> Any:
        return self.fn(self, *args)


def plain(name: str, inputs: Any, dims: Any, make: Callable[[], nn.Module], train: bool = False) -> None:
    PLAIN[name] = lambda b=3, s=12: (make().train(train), inputs(b, s), {}, dims)


def fn(name: str, inputs: Any, dims: Any, function: Any, members: Any = None) -> None:
    plain(name, inputs, dims, lambda: Of(function, **(members() if members else {})))


seq = lambda b, s: (torch.randn(b, s, 16),)
img = lambda b, s: (torch.randn(b, 4, s, s + 4),)
IMG = [{0: "b", 2: "h", 3: "w"}]
SEQ = [BS]
# layers
plain(
    "conv_transpose1d",
    lambda b, s: (torch.randn(b, 4, s),),
    [{0: "b", 2: "s"}],
    lambda: nn.ConvTranspose1d(4, 6, 3, stride=2, output_padding=1),
)
plain("conv_transpose2d", img, IMG, lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2))
plain(
    "conv3d",
    lambda b, s: (torch.randn(b, 2, s, 6, 6),),
    [{0: "b", 2: "s"}],
    lambda: nn.Sequential(nn.Conv3d(2, 4, 3, padding="same"), nn.BatchNorm3d(4), nn.MaxPool3d(2)),
)
plain(
    "conv_modes",
    img,
    IMG,
    lambda: nn.Sequential(
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular", dilation=1),
        nn.Conv2d(4, 4, 3, padding="valid"),
    ),
)
plain(
    "norms",
    img,
    IMG,
    lambda: nn.Sequential(
        nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LocalResponseNorm(2), nn.Softmax2d()
    ),
)
plain("instance_norm_stats", img, IMG, lambda: nn.InstanceNorm2d(4, track_running_stats=True), train=True)
plain("rms_norm", seq, SEQ, lambda: nn.RMSNorm(16))
plain(
    "pools",
    img,
    IMG,
    lambda: nn.Sequential(
        nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False),
        nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        nn.LPPool2d(2, 2),
        nn.AdaptiveMaxPool2d((2, 3)),
    ),
)
plain(
    "pool_unpool",
    img,
    IMG,
    lambda: Of(
        lambda self, x: self.u(*self.p(x), output_size=x.shape[2:]),
        p=nn.MaxPool2d(2, return_indices=True),
        u=nn.MaxUnpool2d(2),
    ),
)
plain("adaptive_avg", img, IMG, lambda: nn.AdaptiveAvgPool2d((3, None)))
plain(
    "pixel_shuffle",
    img,
    IMG,
    lambda: nn.Sequential(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2)),
)
plain(
    "fold_unfold",
    lambda b, s: (torch.randn(b, 4, 8, 8),),
    [B],
    lambda: nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((8, 8), 2, stride=2)),
)
plain("unfold_free", img, IMG, lambda: nn.Unfold(3, padding=1))
plain(
    "paddings",
    img,
    IMG,
    lambda: nn.Sequential(
        nn.ReflectionPad2d(1),
        nn.ReplicationPad2d(1),
        nn.ZeroPad2d((1, 0, 2, 0)),
        nn.ConstantPad2d(1, 2.0),
        nn.CircularPad2d(1),
    ),
)
plain(
    "embedding_bag",
    lambda b, s: (torch.randint(0, 20, (b, s)),),
    SEQ,
    lambda: nn.EmbeddingBag(20, 8, mode="mean"),
)
plain(
    "embedding_bag_offsets",
    lambda b, s: (torch.randint(0, 20, (b * s,)), torch.arange(0, b * s, s)),
    [{0: "n"}, {0: "b"}],
    lambda: nn.EmbeddingBag(20, 8, mode="sum", padding_idx=1),
)
plain(
    "embedding_renorm",
    lambda b, s: (torch.randint(0, 20, (b, s)),),
    SEQ,
    lambda: nn.Embedding(20, 8, padding_idx=0),
)
plain("bilinear", lambda b, s: (torch.randn(b, 4), torch.randn(b, 5)), [B, B], lambda: nn.Bilinear(4, 5, 3))
plain(
    "activations",
    seq,
    SEQ,
    lambda: nn.Sequential(
        nn.ELU(),
        nn.SELU(),
        nn.CELU(),
        nn.GELU("tanh"),
        nn.Hardswish(),
        nn.Hardsigmoid(),
        nn.Mish(),
        nn.Softplus(),
        nn.Softsign(),
        nn.Tanhshrink(),
        nn.Hardshrink(0.01),
        nn.Softshrink(0.01),
        nn.LogSigmoid(),
        nn.Hardtanh(),
        nn.ReLU6(),
        nn.LeakyReLU(),
        nn.Threshold(0.1, 0.2),
        nn.PReLU(),
        nn.SiLU(),
    ),
)
plain("glu", seq, SEQ, lambda: nn.Sequential(nn.GLU(-1), nn.Softmin(-1), nn.LogSoftmax(-1)))
plain(
    "dropouts",
    img,
    IMG,
    lambda: nn.Sequential(
        nn.Dropout(0.3), nn.Dropout2d(0.3), nn.AlphaDropout(0.2), nn.FeatureAlphaDropout(0.2)
    ),
    train=True,
)
plain("rrelu_train", seq, SEQ, lambda: nn.RReLU(), train=True)
plain(
    "rnn",
    lambda b, s: (torch.randn(b, 6, 16),),
    [B],
    lambda: nn.RNN(16, 8, 2, batch_first=True, nonlinearity="relu", bidirectional=True),
)
plain(
    "lstm_proj",
    lambda b, s: (torch.randn(b, 6, 16),),
    [B],
    lambda: nn.LSTM(16, 8, proj_size=4, batch_first=True),
)
plain("lstm_seq", lambda b, s: (torch.randn(s, b, 16),), [{0: "s", 1: "b"}], lambda: nn.LSTM(16, 8, 2))
fn(
    "lstm_packed",
    lambda b, s: (torch.randn(3, 6, 16), torch.tensor([6, 4, 2])),
    [{}, {}],
    lambda self, x, n: nn.utils.rnn.pad_packed_sequence(
        self.r(nn.utils.rnn.pack_padded_sequence(x, n, batch_first=True))[0], batch_first=True
    )[0],
    lambda: {"r": nn.LSTM(16, 8, batch_first=True, bidirectional=True)},
)
plain("gru_cell", lambda b, s: (torch.randn(b, 16), torch.randn(b, 8)), [B, B], lambda: nn.GRUCell(16, 8))
plain("rnn_cell", lambda b, s: (torch.randn(b, 16), torch.randn(b, 8)), [B, B], lambda: nn.RNNCell(16, 8))


def no_grad(model: Any) -> Any:
    for p in model.parameters():
        p.requires_grad_(False)
    return model


fn(
    "mha_fast",
    seq,
    SEQ,
    lambda self, x: self.a(x, x, x, need_weights=False)[0],
    lambda: {"a": no_grad(nn.MultiheadAttention(16, 4, batch_first=True).eval())},
)


def under_no_grad(self: Any, x: Any) -> Any:
    with torch.no_grad():
        return self.a(x, x, x)


fn("mha_no_grad", seq, SEQ, under_no_grad, lambda: {"a": nn.MultiheadAttention(16, 4, batch_first=True)})
plain(
    "encoder_fast",
    seq,
    SEQ,
    lambda: no_grad(nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)),
)
fn(
    "encoder_masked",
    lambda b, s: (torch.randn(b, s, 16), torch.zeros(b, s, dtype=torch.bool)),
    [BS, BS],
    lambda self, x, pad: self.e(
        x,
        mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]),
        src_key_padding_mask=pad,
        is_causal=True,
    ),
    lambda: {
        "e": nn.TransformerEncoder(
            nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True),
            2,
            enable_nested_tensor=False,
        )
    },
)
plain(
    "decoder",
    lambda b, s: (torch.randn(b, s, 16), torch.randn(b, 5, 16)),
    [BS, B],
    lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, batch_first=True), 2),
)
fn(
    "mha_cross",
    lambda b, s: (torch.randn(s, b, 16), torch.randn(7, b, 12)),
    [{0: "s", 1: "b"}, {1: "b"}],
    lambda self, x, y: self.a(x, y, y, average_attn_weights=False),
    lambda: {"a": nn.MultiheadAttention(16, 4, kdim=12, vdim=12, add_bias_kv=True, add_zero_attn=True)},
)
fn(
    "sdpa",
    lambda b, s: (torch.randn(b, 4, s, 8),),
    [{0: "b", 2: "s"}],
    lambda self, x: (
        F.scaled_dot_product_attention(x, x, x, is_causal=True),
        F.scaled_dot_product_attention(x, x[:, :2], x[:, :2], enable_gqa=True),
        F.scaled_dot_product_attention(x, x, x, scale=0.3),
    ),
)
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
logits = lambda b, s: (torch.randn(b, 5, s), torch.randint(0, 5, (b, s)))
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
# indexing
fn(
    "indexing",
    lambda b, s: (torch.randn(b, s, 6), torch.tensor([0, 2, 1])),
    [BS, {}],
    lambda self, x, i: (
        x[:, i],
        x[:, i, i],
        x[..., None, ::2],
        x[:, -1],
        x[:, 1:-1],
        x[[0, 1]],
        x[:, i[:, None], i[None]],
        x[0, ..., 1:3],
        x[:, torch.arange(x.shape[1]) % 2 == 0],
    ),
)


def writes(self: Any, x: Any, i: Any) -> Any:
    y = x.clone()
    y[:, 0] = 1.0
    y[:, i] += 2
    y[y > 1] = 0
    y[..., -1:] = x[..., :1]
    z = torch.zeros_like(x)
    z[:, 1:] = x[:, :-1]
    z.index_fill_(2, i, 3.0)
    z.masked_fill_(x > 0, -1)
    return y, z


fn("index_writes", lambda b, s: (torch.randn(b, s, 6), torch.tensor([0, 2, 1])), [BS, {}], writes)
fn(
    "scatter",
    lambda b, s: (torch.randn(b, s), torch.randint(0, 5, (b, s))),
    [BS, BS],
    lambda self, x, i: (
        torch.zeros(x.shape[0], 5).scatter(1, i, x),
        torch.zeros(x.shape[0], 5).scatter_add(1, i, x),
        torch.zeros(x.shape[0], 5).scatter_reduce(1, i, x, "amax"),
        x.gather(1, i % x.shape[1]),
        torch.take_along_dim(x, i % x.shape[1], 1),
        torch.zeros(5, x.shape[0]).index_add(0, i[0], x.T),
        x.index_select(1, i[0] % x.shape[1]),
        torch.zeros(x.shape[0], 5).index_put((torch.arange(x.shape[0]),), torch.ones(5), accumulate=True),
        x.take(i),
        F.one_hot(i, 5),
    ),
)
fn(
    "topk_sort",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.topk(3),
        x.sort(-1, descending=True),
        x.argsort(-1),
        x.kthvalue(2),
        x.median(-1),
        x.max(-1),
        x.min(0),
        x.argmax(),
        torch.msort(x),
        x.aminmax(dim=-1),
        x.quantile(0.5, dim=-1),
    ),
)
fn(
    "cumulative",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.cumsum(-1),
        x.cumprod(0),
        x.cummax(-1),
        x.logcumsumexp(-1),
        x.logsumexp(-1),
        x.std(-1),
        x.var(0, correction=0),
        torch.var_mean(x, -1),
        x.prod(-1),
        x.norm(dim=-1),
        x.amax(-1),
        x.all(-1),
        (x > 0).any(),
        x.count_nonzero(-1),
        torch.std_mean(x),
        x.diff(dim=-1),
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
fn(
    "complex",
    lambda b, s: (torch.randn(b, s, 2),),
    SEQ,
    lambda self, x: (
        torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones(()), torch.tensor(0.5))),
        torch.view_as_complex(x).angle(),
        torch.complex(x[..., 0], x[..., 1]).conj().imag,
    ),
)
fn(
    "where_masks",
    lambda b, s: (torch.randn(b, s), torch.rand(b, s) > 0.5),
    [BS, BS],
    lambda self, x, m: (
        torch.where(m, x, 0.0),
        x.masked_fill(~m, float("-inf")).softmax(-1),
        torch.where(x > 0, 1, -1),
        x.clamp(-1, 1),
        x.clamp(min=x.mean()),
        torch.nan_to_num(x / 0),
        x.lerp(x * 2, 0.5),
        torch.addcmul(x, x, x, value=2),
        x.maximum(x.roll(1, 1)),
        x.heaviside(x),
        x.fmod(2),
        x.remainder(2),
        torch.isfinite(x),
        torch.signbit(x),
        torch.copysign(x, -x),
        x.frac(),
        torch.logical_xor(m, x > 0),
    ),
)
fn(
    "bucketize",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        torch.bucketize(x, torch.linspace(-1, 1, 5)),
        torch.searchsorted(x.sort(-1).values, x),
        torch.histc(x, 5, -1, 1),
        torch.bincount(x.abs().long().flatten(), minlength=10)[:3],
    ),
)
fn(
    "shaping",
    lambda b, s: (torch.randn(b, s, 6),),
    SEQ,
    lambda self, x: (
        x.flip(1),
        x.roll(2, 1),
        x.repeat(1, 2, 1),
        x.repeat_interleave(2, 1),
        x.tile(2, 1),
        x.unfold(1, 3, 1),
        x.unflatten(2, (2, 3)),
        x.movedim(0, 2),
        torch.stack([x, x], 1),
        torch.cat([x, x[:, :2]], 1),
        x.chunk(3, 2),
        x.split([1, 5], 2),
        x.tensor_split(2, 2),
        torch.rot90(x, 1, (1, 2)),
        x.swapaxes(0, 1),
        torch.hstack([x, x]),
        torch.block_diag(x[0], x[0]),
        torch.cartesian_prod(x[0, 0], x[0, 0]),
        x.expand(2, *x.shape),
        torch.broadcast_to(x, (2, *x.shape)),
        x.narrow(1, 1, 2),
        x.select(1, 0),
        x.squeeze(),
        x.view(x.shape[0], -1),
        x.reshape(-1, 3),
        x.flatten(1),
        x.mT,
        F.pad(x, (1, 2, 0, 1), value=3.0),
    ),
)
fn(
    "random_like",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        torch.rand_like(x) + x,
        torch.randn(x.shape),
        torch.randint(0, 5, (x.shape[0],)),
        torch.bernoulli(x.sigmoid()),
        x.softmax(-1).multinomial(2),
        torch.randperm(x.shape[1]),
        torch.empty_like(x).normal_(),
        torch.normal(x, x.abs()),
        F.gumbel_softmax(x),
    ),
)
fn(
    "new_tensors",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.new_ones(x.shape[1], 2),
        torch.full_like(x, 2.0),
        torch.arange(x.shape[1], dtype=x.dtype),
        torch.eye(x.shape[1]),
        torch.tensor([1.0, 2.0]) * x[:, :1],
        torch.tril_indices(3, 3),
        torch.ones(x.size(0), dtype=torch.bool),
        torch.zeros(()),
        torch.logspace(0, 1, 4),
        torch.scalar_tensor(3.0),
        torch.as_tensor([1, 2]),
        torch.empty(x.shape[0]).fill_(2),
        torch.arange(x.shape[1] - 1, -1, -1),
    ),
)


# data-dependent sizes
def nonzeros(self: Any, x: Any) -> Any:
    i = (x > 0).nonzero()
    return (
        x[x > 0].sum(),
        i.sum(),
        torch.masked_select(x, x < 0).sum(),
        i.shape[0] * 2,
        torch.unique(x.round()).sum(),
    )


fn("data_sizes", lambda b, s: (torch.randn(b, s),), SEQ, nonzeros)


def argwhere(self: Any, x: Any) -> Any:
    a, c = torch.where(x > 0)
    return x[a, c] * 2, torch.argwhere(x > 0)


fn("where_sizes", lambda b, s: (torch.randn(b, s),), SEQ, argwhere)
# dtypes
fn(
    "dtypes",
    lambda b, s: (torch.randn(b, s),),
    SEQ,
    lambda self, x: (
        x.half() + 1,
        x.bfloat16() * x,
        x.double().float(),
        (x * 10).to(torch.int8),
        (x > 0).float(),
        x.long() // 2,
        x.int() & 3,
        ~(x > 0),
        x.to(torch.int32) << 1,
        x.type(torch.float64),
        x.to(x.dtype),
        torch.tensor(1.5) + x.long(),
    ),
)
# parametrisations, weight norms, hooks
plain(
    "weight_norm",
    lambda b, s: (torch.randn(b, 8),),
    [B],
    lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)),
)
plain(
    "spectral_norm",
    lambda b, s: (torch.randn(b, 8),),
    [B],
    lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4)),
)
plain(
    "orthogonal",
    lambda b, s: (torch.randn(b, 8),),
    [B],
    lambda: nn.utils.parametrizations.orthogonal(nn.Linear(8, 4)),
)
plain(
    "old_weight_norm", lambda b, s: (torch.randn(b, 8),), [B], lambda: nn.utils.weight_norm(nn.Linear(8, 4))
)
plain(
    "module_lists",
    lambda b, s: (torch.randn(b, 8),),
    [B],
    lambda: Of(
        lambda self, x: (
            [self.d[k](x) for k in self.d]
            + [layer(x) * p for layer, p in zip(self.l[1:], self.p, strict=True)]
        ),
        d=nn.ModuleDict({"a": nn.Linear(8, 2), "b": nn.Linear(8, 2)}),
        l=nn.ModuleList([nn.Linear(8, 2) for _ in range(3)]),
        p=nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(2)]),
    ),
)
fn(
    "functional_call",
    lambda b, s: (torch.randn(b, 8),),
    [B],
    lambda self, x: torch.func.functional_call(self.l, {"weight": self.l.weight * 2}, (x,)),
    lambda: {"l": nn.Linear(8, 4)},
)
fn(
    "autograd_grad_free",
    lambda b, s: (torch.randn(b, 8),),
    [B],
    lambda self, x: self.l(x.detach()).detach(),
    lambda: {"l": nn.Linear(8, 4)},
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
