"""PyTorch's metadata objects against ours."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from dynamo_lite.torch_bridge.convert import DTYPES, TORCH_DTYPES, TorchSize, describe, to_ours, to_torch
from dynamo_lite.torch_bridge.leaves import LEAVES
from dynamo_lite.torch_bridge.library import Library
from fx_ir import dtypes


def test_every_dtype_both_ways() -> None:
    assert {TORCH_DTYPES[dtype] for dtype in dtypes.ALL} == set(DTYPES)
    for theirs, ours in DTYPES.items():
        assert ours.itemsize == theirs.itemsize
        assert ours.is_floating_point == theirs.is_floating_point
        assert ours.is_complex == theirs.is_complex
        assert to_torch(to_ours(theirs)) is theirs


@pytest.mark.parametrize("text", ["cpu", "cuda:1", "meta"])
def test_devices(text: str) -> None:
    assert to_torch(to_ours(torch.device(text))) == torch.device(text)


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last, torch.preserve_format])
def test_memory_formats(order: torch.memory_format) -> None:
    assert to_torch(to_ours(order)) is order


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(2, 3),
        torch.zeros(2, 3).T,
        torch.zeros(4, 6)[1:, ::2],
        torch.zeros(()),
        torch.zeros(0, 3),
        nn.Parameter(torch.zeros(2, dtype=torch.bfloat16)),
        torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last),
    ],
    ids=["plain", "transposed", "strided", "scalar", "empty", "parameter", "channels last"],
)
def test_descriptions(tensor: torch.Tensor) -> None:
    meta = describe(tensor)
    assert tuple(meta.shape) == tuple(tensor.shape)
    assert tuple(meta.strides) == tensor.stride()
    assert meta.offset == tensor.storage_offset()
    assert TORCH_DTYPES[meta.dtype] is tensor.dtype
    assert meta.requires_grad == tensor.requires_grad


def test_size_passes_for_torch_size() -> None:
    size = TorchSize((2, 3))
    assert isinstance(size, torch.Size)
    assert size == torch.Size((2, 3)) and size[1:] == (3,) and size.numel() == 6
    assert isinstance(size + TorchSize((4,)), torch.Size)


def test_one_name_two_functions() -> None:
    """``torch.embedding`` and ``F.embedding`` share a name; only the C function is an operator."""
    assert id(torch.embedding) in LEAVES
    assert id(nn.functional.embedding) not in LEAVES
    assert LEAVES[id(torch.Tensor.int)] is not LEAVES[id(torch._C.TensorBase.__int__)]


def test_module_tree_in_torch_order() -> None:
    shared = nn.Linear(2, 2)
    model = nn.Sequential(
        shared, nn.BatchNorm1d(2), nn.Sequential(shared, nn.ReLU()), nn.ModuleDict({"x": shared})
    )
    library = Library()
    assert list(library.named_modules(model)) == list(model.named_modules())
    assert [name for name, _ in library.named_parameters(model)] == [
        name for name, _ in model.named_parameters(remove_duplicate=False)
    ]
    assert [name for name, _, _ in library.named_buffers(model)] == [
        name for name, _ in model.named_buffers(remove_duplicate=False)
    ]
