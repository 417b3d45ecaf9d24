"""Updates in place that read what they write: eager's result, or an error."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module

VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda y: y,
    "transposed": lambda y: y.t(),
    "first rows": lambda y: y[:-1],
    "last rows": lambda y: y[1:],
    "a row": lambda y: y[1],
    "another row": lambda y: y[2],
    "a column": lambda y: y[:, 1],
    "another column": lambda y: y[:, 2],
    "columns": lambda y: y[:, :2],
    "other columns": lambda y: y[:, 2:],
    "every second": lambda y: y[::2],
    "the others": lambda y: y[1::2],
    "flat": lambda y: y.view(-1),
    "diagonal": lambda y: y.diagonal(),
    "again": lambda y: y.view(4, 4),
    "a piece": lambda y: y.split([1, 3])[0],
    "copy": lambda y: y.clone(),
}
PAIRS = [(a, b) for a in VIEWS for b in VIEWS]
random.Random(5).shuffle(PAIRS)


def adding(written: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[..., Any]:
    def forward(self: Any, x: Any) -> Any:
        y = x * 1
        written(y).add_(read(y))
        return y

    return forward


@pytest.mark.parametrize("part", range(8))
def test_any_two_views(part: int) -> None:
    """Where no element is shared, or all by the same places, eager's result; where eager raises or orders matter, an error."""
    for written, read in PAIRS[part::8]:
        forward = adding(VIEWS[written], VIEWS[read])
        x = torch.arange(16.0).reshape(4, 4)
        numbers = torch.arange(16).reshape(4, 4)
        first, second = VIEWS[written](numbers), VIEWS[read](numbers)
        shared = "copy" not in (written, read) and bool(
            set(first.flatten().tolist()) & set(second.flatten().tolist())
        )
        safe = not shared or (first.shape == second.shape and bool((first == second).all()))
        try:
            expected = module(forward)(x)
        except RuntimeError:
            with pytest.raises((RuntimeError, dl.UnsupportedError)):
                dl.export(module(forward), (x,), strict=part % 2 == 0)
            continue
        if safe:
            assert_same(dl.export(module(forward), (x,), strict=part % 2 == 0).module()(x), expected)
        else:
            with pytest.raises(dl.UnsupportedError, match="reads-what-it-writes"):
                dl.export(module(forward), (x,), strict=part % 2 == 0)


def rows_apart(self: Any, x: Any) -> Any:
    y = x * 1
    y[0].add_(y[1])
    y[:, :1].mul_(y[:, 1:])
    first, second = y.chunk(2, 1)
    first.add_(second)
    y.add_(y)
    y[1:].mul_(y[1:])
    return y


def shifted(self: Any, x: Any) -> Any:
    y = x * 1
    y[1:].add_(y[:-1])
    return y


def shifted_from_the_end(self: Any, x: Any) -> Any:
    y = x * 1
    y[-1].add_(y[2])  # one row if there are three
    return y


@both_modes
def test_with_dynamic_sizes(strict: bool) -> None:
    spec = {"x": {0: dl.Dim("n", min=2, max=9)}}
    program = dl.export(module(rows_apart), (torch.randn(4, 2),), dynamic_shapes=spec, strict=strict).module()
    for n in (2, 4, 7):
        x = torch.randn(n, 2)
        assert_same(program(x), module(rows_apart)(x))
    spec = {"x": {0: dl.Dim("n", min=3, max=9)}}
    for forward in (shifted, shifted_from_the_end):
        with pytest.raises(dl.UnsupportedError, match="reads-what-it-writes"):
            dl.export(module(forward), (torch.randn(4, 2),), dynamic_shapes=spec, strict=strict)


