"""What PyTorch's functions ask of the program's own objects is watched: it runs once for each time that eager runs it, or is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import dynamo_lite as dl

ASKED: list[str] = []


class Own:
    """Answers in Python, and notes it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> bool:
        ASKED.append("bool")
        return bool(self.value)

    def __int__(self) -> int:
        ASKED.append("int")
        return int(self.value)

    def __iter__(self) -> Iterator[int]:
        ASKED.append("iter")
        return iter([2, 3])

    def __str__(self) -> str:
        ASKED.append("str")
        return "own"


def check(x: Any) -> Any:
    torch._check(Own(True))
    return x * 2


def check_assert(x: Any) -> Any:
    torch._assert(Own(True), "own")
    return x * 2


def size(x: Any) -> Any:
    return x * torch.Size(Own(0)).numel()


def broadcast(x: Any) -> Any:
    return x * torch.broadcast_shapes(Own(0), (2, 1))[1]


def sym_not(x: Any) -> Any:
    return x * 2 if torch.sym_not(Own(False)) else x


def sym_ite(x: Any) -> Any:
    return x * torch.sym_ite(Own(True), 5, 6)


def sym_int(x: Any) -> Any:
    return x * torch.sym_int(Own(4.0))


class Calls(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize("function", [check_assert, size, sym_not, sym_int])
def test_answers_of_the_programs_objects(function: Callable[[Any], Any]) -> None:
    x = torch.ones(3)
    ASKED.clear()
    program = dl.export(Calls(function), (x,), strict=True)
    assert ASKED == []
    torch.testing.assert_close(program.module()(x), function(x))
    assert ASKED


@pytest.mark.parametrize("function", [check, broadcast, sym_ite])
def test_what_eager_takes_from_no_object_is_not_asked_natively(function: Callable[[Any], Any]) -> None:
    with pytest.raises((TypeError, RuntimeError, AssertionError)):
        function(torch.ones(3))
    ASKED.clear()
    with contextlib.suppress(TypeError, RuntimeError, AssertionError):
        dl.export(Calls(function), (torch.ones(3),), strict=True)
    assert ASKED == []


@pytest.mark.parametrize("strict", [True, False])
def test_a_gradient_mode_is_a_bool(strict: bool) -> None:
    """As in eager; in strict mode a condition on a size is one."""
    before = torch.is_grad_enabled()

    def own(x: Any) -> Any:
        torch.set_grad_enabled(Own(False))
        return x * 2

    def of_a_size(x: Any) -> Any:
        with torch.set_grad_enabled(x.shape[0] > 2):
            return x * 2

    with pytest.raises(TypeError, match="must be bool, not Own"):
        own(torch.ones(3))
    with pytest.raises(TypeError, match="must be bool, not Own"):
        dl.export(Calls(own), (torch.ones(3),), strict=strict)
    assert torch.is_grad_enabled() == before
    shapes = ({0: dl.Dim("n", min=3)},)
    program = dl.export(Calls(of_a_size), (torch.ones(3),), dynamic_shapes=shapes, strict=True)
    assert program.module()(torch.ones(5)).tolist() == [2.0] * 5
