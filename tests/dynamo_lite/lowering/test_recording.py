"""Under a recorder no data of a real tensor is read, and every call arrives as one operator."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from solver.errors import DataDependentError, UnsupportedError
from tests.dynamo_lite.lowering.spy import Unknown, spying

Body = Callable[[Any], Any]


def guarded(*shape: int) -> Any:
    """A real tensor whose memory may not be touched: reading it fails the test."""

    class Guarded(np.ndarray[Any, Any]):
        def item(self, *args: Any) -> Any:
            raise AssertionError("the data of a real tensor was read")

        tolist = item
        __bool__ = item
        __float__ = item
        __int__ = item

    made = torch.ones(shape)
    made._array = made._array.view(Guarded)
    return made


REFUSED: dict[str, tuple[type[Exception], Body]] = {
    "bool": (DataDependentError, bool),
    "if": (DataDependentError, lambda x: 1 if x else 2),
    "not": (DataDependentError, lambda x: not x),
    "and": (DataDependentError, lambda x: x and 1),
    "in": (DataDependentError, lambda x: 2 in x.reshape(1)),
    "list in": (DataDependentError, lambda x: x.clone() in [x.clone()]),
    "max": (DataDependentError, lambda x: max(x, x.clone())),
    "format with a spec": (DataDependentError, lambda x: f"{x:.3f}"),
    "numpy": (UnsupportedError, lambda x: x.numpy()),
    "asarray": (UnsupportedError, np.asarray),
    "data_ptr": (UnsupportedError, lambda x: x.data_ptr()),
    "backward": (UnsupportedError, lambda x: x.backward()),
    "set data": (UnsupportedError, lambda x: setattr(x, "data", x)),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("kind", ["real", "fake"])
def test_what_needs_data_is_refused(name: str, kind: str) -> None:
    error, body = REFUSED[name]
    real = guarded()
    with spying() as spy:
        subject = real if kind == "real" else spy.fake_of(real)
        with pytest.raises(error):
            body(subject)


def test_scalars_stay_unknown() -> None:
    real = guarded()
    with spying() as spy:
        assert isinstance(real.item(), Unknown)
    assert spy.names == ["aten.item.default"]


def test_tolist_reads_each_element_as_an_unknown() -> None:
    real = guarded(2, 3)
    with spying() as spy:
        listed = real.tolist()
    assert [len(row) for row in listed] == [3, 3] and all(
        isinstance(n, Unknown) for row in listed for n in row
    )
    assert spy.names.count("aten.item.default") == 6


@pytest.mark.parametrize("body", [float, int, operator.index, math.sqrt])
def test_natively_converted_scalars_do_not_become_numbers(body: Body) -> None:
    real = guarded()
    with spying(), pytest.raises(TypeError):
        body(real)


def test_metadata_is_read_without_a_call() -> None:
    real = guarded(2, 3)
    with spying() as spy:
        facts: tuple[Any, ...] = (
            real.shape,
            real.dtype,
            real.ndim,
            real.numel(),
            real.stride(),
            real.is_contiguous(),
            len(real),
        )
        facts += (real.size(-1), real.device, real.is_floating_point(), real.requires_grad, real.is_leaf)
    assert facts[:7] == ((2, 3), torch.float32, 2, 6, (3, 1), True, 2)
    assert spy.calls == [] and spy.lifted == [] and spy.seen == {"layout", "grad"}


def test_text_shows_the_description_alone() -> None:
    real = guarded(2, 3)
    with spying() as spy:
        assert f"{real}" == str(real) == repr(real) == "FakeTensor(f32[2, 3])"
    assert spy.calls == []


CALLS: dict[str, tuple[Body, list[str]]] = {
    "add": (lambda x: x + 1, ["aten.add.Tensor"]),
    "radd": (lambda x: 1 + x, ["aten.add.Tensor"]),
    "rsub": (lambda x: 1 - x, ["aten.rsub.Scalar"]),
    "rtruediv": (lambda x: 1 / x, ["aten.reciprocal.default", "aten.mul.Tensor"]),
    "rpow": (lambda x: 2**x, ["aten.pow.Scalar"]),
    "compare": (lambda x: x > 0, ["aten.gt.Scalar"]),
    "matmul": (lambda x: x @ x, ["aten.matmul.default"]),
    "function": (lambda x: torch.add(x, x, alpha=2), ["aten.add.Tensor"]),
    "input by name": (lambda x: torch.add(input=x, other=x), ["aten.add.Tensor"]),
    "axis": (lambda x: torch.sum(x, axis=0, keepdims=True), ["aten.sum.dim_IntList"]),
    "varargs": (lambda x: x.permute(1, 0), ["aten.permute.default"]),
    "to": (lambda x: x.to(torch.float64), ["aten.to.dtype"]),
    "to itself": (lambda x: x.to(torch.float32), []),
    "float": (lambda x: x.float(), []),
    "int index": (lambda x: x[0], ["aten.select.int"]),
    "full slices": (lambda x: x[:, :], ["aten.alias.default"]),
    "slices": (lambda x: x[:, 1:], ["aten.slice.Tensor"]),
    "none": (lambda x: x[None], ["aten.unsqueeze.default"]),
    "tensor index": (lambda x: x[x > 0], ["aten.gt.Scalar", "aten.index.Tensor"]),
    "fill": (
        lambda x: x.clone().__setitem__(0, 1.0),
        ["aten.clone.default", "aten.select.int", "aten.fill_.Scalar"],
    ),
    "unpack": (lambda x: [*x], ["aten.unbind.int"]),
    "T": (lambda x: x.T, ["aten.permute.default"]),
    "data": (lambda x: x.data, ["aten.detach.default"]),
    "copy": (copy.copy, ["aten.alias.default"]),
    "deepcopy": (copy.deepcopy, ["aten.detach.default", "aten.clone.default"]),
    "creation": (lambda x: torch.zeros(2, 2) + x, ["aten.zeros.default", "aten.add.Tensor"]),
    "functional": (lambda x: nn.functional.linear(x, x), ["aten.linear.default"]),
    "ops": (lambda x: torch.ops.aten.mul(x, 2), ["aten.mul.Tensor"]),
    "ops overload": (lambda x: torch.ops.aten.mul.Tensor(x, x), ["aten.mul.Tensor"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_arrive_as_operators(name: str) -> None:
    body, expected = CALLS[name]
    real = guarded(2, 2)
    with spying() as spy:
        body(real)
    assert spy.names == expected


def test_a_tensor_made_while_recording_is_a_lifted_constant() -> None:
    with spying() as spy:
        made = torch.tensor([1.0, 2.0])
    assert [held.tolist() for held in spy.lifted] == [[1.0, 2.0]]
    assert len(spy.calls) == 1 and made.shape == (2,)
