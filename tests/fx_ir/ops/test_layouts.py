"""How results lie in memory where operands are transposed, channels last or have gaps: described as PyTorch makes them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from fx_ir import fake_context
from fx_ir.meta import TensorMeta
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR, NOT_SAMPLED
from tests.fx_ir.ops.sampling import arguments, bound, describe, leaves, significant
from tests.fx_ir.ops.test_same_as_torch import Unbacked, Wild, describe_each, to_torch, torch_overload

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

UNUSUAL: Final = frozenset(
    """
    addr binary_cross_entropy_with_logits conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_transpose1d conv_transpose2d.input
    convolution gru_cell hinge_embedding_loss kl_div kron scaled_dot_product_attention stft
    """.split()  # noqa: SIM905
)
"""Described otherwise than they are where weights are channels last, batches innermost, or operands lie in different orders."""


def turned(value: Any, order: str) -> Any:
    """Arrays of two and more dimensions in another order of memory."""
    if isinstance(value, (list, tuple)):
        return type(value)([turned(item, order) for item in value])
    if not isinstance(value, np.ndarray) or value.ndim < 2 or 1 in value.shape:
        return value
    if order == "columns":
        return np.asfortranarray(value)
    if order == "channels last":
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(value, 1, -1)), -1, 1)
    wide = np.zeros((*value.shape[:-1], value.shape[-1] * 2), value.dtype)
    wide[..., ::2] = value
    return wide[..., ::2]


@pytest.mark.parametrize("first_alone", [False, True], ids=["all", "first"])
@pytest.mark.parametrize("order", ["columns", "channels last", "gaps"])
@pytest.mark.parametrize("name", sorted(set(ATEN) - NOT_SAMPLED - {f"aten::{each}" for each in UNUSUAL}))
def test_described_as_it_lies(name: str, order: str, first_alone: bool) -> None:
    for call in BY_OPERATOR[name]:
        given, named = arguments(call)
        if call.compare == "values" or not given:
            continue
        args = (turned(given[0], order), *given[1:]) if first_alone else turned(given, order)
        kwargs = named if first_alone else {key: turned(value, order) for key, value in named.items()}
        torch_args, torch_named = to_torch(args), {key: to_torch(value) for key, value in kwargs.items()}
        try:
            expected = torch_overload(name)(*torch_args, **torch_named)
        except RuntimeError:
            continue  # a view that this order does not have
        full, keywords = bound(call, args, kwargs)
        with fake_context.activate(Unbacked(expected)):
            metas = leaves(call.operator.fake(*describe(full), **describe_each(keywords)))
        for meta, result in zip(metas, leaves(expected), strict=True):
            if not isinstance(meta, TensorMeta) or any(
                isinstance(size, Wild) or size == 1 for size in meta.shape
            ):
                continue
            shape = tuple(result.shape)
            assert significant(shape, [int(stride) for stride in meta.strides]) == significant(
                shape, result.stride()
            ), str(call)
