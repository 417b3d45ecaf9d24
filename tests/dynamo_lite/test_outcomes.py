"""Decisions on data of which one outcome only raises are assertions of the program; all others stay refused (M16, M18).

PYTEST_DONT_REWRITE: the models below assert, and what pytest makes of an ``assert`` is another program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite as dl
from dynamo_lite import torchlite as torch
from dynamo_lite.torchlite import nn

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


def number_first(x: Any) -> Any:
    limit = 10
    assert limit >= x.max()
    return x + 1


def in_between(x: Any) -> Any:
    assert 0 < x.max() < 10
    return x + 1


def of_two_tensors(x: Any) -> Any:
    assert x.max() == x.clamp(max=10).max()
    return x + 1


def of_two_numbers(x: Any) -> Any:
    small = (x < 10).nonzero()
    if small.shape[0] != (x > 0).nonzero().shape[0]:
        raise ValueError
    return x + small.sum()


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


def not_caught(x: Any) -> Any:
    try:
        if (x > 10).any():
            raise ValueError("too large")
    except KeyError:
        return x - 1
    except (OSError, UnicodeError) as error:
        return x - len(error.args)
    return x + 1


def not_caught_outside(x: Any) -> Any:
    try:
        for _ in range(2):
            x = inner(x) - 1
    except KeyError:
        x = x - 1
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
    asserted, with_message, number_first, in_between, of_two_tensors, of_two_numbers, raised, raised_otherwise,
    of_a_number, both_parts, truth_itself, finally_done, not_caught, not_caught_outside, in_a_call,
    in_a_generator,
]  # fmt: skip


@both_modes
@pytest.mark.parametrize("function", ASSERTED)
def test_what_only_raises_is_asserted(function: Callable[[Any], Any], strict: bool) -> None:
    """Where eager raises the program raises; elsewhere both give the same."""
    small, large = torch.ones(4), torch.ones(4) * 50
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


def caught_with_another(x: Any) -> Any:
    try:
        return inner(x)
    except (KeyError, AssertionError):
        return x - 1


def caught_by_a_base(x: Any) -> Any:
    try:
        if (x > 10).any():
            raise NotImplementedError
    except KeyError:
        return x - 2
    except RuntimeError:
        return x - 1
    return x + 1


class Mine(ValueError):
    pass


def caught_by_a_class_of_its_own(x: Any) -> Any:
    try:
        if (x > 10).any():
            raise ValueError("too large")
    except Mine:
        return x - 1
    return x + 1


def message_may_raise(x: Any) -> Any:
    names: list[str] = []
    try:
        if (x > 10).any():
            raise ValueError(names[0])
    except IndexError:
        return x - 1
    return x + 1


def finally_may_raise(x: Any) -> Any:
    names: list[str] = []
    try:
        try:
            assert not (x > 10).any()
        finally:
            names[0] += "seen"
    except IndexError:
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


def lists(x: Any) -> Any:
    assert [x.max()] < [10]
    return x + 1


def lists_differ(x: Any) -> Any:
    assert [x.max(), 1] != [x.min(), 2]
    return x + 1


def lists_are_equal(x: Any) -> Any:
    if [x.max(), 1] == [x.min(), 2]:
        raise ValueError("equal")
    return x + 1


class Answers:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __eq__(self, other: object) -> Any:
        return self.answer

    def __lt__(self, other: object) -> Any:
        return True


def items_answer(x: Any) -> Any:
    assert [Answers(x.max() < 10)] < [Answers(x.min() < 10)]
    return x + 1


REFUSED = [
    lists, lists_differ, lists_are_equal, items_answer, caught, caught_with_another, caught_by_a_base,
    caught_by_a_class_of_its_own, message_may_raise, finally_may_raise, caught_outside, swallowed,
    asked_for, either, through_any, more_than_raising, raises_either_way,
]  # fmt: skip


@both_modes
@pytest.mark.parametrize("function", REFUSED)
def test_real_decisions_are_refused(function: Callable[[Any], Any], strict: bool) -> None:
    """Another outcome than leaving forward is possible, or none: the error of M16, at the line."""
    with pytest.raises((dl.DataDependentError, dl.UnsupportedError)) as refusal:
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
