"""Decisions on data of which one outcome only raises are assertions of the program; all others stay refused (M16, M18).

PYTEST_DONT_REWRITE: the models below assert, and what pytest makes of an ``assert`` is another program.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite as dl
from dynamo_lite import torchlite as torch
from dynamo_lite.torchlite import nn

# From 3.13 on comparing and asking for the truth of it is one instruction, and non-strict mode cannot tell what asks.
ASKED_AT_ONCE = "TO_BOOL" in dis.opmap
both_modes = pytest.mark.parametrize("strict", [True, False], ids=["strict", "nonstrict"])


class Runs(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def asserted(x: Any) -> Any:
    assert x.max() < 10
    return x + 1


def with_message(x: Any) -> Any:
    assert x.max().item() <= 10, "too large"
    return x + 1


def raised(x: Any) -> Any:
    if x.sum() > 100:
        raise ValueError("too large")
    return x + 1


def raised_otherwise(x: Any) -> Any:
    if x.sum() <= 100:
        y = x + 1
    else:
        raise RuntimeError(f"too large for {x.shape[0]} numbers: {x.sum()}")
    return y


def of_a_number(x: Any) -> Any:
    count = (x < 10).nonzero().shape[0]
    if count == 0:
        raise ValueError
    return x.sum() / count


def both_parts(x: Any) -> Any:
    assert x.min() > -100 and not x.max() > 10, "too large"
    return x + 1


def truth_itself(x: Any) -> Any:
    if (x > 10).any():
        raise ValueError("too large")
    return x + 1


def finally_done(x: Any) -> Any:
    try:
        assert not (x > 10).any()
    finally:
        x = x + 1
    return x


def inner(x: Any) -> Any:
    assert not (x > 10).any()
    return x + 1


def in_a_call(x: Any) -> Any:
    return sum([inner(part) for part in (x, x * 1)])


def in_a_generator(x: Any) -> Any:
    return sum(inner(part) for part in (x, x * 1))


ASSERTED = [
    asserted, with_message, raised, raised_otherwise, of_a_number, both_parts, truth_itself, finally_done, in_a_call,
    in_a_generator,
]  # fmt: skip
COMPARES = (asserted, with_message, raised, raised_otherwise, of_a_number, both_parts)


@both_modes
@pytest.mark.parametrize("function", ASSERTED)
def test_what_only_raises_is_asserted(function: Callable[[Any], Any], strict: bool) -> None:
    """Where eager raises the program raises; elsewhere both give the same."""
    small, large = torch.ones(4), torch.ones(4) * 50
    if not strict and ASKED_AT_ONCE and function in COMPARES:
        with pytest.raises(dl.DataDependentError):
            dl.export(Runs(function), (small,), strict=strict)
        return
    program = dl.export(Runs(function), (small,), strict=strict)
    assert program.module()(small).tolist() == function(small).tolist()
    with pytest.raises((AssertionError, ValueError, RuntimeError)):
        function(large)
    with pytest.raises((RuntimeError, dl.GuardError)):
        program.module()(large)


def test_message_is_kept() -> None:
    for function in (with_message, raised, truth_itself):
        program = dl.export(Runs(function), (torch.ones(4),), strict=True)
        with pytest.raises(Exception, match="too large"):
            program.module()(torch.ones(4) * 50)


def caught(x: Any) -> Any:
    try:
        if (x > 10).any():
            raise ValueError("too large")
    except ValueError:
        return x - 1
    return x + 1


def caught_outside(x: Any) -> Any:
    try:
        return inner(x)
    except Exception:
        return x - 1


class Swallows:
    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> bool:
        return True


def swallowed(x: Any) -> Any:
    with Swallows():
        return inner(x)
    return x - 1


class Sized:
    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def wide(self) -> bool:
        if (self.x > 10).any():
            raise AttributeError("wide")
        return True


def asked_for(x: Any) -> Any:
    return x + 1 if hasattr(Sized(x), "wide") else x - 1


def either(x: Any) -> Any:
    assert (x > 10).any() or (x < 5).any()
    return x + 1


def through_any(x: Any) -> Any:
    assert not any([(x > 10).any()])
    return x + 1


def more_than_raising(x: Any) -> Any:
    if (x > 10).any():
        x = x - 1
        if x.shape[0] == 4:
            raise ValueError("too large")
    return x + 1


def raises_either_way(x: Any) -> Any:
    if (x > 10).any():
        raise ValueError("too large")
    raise RuntimeError("not too large")


REFUSED = [
    caught, caught_outside, swallowed, asked_for, either, through_any, more_than_raising, raises_either_way,
]  # fmt: skip


@both_modes
@pytest.mark.parametrize("function", REFUSED)
def test_real_decisions_are_refused(function: Callable[[Any], Any], strict: bool) -> None:
    """Another outcome than leaving forward is possible, or none: the error of M16, at the line."""
    with pytest.raises(dl.DataDependentError) as refusal:
        dl.export(Runs(function), (torch.ones(4),), strict=strict)
    assert refusal.value.location is not None
    assert refusal.value.location.file == __file__


@both_modes
def test_assertions_teach(strict: bool) -> None:
    """What was asserted of a size is known on the next lines, as after ``_check``."""

    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            count = x.nonzero().shape[0]
            wrong = count < 2
            if wrong:
                raise ValueError("too few")
            return x + 1 if count >= 2 else x - 1

    program = dl.export(Model(), (torch.ones(4),), strict=strict)
    assert program.module()(torch.ones(4)).tolist() == [2.0] * 4
    with pytest.raises(dl.GuardError, match="too few"):
        program.module()(torch.zeros(4))
