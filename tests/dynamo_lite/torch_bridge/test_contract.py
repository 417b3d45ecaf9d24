"""Inputs of another kind than the example's: a program gives what eager gives, or raises; and it does not refuse without need."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module

Maker = Callable[[], Any]


class Quiet(torch.Tensor):
    """A subclass that computes otherwise."""

    def __add__(self, other: Any) -> Any:
        return torch.zeros(4, 4)


def square() -> torch.Tensor:
    return torch.arange(16.0).reshape(4, 4)


def needs_grad() -> torch.Tensor:
    return square().requires_grad_()


OTHERS: dict[str, Maker] = {
    "same": square,
    "transposed": lambda: square().t(),
    "expanded": lambda: torch.arange(4.0).expand(4, 4),
    "strided": lambda: torch.arange(64.0).reshape(8, 8)[::2, ::2],
    "offset": lambda: torch.arange(20.0)[4:].reshape(4, 4),
    "negative": lambda: torch.imag((square() * 1j).conj()),
    "leaf": needs_grad,
    "computed": lambda: needs_grad() * 1,
    "parameter": lambda: nn.Parameter(square()),
    "double": lambda: square().double(),
    "integer": lambda: square().long(),
    "boolean": lambda: square() > 3,
    "complex": lambda: square() + 0j,
    "meta": lambda: square().to("meta"),
    "rank": lambda: square()[0],
    "subclass": lambda: square().as_subclass(Quiet),
    "sparse": lambda: square().to_sparse(),
    "compressed": lambda: square().to_sparse_csr(),
    "quantised": lambda: torch.quantize_per_tensor(square(), 1.0, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(4), torch.ones(3)]),
    "none": lambda: None,
    "number": lambda: 3,
    "list": lambda: square().tolist(),
}
# Where the program does not depend on the difference, it takes the input.
ALWAYS = ("same", "transposed", "expanded", "strided", "offset", "negative", "leaf", "computed", "parameter")

# What forward looks at, and which of ALWAYS may then be refused.
MODELS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "nothing": (lambda self, x: x * 2 + 1, ()),
    "dtype": (lambda self, x: x * 2 if x.dtype == torch.float32 else x * 3, ()),
    "promotion": (lambda self, x: x + torch.ones(4, 4, dtype=torch.int64), ()),
    "rank": (lambda self, x: x * 2 if x.dim() == 2 else x * 3, ()),
    "device": (lambda self, x: x * 2 if x.device.type == "cpu" else x * 3, ()),
    "contiguity": (
        lambda self, x: x * 2 if x.is_contiguous() else x * 3,
        ("transposed", "expanded", "strided", "negative"),
    ),
    "strides": (lambda self, x: x * x.stride(0), ("transposed", "expanded", "strided", "negative")),
    "offset": (lambda self, x: x * (x.storage_offset() + 1), ("offset", "negative")),
    "gradient": (lambda self, x: x * 2 if x.requires_grad else x * 3, ("leaf", "computed", "parameter")),
    "leaf": (lambda self, x: x * 2 if x.is_leaf else x * 3, ("leaf", "computed", "parameter")),
    "history": (lambda self, x: x * 2 if x.grad_fn is None else x * 3, ("leaf", "computed", "parameter")),
    "class": (lambda self, x: x * 2 if isinstance(x, nn.Parameter) else x * 3, ("parameter",)),
    "view": (lambda self, x: x.view(-1) * 2, ()),
    "strided": (lambda self, x: torch.as_strided(x, (4,), (1,)), ()),
    "write": (lambda self, x: x.add_(1), ("leaf", "computed", "parameter")),
    "written view": (
        lambda self, x: x.reshape(-1).add_(1),
        ("leaf", "computed", "parameter", "transposed", "expanded", "strided", "negative"),
    ),
    "detached write": (lambda self, x: x.detach().add_(1), ("leaf", "computed", "parameter")),
}


def outcome(run: Callable[..., Any], x: Any) -> Any:
    """The result, the input afterwards and its gradient; None where something is raised."""
    try:
        result = run(x)
    except Exception:
        return None
    if not isinstance(result, torch.Tensor) or not result.requires_grad:
        return result, x, None, False
    (gradient,) = torch.autograd.grad(result.sum(), x, allow_unused=True)
    return result, x, gradient, True


@both_modes
@pytest.mark.parametrize("name", MODELS)
def test_equals_eager_or_raises(name: str, strict: bool) -> None:
    forward, may_refuse = MODELS[name]
    model = module(forward)
    program = dl.export(model, (square(),), strict=strict).module()
    for kind, make in OTHERS.items():
        expected, given = outcome(model, make()), outcome(program, make())
        if given is not None:
            assert expected is not None, kind
            assert_same(expected[0], given[0])
            assert_same(expected[1], given[1])
            assert_same(expected[2], given[2])
            assert expected[3] is given[3], kind
        elif expected is not None and kind in ALWAYS:
            assert kind in may_refuse, kind


@pytest.mark.parametrize("kind", ["subclass", "sparse", "compressed", "quantised", "nested"])
def test_kinds_that_no_program_holds(kind: str) -> None:
    with pytest.raises(dl.UnsupportedError, match="tensor-kind"):
        dl.export(module(lambda self, x: x), (OTHERS[kind](),))


@both_modes
@pytest.mark.parametrize(
    "name", ["grad", "_version", "_base", "retains_grad", "_backward_hooks", "output_nr"]
)
def test_what_autograd_alone_knows_is_refused(name: str, strict: bool) -> None:
    with pytest.raises(dl.UnsupportedError, match="no-autograd"):
        dl.export(module(lambda self, x: (getattr(x, name), x)[1]), (square(),), strict=strict)


@both_modes
def test_class_of_a_parameter_among_inputs(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        return x * 2 if isinstance(x, nn.Parameter) else x * 3

    model = module(forward)
    program = dl.export(model, (nn.Parameter(square()),), strict=strict).module()
    assert_same(model(nn.Parameter(square())), program(nn.Parameter(square())))
    with pytest.raises(dl.GuardError, match="input-class"):
        program(square())


def test_the_new_facts_are_kept_in_files(tmp_path: Any) -> None:
    def forward(self: Any, x: Any) -> Any:
        return x * x.storage_offset() if isinstance(x, nn.Parameter) else x * (x.storage_offset() + 2)

    path = tmp_path / "program.zip"
    dl.save(dl.export(module(forward), (square(),)), path)
    program = dl.load(path).module()
    assert_same(program(square()), square() * 2)
    with pytest.raises(dl.GuardError, match="input-layout"):
        program(OTHERS["offset"]())
    with pytest.raises(dl.GuardError, match="input-class"):
        program(nn.Parameter(square()))


@both_modes
def test_updated_input_may_share_nothing_with_another(strict: bool) -> None:
    model = module(lambda self, x, y: (x.add_(y), y * 2)[1])
    program = dl.export(model, (torch.ones(4), torch.ones(4)), strict=strict).module()
    expected, given = torch.arange(8.0), torch.arange(8.0)
    assert_same(model(expected[:4], expected[4:]), program(given[:4], given[4:]))
    assert_same(expected, given)
    shared = torch.ones(8)
    for second in (shared[:4], shared[2:6]):
        with pytest.raises(dl.GuardError, match="input-alias"):
            program(shared[:4], second)


@both_modes
def test_updated_state_may_share_nothing_with_an_input(strict: bool) -> None:
    def updates_buffer(self: Any, x: Any) -> Any:
        self.buf.add_(1)
        return x * 2

    def updates_input(self: Any, x: Any) -> Any:
        x.add_(1)
        return self.buf * 2

    for forward in (updates_buffer, updates_input):
        model = module(forward)
        program = dl.export(model, (torch.ones(4),), strict=strict).module()
        assert_same(copy.deepcopy(model)(torch.ones(4)), program(torch.ones(4)))
        with pytest.raises(dl.GuardError, match="state-shared"):
            program(program.buf)
        with pytest.raises(dl.InputError, match="aliased-inputs-written"):
            dl.export(model, (model.buf,), strict=strict)


@both_modes
def test_buffer_with_two_names(strict: bool) -> None:
    def in_place(self: Any, x: Any) -> Any:
        self.first.add_(1)
        self.second.mul_(2)
        return x + self.first

    def replaced(self: Any, x: Any) -> Any:
        self.first.add_(1)
        self.second = self.second * 2
        return x

    def model(forward: Any) -> Any:
        made = module(forward)
        made.register_buffer("first", torch.ones(4))
        made.register_buffer("second", made.first)
        return made

    program = dl.export(model(in_place), (torch.ones(4),), strict=strict).module()
    assert_same(model(in_place)(torch.ones(4)), program(torch.ones(4)))
    with pytest.raises(dl.StateError, match="tied-buffer-replaced"):
        dl.export(model(replaced), (torch.ones(4),), strict=strict)
