"""Sizes 0, 1, 2, 3 at run time: the program gives what eager gives, and raises (or was refused) where eager raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
import torch.nn.functional as F

import dynamo_lite as dl
from dynamo_lite import Dim
from tests.dynamo_lite.torch_bridge.support import assert_equals_eager, both_modes, module

PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    "view": lambda x: x.view(x.shape[0], -1),
    "reshape": lambda x: x.reshape(-1, x.shape[1]),
    "reshape in parts": lambda x: x.reshape(x.shape[0], 2, -1),
    "unflatten": lambda x: x.unflatten(1, (2, -1)),
    "unflatten rows": lambda x: x.unflatten(0, (-1, x.shape[0])),
    "flatten": lambda x: x.flatten(),
    "view of turned": lambda x: x.t().view(-1, 5),
    "chunk": lambda x: x.chunk(2)[0],
    "chunks": lambda x: x.chunk(3),
    "split": lambda x: x.split(2)[0],
    "split by size": lambda x: x.split(x.shape[0])[0],
    "mean": lambda x: x.mean(0),
    "max": lambda x: x.max(),
    "max of rows": lambda x: x.max(0).values,
    "amax": lambda x: x.amax(0),
    "argmax": lambda x: x.argmax(),
    "argmax of rows": lambda x: x.argmax(0),
    "median": lambda x: x.median(0).values,
    "topk": lambda x: x.topk(2, 0).values,
    "kthvalue": lambda x: x.kthvalue(2, 0).values,
    "cat with an empty vector": lambda x: torch.cat([torch.zeros(0), x]),
    "cat with a vector": lambda x: torch.cat([torch.ones(2, 2), x.reshape(-1)]),
    "cat of vectors": lambda x: torch.cat([x.reshape(-1), torch.ones(2)]),
    "matmul": lambda x: x @ x.t(),
    "convolution": lambda x: F.conv1d(x[:, None], torch.ones(2, 1, 3)),
    "convolution over rows": lambda x: F.conv2d(x[None, None], torch.ones(1, 1, 2, 2)),
    "max pooling": lambda x: F.max_pool2d(x[None, None], 2),
    "average pooling": lambda x: F.avg_pool2d(x[None, None], 2, 1),
    "reflection": lambda x: F.pad(x.t()[None], (1, 1), mode="reflect"),
    "first": lambda x: x[0],
    "second": lambda x: x[1],
    "last": lambda x: x[-1],
    "narrow": lambda x: x.narrow(0, 1, 1),
    "list": lambda x: x[[0, 1]],
    "stack of rows": lambda x: torch.stack(list(x)),
    "squeeze": lambda x: x.squeeze(0),
    "expand": lambda x: x.expand(3, 4),
    "broadcast": lambda x: x + torch.ones(3, 1),
    "division": lambda x: x * (4 // x.shape[0]),
    "windows": lambda x: x.unfold(0, 2, 1),
    "batch norm": lambda x: F.batch_norm(x, None, None, training=True),
    "full": lambda x: torch.full((x.shape[0] - 1,), 1.0),
}


def outcome(run: Callable[..., Any], size: int) -> Any:
    try:
        return run((torch.arange(float(size * 4)) + 1).reshape(size, 4))
    except Exception:
        return None


def runs(function: Callable[[Any], Any], example: Any, strict: bool, *specs: Any) -> int:
    """At how many sizes the exported program ran, and equalled eager; those that eager or the contract refuses do not count."""
    model = module(lambda self, x: function(x))
    ran = 0
    for spec in specs:
        try:
            program = dl.export(model, (example,), dynamic_shapes=[{0: spec}], strict=strict).module()
        except dl.ConstraintViolationError:
            continue
        for size in (0, 1, 2, 3, 5):
            expected, given = outcome(model, size), outcome(program, size)
            if given is not None:
                assert expected is not None, size
                torch.testing.assert_close(given, expected, rtol=0, atol=0, equal_nan=True)
                ran += 1
    return ran


def those_of(size: int) -> list[str]:
    """The programs that eager runs at this size."""
    return [name for name, function in PROGRAMS.items() if outcome(function, size) is not None]


@both_modes
@pytest.mark.parametrize("name", those_of(3))
def test_small_sizes(name: str, strict: bool) -> None:
    example = (torch.arange(12.0) + 1).reshape(3, 4)
    assert runs(PROGRAMS[name], example, strict, Dim.DYNAMIC, Dim("b", min=0, max=64), None)


@both_modes
@pytest.mark.parametrize("name", those_of(0))
def test_example_of_nothing(name: str, strict: bool) -> None:
    """The example has no rows, or a part of it without rows is taken: what eager does then is what the program does."""

    def of_a_part(x: Any) -> Any:
        return PROGRAMS[name](x[: x.shape[0] // 4])

    assert runs(PROGRAMS[name], torch.zeros(0, 4), strict, Dim.AUTO)
    assert runs(of_a_part, torch.ones(3, 4), strict, Dim.AUTO)


@both_modes
def test_a_size_of_pytorch_is_no_sequence_of_numbers(strict: bool) -> None:
    """``tensor.new(torch.Size(…))`` makes a tensor of that size, ``tensor.new((…))`` one of those numbers."""

    def forward(self: Any, x: Any) -> Any:
        sized = x.new(torch.Size([3]) + x.shape).fill_(1), x.new(torch.Size(x.shape[:1])).fill_(2)
        return *sized, x.new((3, 4)), torch.distributions.Laplace(x, x.abs() + 1).rsample()

    model, args = module(forward), (torch.randn(2, 4),)
    assert_equals_eager(model, dl.export(model, args, strict=strict), args)


@both_modes
def test_functions_of_pytorch_that_only_refuse_by_data(strict: bool) -> None:
    """What they would refuse is asserted, in the mode too that hands them on whole."""

    def forward(self: Any, x: Any, variance: Any) -> Any:
        return F.gaussian_nll_loss(x, x + 1, variance)

    args = torch.randn(2, 4), torch.rand(2, 4)
    with torch.no_grad():
        run = dl.export(module(forward), args, strict=strict).module()
        assert torch.equal(run(*args), forward(None, *args))
        with pytest.raises(RuntimeError, match="negative entry"):
            run(args[0], -args[1])


@both_modes
def test_the_condition_that_settles_a_size_is_named_and_not_a_later_one(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        n = x.shape[0]
        if n % 4 == 0:
            x = x + 1
        if n * n == 144:
            x = x * 2
        return x - 1 if n * n * 3 + n == 444 else x

    with pytest.raises(dl.ConstraintViolationError, match=r"only for 12: it needs x\.shape\[0\]\*\*2 == 144"):
        dl.export(module(forward), (torch.ones(12),), dynamic_shapes=({0: dl.Dim.DYNAMIC},), strict=strict)
