"""A decorated forward on a live module of PyTorch's: after any change of the module the call equals eager, or raises."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes


class Scaled(nn.Linear):
    def forward(self, x: Any) -> Any:
        return super().forward(x) * 7


class Tripled(nn.Module):
    def forward(self, weight: Any) -> Any:
        return weight * 3


def make(strict: bool | None, on_mismatch: str = "error") -> Any:
    """A model with parameters, buffers of both ways of updating, a flag and a number; decorated unless ``strict`` is None."""

    def forward(self: Any, x: Any) -> Any:
        if self.training:
            x = x * 3
        self.count.add_(1)
        self.buf = self.buf * 1.5
        return self.lin(x) * self.scale + self.buf

    def init(self: Any) -> None:
        nn.Module.__init__(self)
        self.lin, self.scale = nn.Linear(4, 4), 2.0
        self.register_buffer("buf", torch.ones(4))
        self.register_buffer("count", torch.zeros(()))
        with torch.no_grad():
            self.lin.weight.copy_(torch.arange(16.0).reshape(4, 4) / 10)
            self.lin.bias.copy_(torch.arange(4.0))

    live = forward if strict is None else dl.exported(strict=strict, on_mismatch=on_mismatch)(forward)
    return type("Live", (nn.Module,), {"__init__": init, "forward": live})()


def ones(shape: tuple[int, ...] = (4, 4)) -> nn.Parameter:
    return nn.Parameter(torch.ones(shape))


def step(model: Any) -> None:
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    model.lin.weight.sum().backward()
    optimiser.step()


def add(model: Any) -> None:
    with torch.no_grad():
        model.lin.weight.add_(1)


def replace(name: str, make_value: Callable[[], Any]) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, make_value())

    return change


def other_class(model: Any) -> None:
    made = Scaled(4, 4)
    made.load_state_dict(model.lin.state_dict())
    model.lin = made


def new_linear() -> Any:
    made = nn.Linear(4, 4)
    nn.init.ones_(made.weight)
    nn.init.ones_(made.bias)
    return made


def plus_one(model: Any) -> dict[str, Any]:
    return {name: tensor + 1 for name, tensor in model.state_dict().items()}


# What is done to the module between two calls; True: the kept program goes on.
CHANGES: Final[dict[str, tuple[Callable[[Any], Any], bool]]] = {
    "load": (lambda m: m.load_state_dict(plus_one(m)), True),
    "load by assignment": (lambda m: m.load_state_dict(plus_one(m), assign=True), True),
    "data": (lambda m: setattr(m.lin.weight, "data", m.lin.weight.data * 2), True),
    "copy into data": (lambda m: m.lin.weight.data.copy_(torch.ones(4, 4)), True),
    "add in place": (add, True),
    "optimiser step": (step, True),
    "another parameter": (replace("lin.weight", ones), True),
    "another linear": (replace("lin", new_linear), True),
    "transposed parameter": (
        lambda m: setattr(m.lin, "weight", nn.Parameter(m.lin.weight.detach().t())),
        True,
    ),
    "frozen": (lambda m: m.requires_grad_(False), True),
    "there and back": (lambda m: m.eval().train(), True),
    "eval": (lambda m: m.eval(), False),
    "double": (lambda m: m.double(), False),
    "half": (lambda m: m.half(), False),
    "meta": (lambda m: m.to("meta"), False),
    "number": (replace("scale", lambda: 5.0), False),
    "number gone": (lambda m: delattr(m, "scale"), False),
    "another class": (other_class, False),
    "a sequence": (replace("lin", lambda: nn.Sequential(new_linear())), False),
    "no bias": (replace("lin.bias", lambda: None), False),
    "another shape": (replace("lin.weight", lambda: ones((3, 4))), False),
    "buffer of another shape": (replace("buf", lambda: torch.ones(2, 4)), False),
    "buffer of another dtype": (replace("buf", lambda: torch.ones(4).double()), False),
    "no buffer": (replace("buf", lambda: None), False),
    "hook": (lambda m: m.lin.register_forward_hook(lambda mod, args, out: out * 10), False),
    "early hook": (lambda m: m.lin.register_forward_pre_hook(lambda mod, args: (args[0] * 10,)), False),
    "hook of the module itself": (
        lambda m: m.register_forward_pre_hook(lambda mod, args: (args[0] * 10,)),
        True,
    ),
    "own forward": (replace("lin.forward", lambda: lambda x: x * 100), False),
    "parametrised": (
        lambda m: nn.utils.parametrize.register_parametrization(m.lin, "weight", Tripled()),
        False,
    ),
}


def called(model: Any) -> Any:
    """The result and the state after it; None where something is raised."""
    try:
        result = model(torch.arange(8.0).reshape(2, 4).to(next(model.parameters()).dtype))
    except Exception:
        return None
    return result, dict(model.state_dict())


@both_modes
@pytest.mark.parametrize("name", CHANGES)
def test_changed_module_equals_eager_or_raises(name: str, strict: bool) -> None:
    change, goes_on = CHANGES[name]
    for on_mismatch in ("error", "reexport"):
        eager, live = make(None), make(strict, on_mismatch)
        assert_same(called(eager), called(live))
        for model in (eager, live):
            change(model)
        expected, given = called(eager), called(live)
        if given is None:
            assert expected is None or (not goes_on and on_mismatch == "error")
        else:
            assert expected is not None
            if name != "meta":
                assert_same(expected, given)
            assert goes_on or on_mismatch == "reexport" or name == "meta"


@both_modes
def test_hooks_for_all_modules(strict: bool) -> None:
    live, eager = make(strict), make(None)
    assert_same(called(eager), called(live))
    handle = nn.modules.module.register_module_forward_hook(lambda mod, args, out: out * 10)
    try:
        with pytest.raises(dl.GuardError, match="hooks of all modules"):
            live(torch.ones(2, 4))
    finally:
        handle.remove()
    assert_same(called(eager), called(live))


@both_modes
def test_global_state_around_the_call(strict: bool) -> None:
    class Adds(nn.Module):
        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x + torch.zeros(4) if torch.is_grad_enabled() else x * 3

    model, x = Adds(), torch.arange(4.0)
    assert_same(model(x), x)
    with torch.no_grad(), pytest.raises(dl.GuardError, match="gradient mode"):
        model(x)
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(dl.GuardError, match="autocast"):
        model(x)
    with torch.device("meta"), pytest.raises(dl.GuardError, match="function modes"):
        model(x)
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(dl.GuardError, match="default dtype"):
            model(x)
    finally:
        torch.set_default_dtype(torch.float32)
    assert_same(model(x), x)


@both_modes
def test_gradients_of_a_live_module(strict: bool) -> None:
    eager, live = make(None), make(strict)
    x = torch.arange(8.0).reshape(2, 4)
    for _ in range(2):
        found = []
        for model in (eager, live):
            given = x.clone().requires_grad_()
            result = model(given)
            wanted = [given, model.lin.weight, model.lin.bias]
            first = torch.autograd.grad((result**3).sum(), wanted, create_graph=True)
            second = torch.autograd.grad(sum(part.pow(2).sum() for part in first), wanted)
            found.append((result, first, second))
        assert_same(*found)


@both_modes
def test_copies_and_pickles_begin_anew(strict: bool) -> None:
    live = make(strict)
    called(live)
    twin = copy.deepcopy(live)
    assert live.forward.exported_programs(live) and not twin.forward.exported_programs(twin)
    assert_same(called(copy.deepcopy(live)), called(twin))
    weights = {name: ones(tuple(held.shape)) for name, held in live.named_parameters()}
    eager = make(None)
    eager.load_state_dict(live.state_dict())
    x = torch.ones(2, 4)
    assert_same(
        torch.func.functional_call(eager, weights, (x,)), torch.func.functional_call(live, weights, (x,))
    )


class Pickled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    @dl.exported
    def forward(self, x: Any) -> Any:
        return self.lin(x) * 2


def test_a_decorated_module_is_pickled() -> None:
    model, x = Pickled(), torch.ones(2, 4)
    expected = model(x)
    again = pickle.loads(pickle.dumps(model))
    assert_same(again(x), expected)


@both_modes
def test_captures_in_several_threads_leave_other_threads_alone(strict: bool) -> None:
    """Captures wait for each other; what they replace in PyTorch is theirs alone, and is put back."""
    apply, flags = torch.autograd.Function.__dict__["apply"], torch.compiler.is_exporting()
    failures: list[BaseException] = []

    def capture() -> None:
        try:
            for _ in range(3):
                model, eager = make(strict), make(None)
                assert_same(called(eager), called(model))
        except BaseException as error:
            failures.append(error)

    def elsewhere() -> None:
        try:
            for _ in range(100):
                with torch.inference_mode():
                    assert (torch.ones(2) * 2).is_inference()
                torch._check(True)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for work in (capture, capture, elsewhere)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert torch.autograd.Function.__dict__["apply"] is apply and torch.compiler.is_exporting() is flags


@both_modes
def test_batch_norm_in_training_steps_equal_eager(strict: bool) -> None:
    """A buffer that is updated in place may be kept for the backward pass; its new value must not get in there."""

    def steps(decorate: Callable[[Any], Any]) -> Any:
        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.conv, self.norm, self.lin = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(8, 3)

            @decorate
            def forward(self, x: Any) -> Any:
                return self.lin(self.norm(self.conv(x)).relu().flatten(1))

        torch.manual_seed(0)
        model = Net()
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimiser.zero_grad()
            model(torch.randn(4, 1, 4, 4)).pow(2).sum().backward()
            optimiser.step()
        return dict(model.state_dict())

    assert_same(steps(lambda forward: forward), steps(dl.exported(strict=strict)))


@both_modes
@pytest.mark.parametrize("name", ["requires_grad", "layout"])
def test_what_was_asked_of_a_parameter_is_held(name: str, strict: bool) -> None:
    def gradient(self: Any, x: Any) -> Any:
        return self.lin(x) if self.lin.weight.requires_grad else x * 5

    def layout(self: Any, x: Any) -> Any:
        return self.lin(x) if self.lin.weight.is_contiguous() else x * 5

    def init(self: Any) -> None:
        nn.Module.__init__(self)
        self.lin = nn.Linear(4, 4)

    forward = {"requires_grad": gradient, "layout": layout}[name]
    model: Any = type(
        "Asks", (nn.Module,), {"__init__": init, "forward": dl.exported(strict=strict)(forward)}
    )()
    x = torch.ones(2, 4)
    assert_same(model(x), model.lin(x))
    if name == "requires_grad":
        model.requires_grad_(False)
    else:
        model.lin.weight = nn.Parameter(model.lin.weight.detach().t())
    with pytest.raises(dl.GuardError, match="live-state-changed"):
        model(x)


@both_modes
def test_a_decorated_module_inside_another(strict: bool) -> None:
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 4)

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return self.lin(x) * 2

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Inner(), Inner()

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return self.first(x) + self.second(self.first(x))

    model, x = Outer(), torch.ones(2, 4)
    for _ in range(2):
        first = model.first.lin(x) * 2
        assert_same(model(x), first + model.second.lin(first) * 2)
        model.first.lin.weight.data.mul_(2)
    assert_same(model.first(x), model.first.lin(x) * 2)


def test_hooks_of_a_state_dict_that_forward_asks_for() -> None:
    """They run in forward where it asks; a program without them is refused."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(2, 2)

        @dl.exported()
        def forward(self, x: Any) -> Any:
            return x * self.lin.state_dict()["bias"].sum()

    model, x = Model(), torch.ones(2)
    assert_same(model(x), model(x))
    model.lin.register_state_dict_post_hook(lambda module, found, *_: found.update(bias=torch.ones(2)))
    with pytest.raises(dl.GuardError):
        model(x)
