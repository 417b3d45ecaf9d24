"""Small programs of PyTorch in both modes: equal graphs, results equal to eager's, refusals that name the line."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.utils.checkpoint import checkpoint

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    both_modes,
    export_both,
    module,
    operators,
)


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@torch.no_grad()
def without_gradients(model: Any, x: Any) -> Any:
    return model.lin(x)


def grad_modes(self: Any, x: Any) -> Any:
    with torch.no_grad():
        plain = self.lin(x)
    assert not plain.requires_grad and torch.is_grad_enabled()
    with torch.inference_mode():
        shifted = x + 1
    kept = without_gradients(self, x)
    assert not kept.requires_grad
    return plain + kept, self.lin(x) + shifted.sum()


def metadata(self: Any, x: Any) -> Any:
    assert isinstance(x, torch.Tensor) and torch.is_tensor(x) and isinstance(x.shape, torch.Size)
    assert (
        x.dtype is torch.float32 and x.device == torch.device("cpu") and x.ndim == 2 and len(x) == x.size(0)
    )
    assert self.lin.weight.shape == (4, 4) and self.lin.weight.requires_grad
    return x.new_zeros(x.shape) + x.to(torch.float64).type_as(x)


def named_results(self: Any, x: Any) -> Any:
    best = x.max(1)
    values, places = torch.sort(x)
    return best.values + best[1] + values.sum(1), places, torch.topk(x, 2).indices


def in_place(self: Any, x: Any) -> Any:
    self.buf.add_(1)
    self.buf = self.buf * 2
    y = x.clone()
    y[:, 0] = self.buf[0]
    F.relu(y, inplace=True)
    return y


def computed_views(self: Any, x: Any) -> Any:
    return x @ self.lin.weight.T + self.lin.bias.data


def recomputed(self: Any, x: Any) -> Any:
    return checkpoint(self.lin, x, use_reentrant=False) + Square.apply(x)


def random_draws(self: Any, x: Any) -> Any:
    return torch.rand(3, 4) + torch.randn_like(x) + F.dropout(x, 0.5, True)


def chosen(self: Any, x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: self.lin(x).relu(), lambda x: x.sin(), (x,))


def stated(self: Any, x: Any) -> Any:
    found = x.nonzero()
    torch._check(found.shape[0] > 0)
    return x.sin() if found.shape[0] > 0 else x.cos()


def read_scalar(self: Any, x: Any) -> Any:
    n = x.sum().long().abs().item()
    torch._check(n >= 0)
    torch._check(n < 100)
    return torch.zeros(n)


def constants(self: Any, x: Any) -> Any:
    return x + torch.tensor([1.0, 2, 3, 4]) + torch.tensor(3)


def flags(self: Any, x: Any) -> Any:
    return x + (1 if torch.compiler.is_exporting() and torch.compiler.is_compiling() else 2)


def autocast_off(self: Any, x: Any) -> Any:
    with torch.autocast("cpu", enabled=False):
        return self.lin(x.float())


@torch.compiler.disable
def hidden_from_dynamo(x: Any, by: float = 1.0) -> Any:
    return x.cos() * by


def unwrapped(self: Any, x: Any) -> Any:
    return hidden_from_dynamo(x, by=2.0)


def parametrised(self: Any, x: Any) -> Any:
    return self.normed(x)


PROGRAMS = (
    grad_modes, metadata, named_results, in_place, computed_views, recomputed, random_draws, chosen, stated, read_scalar,
    constants, autocast_off, parametrised, unwrapped,
)  # fmt: skip


@pytest.mark.parametrize("forward", PROGRAMS, ids=lambda forward: str(forward.__name__))
def test_equals_eager(forward: Any) -> None:
    model = module(forward, normed=nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)))
    x = torch.randn(3, 4)
    assert_equals_eager(model, export_both(model, (x,)), (x,))


def test_flags_while_exporting() -> None:
    x = torch.randn(3, 4)
    program = export_both(module(flags), (x,))
    assert torch.equal(program.module()(x), x + 1)
    assert not torch.compiler.is_exporting() and not torch.compiler.is_compiling()


@dataclasses.dataclass
class Input:
    f: torch.Tensor
    p: torch.Tensor


torch.export.register_dataclass(Input, serialized_type_name="tests.Input")


def test_registered_dataclass() -> None:
    model = module(lambda self, x: x.f + 1)
    given = Input(torch.ones(10, 4), torch.zeros(10, 4))
    program = export_both(model, (given,))
    assert operators(program) == ["aten.add.Tensor"]
    assert_equals_eager(model, program, (given,))


def test_named_tuple_result() -> None:
    model = module(lambda self, x: Pair(x + 1, x * 2))
    x = torch.randn(2, 4)
    assert_equals_eager(model, export_both(model, (x,)), (x,))


@pytest.mark.parametrize(
    "spec",
    [
        {"x": {0: Dim("b", min=1, max=100)}},
        ({0: Dim.DYNAMIC},),
        [{0: 2 * Dim("half", max=50)}],
        {"x": (Dim.AUTO, None)},
    ],
    ids=["named", "dynamic", "derived", "auto"],
)
def test_dimensions_of_torch(spec: Any) -> None:
    model = module(lambda self, x: self.lin(x).reshape(x.shape[0] * 2, 2))
    program = export_both(model, (torch.randn(6, 4),), dynamic_shapes=spec)
    for rows in (6, 10, 2):
        assert_equals_eager(model, program, (torch.randn(rows, 4),))
    with pytest.raises(dl.GuardError):
        program.module()(torch.randn(6, 5))


def test_shapes_collection_of_torch() -> None:
    x = torch.randn(6, 4)
    shapes = torch.export.ShapesCollection()
    shapes[x] = {0: Dim("b")}
    model = module(lambda self, x: self.lin(x))
    assert_equals_eager(model, export_both(model, (x,), dynamic_shapes=shapes), (torch.randn(9, 4),))


def test_symbolic_sizes_reach_torch_size() -> None:
    model = module(lambda self, x: x.view(torch.Size((x.shape[0], 2, 2))).sum(-1))
    program = export_both(model, (torch.randn(3, 4),), dynamic_shapes=[{0: Dim.DYNAMIC}])
    assert_equals_eager(model, program, (torch.randn(7, 4),))
    assert [str(guard.expr) for guard in program.guards] == []


# --- operators of users


@torch.library.custom_op("dynamo_lite_tests::sine", mutates_args=())
def sine(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy().copy()).sin()


@sine.register_fake
def _(x: Any) -> Any:
    return torch.empty_like(x)


@torch.library.custom_op("dynamo_lite_tests::places", mutates_args=())
def places(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()


@places.register_fake
def _(x: Any) -> Any:
    return x.new_empty([torch.library.get_ctx().new_dynamic_size(), x.dim()], dtype=torch.int64)


@torch.library.custom_op("dynamo_lite_tests::fill", mutates_args=("x",))
def fill(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


@torch.library.custom_op("dynamo_lite_tests::bare", mutates_args=())
def bare(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


def custom(self: Any, x: Any) -> Any:
    y = x.clone()
    fill(y, 3.0)
    return sine(x) + y, torch.ops.dynamo_lite_tests.places(x)


def test_custom_operators() -> None:
    model = module(custom)
    x = torch.randn(3, 4)
    program = export_both(model, (x,), dynamic_shapes=[{0: Dim.DYNAMIC}])
    assert "dynamo_lite_tests.sine.default" in operators(program)
    assert_equals_eager(model, program, (x,))
    assert_equals_eager(model, program, (torch.randn(5, 4),))


def no_rule(self: Any, x: Any) -> Any:
    return bare(x)


# --- refusals


def branch(self: Any, x: Any) -> Any:
    if self.buf.sum() > 0:
        return x
    return x + 1


def root_of_buffer(self: Any, x: Any) -> Any:
    return x * math.sqrt(self.buf[0])


def to_numpy(self: Any, x: Any) -> Any:
    return x + torch.from_numpy(self.buf.numpy())


def mapped(self: Any, x: Any) -> Any:
    return torch.vmap(lambda row: row.sin(), randomness="same")(x)


def unknown_operator(self: Any, x: Any) -> Any:
    return torch.geqrf(x).tau


def seeds(self: Any, x: Any) -> Any:
    torch.manual_seed(3)
    return x + 1


@both_modes
@pytest.mark.parametrize(
    ("forward", "kind", "word"),
    [
        (branch, dl.DataDependentError, "cond"),
        (to_numpy, dl.UnsupportedError, "numpy()"),
        (mapped, dl.UnsupportedError, ""),
        (unknown_operator, dl.UnsupportedError, "geqrf"),
        (no_rule, dl.UnsupportedError, "dynamo_lite_tests::bare"),
        (seeds, dl.UnsupportedError, "manual_seed"),
    ],
    ids=lambda value: str(getattr(value, "__name__", "")),
)
def test_refused(forward: Any, kind: Any, word: str, strict: bool) -> None:
    model, x = module(forward), torch.randn(3, 4)
    state = torch.get_rng_state()
    with pytest.raises(kind) as caught:
        dl.export(model, (x,), strict=strict)
    assert word in str(caught.value)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.is_grad_enabled() and not torch.is_autocast_enabled("cpu")
    location = caught.value.location
    assert location is not None and location.file.endswith(("test_programs.py", ".py"))


@both_modes
def test_data_of_a_buffer_is_never_baked(strict: bool) -> None:
    with pytest.raises(Exception) as caught:
        dl.export(module(root_of_buffer), (torch.randn(3, 4),), strict=strict)
    assert isinstance(caught.value, (dl.DataDependentError, TypeError))


@both_modes
def test_refusal_names_the_line(strict: bool) -> None:
    with pytest.raises(dl.UnsupportedError) as caught:
        dl.export(module(unknown_operator), (torch.randn(3, 4),), strict=strict)
    location = caught.value.location
    assert location is not None
    assert location.file == __file__
    assert location.line == unknown_operator.__code__.co_firstlineno + 1
