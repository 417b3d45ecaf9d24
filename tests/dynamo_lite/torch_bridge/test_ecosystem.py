"""What PyTorch's ecosystem registers or switches is honoured in both modes, with eager's results, or refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    assert_same,
    both_modes,
    export_both,
    module,
)

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


# --- operators of torch.library.Library

LIBRARY = torch.library.Library("dynamo_lite_eco", "FRAGMENT")
LIBRARY.define("twice(Tensor x, int k=2) -> Tensor")
LIBRARY.impl("twice", lambda x, k=2: x * k, "CPU")
torch.library.register_fake("dynamo_lite_eco::twice", lambda x, k=2: torch.empty_like(x), lib=LIBRARY)
LIBRARY.define("composed(Tensor x) -> Tensor")
LIBRARY.impl("composed", lambda x: x.sin() + 1, "CompositeImplicitAutograd")
LIBRARY.define("shaped(Tensor x) -> Tensor")
LIBRARY.impl("shaped", lambda x: x.new_empty(x.shape[0]), "Meta")
LIBRARY.impl("shaped", lambda x: x.sum(1), "CPU")
LIBRARY.define("scale(Tensor(a!) x, float by) -> (Tensor(a!), Tensor)")
LIBRARY.impl("scale", lambda x, by: (x.mul_(by), x.sum()), "CPU")
torch.library.register_fake("dynamo_lite_eco::scale", lambda x, by: (x, x.new_empty(())), lib=LIBRARY)
LIBRARY.define("decides(Tensor x) -> Tensor")
LIBRARY.impl("decides", torch.clone, "CPU")
torch.library.register_fake(
    "dynamo_lite_eco::decides",
    lambda x: torch.empty_like(x) if x.sum() > 0 else x.new_empty(int(x.sum())),
    lib=LIBRARY,
)
OPS = torch.ops.dynamo_lite_eco


def defined(self: Any, x: Any) -> Any:
    return OPS.twice(x, 3) + OPS.twice.default(x), OPS.composed(x), OPS.shaped(x)


def scaled(self: Any, x: Any) -> Any:
    y = x.clone()
    same, total = OPS.scale(y, 2.0)
    return y + same, total


# --- regions, initialisers, hooks


def regions(self: Any, x: Any) -> Any:
    with torch.profiler.record_function("region"):
        return x + 1


def initialised(self: Any, x: Any) -> Any:
    w, v, c = torch.empty(4, 4), torch.empty(4, 4), torch.empty(4)
    nn.init.normal_(w)
    nn.init.xavier_uniform_(v)
    nn.init.constant_(c, 2.0)
    return x @ w @ v + c


@torch.compile(backend="eager")
def compiled(x: Any) -> Any:
    return x.cos() + 1


@torch.compiler.allow_in_graph
def allowed(x: Any) -> Any:
    return x.sin()


@torch.compiler.assume_constant_result
def constant() -> float:
    return 3.5


def for_compilers(self: Any, x: Any) -> Any:
    return compiled(x), allowed(x), x * constant(), torch.jit.is_tracing(), torch.jit.is_scripting()


def called_functionally(self: Any, x: Any) -> Any:
    state = {"weight": self.lin.weight * 2, "bias": self.lin.bias}
    return torch.func.functional_call(self.lin, state, (x,))


def turned_in_place(self: Any, x: Any) -> Any:
    y = x.clone()
    y.t_()
    y.unsqueeze_(0)
    y.transpose_(0, 1)
    y.squeeze_(1)
    z = y
    z.add_(1)
    return y.contiguous(), y.shape[0], torch.tensordot(x, x, dims=([1], [1]))


PROGRAMS = (
    for_compilers, called_functionally, turned_in_place,
    defined, scaled, regions, initialised,
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


def forked(self: Any, x: Any) -> Any:
    with torch.random.fork_rng():
        y = torch.rand(4) + x
    return y, torch.rand(4)


def another_default(self: Any, x: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    try:
        return x + torch.ones(4)
    finally:
        torch.set_default_dtype(torch.float32)


def another_generator(self: Any, x: Any) -> Any:
    return torch.rand(4, generator=torch.Generator()) + x


def data_assigned(self: Any, x: Any) -> Any:
    y = torch.zeros(3, 4)
    y.data = x
    return y


def quantised(self: Any, x: Any) -> Any:
    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()


def sparse(self: Any, x: Any) -> Any:
    return x.to_sparse().to_dense()


class Overriding:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 5


def overridden(self: Any, x: Any) -> Any:
    return x + torch.add(Overriding(), 1)


def mapped(self: Any, x: Any) -> Any:
    return torch.vmap(torch.matmul, in_dims=(0, None), randomness="same")(x, self.lin.weight)


def differentiated(self: Any, x: Any) -> Any:
    return torch.func.grad(lambda v: v.sin().sum())(x)


def hooked(self: Any, x: Any) -> Any:
    y = self.lin(x)
    y.register_hook(lambda grad: grad * 2)
    return y


def parameter_made(self: Any, x: Any) -> Any:
    return nn.Linear(4, 4)(x)


@both_modes
@pytest.mark.parametrize(
    ("forward", "words"),
    [
        (hidden_casts, "einsum"),
        (parameter_made, ""),
        (hooked, "register_hook() needs automatic differentiation, which a tensor under export"),
        (mapped, "vmap"),
        (differentiated, "torch.func.grad"),
        (forked, "set_rng_state"),
        (another_default, "set_default_dtype"),
        (another_generator, "torch.Generator"),
        (data_assigned, ".data"),
        (quantised, "qint8"),
        (sparse, "to_sparse"),
        (overridden, "Overriding"),
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


FRESH = """
import sys, torch
if "registered" in sys.argv:
    @torch.library.custom_op("dynamo_lite_fresh::sine", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor: return x.sin()
    sine.register_fake(lambda x: torch.empty_like(x))
    @torch.library.custom_op("dynamo_lite_fresh::fill", mutates_args=("x",))
    def fill(x: torch.Tensor, v: float) -> None: x.fill_(v)
import dynamo_lite as dl
if "write" in sys.argv:
    class Model(torch.nn.Module):
        def forward(self, x):
            y = x.clone()
            fill(y, 3.0)
            return sine(x) + y
    dl.save(dl.export(Model(), (torch.ones(3),), strict=True), sys.argv[1])
else:
    try:
        print(dl.load(sys.argv[1]).module()(torch.zeros(3)).tolist())
    except dl.InputError as error:
        print(error)
"""


def test_custom_operators_in_a_fresh_process(tmp_path: Path) -> None:
    """A file names them: a process that has registered them runs it, another is told which it lacks."""

    def python(*arguments: str) -> str:
        command = [sys.executable, "-c", FRESH, str(tmp_path / "program.dlp"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    python("registered", "write")
    assert python("registered").strip() == "[3.0, 3.0, 3.0]"
    found = python()
    assert "archive-unknown-operator" in found and "dynamo_lite_fresh::fill" in found


@both_modes
def test_a_rule_that_looks_at_data_is_refused_by_name(strict: bool) -> None:
    model = module(lambda self, x: OPS.decides(x))
    with pytest.raises(dl.DataDependentError) as caught:
        dl.export(model, (torch.ones(3),), strict=strict)
    assert caught.value.id == "branch-on-tensor-data"


@torch.library.custom_op("dl_ecosystem::picked", mutates_args=())
def picked(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    return torch.nonzero(x)[:, 0].clone(), int((x < 0).sum())


@picked.register_fake
def _(x: torch.Tensor) -> Any:
    context = torch.library.get_ctx()
    return x.new_empty(context.new_dynamic_size(), dtype=torch.int64), context.new_dynamic_size()


@both_modes
def test_a_number_among_the_results_of_an_operator(strict: bool) -> None:
    """A new size may be a result itself, one of several."""

    def forward(self: Any, x: Any) -> Any:
        where, below = picked(x)
        return x[where], below + 1, torch.zeros(below)

    program = dl.export(module(forward), (torch.randn(5),), strict=strict)
    program.validate()
    for x in (torch.randn(5), torch.ones(5)):
        assert_same(forward(None, x), program.module()(x))
