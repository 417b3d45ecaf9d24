"""Loop operators: recorded once with their body, equal to eager at every length and number of steps (M17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from tests.exporting import MODES, agree, arrays, both, both_modes, module, numbers, refused

ROWS = {"x": {0: Dim("n", min=1, max=64)}}


def power(x: Any, limit: Any) -> Any:
    return dl.while_loop(lambda i, a: i < limit, lambda i, a: (i + 1, a * 2 + x.sum()), (torch.zeros(()), x))


def test_while_loop_runs_as_often_as_its_data_say() -> None:
    """M17: the number of steps is decided at run time, none included."""
    shapes = {**ROWS, "limit": None}
    for program in both(power, (numbers(3, 2), torch.full((), 4.0)), dynamic_shapes=shapes):
        for steps in (0.0, 1.0, 5.0):
            agree(
                program,
                power,
                [(numbers(4, 2), torch.full((), steps)), (numbers(1, 2), torch.full((), steps))],
            )


def test_while_loop_carries_integers() -> None:
    """M17, M21: a carried int is unknown inside the body and after the loop."""

    def forward(x: Any) -> Any:
        return dl.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + i), (0, x))

    for program in both(forward, (numbers(2),)):
        given, result = program.module()(numbers(2))
        assert given == 3 and arrays(result) == arrays(numbers(2) + 0 + 1 + 2)

    def decides(x: Any) -> Any:
        i, a = dl.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + i), (0, x))
        return a if i > 2 else -a

    for strict in MODES:
        assert isinstance(refused(decides, (numbers(2),), strict=strict), dl.DataDependentError)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scan(reverse: bool, dim: int) -> None:
    """M17: carry and stacked results, along each dimension, both ways."""

    def forward(x: Any) -> Any:
        width = x.shape[1 if dim == 0 else 0]
        carry, ys = dl.scan(
            lambda c, s: (c + s, {"a": c * s, "b": s.sum()}), torch.zeros(width), x, dim=dim, reverse=reverse
        )
        return carry, ys["a"]

    if dim == 0:
        for program in both(forward, (numbers(3, 2),), dynamic_shapes=ROWS):
            agree(program, forward, [(numbers(n, 2),) for n in (1, 2, 5)])
    else:
        for program in both(forward, (numbers(3, 2),)):
            agree(program, forward, [(numbers(3, 2),)])


@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(reverse: bool) -> None:
    """M17: an inclusive scan of a pair of tensors, with a tensor from outside the function."""

    def forward(x: Any, y: Any) -> Any:
        bias = y[0]
        return dl.associative_scan(
            lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1] + bias * 0), (x, y), dim=0, reverse=reverse
        )

    shapes = {"x": {0: Dim("n", min=1, max=9)}, "y": {0: Dim("n", min=1, max=9)}}
    for program in both(forward, (numbers(4, 3), numbers(4, 3)), dynamic_shapes=shapes):
        agree(program, forward, [(numbers(n, 3), numbers(n, 3)) for n in (1, 2, 7)])


@both_modes
def test_files_and_unflatten(strict: bool, tmp_path: Path) -> None:
    """M17, M33, M34: loops travel in files and in module hierarchies."""
    given = (numbers(3, 2), torch.full((), 2.0))
    program = dl.export(module(power), given, dynamic_shapes={**ROWS, "limit": None}, strict=strict)
    dl.save(program, tmp_path / "loop.dlp")
    loaded = dl.load(tmp_path / "loop.dlp")
    loaded.validate()
    for run in (loaded.module(), dl.unflatten(program)):
        assert arrays(run(*given)) == arrays(power(*given))


def writes(x: Any) -> Any:
    return dl.map(lambda row: row.add_(1), x)


def grows(x: Any) -> Any:
    return dl.while_loop(lambda a: a.sum() < 9, lambda a: (torch.cat([a, a]),), (x,))


def other_dtype(x: Any) -> Any:
    return dl.scan(lambda c, s: (c.to(torch.float64), s), torch.zeros(2), x)


def no_pair(x: Any) -> Any:
    return dl.scan(lambda c, s: c, torch.zeros(2), x)


def no_condition(x: Any) -> Any:
    return dl.while_loop(lambda a: a, lambda a: (a,), (x,))


@both_modes
@pytest.mark.parametrize("forward", [writes, grows, other_dtype, no_pair, no_condition])
def test_refusals(strict: bool, forward: Any) -> None:
    """M17: bodies that write to what they are given, change the state's kind, or return something else."""
    error = refused(forward, (numbers(3, 2),), strict=strict)
    assert isinstance(error, (dl.UnsupportedError, dl.InputError))
    assert error.id.startswith("loop-")