@both_modes
@pytest.mark.parametrize(
    "update",
    [
        lambda y: y.addmm_(y, y),
        lambda y: y.index_add_(0, torch.tensor([0]), y[:1]),
        lambda y: y.scatter_(0, torch.zeros(1, 4, dtype=torch.long), y),
    ],
)
def test_operators_of_several_steps_do_not_read_even_themselves(update: Any, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y = x * 1
        update(y)
        return y

    with pytest.raises(dl.UnsupportedError, match="reads-what-it-writes"):
        dl.export(module(forward), (torch.randn(4, 4),), strict=strict)


def view_written(self: Any, x: Any) -> Any:
    y = self.lin(x)
    with torch.no_grad():
        v = y.view(-1)
    v.mul_(2)
    return y


def base_written(self: Any, x: Any) -> Any:
    y = self.lin(x)
    with torch.no_grad():
        v = y[0]
    y.mul_(2)
    return v * 1


@both_modes
@pytest.mark.parametrize("forward", [view_written, base_written])
def test_a_view_made_with_gradients_off_is_not_updated(forward: Any, strict: bool) -> None:
    with pytest.raises(RuntimeError, match="no_grad"):
        module(forward)(torch.randn(2, 4))
    with pytest.raises(dl.UnsupportedError, match="gradient-written"):
        dl.export(module(forward), (torch.randn(2, 4),), strict=strict)


OUT: dict[str, Callable[[Any], Any]] = {
    "the rows before": lambda a: torch.add(a[1:3], 1, out=a[0:2]),
    "the rows after": lambda a: torch.add(a[:-1], 1, out=a[1:]),
    "itself": lambda a: torch.add(a, a, out=a),
    "a part of itself": lambda a: torch.mul(a[0:2], 3, out=a[0:2]),
    "another part": lambda a: torch.mul(a[:2], 3, out=a[2:]),
    "transposed": lambda a: torch.add(a, a.t(), out=a),
    "product": lambda a: torch.mm(a, a, out=a),
    "product elsewhere": lambda a: torch.mm(a[:2], a, out=a[:2] * 1),
    "joined": lambda a: torch.cat([a[:1], a[:2]], out=a[:3]),
    "stacked": lambda a: torch.stack([a[0], a[1]], out=a[1:3]),
    "sums on the way": lambda a: torch.cumsum(a, 0, out=a),
    "sum": lambda a: torch.sum(a, 0, out=a[0]),
    "softmax": lambda a: torch.softmax(a, 0, out=a),
    "gathered": lambda a: torch.gather(a, 0, torch.zeros(4, 4, dtype=torch.long), out=a),
    "selected": lambda a: torch.index_select(a, 0, torch.tensor([1, 0, 2, 3]), out=a),
    "chosen": lambda a: torch.where(a > 0, a, a.t(), out=a),
    "two for one": lambda a: torch.sort(a[:2], 0, out=(a[2:], torch.zeros(2, 4, dtype=torch.long))),
    "one number for all": lambda a: torch.add(a[0], 1, out=a[:1].expand(4, 4)[0]),
}
SPLIT: dict[str, Callable[[Any], Any]] = {
    "split": lambda a: a.split(2), "sizes": lambda a: a.split([1, 3]), "unbind": lambda a: a.unbind(0),
    "chunk": lambda a: a.chunk(2), "rows": tuple, "tensor_split": lambda a: a.tensor_split(3),
    "hsplit": lambda a: torch.hsplit(a, 2), "unsafe_split": lambda a: torch.unsafe_split(a, 2),
    "unsafe_chunk": lambda a: torch.unsafe_chunk(a, 2), "one by one": lambda a: (a[0], a[1:]),
}  # fmt: skip
UPDATES: dict[str, Callable[[Any], Any]] = {
    "first": lambda parts: parts[0].mul_(3),
    "both": lambda parts: (parts[0].mul_(2), parts[1].add_(parts[1])),
    "item": lambda parts: parts[0].__setitem__(0, 5.0),
    "data": lambda parts: parts[0].data.mul_(2),
    "detached": lambda parts: parts[1].detach().mul_(2),
}


def outcome(model: Any, x: Any, grad: bool) -> tuple[Any, ...] | None:
    """Results, whether they require gradients, the gradient of ``x``; None where it raises."""
    given = x.clone().requires_grad_(grad)
    try:
        results = model(given)
        follows = [result for result in results if result.requires_grad]
        slope = torch.autograd.grad(sum((r * r).sum() for r in follows), given)[0] if follows else None
    except RuntimeError:
        return None
    return [r.detach() for r in results], [r.requires_grad for r in results], slope


def assert_same_or_refused(forward: Callable[..., Any], grad: bool, strict: bool) -> bool:
    """Where eager answers the program gives its results and gradients, or the export names why not; True for an answer."""
    x = torch.arange(16.0).reshape(4, 4) - 7
    expected = outcome(module(forward), x, grad)
    try:
        program = dl.export(module(forward), (x.clone().requires_grad_(grad),), strict=strict)
    except (RuntimeError, dl.UnsupportedError) as error:
        assert expected is None or isinstance(error, dl.UnsupportedError)
        return False
    found = outcome(program.module(), x, grad)
    assert expected is not None and found is not None
    assert all(map(torch.equal, expected[0], found[0])) and expected[1] == found[1]
    assert expected[2] is found[2] is None or torch.equal(expected[2], found[2])
    return True


@both_modes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grad", [False, True], ids=["plain", "grad"])
@pytest.mark.parametrize("name", OUT)
def test_out_over_an_operand(name: str, grad: bool, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        a = x * 1
        OUT[name](a)
        return (a,)

    answered = assert_same_or_refused(forward, grad, strict)
    assert answered or grad or name not in ("itself", "a part of itself", "another part", "product elsewhere")


@both_modes
@pytest.mark.parametrize("how", ["with gradients", "split without", "without"])
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("split", SPLIT)
def test_updates_of_pieces(split: str, update: str, how: str, strict: bool) -> None:
    """Autograd refuses updates of several views made at once, and does not see that ``unsafe_split`` gives views."""

    def forward(self: Any, x: Any) -> Any:
        a = x * 1
        with torch.set_grad_enabled(how == "with gradients"):
            parts = SPLIT[split](a)
        with torch.set_grad_enabled(how != "without"):
            UPDATES[update](parts)
        return (a, *parts)

    answered = [assert_same_or_refused(forward, grad, strict) for grad in (False, True)]
    hidden = how != "with gradients" or update in ("data", "detached")
    assert answered[0] or hidden or split.startswith("unsafe")


@both_modes
def test_copies_are_differentiable(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y, z = self.lin(x), torch.zeros(3, 4, dtype=torch.float64)
        y[1:] = x[0]
        z.copy_(y)
        y[:, 0].copy_(z[0, 1:])
        return y * z

    model, x = module(forward), torch.randn(3, 4, requires_grad=True)
    program = dl.export(model, (x,), strict=strict).module()
    over = [x, *model.parameters()]
    for expected, found in zip(
        *(torch.autograd.grad((each(x) ** 2).sum(), over) for each in (model, program)), strict=True
    ):
        assert torch.equal(expected, found)
