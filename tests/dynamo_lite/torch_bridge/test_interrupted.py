"""A capture that fails or is interrupted anywhere leaves the module and PyTorch's global state as they were."""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pytest
import torch
import torch.utils.checkpoint
from torch import nn

import dynamo_lite as dl
from dynamo_lite import dispatch
from dynamo_lite.trace.tracer import Tracer
from fx_ir.archive import files
from tests.dynamo_lite.torch_bridge.support import both_modes

KINDS: Final = (ValueError, KeyboardInterrupt, MemoryError)


class Doubled(nn.Module):
    def forward(self, weight: Any) -> Any:
        return weight * 2


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin, self.bn, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.register_buffer("buf", torch.ones(4))
        self.log, self.table, self.count = [1], {"a": 1}, 0
        self.lin.register_forward_hook(lambda module, args, result: result * 2)
        self.lin.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        nn.utils.parametrize.register_parametrization(self.lin, "weight", Doubled())


class Writes(Base):
    """Attributes, containers, buffers, flags and modes change on the way."""

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.log.append(2)
        self.table["b"] = 3
        self.tmp = 5
        y = self.bn(self.lin(x))
        self.buf.add_(1)
        self.buf = self.buf * 2
        with torch.no_grad():
            z = self.drop(y)
        self.eval()
        self.table.pop("a")
        with torch.inference_mode():
            w = z * 1
        del self.tmp
        torch.set_grad_enabled(False)
        v = y + 1
        torch.set_grad_enabled(True)
        x.add_(1)
        self.training = True
        return y * z + Square.apply(x) + w + v


class Modes(Base):
    """Global modes, submodules and branches."""

    def forward(self, x: Any) -> Any:
        with torch.no_grad(), torch.enable_grad():
            y = self.lin(x)
        with torch.autocast("cpu", enabled=False):
            y = y + x
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.lin(y)
        self.lin.extra = nn.ReLU()
        y = self.lin.extra(y)
        y = torch.utils.checkpoint.checkpoint(lambda t: t * 2, y, use_reentrant=False)
        return torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t.sin(), (x,)), y.sum()


def module_state(model: Any) -> list[Any]:
    """Every attribute of the tree by identity, in order; containers and tensors by content too."""
    found: list[Any] = []
    for path, child in model.named_modules():
        for name, value in vars(child).items():
            found.append((path, name, id(value)))
            if isinstance(value, dict):
                found.append([(key, id(held)) for key, held in value.items()])
            elif isinstance(value, list):
                found.append(list(value))
    for name, tensor in model.state_dict(keep_vars=True).items():
        found.append((name, id(tensor), tensor.requires_grad, tensor._version, tensor.detach().tolist()))
    return found


def global_state() -> list[Any]:
    nesting = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    return [
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled(), nesting, torch.get_default_dtype(),
        torch.get_default_device(), torch.get_rng_state().tolist(), torch.get_num_threads(),
        torch.are_deterministic_algorithms_enabled(), torch._C._len_torch_function_stack(),
        torch._C._len_torch_dispatch_stack(), torch.compiler.is_exporting(), torch.compiler.is_compiling(),
        torch._C._functorch.get_dynamic_layer_stack_depth(),
        torch.autograd.Function.__dict__["apply"], torch._C._InferenceMode, torch._check,
        torch.utils.checkpoint.checkpoint, builtins.print, warnings.warn, sys.getprofile(),
    ]  # fmt: skip


def assert_undone(model: Any, export: Callable[[Any, Any], Any]) -> BaseException | None:
    """Runs ``export(model, x)``; whatever comes of it, all is as it was. Returns what was raised."""
    x = torch.ones(3, 4)
    before, outside = module_state(model), global_state()
    raised: BaseException | None = None
    try:
        export(model, x)
    except BaseException as error:
        raised = error
    assert module_state(model) == before
    assert global_state() == outside
    assert x._version == 0
    return raised


@both_modes
@pytest.mark.parametrize("cls", [Writes, Modes])
def test_at_each_operator(cls: Any, strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    original, count, at = Tracer.call, 0, -1
    kind: type[BaseException] = ValueError

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        if count == at:
            raise kind("injected")
        return original(self, *args, **kwargs)

    call.__code__ = call.__code__.replace(co_filename=original.__code__.co_filename)  # or it is the program's
    monkeypatch.setattr(Tracer, "call", call)
    assert assert_undone(cls(), lambda model, x: dl.export(model, (x,), strict=strict)) is None
    total = count
    assert total > 10
    for at in range(1, total + 1):
        kind, count = KINDS[at % 3], 0
        raised = assert_undone(cls(), lambda model, x: dl.export(model, (x,), strict=strict))
        assert type(raised) is kind


@pytest.mark.parametrize("cls", [Writes, Modes])
def test_inside_the_interpreter(cls: Any) -> None:
    """Interrupted where a function of the machine is entered: at every so many of them."""
    count, at = 0, -1

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        if dispatch.recorder() is not None and "/strict/machine/" in frame.f_code.co_filename:
            count += 1
            if count == at:
                sys.settrace(None)
                raise KeyboardInterrupt

    def export(model: Any, x: Any) -> None:
        before = sys.gettrace()
        sys.settrace(watch)
        try:
            dl.export(model, (x,), strict=True)
        finally:
            sys.settrace(before)

    assert assert_undone(cls(), export) is None
    total = count
    assert total > 1000
    for place in range(7, total, total // 25):
        at, count = place, 0
        assert_undone(cls(), export)


def test_no_half_written_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, path = dl.export(nn.Linear(4, 4), (torch.ones(2, 4),)), tmp_path / "program.zip"
    dl.save(program, path)
    before = path.read_bytes()
    write, parts = getattr(files, "write_entry"), 0  # noqa: B009 - not a name that the module exports

    def fail(*args: Any, **kwargs: Any) -> None:
        nonlocal parts
        parts += 1
        if parts % 3 == 0:
            raise KeyboardInterrupt
        write(*args, **kwargs)

    monkeypatch.setattr(files, "write_entry", fail)
    with pytest.raises(KeyboardInterrupt):
        dl.save(program, path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(KeyboardInterrupt):
        dl.save(program, tmp_path / "other.zip")
    assert list(tmp_path.iterdir()) == [path]


@both_modes
def test_refused_inside_a_transformation(strict: bool) -> None:
    """A refusal is nothing that the program handles: what it has entered is left for it."""

    class Transformed(Base):
        def forward(self, x: Any) -> Any:
            return torch.func.grad(lambda t: (t * t).sum())(x), torch.func.vmap(lambda t: t * 2)(x)

    raised = assert_undone(Transformed(), lambda model, x: dl.export(model, (x,), strict=strict))
    assert isinstance(raised, dl.UnsupportedError)
