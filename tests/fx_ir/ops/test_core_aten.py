"""PyTorch's core ATen operators: the table holds them all but for those listed here, each with what stands in its place."""

from __future__ import annotations

from typing import Final

import pytest

from fx_ir.ops import OPS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

# Derivatives: what autograd calls, and no forward of a model.
BACKWARD: Final = frozenset({
    "aten::_adaptive_avg_pool2d_backward", "aten::avg_pool2d_backward", "aten::convolution_backward",
    "aten::embedding_dense_backward", "aten::max_pool2d_with_indices_backward", "aten::native_group_norm_backward",
    "aten::native_layer_norm_backward",
})  # fmt: skip
# What decompositions of PyTorch's end in, by the operator of the table that a model calls.
INNER: Final = {
    "aten::_adaptive_avg_pool3d": "aten::adaptive_avg_pool3d",
    "aten::_cdist_forward": "aten::cdist",
    "aten::_embedding_bag": "aten::embedding_bag",
    "aten::_fft_c2r": "aten::fft_irfft",
    "aten::_fft_r2c": "aten::fft_rfft",
    "aten::_native_batch_norm_legit": "aten::batch_norm",
    "aten::_native_batch_norm_legit.no_stats": "aten::batch_norm",
    "aten::_native_batch_norm_legit_no_training": "aten::batch_norm",
    "aten::_pdist_forward": "aten::pdist",
    "aten::atan2.out": "aten::atan2",
}


OTHERS = {
    "aten::resize_",  # a tensor of another shape in the same object
    "aten::sym_is_contiguous",  # an answer, no tensor
}


def test_core_operators_are_in_the_table() -> None:
    core = set()
    for qualified in torch._C._dispatch_get_all_op_names():
        if qualified.startswith("aten::"):
            name, _, overload = qualified.removeprefix("aten::").partition(".")
            operator = getattr(getattr(torch.ops.aten, name), overload or "default")
            if torch.Tag.core in operator.tags:
                core.add(qualified)
    assert len(core) > 150
    assert {name for name in core if name not in OPS} == BACKWARD | INNER.keys() | OTHERS
    assert all(name in OPS for name in INNER.values())
