"""Switches of PyTorch's process-wide state that forward flips stand after a capture as before it, or flipping them is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import both_modes


class Flips(nn.Module):
    def __init__(self, flip: Callable[[], Any]) -> None:
        super().__init__()
        self.flip = flip

    def forward(self, x: Any) -> Any:
        self.flip()
        return x + 1


C: Any = torch._C  # PyTorch's testing tools forbid to set some of them as attributes
SWITCHES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "threads": (lambda: torch.set_num_threads(3), torch.get_num_threads),
    "precision": (lambda: torch.set_float32_matmul_precision("medium"), torch.get_float32_matmul_precision),
    "cudnn": (lambda: C._set_cudnn_enabled(False), C._get_cudnn_enabled),
    "mkldnn": (lambda: C._set_mkldnn_enabled(False), C._get_mkldnn_enabled),
    "warnings": (lambda: torch.set_warn_always(True), torch.is_warn_always_enabled),
    "attention": (lambda: torch.backends.cuda.enable_math_sdp(False), torch.backends.cuda.math_sdp_enabled),
    "fast path": (
        lambda: torch.backends.mha.set_fastpath_enabled(False),
        torch.backends.mha.get_fastpath_enabled,
    ),
    "anomalies": (lambda: torch.autograd.set_detect_anomaly(True), torch.is_anomaly_enabled),
    "autocast": (lambda: torch.set_autocast_enabled("cuda", True), lambda: torch.is_autocast_enabled("cuda")),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True),
        torch.are_deterministic_algorithms_enabled,
    ),
    "device": (lambda: torch.set_default_device("meta"), torch.get_default_device),
}


@both_modes
@pytest.mark.parametrize("name", SWITCHES)
def test_switches_are_put_back(name: str, strict: bool) -> None:
    flip, read = SWITCHES[name]
    before = read()
    try:
        program = dl.export(Flips(flip), (torch.ones(2),), strict=strict)
    except dl.UnsupportedError as error:
        assert error.id == "call-refused"
    else:
        assert program.module()(torch.ones(2)).tolist() == [2.0, 2.0]
    assert read() == before


class Relu(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.relu()


@both_modes
@pytest.mark.parametrize(
    "member", [lambda self: self * 10, property(lambda self: torch.relu)], ids=["method", "property"]
)
def test_replaced_members_of_tensors_are_refused(
    member: Any, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.Tensor, "relu", member)
    with pytest.raises(dl.UnsupportedError, match=r"torch\.Tensor\.relu was replaced") as caught:
        dl.export(Relu(), (torch.ones(2),), strict=strict)
    assert caught.value.id == "tensor-class-patched"
    monkeypatch.undo()
    assert dl.export(Relu(), (torch.ones(2),), strict=strict).module()(-torch.ones(2)).tolist() == [0.0, 0.0]
