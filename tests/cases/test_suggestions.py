"""Suggestions for models whose dimensions are declared too wide: each is the weakest condition, and exports as it stands.

The expected conditions come from the operators' mathematics, and are held against eager at every size of a box: eager
runs exactly where the condition holds, save where it runs another program: where a size of 1 broadcasts, say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite.nn import functional as F
from tests.exporting import both_modes, module, numbers

SIZES: Final = range(1, 13)
BROADCASTS: Final = "where a size is 1, eager broadcasts"


@dataclass(frozen=True)
class Case:
    """``shapes`` with labels in place of dynamic sizes, ``example`` their sizes, ``needs`` the weakest condition."""

    name: str
    forward: Callable[..., Any]
    shapes: tuple[tuple[int | str, ...], ...]
    example: dict[str, int]
    needs: str
    wider: str = ""

    def inputs(self, sizes: dict[str, int]) -> tuple[Any, ...]:
        return tuple(
            numbers(*(sizes[s] if isinstance(s, str) else s for s in shape)) for shape in self.shapes
        )

    def allows(self, condition: str, sizes: dict[str, int]) -> bool:
        return bool(eval(condition, {"__builtins__": {}, "max": max, "min": min}, sizes))

    def box(self) -> Iterator[dict[str, int]]:
        for values in product(SIZES, repeat=len(self.example)):
            yield dict(zip(self.example, values, strict=True))

    def spec(self, dims: dict[str, Any]) -> dict[str, Any]:
        return {
            name: {i: dims[s] for i, s in enumerate(shape) if isinstance(s, str)}
            for name, shape in zip("xyz", self.shapes, strict=False)
        }


def case(
    name: str, forward: Callable[..., Any], shapes: Any, needs: str, wider: str = "", **example: int
) -> Any:
    return pytest.param(Case(name, forward, shapes, example, needs, wider), id=name)


def window(x: Any) -> Any:
    """Attention over windows of 4, as in Swin."""
    b, s, c = x.shape
    w = x.view(b, s // 4, 4, c)
    return (w @ w.transpose(-1, -2)).sum()


def heads(x: Any) -> Any:
    b, s, d = x.shape
    q = x.view(b, s, 4, d // 4).transpose(1, 2)
    return (q @ q.transpose(-1, -2)).softmax(-1)


def chunks_of_two(x: Any) -> Any:
    left, right = x.chunk(2, -1)
    return left * right


def three_ways(x: Any) -> Any:
    a, b, c = x.split(x.shape[0] // 3)
    return a + b + c


CASES: Final = [
    case("view pairs", lambda x: x.view(-1, 2), (("n",),), "n % 2 == 0", n=6),
    case("view rows", lambda x: x.view(3, -1), (("n",),), "n % 3 == 0", n=6),
    case("view halves", lambda x: x.view(x.shape[0] // 2, 2, 5), (("n", 5),), "n % 2 == 0", n=6),
    case("reshape flat", lambda x: x.reshape(-1, 8), (("n", 4),), "n % 2 == 0", n=6),
    case("reshape six", lambda x: x.reshape(-1, 6), (("n", 4),), "n % 3 == 0", n=6),
    case("view fixed", lambda x: x.view(2, 3), (("n",),), "n == 6", n=6),
    case("view as", lambda x, y: x.view(y.shape[0], 2), (("n",), ("m",)), "n == 2*m", n=6, m=3),
    case("unflatten", lambda x: x.unflatten(0, (-1, 4)), (("n", 2),), "n % 4 == 0", n=8),
    case("window", window, ((2, "s", 4),), "s % 4 == 0", s=8),
    case("heads", heads, ((2, 3, "d"),), "d % 4 == 0", d=8),
    case("gate", chunks_of_two, ((3, "n"),), "n % 2 == 0", BROADCASTS, n=6),
    case("split three", three_ways, (("n", 2),), "n % 3 == 0", n=6),
    case("stack halves", lambda x: torch.stack(x.split(x.shape[0] // 2)), (("n",),), "n % 2 == 0",
         "an odd size gives three parts", n=6),
    case("add", lambda x, y: x + y, (("n", 3), ("m", 3)), "n == m", BROADCASTS, n=4, m=4),
    case("add constant", lambda x: x + torch.ones(4), (("n",),), "n == 4", BROADCASTS, n=4),
    case("cat columns", lambda x, y: torch.cat([x, y], 1), (("n", 2), ("m", 3)), "n == m", n=4, m=4),
    case("cat and view", lambda x, y: torch.cat([x, y]).view(-1, 2), (("n",), ("m",)), "(n + m) % 2 == 0", n=4, m=2),
    case("stack", lambda x, y: torch.stack([x, y]), (("n",), ("m",)), "n == m", n=4, m=4),
    case("matmul", lambda x, y: x @ y, ((2, "n"), ("m", 3)), "n == m", n=4, m=4),
    case("matmul weight", lambda x: x @ torch.ones(4, 3), ((2, "n"),), "n == 4", n=4),
    case("linear flat", lambda x: x.flatten(1) @ torch.ones(8, 3), ((2, "n", 2),), "n == 4", n=4),
    case("residual conv", lambda x: x[:, :, ::2] + F.conv1d(x, torch.ones(2, 2, 2), stride=2), ((1, 2, "n"),),
         "n % 2 == 0", BROADCASTS, n=8),
    case("conv kernel", lambda x: F.conv1d(x, torch.ones(2, 2, 5)), ((1, 2, "n"),), "n >= 5", n=8),
    case("pool", lambda x: F.max_pool1d(x, 3), ((1, 2, "n"),), "n >= 3", n=8),
    case("pool and view", lambda x: F.avg_pool2d(x, 2).view(1, -1, 2), ((1, 1, "n", 2),), "n % 4 < 2 and n >= 2", n=8),
    case("interpolate", lambda x, y: F.interpolate(x, scale_factor=2.0) + y, ((1, 1, "n"), (1, 1, "m")),
         "m == 2*n", BROADCASTS, n=4, m=8),
    case("slice", lambda x: x[2:6] + torch.ones(4), (("n",),), "n >= 6", BROADCASTS, n=8),
    case("index", lambda x: x[3], (("n", 2),), "n >= 4", n=6),
    case("select last", lambda x: x.select(0, 4), (("n", 2),), "n >= 5", n=6),
    case("narrow", lambda x: x.narrow(0, 1, 3), (("n",),), "n >= 4", n=6),
    case("expand", lambda x, y: x.expand(y.shape[0]), (("n",), ("m",)), "n == m", BROADCASTS, n=4, m=4),
    case("pad", lambda x: F.pad(x, (0, 1)).view(-1, 2), (("n",),), "n % 2 == 1", n=5),
    case("triangle", lambda x: x + x.t(), (("n", "m"),), "n == m", BROADCASTS, n=4, m=4),
]  # fmt: skip


def runs(forward: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    try:
        forward(*args)
    except (RuntimeError, IndexError, ValueError, ZeroDivisionError):
        return False
    return True


def suggestion(error: Any) -> Any:
    report = error.report
    return report.fix or report.roots[0].suggestions[0]


@pytest.mark.parametrize("case", CASES)
def test_the_expected_condition_is_where_eager_runs(case: Case) -> None:
    for sizes in case.box():
        allowed, ran = case.allows(case.needs, sizes), runs(case.forward, case.inputs(sizes))
        assert ran or not allowed, sizes
        assert allowed or not ran or case.wider, sizes


@both_modes
@pytest.mark.parametrize("case", CASES)
def test_the_suggestion_is_the_weakest_and_exports(case: Case, strict: bool) -> None:
    model, args = module(case.forward), case.inputs(case.example)
    wide = {label: dl.Dim(label, min=1) for label in case.example}
    with pytest.raises(dl.ConstraintViolationError) as caught:
        dl.export(model, args, dynamic_shapes=case.spec(wide), strict=strict)
    found = suggestion(caught.value)
    for sizes in case.box():
        assert case.allows(found.condition, sizes) == case.allows(case.needs, sizes), (found.condition, sizes)
    shapes: list[Any] = [dl.ShapesSpec(case.spec(wide), assumptions=[found.assumption])]
    if found.dims:
        shapes.append(with_dims(case, wide, found.dims))
    for spec in shapes:
        program = dl.export(model, args, dynamic_shapes=spec, strict=strict)
        for sizes in case.box():
            inputs = case.inputs(sizes)
            if case.allows(case.needs, sizes):
                assert torch.equal(program.module()(*inputs), case.forward(*inputs))
            elif not runs(case.forward, inputs):
                with pytest.raises(dl.GuardError):
                    program.module()(*inputs)


def with_dims(case: Case, wide: dict[str, Any], dims: dict[str, str]) -> dict[str, Any]:
    """The specification with the source of each place that the suggestion names evaluated as it stands."""
    spec = case.spec(wide)
    made: dict[str, Any] = {}
    for place, source in dims.items():
        name, _, index = place.removesuffix("]").partition(".shape[")
        value = source if source.isdecimal() else made.setdefault(source, eval(source, {"Dim": dl.Dim}))
        spec[name][int(index)] = int(value) if isinstance(value, str) else value
    return spec
