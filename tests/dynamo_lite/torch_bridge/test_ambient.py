"""State of the process under PyTorch: changed between calls the result is eager's, or the call raises. Modes, and code without Python."""

from __future__ import annotations

import contextvars
import decimal
import inspect
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from torch import nn

import dynamo_lite as dl

both_modes = pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])
LOGGER: Final = logging.getLogger("tests.ambient.torch")


def cast(dtype: torch.dtype) -> None:
    torch.set_autocast_dtype("cpu", dtype)


def precision(digits: int) -> None:
    decimal.getcontext().prec = digits


# what forward reads; a change, what it was before, and another
ROWS: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Any, Any]]] = {
    "autocast_dtype": (
        lambda: 2.0 if torch.get_autocast_dtype("cpu") is torch.bfloat16 else 3.0,
        cast,
        torch.bfloat16,
        torch.float16,
    ),
    "seed": (lambda: float(torch.initial_seed() % 100), torch.manual_seed, 3, 4),
    "decimal": (lambda: float(Decimal(1) / Decimal(3)), precision, 28, 3),
    "level": (lambda: float(LOGGER.getEffectiveLevel()), LOGGER.setLevel, 30, 10),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_state_of_the_process_is_a_condition(name: str) -> None:
    read, change, before, other = ROWS[name]

    class Model(nn.Module):
        @dl.exported(strict=True)
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * read()

    model: Any = Model()
    x = torch.ones(2)

    def scene() -> None:
        change(before)
        expected = Model.forward.function(model, x)
        for _ in range(2):
            assert torch.equal(model(x), expected)
        change(other)
        assert not torch.equal(Model.forward.function(model, x), expected)
        with pytest.raises(dl.GuardError):
            model(x)

    try:
        contextvars.copy_context().run(scene)
    finally:
        change(before)
        LOGGER.setLevel(logging.NOTSET)


class Gradients(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if torch.is_grad_enabled() else x * 3


class Inference(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if torch.is_inference_mode_enabled() else x * 3


class Followed(nn.Module):
    """Whether a result requires gradients is asked, and so is the mode."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.lin(x)
        return y * 2 if y.requires_grad else y * 3


MODES: Final[tuple[Callable[[], AbstractContextManager[Any]], ...]] = (nullcontext, torch.no_grad)


@both_modes
@pytest.mark.parametrize("made", MODES)
@pytest.mark.parametrize("run", MODES)
@pytest.mark.parametrize("kind", [Gradients, Followed])
def test_a_program_runs_in_the_gradient_mode_that_it_asked_for(
    kind: type[nn.Module], run: Any, made: Any, strict: bool, tmp_path: Path
) -> None:
    model, x = kind(), torch.ones(2)
    with made():
        program = dl.export(model, (x,), strict=strict)
    dl.save(program, tmp_path / "program.zip")
    with run():
        for each in (program, dl.load(tmp_path / "program.zip")):
            if run is made:
                assert torch.equal(each.module()(x), model(x))
                continue
            with pytest.raises(dl.GuardError, match="gradient-mode-around"):
                each.module()(x)


@both_modes
def test_a_program_that_asks_for_no_mode_runs_in_each(strict: bool) -> None:
    program = dl.export(nn.Linear(2, 2), (torch.ones(2),), strict=strict)
    with torch.no_grad():
        program.module()(torch.ones(2))


@both_modes
def test_inference_mode_is_a_condition(strict: bool) -> None:
    class Model(nn.Module):
        forward = dl.exported(strict=strict)(Inference.forward)

    model, x = Model(), torch.ones(2)
    with torch.no_grad():
        assert torch.equal(model(x), x * 3)
        with torch.inference_mode(), pytest.raises(dl.GuardError):
            model(x)
        assert torch.equal(model(x), x * 3)


class Doubled(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@both_modes
@pytest.mark.parametrize(
    "compiled", [torch.jit.script, lambda module: torch.jit.trace(module, torch.ones(2))]
)
def test_a_compiled_module_that_forward_finds_itself(compiled: Any, strict: bool) -> None:
    found = compiled(Doubled())

    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return found(x) + 1

    with pytest.raises(dl.UnsupportedError, match="not-python") as caught:
        dl.export(Model(), (torch.ones(2),), strict=strict)
    assert caught.value.location is not None
    assert caught.value.location.line == Model.forward.__code__.co_firstlineno + 1
    assert "torch.jit.script" in str(caught.value)
    assert torch.equal(found(torch.ones(2)), torch.full((2,), 2.0))


@pytest.mark.parametrize("name", ["cond", "map", "while_loop", "scan", "associative_scan", "check"])
def test_signatures_can_be_read(name: str) -> None:
    function: Any = getattr(dl, name)
    found = inspect.signature(function)
    assert list(found.parameters) == list(inspect.signature(function.like).parameters)
    for each in found.parameters.values():
        assert each.default == inspect.signature(function.like).parameters[each.name].default
