"""The sentence encoder all-MiniLM-L6-v2, written as one would in PyTorch.

Six BERT layers of width 384, mean pooling over the attention mask, L2 normalisation. Attribute names follow the weights file.
"""

from __future__ import annotations

from dataclasses import dataclass

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
import dynamo_lite.torchlite.nn.functional as F
from dynamo_lite.torchlite import Tensor, nn

BATCH = dl.Dim("batch", min=1, max=1024)
SEQUENCE = dl.Dim("sequence", min=1, max=512)
SHAPES = {"input_ids": {0: BATCH, 1: SEQUENCE}, "attention_mask": {0: BATCH, 1: SEQUENCE}}


@dataclass(frozen=True)
class Config:
    """Sizes of the encoder, by the names of the published configuration file."""

    vocab_size: int = 30522
    hidden_size: int = 384
    num_hidden_layers: int = 6
    num_attention_heads: int = 12
    intermediate_size: int = 1536
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1


class Embeddings(nn.Module):
    """Word, position and segment embeddings, summed and normalised."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width, padding_idx=0)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.register_buffer("position_ids", torch.arange(config.max_position_embeddings).unsqueeze(0))

    def forward(self, input_ids: Tensor) -> Tensor:
        positions = self.position_ids[:, : input_ids.shape[1]]
        segments = torch.zeros_like(input_ids)
        summed = self.word_embeddings(input_ids) + self.token_type_embeddings(segments)
        return self.dropout(self.LayerNorm(summed + self.position_embeddings(positions)))


class SelfAttention(nn.Module):
    """Multi-head attention with a mask over the keys."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        batch, sequence, width = x.shape
        return x.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return mixed.transpose(1, 2).reshape(x.shape)


class Output(nn.Module):
    """A projection, added to what it came from and normalised."""

    def __init__(self, config: Config, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self = SelfAttention(config)
        self.output = Output(config, config.hidden_size)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.output(self.self(x, mask), x)


class Intermediate(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.dense(x))


class Layer(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.intermediate = Intermediate(config)
        self.output = Output(config, config.intermediate_size)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        attended = self.attention(x, mask)
        return self.output(self.intermediate(attended), attended)


class Stack(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.layer = nn.ModuleList([Layer(config) for _ in range(config.num_hidden_layers)])

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class SentenceEncoder(nn.Module):
    """Token ids and mask of shape (batch, sequence) to unit vectors of shape (batch, hidden_size)."""

    def __init__(self, config: Config | None = None) -> None:
        super().__init__()
        config = config or Config()
        self.embeddings = Embeddings(config)
        self.encoder = Stack(config)

    @dl.exported(dynamic_shapes=SHAPES)
    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.embeddings(input_ids)
        hidden = self.encoder(hidden, attention_mask[:, None, None, :].bool())
        weights = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return F.normalize(pooled, p=2, dim=1)
