"""Operators of one's own: schemas from annotations, fake rules, mutation, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Optional, Union

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from dynamo_lite.torchlite.library import infer_schema
from fx_ir.ops.registry import OPS, PACKETS
from solver.errors import UnsupportedError
from tests.dynamo_lite.torchlite.twin import needs_torch, real_torch


@pytest.fixture(autouse=True)
def _forget_operators() -> Iterator[None]:
    """Takes the operators of a test out of the table again."""
    yield
    for table in (OPS, PACKETS):
        for name in [name for name in table if name.startswith("testlib::")]:
            del table[name]
    vars(torch.ops).pop("testlib", None)


SIGNATURES = [
    '(x: Tensor, n: int = 3, s: Optional[Tensor] = None, *, y: float = 1.0, k: bool = False, z: str = "a") -> Tensor',
    "(x: Tensor, xs: Sequence[Tensor], q: list[int], o: Optional[list[int]], fl: Sequence[float]) -> list[Tensor]",
    "(x: Tensor, d: torch.dtype, e: torch.device, n: Union[int, float, bool]) -> tuple[Tensor, int]",
    "(x: Tensor) -> None",
    "(x: Tensor, y) -> Tensor",
    "(x: Tensor, y: dict[str, int]) -> Tensor",
    "(x: Tensor)",
    "(x: Tensor, *rest: Tensor) -> Tensor",
]


def _function(signature: str, torch: Any) -> Any:
    """A function of that signature, its names those of a library."""
    names = {
        "Tensor": torch.Tensor,
        "torch": torch,
        "Optional": Optional,
        "Sequence": Sequence,
        "Union": Union,
    }
    exec(f"def function{signature}: ...", names)
    return names["function"]


@pytest.mark.torch
@needs_torch
@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("mutates", [(), ("x",), "unknown"])
def test_schemas_are_pytorchs(signature: str, mutates: Any) -> None:
    def text(infer: Any, function: Any) -> tuple[str, str]:
        try:
            return "schema", infer(function, mutates_args=mutates)
        except ValueError as error:
            return "error", str(error).partition(". ")[0].partition(" The valid")[0]

    ours = text(infer_schema, _function(signature, torch))
    theirs = text(real_torch().library.infer_schema, _function(signature, real_torch()))
    if ours[0] == "error":
        assert theirs[0] == "error"
    else:
        assert ours == theirs


def test_a_custom_operator_computes_and_is_found() -> None:
    @torch.library.custom_op("testlib::double", mutates_args=())
    def double(x: torch.Tensor, times: int = 2) -> torch.Tensor:
        """Times two."""
        return torch.from_numpy(x.numpy() * times)

    x = torch.ones(2)
    assert double(x).tolist() == [2.0, 2.0] and double(x, times=3).tolist() == [3.0, 3.0]
    assert torch.ops.testlib.double(x, 4).tolist() == [4.0, 4.0]
    assert torch.ops.testlib.double.default(x).tolist() == [2.0, 2.0]
    assert (
        double.__doc__ == "Times two." and str(torch.ops.testlib.double.default) == "testlib.double.default"
    )


@pytest.mark.parametrize("strict", [False, True])
def test_it_is_one_call_of_an_exported_program(strict: bool) -> None:
    @torch.library.custom_op("testlib::sine", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return sine(x) + 1

    with pytest.raises(UnsupportedError) as caught:
        dl.export(Model(), (torch.ones(2),), strict=strict)
    assert caught.value.id == "no-fake-rule" and "register_fake" in caught.value.hint

    @sine.register_fake
    def _(x: Any) -> Any:
        assert isinstance(x, torch.Tensor) and x.shape[0] >= 2
        return torch.empty_like(x)

    program = dl.export(Model(), (torch.ones(2),), strict=strict)
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert called == ["testlib.sine.default", "aten.add.Tensor"]
    x = torch.tensor([0.5, 1.5])
    assert np.allclose(program.module()(x).numpy(), np.sin([0.5, 1.5]) + 1)


@pytest.mark.parametrize("strict", [False, True])
def test_a_size_that_depends_on_data(strict: bool) -> None:
    @torch.library.custom_op("testlib::where_true", mutates_args=())
    def where_true(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.flatnonzero(x.numpy()))

    @torch.library.register_fake("testlib::where_true")
    def _(x: Any) -> Any:
        return x.new_empty([torch.library.get_ctx().new_dynamic_size()], dtype=torch.int64)

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return where_true(x) * 2

    program = dl.export(Model(), (torch.tensor([0.0, 1.0]),), strict=strict)
    for data, expected in (([1.0, 1.0], [0, 2]), ([0.0, 0.0], []), ([0.0, 3.0], [2])):
        assert program.module()(torch.tensor(data)).tolist() == expected


@pytest.mark.parametrize("strict", [False, True])
def test_written_arguments_are_outputs_of_the_program(strict: bool) -> None:
    @torch.library.custom_op("testlib::accumulate", mutates_args={"into"})
    def accumulate(x: torch.Tensor, into: torch.Tensor) -> torch.Tensor:
        into.add_(x)
        return x * 10

    @accumulate.register_fake
    def _(x: Any, into: Any) -> Any:
        return torch.empty_like(x)

    into = torch.zeros(2)
    assert accumulate(torch.ones(2), into).tolist() == [10.0, 10.0] and into.tolist() == [1.0, 1.0]

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(2))

        def forward(self, x: torch.Tensor) -> Any:
            return accumulate(x, self.total) + self.total

    model = Model()
    program = dl.export(model, (torch.ones(2),), strict=strict)
    assert model.total.tolist() == [0.0, 0.0]
    runner = program.module()
    assert [runner(torch.ones(2)).tolist() for _ in range(2)] == [[11.0, 11.0], [12.0, 12.0]]


def test_what_cannot_be_an_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="annotation"):
        torch.library.custom_op("testlib::bad", lambda x: x, mutates_args=())
    with pytest.raises(RuntimeError, match="testlib::nowhere"):
        torch.library.register_fake("testlib::nowhere", lambda x: x)
    with pytest.raises(RuntimeError):
        torch.library.get_ctx()
    with pytest.raises(AttributeError, match="nowhere"):
        torch.ops.testlib.nowhere  # noqa: B018
