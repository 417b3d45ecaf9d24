"""Modules and layers under PyTorch's names. Strict mode interprets this package, as it does ``torch.nn``."""

from __future__ import annotations

from typing import Any

from dynamo_lite.torchlite.nn import functional, init, modules, parameter, utils
from dynamo_lite.torchlite.nn.activations import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Dropout,
    Dropout1d,
    Dropout2d,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from dynamo_lite.torchlite.nn.containers import (
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from dynamo_lite.torchlite.nn.convolution import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d
from dynamo_lite.torchlite.nn.linear import Bilinear, Embedding, Flatten, Identity, Linear, Unflatten
from dynamo_lite.torchlite.nn.losses import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CrossEntropyLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from dynamo_lite.torchlite.nn.module import Module
from dynamo_lite.torchlite.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    LayerNorm,
    RMSNorm,
)
from dynamo_lite.torchlite.nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool1d,
    AvgPool2d,
    ConstantPad1d,
    ConstantPad2d,
    CosineSimilarity,
    MaxPool1d,
    MaxPool2d,
    PixelShuffle,
    ReflectionPad1d,
    ReflectionPad2d,
    ReplicationPad1d,
    ReplicationPad2d,
    Unfold,
    Upsample,
    ZeroPad1d,
    ZeroPad2d,
)
from dynamo_lite.torchlite.nn.recurrent import GRU, LSTM, GRUCell, LSTMCell
from dynamo_lite.torchlite.nn.transformer import (
    MultiheadAttention,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from dynamo_lite.torchlite.parameter import Buffer, Parameter

__all__ = [
    "CELU", "ELU", "GELU", "GLU", "GRU", "LSTM", "SELU", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool2d",
    "AvgPool1d", "AvgPool2d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "Bilinear", "Buffer", "ConstantPad1d", "ConstantPad2d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss", "Dropout", "Dropout1d",
    "Dropout2d", "Embedding", "Flatten", "GRUCell", "GroupNorm", "Hardsigmoid", "Hardswish", "Hardtanh", "HuberLoss",
    "Identity", "KLDivLoss", "L1Loss", "LSTMCell", "LayerNorm", "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax",
    "MSELoss", "MaxPool1d", "MaxPool2d", "Mish", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "NLLLoss",
    "PReLU", "Parameter", "ParameterDict", "ParameterList", "PixelShuffle", "RMSNorm", "ReLU", "ReLU6",
    "ReflectionPad1d", "ReflectionPad2d", "ReplicationPad1d", "ReplicationPad2d", "Sequential", "SiLU", "Sigmoid",
    "SmoothL1Loss", "Softmax", "Softmin", "Softplus", "Softsign", "Tanh", "Tanhshrink", "Threshold",
    "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer", "Unflatten",
    "Unfold", "Upsample", "ZeroPad1d", "ZeroPad2d", "functional", "init", "modules", "parameter", "utils",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(f"torchlite has no nn.{name}")
