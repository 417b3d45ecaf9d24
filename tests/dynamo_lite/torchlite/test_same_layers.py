"""Layers and functionals compute what PyTorch's do, with the same parameters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dynamo_lite.torchlite.twin import Snippet, assert_same, fill, needs_torch

pytestmark = [pytest.mark.torch, needs_torch]


def wave(torch: Any, *shape: int) -> Any:
    """Fixed values between -1 and 1."""
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float32) * 0.7).sin().reshape(shape)


def _layer(make: Any, *shape: int, training: bool = False) -> Snippet:
    def snippet(torch: Any) -> Any:
        module = fill(torch, make(torch.nn)).train(training)
        with torch.no_grad():
            return module(wave(torch, *shape)), module.state_dict(), repr(module)

    return snippet


LAYERS: dict[str, Snippet] = {
    "Linear": _layer(lambda nn: nn.Linear(4, 3), 2, 5, 4),
    "Linear without bias": _layer(lambda nn: nn.Linear(4, 3, bias=False), 4),
    "Bilinear": lambda t: fill(t, t.nn.Bilinear(2, 3, 4))(wave(t, 5, 2), wave(t, 5, 3)).detach(),
    "Embedding": lambda t: fill(t, t.nn.Embedding(5, 3, padding_idx=0))(t.tensor([[0, 4], [2, 2]])).detach(),
    "Embedding out of range": lambda t: t.nn.Embedding(5, 3)(t.tensor([7])),
    "Embedding padding": lambda t: repr(t.nn.Embedding(5, 3, padding_idx=-1)),
    "Embedding pretrained": lambda t: t.nn.Embedding.from_pretrained(wave(t, 3, 2))(t.tensor([1])),
    "LayerNorm": _layer(lambda nn: nn.LayerNorm(4), 2, 3, 4),
    "LayerNorm of two": _layer(lambda nn: nn.LayerNorm((3, 4), bias=False), 2, 3, 4),
    "RMSNorm": _layer(lambda nn: nn.RMSNorm(4), 2, 4),
    "GroupNorm": _layer(lambda nn: nn.GroupNorm(2, 4), 2, 4, 3),
    "GroupNorm wrong": lambda t: t.nn.GroupNorm(3, 4),
    "BatchNorm1d": _layer(lambda nn: nn.BatchNorm1d(4), 3, 4),
    "BatchNorm1d training": _layer(lambda nn: nn.BatchNorm1d(4), 3, 4, training=True),
    "BatchNorm1d cumulative": _layer(lambda nn: nn.BatchNorm1d(4, momentum=None), 3, 4, training=True),
    "BatchNorm1d rank": _layer(lambda nn: nn.BatchNorm1d(4), 3, 4, 5, 6),
    "BatchNorm2d": _layer(lambda nn: nn.BatchNorm2d(2), 3, 2, 4, 4),
    "BatchNorm2d untracked": _layer(lambda nn: nn.BatchNorm2d(2, track_running_stats=False), 3, 2, 4, 4),
    "Dropout in eval": _layer(lambda nn: nn.Dropout(0.3), 4),
    "Dropout wrong": lambda t: t.nn.Dropout(1.5),
    "Flatten": _layer(lambda nn: nn.Flatten(), 2, 3, 4),
    "Unflatten": _layer(lambda nn: nn.Unflatten(1, (2, 2)), 2, 4),
    "Identity": _layer(lambda nn: nn.Identity(1, a=2), 2),
    "Conv1d": _layer(lambda nn: nn.Conv1d(3, 4, 3, padding=1), 2, 3, 8),
    "Conv1d circular": _layer(lambda nn: nn.Conv1d(3, 4, 3, padding=1, padding_mode="circular"), 2, 3, 8),
    "Conv2d": _layer(lambda nn: nn.Conv2d(2, 4, 3, stride=2, padding=1), 2, 2, 7, 8),
    "Conv2d same": _layer(lambda nn: nn.Conv2d(2, 4, 3, padding="same", dilation=2), 1, 2, 7, 8),
    "Conv2d groups": _layer(lambda nn: nn.Conv2d(4, 4, (3, 2), groups=4, bias=False), 1, 4, 6, 6),
    "ConvTranspose2d": _layer(lambda nn: nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), 1, 2, 4, 5),
    "MaxPool1d": _layer(lambda nn: nn.MaxPool1d(2), 1, 2, 7),
    "MaxPool2d": _layer(lambda nn: nn.MaxPool2d(3, stride=2, padding=1), 1, 2, 7, 8),
    "MaxPool2d ceil": _layer(lambda nn: nn.MaxPool2d(2, ceil_mode=True), 1, 2, 7, 7),
    "AvgPool2d": _layer(lambda nn: nn.AvgPool2d(2, padding=1), 1, 2, 6, 6),
    "AdaptiveAvgPool1d": _layer(lambda nn: nn.AdaptiveAvgPool1d(3), 1, 2, 8),
    "AdaptiveAvgPool2d": _layer(lambda nn: nn.AdaptiveAvgPool2d((3, None)), 1, 2, 8, 5),
    "Upsample": _layer(lambda nn: nn.Upsample(scale_factor=2), 1, 2, 3, 3),
    "Upsample bilinear": _layer(lambda nn: nn.Upsample(size=(5, 7), mode="bilinear"), 1, 2, 3, 3),
    "ReflectionPad2d": _layer(lambda nn: nn.ReflectionPad2d((1, 2, 0, 1)), 1, 2, 4, 4),
    "ReplicationPad1d": _layer(lambda nn: nn.ReplicationPad1d(2), 1, 2, 4),
    "ZeroPad2d": _layer(lambda nn: nn.ZeroPad2d(1), 1, 2, 3, 3),
    "ConstantPad1d": _layer(lambda nn: nn.ConstantPad1d((1, 0), 3.5), 1, 2, 3),
    "PReLU": _layer(lambda nn: nn.PReLU(), 5),
    "Threshold": _layer(lambda nn: nn.Threshold(0.1, 20), 5),
    "Softmax": _layer(lambda nn: nn.Softmax(dim=1), 2, 3),
    "LogSoftmax": _layer(lambda nn: nn.LogSoftmax(dim=-1), 2, 3),
    "GLU": _layer(lambda nn: nn.GLU(), 2, 6),
    "PixelShuffle": _layer(lambda nn: nn.PixelShuffle(2), 1, 8, 2, 3),
    "Unfold": _layer(lambda nn: nn.Unfold(2, stride=2), 1, 2, 4, 4),
    "LSTM": lambda t: _recurrent(t, t.nn.LSTM(3, 4, num_layers=2, bidirectional=True), 5, 2, 3),
    "LSTM batch first": lambda t: _recurrent(t, t.nn.LSTM(3, 4, batch_first=True), 2, 5, 3),
    "LSTM unbatched": lambda t: _recurrent(t, t.nn.LSTM(3, 4), 5, 3),
    "GRU": lambda t: _recurrent(t, t.nn.GRU(3, 4, num_layers=2), 5, 2, 3),
    "LSTMCell": lambda t: _recurrent(t, t.nn.LSTMCell(3, 4), 2, 3),
    "GRUCell": lambda t: _recurrent(t, t.nn.GRUCell(3, 4), 2, 3),
}  # fmt: skip
ACTIVATIONS = [
    "ReLU", "ReLU6", "SiLU", "Mish", "SELU", "Hardswish", "Hardsigmoid", "GELU", "Tanh", "Sigmoid", "LogSigmoid",
    "Softsign", "Tanhshrink", "ELU", "CELU", "LeakyReLU", "Hardtanh", "Softplus",
]  # fmt: skip


def _recurrent(torch: Any, module: Any, *shape: int) -> Any:
    with torch.no_grad():
        return fill(torch, module)(wave(torch, *shape)), repr(module), list(module.state_dict())


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    assert_same(LAYERS[name], message=name != "Embedding out of range")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    assert_same(_layer(lambda nn: getattr(nn, name)(), 3, 4))


def _attention(
    torch: Any, query: Any, key: Any, value: Any, make: dict[str, Any], call: dict[str, Any]
) -> Any:
    module = fill(torch, torch.nn.MultiheadAttention(8, 2, **make))
    with torch.no_grad():
        return module(query, key, value, **call)


ATTENTION: dict[str, Snippet] = {
    "self": lambda t: (lambda x: _attention(t, x, x, x, {}, {}))(wave(t, 5, 2, 8)),
    "without weights": lambda t: (lambda x: _attention(t, x, x, x, {}, {"need_weights": False}))(wave(t, 5, 2, 8)),
    "batch first": lambda t: (lambda x: _attention(t, x, x, x, {"batch_first": True}, {}))(wave(t, 2, 5, 8)),
    "cross": lambda t: _attention(t, wave(t, 4, 2, 8), wave(t, 5, 2, 8), wave(t, 5, 2, 8) * 2, {}, {}),
    "unbatched": lambda t: (lambda x: _attention(t, x, x, x, {}, {}))(wave(t, 5, 8)),
    "bool mask": lambda t: (
        lambda x: _attention(t, x, x, x, {}, {"attn_mask": t.ones(5, 5).triu(1).bool(), "need_weights": False})
    )(wave(t, 5, 2, 8)),
    "float mask": lambda t: (lambda x: _attention(t, x, x, x, {}, {"attn_mask": wave(t, 5, 5)}))(wave(t, 5, 2, 8)),
    "padding": lambda t: (
        lambda x: _attention(
            t, x, x, x, {}, {"key_padding_mask": t.tensor([[False] * 4 + [True], [False] * 3 + [True] * 2])}
        )
    )(wave(t, 5, 2, 8)),
    "both masks": lambda t: (
        lambda x: _attention(
            t, x, x, x, {}, {
                "key_padding_mask": t.tensor([[False] * 4 + [True], [False] * 5]), "attn_mask": wave(t, 5, 5),
                "need_weights": False,
            },
        )
    )(wave(t, 5, 2, 8)),
    "separate": lambda t: _attention(
        t, wave(t, 4, 2, 8), wave(t, 5, 2, 3), wave(t, 5, 2, 6), {"kdim": 3, "vdim": 6}, {"average_attn_weights": False}
    ),
    "bias_kv and zero": lambda t: (
        lambda x: _attention(t, x, x, x, {"add_bias_kv": True, "add_zero_attn": True}, {})
    )(wave(t, 5, 2, 8)),
    "no bias": lambda t: (lambda x: _attention(t, x, x, x, {"bias": False}, {}))(wave(t, 5, 2, 8)),
    "wrong heads": lambda t: t.nn.MultiheadAttention(8, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTENTION)
def test_attention(name: str) -> None:
    assert_same(ATTENTION[name], tolerance=1e-4)


def _encoder(training: bool = True, **options: Any) -> Snippet:
    def snippet(torch: Any) -> Any:
        nn = torch.nn
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, **options)
        encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(8), enable_nested_tensor=False)
        with torch.no_grad():
            return fill(torch, encoder).train(training)(wave(torch, 3, 5, 8)), list(encoder.state_dict())

    return snippet


TRANSFORMERS: dict[str, Snippet] = {
    "encoder": _encoder(),
    "encoder norm first": _encoder(norm_first=True, activation="gelu"),
    "encoder batch first": _encoder(training=False, batch_first=True),
    "decoder": lambda t: _decoder(t),
}


def _decoder(torch: Any) -> Any:
    layer = torch.nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0)
    decoder = fill(torch, torch.nn.TransformerDecoder(layer, 2))
    with torch.no_grad():
        return decoder(wave(torch, 4, 2, 8), wave(torch, 5, 2, 8))


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(name: str) -> None:
    assert_same(TRANSFORMERS[name], tolerance=1e-4)


LOSSES: dict[str, Snippet] = {
    "cross entropy": lambda t: t.nn.CrossEntropyLoss()(wave(t, 3, 4), t.tensor([0, 3, 1])),
    "cross entropy ignore": lambda t: t.nn.CrossEntropyLoss(ignore_index=3)(
        wave(t, 3, 4), t.tensor([0, 3, 1])
    ),
    "cross entropy smoothing": lambda t: t.nn.CrossEntropyLoss(label_smoothing=0.1)(
        wave(t, 3, 4), t.tensor([0, 3, 1])
    ),
    "cross entropy weight": lambda t: t.nn.CrossEntropyLoss(t.tensor([1.0, 2.0, 3.0, 4.0]))(
        wave(t, 3, 4), t.tensor([0, 3, 1])
    ),
    "cross entropy none": lambda t: t.nn.functional.cross_entropy(
        wave(t, 3, 4), t.tensor([0, 3, 1]), reduction="none"
    ),
    "cross entropy wrong": lambda t: t.nn.functional.cross_entropy(
        wave(t, 3, 4), t.tensor([0, 3, 1]), reduction="x"
    ),
    "nll": lambda t: t.nn.NLLLoss()(wave(t, 3, 4), t.tensor([0, 3, 1])),
    "mse": lambda t: t.nn.MSELoss()(wave(t, 3), t.ones(3)),
    "mse sum": lambda t: t.nn.MSELoss(reduction="sum")(wave(t, 3), t.ones(3)),
    "l1": lambda t: t.nn.L1Loss()(wave(t, 3), t.ones(3)),
    "smooth l1": lambda t: t.nn.SmoothL1Loss(beta=0.5)(wave(t, 3), t.ones(3)),
    "huber": lambda t: t.nn.HuberLoss(delta=0.5)(wave(t, 3), t.ones(3)),
    "bce": lambda t: t.nn.BCELoss()(wave(t, 3).sigmoid(), t.tensor([0.0, 1.0, 1.0])),
    "bce shapes": lambda t: t.nn.BCELoss()(wave(t, 3).sigmoid(), t.ones(2)),
    "bce with logits": lambda t: t.nn.BCEWithLogitsLoss(pos_weight=t.tensor(2.0))(
        wave(t, 3), t.tensor([0.0, 1.0, 1.0])
    ),
    "kl": lambda t: t.nn.KLDivLoss(reduction="batchmean")(wave(t, 2, 3), wave(t, 2, 3).softmax(-1)),
    "cosine": lambda t: t.nn.CosineEmbeddingLoss()(wave(t, 2, 3), t.ones(2, 3), t.tensor([1, -1])),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    assert_same(LOSSES[name])


FUNCTIONALS: dict[str, Snippet] = {
    "softmax dtype": lambda t: t.nn.functional.softmax(wave(t, 2, 3), dim=-1, dtype=t.float64),
    "normalize": lambda t: t.nn.functional.normalize(wave(t, 2, 3), dim=-1),
    "normalize p": lambda t: t.nn.functional.normalize(wave(t, 2, 3), p=1.0, dim=0),
    "one_hot": lambda t: t.nn.functional.one_hot(t.tensor([0, 2]), 4),
    "pad": lambda t: t.nn.functional.pad(wave(t, 2, 3), (1, 2)),
    "pad value": lambda t: t.nn.functional.pad(wave(t, 2, 3), (0, 1, 2, 0), value=1.5),
    "pad negative": lambda t: t.nn.functional.pad(wave(t, 2, 3), (-1, 0)),
    "cosine_similarity": lambda t: t.nn.functional.cosine_similarity(wave(t, 2, 3), t.ones(2, 3)),
    "attention": lambda t: t.nn.functional.scaled_dot_product_attention(
        wave(t, 1, 2, 3, 4), wave(t, 1, 2, 5, 4), wave(t, 1, 2, 5, 4)
    ),
    "attention causal": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[wave(t, 1, 2, 4, 4)] * 3, is_causal=True
    ),
    "attention mask": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[wave(t, 1, 2, 3, 4)] * 3, attn_mask=t.ones(3, 3, dtype=t.bool).tril()
    ),
    "relu in place": lambda t: (lambda x: (t.nn.functional.relu(x, inplace=True) is x, x))(wave(t, 3)),
    "dropout wrong": lambda t: t.nn.functional.dropout(wave(t, 3), 2.0),
    "glu 0-d": lambda t: t.nn.functional.glu(t.tensor(1.0)),
    "embedding order": lambda t: t.nn.functional.embedding(t.tensor([1]), wave(t, 2, 3)),
    "embedding_bag": lambda t: t.nn.functional.embedding_bag(
        t.tensor([[0, 1], [1, 1]]), wave(t, 2, 3), mode="sum"
    ),
    "interpolate both": lambda t: t.nn.functional.interpolate(wave(t, 1, 1, 2, 2), size=3, scale_factor=2),
    "interpolate 1d": lambda t: t.nn.functional.interpolate(wave(t, 1, 1, 4), size=2),
    "interpolate aligned": lambda t: t.nn.functional.interpolate(
        wave(t, 1, 1, 3, 3), scale_factor=2.0, mode="bilinear", align_corners=True
    ),
}


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_functionals(name: str) -> None:
    assert_same(FUNCTIONALS[name])


INITS: dict[str, Snippet] = {
    "gain": lambda t: [
        t.nn.init.calculate_gain(n) for n in ("linear", "conv2d", "tanh", "relu", "selu", "sigmoid")
    ],
    "leaky gain": lambda t: (
        t.nn.init.calculate_gain("leaky_relu"),
        t.nn.init.calculate_gain("leaky_relu", 0.3),
    ),
    "unknown gain": lambda t: t.nn.init.calculate_gain("nonsense"),
    "constant": lambda t: t.nn.init.constant_(t.empty(2, 2), 3.0),
    "eye": lambda t: t.nn.init.eye_(t.empty(2, 3)),
    "fans": lambda t: t.nn.init._calculate_fan_in_and_fan_out(t.empty(4, 3, 2, 2)),
    "fan of vector": lambda t: t.nn.init.xavier_uniform_(t.empty(3)),
    "vector": lambda t: t.nn.utils.parameters_to_vector(fill(t, t.nn.Linear(2, 2)).parameters()).detach(),
}


@pytest.mark.parametrize("name", INITS)
def test_init(name: str) -> None:
    assert_same(INITS[name])
