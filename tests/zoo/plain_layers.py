"""Layers of ``torch.nn``, their hooks and containers."""

from __future__ import annotations

from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import nn

from tests.zoo.building import BOTH as BS
from tests.zoo.building import ROWS as B
from tests.zoo.building import Of, PlainModels

LAYERS: Final = PlainModels()
plain, fn = LAYERS.plain, LAYERS.fn
SEQ: Final = [BS]
IMG: Final = [{0: "b", 2: "h", 3: "w"}]


def seq(b: int, s: int) -> tuple[torch.Tensor]:
    return (torch.randn(b, s, 16),)


def img(b: int, s: int) -> tuple[torch.Tensor]:
    return (torch.randn(b, 4, s, s + 4),)


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
