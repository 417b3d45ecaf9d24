"""A forward of the transformers library for the interpreter's benchmark: its own code, over tensors that are only shapes.

Needs PyTorch and transformers. Layers of PyTorch's ``nn`` run as they are; each tensor function ends in the stub, by
``__torch_function__``, so that next to no time is spent in kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch
from transformers import BertConfig, BertModel


class Stub:
    """A tensor that is only its shape. Functions that are not known give the shape of their first argument."""

    device = torch.device("cpu")
    dtype = torch.float32
    is_nested = False
    requires_grad = False

    def __init__(self, *shape: int) -> None:
        self.shape = torch.Size(shape)

    @classmethod
    def __torch_function__(cls, function: Any, kinds: Any, args: Any, kwargs: Any = None) -> Any:
        if function is torch.nn.functional.linear:
            return Stub(*args[0].shape[:-1], args[1].shape[0])
        return args[0]

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def view(self, *shape: Any) -> Stub:
        sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
        if -1 in sizes:
            sizes[sizes.index(-1)] = math.prod(self.shape) // -math.prod(sizes)
        return Stub(*sizes)

    reshape = view

    def transpose(self, a: int, b: int) -> Stub:
        sizes = list(self.shape)
        sizes[a], sizes[b] = sizes[b], sizes[a]
        return Stub(*sizes)

    def contiguous(self) -> Stub:
        return self

    def __add__(self, other: Any) -> Stub:
        return self


def forward() -> Callable[[int], int]:
    """A function that runs the encoder of a BERT some times over a stub and gives the size of what comes out."""
    config = BertConfig(hidden_size=32, num_hidden_layers=6, num_attention_heads=4, intermediate_size=64)
    encoder: Any = BertModel(config).eval().encoder
    hidden: Final = Stub(2, 16, 32)

    def transformers(n: int) -> int:
        for _ in range(n):
            out = encoder(hidden).last_hidden_state
        return math.prod(out.shape)

    return transformers
