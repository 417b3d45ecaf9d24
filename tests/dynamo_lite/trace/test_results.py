"""Results of control flow: shared memory and layouts that depend on data are refused where they matter, and right elsewhere (M17)."""

from __future__ import annotations

from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from tests.exporting import agree, both, both_modes, numbers, refused

ROWS = {"x": {0: Dim("n", min=1, max=9)}, "t": None}


def twice(x: Any, t: Any) -> Any:
    return dl.while_loop(lambda i, a: i < t, lambda i, a: (i + 1, a * 2), (torch.zeros(()), x))[1]


def written_after_loop(x: Any, t: Any) -> Any:
    return twice(x, t).add_(1)


def operand_written(x: Any, t: Any) -> Any:
    y = dl.cond(t > 0, lambda a: a[1:], lambda a: a[1:] + 1, (x,))
    x.add_(1)
    return y * 2


def written_through_view(x: Any, t: Any) -> Any:
    dl.cond(t > 0, lambda a: a, lambda a: a + 1, (x,))[0].add_(1)
    return x


def nested(x: Any, t: Any) -> Any:
    inner = lambda a: dl.cond(t > 1, lambda a: a, lambda a: a * 2, (a,))  # noqa: E731
    return dl.cond(t > 0, inner, lambda a: a + 1, (x,)).add_(1)


def passed_on(x: Any, t: Any) -> Any:
    carry, ys = dl.scan(lambda c, s: (s, c + s), torch.zeros(2), x)
    return carry.add_(t), ys


@both_modes
@pytest.mark.parametrize(
    "forward", [written_after_loop, operand_written, written_through_view, nested, passed_on]
)
def test_writes_that_may_show_elsewhere(strict: bool, forward: Any) -> None:
    """M17: eager shows the write in the operand or not, as the data say; a graph cannot."""
    error = refused(forward, (numbers(3, 2), torch.full((), 1.0)), dynamic_shapes=ROWS, strict=strict)
    assert error.id == "result-may-share-memory" and __file__ in str(error)


def fresh(x: Any, t: Any) -> Any:
    a = dl.cond(t > 0, lambda a: a.clone(), lambda a: a + 1, (x,)).add_(1)
    b = dl.while_loop(lambda i, a: i < t, lambda i, a: (i + 1, a * 2), (torch.zeros(()), x.clone()))[1].add_(
        1
    )
    return a, b, twice(x, t)


def test_writes_to_what_is_new() -> None:
    """M17: copies may be written, and what nobody writes may be shared."""
    for program in both(fresh, (numbers(3, 2), torch.full((), 1.0)), dynamic_shapes=ROWS):
        agree(
            program, fresh, [(numbers(n, 2), torch.full((), steps)) for n in (1, 4) for steps in (0.0, 2.0)]
        )


def layout_of_branches(x: Any, t: Any) -> Any:
    return dl.cond(t > 0, lambda a: a.t(), lambda a: a.t().contiguous(), (x,)).is_contiguous()


def layout_after_loop(x: Any, t: Any) -> Any:
    return twice(x.t(), t).stride()


def layout_in_step(x: Any, t: Any) -> Any:
    return dl.while_loop(lambda a: a.sum() < t, lambda a: (a.view(-1).view(a.shape) * 2,), (x.t(),))


def layout_of_another_carry(x: Any, t: Any) -> Any:
    """The second value takes over the layout that the first one gets in its first step."""
    square = x @ x.t()
    step = lambda i, a, b: (i + 1, a.t(), a + 0)  # noqa: E731
    return dl.while_loop(lambda i, a, b: i < t, step, (torch.zeros(()), square, square))[2].is_contiguous()


def place_of_result(x: Any, t: Any) -> Any:
    return dl.cond(t > 0, lambda a: a[1:], lambda a: a[:-1], (x,)).storage_offset()


@both_modes
@pytest.mark.parametrize(
    "forward",
    [layout_of_branches, layout_after_loop, layout_in_step, layout_of_another_carry, place_of_result],
)
def test_layouts_that_depend_on_data(strict: bool, forward: Any) -> None:
    """M17: strides that differ from branch to branch or from step to step have no answer."""
    shapes = {"x": {0: Dim("n", min=2, max=9)}, "t": None}
    error = refused(forward, (numbers(3, 2), torch.full((), 1.0)), dynamic_shapes=shapes, strict=strict)
    assert error.id == "layout-depends-on-data" and __file__ in str(error)


def layouts(x: Any, t: Any) -> Any:
    y = dl.cond(t > 0, lambda a: a.t(), lambda a: (a * 2).t(), (x,))
    z = twice(x, t)
    rows = dl.map(lambda row: (row.t() * 2, row + row.is_contiguous()), x[None].transpose(1, 2))
    return y.is_contiguous(), y.reshape(-1), z.view(-1), z.stride(0), rows


def test_layouts_that_agree() -> None:
    """M17: where all ways give the same layout it is known, and nobody else needs it."""
    shapes = {"x": {0: Dim("n", min=2, max=9)}, "t": None}
    for program in both(layouts, (numbers(3, 2), torch.full((), 1.0)), dynamic_shapes=shapes):
        agree(
            program, layouts, [(numbers(n, 2), torch.full((), steps)) for n in (2, 4) for steps in (0.0, 2.0)]
        )


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_no_steps(rows: int) -> None:
    """M17: loops over nothing give nothing, of the shapes that a step would give, in eager and in programs."""

    def forward(x: Any) -> Any:
        scanned = dl.scan(lambda c, s: (c + s, (c.sum(), s)), torch.zeros(4), x, dim=-2, reverse=True)
        return (
            dl.map(lambda r: r[:2], x),
            scanned,
            dl.associative_scan(lambda a, b: a + b, x, -2, reverse=True),
        )

    for program in both(forward, (numbers(2, 4),), dynamic_shapes={"x": {0: Dim("n", min=0, max=9)}}):
        agree(program, forward, [(numbers(rows, 4),)])


@both_modes
def test_results_that_cannot_be_stacked(strict: bool) -> None:
    """M17: a step of map gives tensors."""
    assert (
        refused(lambda x: dl.map(lambda r: r.shape[0] > 1, x), (numbers(3, 2),), strict=strict).id
        == "loop-result"
    )
