"""What PyTorch's ecosystem registers or switches is honoured in both modes, with eager's results, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_equals_eager, both_modes, export_both, module

CPU16 = {"device_type": "cpu", "dtype": torch.bfloat16}


# --- autocast


def lower_precision(self: Any, x: Any) -> Any:
    with torch.autocast(**CPU16):
        return self.lin(x), x @ x.T, F.layer_norm(self.lin(x), (4,)), x.exp()


def half_precision(self: Any, x: Any) -> Any:
    with torch.amp.autocast("cpu", dtype=torch.float16):
        return self.lin(x)


def widened(self: Any, x: Any) -> Any:
    with torch.autocast(**CPU16):
        y = self.lin(x)
        return torch.cat([y, x]), torch.stack([y, x]), y + x, F.mse_loss(y, x), y.prod()


def networks(self: Any, x: Any) -> Any:
    with torch.autocast(**CPU16):
        convolved = F.conv1d(x[None], torch.ones(2, 3, 1))
        return (
            convolved,
            F.scaled_dot_product_attention(x[None], x[None], x[None]),
            F.pad(x[None], (1, 1), "reflect"),
        )


def nested(self: Any, x: Any) -> Any:
    with torch.autocast(**CPU16):
        y = self.lin(x)
        with torch.autocast("cpu", enabled=False):
            z = self.lin(y.float())
        kept = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
        w = self.lin(z)
    return y, z, w, self.lin(x), kept[0], str(kept[1])


@torch.autocast(**CPU16)
def under_autocast(model: Any, x: Any) -> Any:
    return model.lin(x) + x


def decorated(self: Any, x: Any) -> Any:
    return under_autocast(self, x)


def written_out(self: Any, x: Any) -> Any:
    out = torch.empty(3, 3)
    with torch.autocast(**CPU16):
        torch.mm(x, x.T, out=out)
    return out


# --- legacy constructors


def of_numbers(self: Any, x: Any) -> Any:
    return x + torch.FloatTensor([1, 2, 3, 4]) + x.new([1, 2, 3, 4])


def of_sizes(self: Any, x: Any) -> Any:
    return torch.FloatTensor(3, 4).fill_(2) + x + x.new(3, 4).zero_() + x.new().sum()


def of_places(self: Any, x: Any) -> Any:
    return x[:, torch.LongTensor([0, 2])]


def types(self: Any, x: Any) -> Any:
    named = isinstance(x, torch.FloatTensor), isinstance(x, (torch.LongTensor, int)), x.type()
    return x.type(torch.DoubleTensor), x.type("torch.LongTensor"), x.type(torch.float16), *named


PROGRAMS = (
    lower_precision, half_precision, widened, networks, nested, decorated, written_out,
    of_numbers, of_sizes, of_places, types,
)  # fmt: skip


@pytest.mark.parametrize("forward", PROGRAMS, ids=lambda forward: str(forward.__name__))
def test_equals_eager(forward: Any) -> None:
    model, x = module(forward), torch.randn(3, 4)
    assert_equals_eager(model, export_both(model, (x,)), (x,))
    assert not torch.is_autocast_enabled("cpu")


def test_legacy_constructors_take_symbolic_sizes() -> None:
    model = module(lambda self, x: torch.FloatTensor(x.shape[0], 4).zero_() + x)
    program = export_both(model, (torch.randn(3, 4),), dynamic_shapes=[{0: torch.export.Dim("b")}])
    assert_equals_eager(model, program, (torch.randn(7, 4),))


@both_modes
def test_the_oldest_constructor(strict: bool) -> None:
    """In non-strict mode C++ makes a real tensor of it, which is a constant; so the two graphs differ."""
    x = torch.randn(3, 4)
    model = module(lambda self, x: x + torch.Tensor([1.0, 2, 3, 4]))
    assert_equals_eager(model, dl.export(model, (x,), strict=strict), (x,))
    model = module(lambda self, x: torch.Tensor(x.shape[0], 4).zero_() + x)
    program = dl.export(model, (x,), strict=True, dynamic_shapes=[{0: torch.export.Dim("b")}])
    assert_equals_eager(model, program, (torch.randn(7, 4),))


# --- refusals


def hidden_casts(self: Any, x: Any) -> Any:
    with torch.autocast(**CPU16):
        return torch.einsum("ij,kj->ik", x, x)


def parameter_made(self: Any, x: Any) -> Any:
    return nn.Linear(4, 4)(x)


@both_modes
@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (hidden_casts, "einsum"),
        (parameter_made, ""),
    ],
    ids=lambda value: str(getattr(value, "__name__", "")),
)
def test_refused(forward: Any, words: str, strict: bool) -> None:
    with pytest.raises((dl.UnsupportedError, dl.StateError)) as caught:
        dl.export(module(forward), (torch.randn(3, 4),), strict=strict)
    assert words in str(caught.value)
    location = caught.value.location
    assert location is not None and location.file == __file__
    assert not torch.is_autocast_enabled("cpu") and torch.is_grad_enabled()


@both_modes
def test_autocast_around_export_is_refused(strict: bool) -> None:
    with torch.autocast(**CPU16), pytest.raises(dl.UnsupportedError, match="autocast"):
        dl.export(nn.Linear(4, 4), (torch.randn(3, 4),), strict=strict)
