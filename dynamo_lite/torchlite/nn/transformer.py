"""Attention and transformer layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from dynamo_lite.lowering.table import FUNCTIONS
from dynamo_lite.torchlite.nn import functional as F
from dynamo_lite.torchlite.nn import init
from dynamo_lite.torchlite.nn.activations import Dropout
from dynamo_lite.torchlite.nn.attention import additive_mask
from dynamo_lite.torchlite.nn.containers import ModuleList
from dynamo_lite.torchlite.nn.linear import Linear
from dynamo_lite.torchlite.nn.module import Module
from dynamo_lite.torchlite.nn.normalization import LayerNorm
from dynamo_lite.torchlite.parameter import Parameter

_empty = FUNCTIONS["empty"]


class MultiheadAttention(Module):
    """Attention with several heads over packed projections."""

    in_proj_weight: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._make_weights(bias, add_bias_kv, dtype, device)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype, device=device)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_weights(self, bias: bool, add_bias_kv: bool, dtype: Any, device: Any) -> None:
        width = self.embed_dim
        packed = self._qkv_same_embed_dim
        separate = {"q_proj_weight": width, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        for name, columns in separate.items():
            self.register_parameter(
                name, None if packed else Parameter(_empty((width, columns), dtype=dtype, device=device))
            )
        weight = Parameter(_empty((3 * width, width), dtype=dtype, device=device)) if packed else None
        self.register_parameter("in_proj_weight", weight)
        self.register_parameter(
            "in_proj_bias", Parameter(_empty(3 * width, dtype=dtype, device=device)) if bias else None
        )
        for name in ("bias_k", "bias_v"):
            self.register_parameter(
                name, Parameter(_empty((1, 1, width), dtype=dtype, device=device)) if add_bias_kv else None
            )

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Any:
        turned = self.batch_first and query.dim() == 3
        if turned:
            if key is value:
                if query is key:
                    query = key = value = query.transpose(1, 0)
                else:
                    query, key = query.transpose(1, 0), key.transpose(1, 0)
                    value = key
            else:
                query, key, value = query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(1, 0) if turned else output), weights


def _activation(name: Any) -> Callable[[Any], Any]:
    if not isinstance(name, str):
        return name  # type: ignore[no-any-return]
    if name == "relu":
        return F.relu
    if name == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {name}")


class _Layer(Module):
    """Attentions, each with a residual connection and a norm, and a two-layer feed-forward network behind them."""

    attentions: tuple[str, ...] = ()

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **made))
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        count = len(self.attentions) + 1
        for number in range(1, count + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, eps=layer_norm_eps, **made))
        for number in range(1, count + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def _feed_forward(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a two-layer feed-forward network, each with a residual connection."""

    attentions = ("self_attn",)

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        padding = additive_mask(src_key_padding_mask, src)
        mask = additive_mask(src_mask, src)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        x = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]
        return self.dropout1(x)

    def _ff_block(self, x: Any) -> Any:
        return self.dropout2(self._feed_forward(x))


class TransformerEncoder(Module):
    """A stack of encoder layers."""

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        padding = additive_mask(src_key_padding_mask, src)
        mask = additive_mask(mask, src)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, src_key_padding_mask=padding, is_causal=bool(is_causal))
        return output if self.norm is None else self.norm(output)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention over the encoder's output, feed-forward."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        own = {"attn_mask": tgt_mask, "key_padding_mask": tgt_key_padding_mask, "is_causal": tgt_is_causal}
        cross = {
            "attn_mask": memory_mask,
            "key_padding_mask": memory_key_padding_mask,
            "is_causal": memory_is_causal,
        }
        x = tgt
        if self.norm_first:
            y = self.norm1(x)
            x = x + self.dropout1(self.self_attn(y, y, y, need_weights=False, **own)[0])
            y = self.norm2(x)
            x = x + self.dropout2(self.multihead_attn(y, memory, memory, need_weights=False, **cross)[0])
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self.dropout1(self.self_attn(x, x, x, need_weights=False, **own)[0]))
        attended = self.multihead_attn(x, memory, memory, need_weights=False, **cross)[0]
        x = self.norm2(x + self.dropout2(attended))
        return self.norm3(x + self._ff_block(x))

    def _ff_block(self, x: Any) -> Any:
        return self.dropout3(self._feed_forward(x))


class TransformerDecoder(Module):
    """A stack of decoder layers."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)
