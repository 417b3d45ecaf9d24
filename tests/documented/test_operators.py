"""The documented examples about custom operators (M27)."""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamo_lite.torchlite as torch
from fx_ir.meta import TensorMeta
from tests.exporting import agree, both, numbers, text


@torch.library.custom_op("mylib::sin", mutates_args=())
def numpy_sin(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.numpy()))


@numpy_sin.register_fake
def _numpy_sin_fake(x: Any) -> Any:
    return torch.empty_like(x)


def test_custom_operator_over_numpy() -> None:
    """M27: one call of the custom operator; its Python body is not in the program."""

    def forward(x: Any) -> Any:
        return numpy_sin(x)

    for program in both(forward, (torch.randn(3),)):
        assert text(program) == ["sin = mylib.sin.default(x)"]
        agree(program, forward, [(numbers(3),)])


@torch.library.custom_op("mylib::custom_nonzero", mutates_args=())
def custom_nonzero(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.stack(np.nonzero(x.numpy()), 1))


@custom_nonzero.register_fake
def _custom_nonzero_fake(x: Any) -> Any:
    count = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty([count, x.dim()], dtype=torch.int64)


def test_custom_operator_with_a_dynamic_size() -> None:
    """M21, M27: ``new_dynamic_size`` makes an unbacked first dimension."""

    def forward(x: Any) -> Any:
        return custom_nonzero(x)

    for program in both(forward, (torch.randn(3, 2),)):
        assert text(program) == ["custom_nonzero = mylib.custom_nonzero.default(x)"]
        (node,) = (node for node in program.graph.nodes if node.op == "call_function")
        meta = node.meta["val"]
        assert isinstance(meta, TensorMeta)
        assert isinstance(meta.shape[0], torch.SymInt)
        assert meta.shape[0].hint is None
        assert meta.shape[1] == 2
        agree(program, forward, [(numbers(3, 2),), (torch.zeros(3, 2),)])
