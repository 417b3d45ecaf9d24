"""PyTorch's functions of functions, captured by our loops, and fast paths of attention: both modes, equal to eager's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import _higher_order_ops as loops
from torch import nn
from torch._higher_order_ops import scan as scan_by_name

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    both_modes,
    export_both,
    module,
    operators,
)

ROWS = [{0: dl.Dim.DYNAMIC}]


def doubled(self: Any, x: Any) -> Any:
    return loops.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))


def summed(self: Any, x: Any) -> Any:
    return loops.scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x, reverse=True)


def combined(self: Any, x: Any) -> Any:
    return loops.associative_scan(lambda a, b: a + b, x, 0, combine_mode="generic")


def mapped(self: Any, x: Any) -> Any:
    return loops.map(lambda row, scale: row * scale, x, self.buf)


def batched(self: Any, x: Any) -> Any:
    return torch.vmap(lambda row, other: {"r": row * 2 + other, "s": row.sum()}, in_dims=(0, None))(
        x, self.buf
    )


def batched_elsewhere(self: Any, x: Any) -> Any:
    return torch.func.vmap(lambda column, k: (column * k).cumsum(0), in_dims=1, out_dims=1)(x, x + 1)


def batched_with_keywords(self: Any, x: Any) -> Any:
    return torch.func.vmap(lambda row, *, scale: row * scale)(x, scale=self.buf)


@pytest.mark.parametrize(
    "forward", [doubled, summed, combined, mapped, batched, batched_elsewhere, batched_with_keywords]
)
def test_captured_by_our_loops(forward: Any) -> None:
    model = module(forward)
    program = export_both(model, (torch.randn(3, 4),), dynamic_shapes=ROWS)
    for rows in (3, 5):
        assert_equals_eager(model, program, (torch.randn(rows, 4),))


def at_random(self: Any, x: Any) -> Any:
    return torch.vmap(lambda row: row + torch.rand(4), randomness="different")(x)


def in_trees(self: Any, x: Any) -> Any:
    return torch.vmap(lambda pair: pair[0] + pair[1], in_dims=((0, None),))((x, x[0]))


@both_modes
@pytest.mark.parametrize("forward", [at_random, in_trees])
def test_other_batching_is_refused_by_name(forward: Any, strict: bool) -> None:
    with pytest.raises(dl.UnsupportedError, match=r"function-transform\] torch.vmap with in_dims"):
        dl.export(module(forward), (torch.randn(3, 4),), strict=strict)


def by_name(self: Any, x: Any) -> Any:
    return scan_by_name(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)


def test_a_loop_imported_by_name() -> None:
    model, args = module(by_name), (torch.randn(3, 4),)
    assert_equals_eager(model, dl.export(model, args, strict=True), args)
    with pytest.raises(dl.UnsupportedError, match=r"loop-looked-up\] torch._higher_order_ops.scan"):
        dl.export(model, args, strict=False)


# --- attention where no gradient is wanted


def attended(self: Any, x: Any, hidden: Any, causal: Any) -> Any:
    with torch.inference_mode():
        both = self.attention(x, x, x, key_padding_mask=hidden, attn_mask=causal, average_attn_weights=False)
        padded = self.attention(x, x, x, key_padding_mask=hidden, need_weights=False)
        return *both, *padded, *self.attention(x, x, x)


def encoded(self: Any, x: Any, hidden: Any, causal: Any) -> Any:
    with torch.no_grad():
        return (
            self.encoder(x, mask=causal, src_key_padding_mask=hidden, is_causal=False),
            self.encoder(x, mask=causal, is_causal=False),
            self.encoder(x, src_key_padding_mask=hidden),
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("forward", "name"),
    [(attended, "_native_multi_head_attention"), (encoded, "_transformer_encoder_layer_fwd")],
)
def test_fast_paths_with_masks(forward: Any, name: str) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = module(
        forward,
        attention=nn.MultiheadAttention(8, 2, batch_first=True),
        encoder=nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
    ).eval()

    def given(batch: int, length: int) -> tuple[Any, ...]:
        hidden = torch.arange(length) >= torch.arange(length, length - batch, -1)[:, None]
        return torch.randn(batch, length, 8), hidden, torch.triu(torch.ones(length, length), 1).bool()

    free = {0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}
    program = export_both(model, given(3, 5), dynamic_shapes=[free, free, free])
    assert f"aten.{name}.default" in operators(program)
    for sizes in ((3, 5), (2, 7)):
        assert_equals_eager(model, program, given(*sizes))


class Encoder(nn.TransformerEncoder):
    """A user's own."""


@both_modes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"mask_check": False}], ids=["checked", "unchecked"])
@pytest.mark.parametrize("cls", [nn.TransformerEncoder, Encoder])
def test_padding_that_eager_packs_is_refused(cls: Any, options: dict[str, bool], strict: bool) -> None:
    """Where it is packed eager leaves zeros, and whether it is depends on the mask."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model = cls(layer, 2, **options).eval().requires_grad_(False)
    x, hidden = torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    assert not model(x, src_key_padding_mask=hidden)[hidden].any()
    for holder in (model, nn.Sequential(model)[0], module(within, encoder=model)):
        with pytest.raises(dl.UnsupportedError, match="encoder-packs"):
            dl.export(holder, (x, None, hidden), strict=strict)
    causal = torch.triu(torch.ones(5, 5), 1).bool()
    for args in (
        (x, None, None, None),
        (x, causal, None, False),
        (x, causal, hidden, False),
    ):  # eager does not pack
        assert_equals_eager(model, dl.export(model, args, strict=strict), args)


def within(self: Any, x: Any, mask: Any, hidden: Any) -> Any:
    return self.encoder(x, mask, hidden)


@both_modes
@pytest.mark.filterwarnings("ignore")
def test_padding_under_autograd_is_not_packed(strict: bool) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    x, hidden = torch.randn(2, 5, 8), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    for model in (
        nn.TransformerEncoder(layer, 2).eval(),
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval().requires_grad_(False),
    ):
        program = dl.export(model, (x, None, hidden), strict=strict)
        assert_equals_eager(model, program, (x, None, hidden, None))


# --- operators of sequences and matrices


def padded(self: Any, x: Any, y: Any) -> Any:
    rows = nn.utils.rnn.pad_sequence([x, y], batch_first=True, padding_value=1.5)
    return rows, nn.utils.rnn.pad_sequence([y, x, y], padding_side="left"), nn.functional.pdist(x)


def test_sequences_padded_to_the_longest() -> None:
    model = module(padded)
    program = export_both(
        model,
        (torch.randn(3, 4), torch.randn(5, 4)),
        dynamic_shapes=[{0: dl.Dim.DYNAMIC}, {0: dl.Dim.DYNAMIC}],
    )
    for rows in ((3, 5), (6, 2)):
        assert_equals_eager(model, program, tuple(torch.randn(count, 4) for count in rows))


def exponential(self: Any, x: Any) -> Any:
    return torch.matrix_exp(x), torch.linalg.matrix_exp(x / 2)


def test_exponentials_of_matrices() -> None:
    model = module(exponential)
    program = export_both(model, (torch.randn(3, 4, 4),), dynamic_shapes=[{0: dl.Dim.DYNAMIC}])
    assert_equals_eager(model, program, (torch.randn(2, 4, 4),))


def test_orthogonal_weights() -> None:
    model = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
    assert_equals_eager(model, export_both(model, (torch.randn(3, 4),)), (torch.randn(3, 4),))
