"""PyTorch's own compilers and tracers around a decorated module read its forward as it was written."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    @dl.exported
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A line."""
        return torch.relu(self.lin(x)) * x.shape[1]


def compiled_in_place(model: Any, x: Any) -> Any:
    model.compile(backend="eager")
    result = model(x)
    model._compiled_call_impl = None
    return result


AROUND: dict[str, Callable[[Any, Any], Any]] = {
    "compile": lambda model, x: torch.compile(model, backend="eager")(x),
    "compile whole": lambda model, x: torch.compile(model, backend="eager", fullgraph=True)(x),
    "compile forward": lambda model, x: torch.compile(model.forward, backend="eager")(x),
    "compile with gradients": lambda model, x: torch.compile(model, backend="aot_eager")(x),
    "compile within": lambda model, x: torch.compile(nn.Sequential(model), backend="eager")(x),
    "compile in place": compiled_in_place,
    "fx": lambda model, x: torch.fx.symbolic_trace(model)(x),
    "fx within": lambda model, x: torch.fx.symbolic_trace(nn.Sequential(model))(x),
    "script": lambda model, x: torch.jit.script(model)(x),
    "vmap": lambda model, x: torch.vmap(model)(x[:, None])[:, 0],
    "jvp": lambda model, x: torch.func.jvp(model, (x,), (x,))[0],
    "export": lambda model, x: torch.export.export(model, (x,)).module()(x),
    "strict export": lambda model, x: torch.export.export(model, (x,), strict=True).module()(x),
    "jit": lambda model, x: torch.jit.trace(model, (x,), check_trace=False)(x),
    "make_fx": lambda model, x: make_fx(model)(x)(x),
}


def programs(model: Any) -> list[Any]:
    found: list[Any] = model.forward.exported_programs(model)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", AROUND)
@pytest.mark.parametrize("called_before", [True, False])
def test_the_original_is_what_they_see(way: str, called_before: bool) -> None:
    model, x = Net(), torch.randn(2, 3)
    expected = Net.forward.function(model, x)  # type: ignore[attr-defined]
    if called_before:
        assert_same(model(x), expected)
    assert_same(AROUND[way](model, x), expected)
    assert len(programs(model)) == int(called_before)
    assert_same(model(x), expected)
    assert len(programs(model)) == 1


def test_fake_tensors_pass() -> None:
    model = Net()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert tuple(model(mode.from_tensor(torch.randn(2, 3))).shape) == (2, 3)
    assert_same(model(torch.ones(2, 3)), Net.forward.function(model, torch.ones(2, 3)))  # type: ignore[attr-defined]


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "data parallel": nn.DataParallel,
    "forward": lambda model: pickle.loads(pickle.dumps(model.forward)),
    "partial": lambda model: functools.partial(model.forward),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("called_before", [True, False])
def test_copies_work(way: str, called_before: bool) -> None:
    model, x = Net(), torch.randn(2, 3)
    expected = Net.forward.function(model, x)  # type: ignore[attr-defined]
    if called_before:
        model(x)
    assert_same(COPIES[way](model)(x), expected)


def test_forward_is_a_method_with_the_looks_of_the_original() -> None:
    model: Any = Net()
    assert inspect.ismethod(model.forward) and model.forward == model.forward
    assert str(inspect.signature(model.forward)) == "(x: 'torch.Tensor') -> 'torch.Tensor'"
    assert "relu" in inspect.getsource(model.forward) and inspect.getdoc(model.forward) == "A line."
    assert model.forward.__name__ == "forward" and model.forward.__qualname__ == "Net.forward"
    assert not hasattr(model.forward, "no_such_attribute")


def wrapped(self: Any, x: Any) -> Any:
    decorated: Any = Net.forward
    return decorated(self, x) + 1


Wrapped: Any = type("Wrapped", (Net,), {"forward": functools.wraps(Net.forward)(wrapped)})


def test_a_wrapper_around_it_is_the_users_own() -> None:
    """``functools.wraps`` copies what a decorated forward has, and makes no decorated one of it."""
    model, x = Wrapped(), torch.randn(2, 3)
    assert_same(model(x), Net.forward.function(model, x) + 1)  # type: ignore[attr-defined]
    for strict in (True, False):
        assert_same(dl.export(model, (x,), strict=strict).module()(x), model(x))


@pytest.mark.filterwarnings("ignore")
def test_operators_of_packed_weights_are_refused_by_name() -> None:
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(3, 3)), {nn.Linear})
    for strict in (True, False):
        with pytest.raises(dl.UnsupportedError):
            dl.export(model, (torch.randn(2, 3),), strict=strict)


class Holds(nn.Module):
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> Any:
        return self.inner(x) + 1


@both_modes
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_modules_are_refused_by_name(strict: bool) -> None:
    """What PyTorch has turned into its own language has no Python left: as the model, and inside it."""
    x = torch.ones(2, 3)
    for made in (torch.jit.script(nn.Linear(3, 3)), torch.jit.trace(nn.Linear(3, 3), x)):
        with pytest.raises(dl.UnsupportedError, match="the module inner, a ") as caught:
            dl.export(Holds(made), (x,), strict=strict)
        assert caught.value.id == "not-python"
        with pytest.raises(dl.UnsupportedError, match="forward, a ScriptMethod") as caught:
            dl.export(made, (x,), strict=strict)
        assert caught.value.id == "not-python"
