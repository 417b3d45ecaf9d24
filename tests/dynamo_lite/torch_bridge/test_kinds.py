"""Kinds of code met in models beyond the zoo, as small programs: both modes, two sizes, equal to eager's."""

from __future__ import annotations

import functools
import importlib.util
import operator
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dynamo_lite as dl
from fx_ir.structure import same_graph
from tests.dynamo_lite.torch_bridge.support import (
    assert_equals_eager,
    both_modes,
    export_both,
    module,
    operators,
)


def check(forward: Any, *sizes: tuple[Any, ...], dynamic: Any = None, **members: Any) -> Any:
    """Exports on the first arguments, in both modes, and runs on all."""
    model = module(forward, **members)
    program = export_both(model, sizes[0], dynamic_shapes=dynamic)
    for args in sizes:
        assert_equals_eager(model, program, args)
    return program


def numbers_alone(self: Any, x: Any) -> Any:
    n = x.shape[0]
    return (
        torch.div(n, 2, rounding_mode="trunc") + x,
        torch.add(n, 2.5),
        torch.sub(7, 3),
        torch.div(n, 4),
        torch.floor_divide(n, 2),
        torch.mul(True, False),
        torch.add(n, 3, alpha=2),
    )


def tensors_as_numbers(self: Any, x: Any, n: Any) -> Any:
    return torch.add(x, x, alpha=n), F.leaky_relu(x, n.float()), torch.full((2,), n.float())


def grids(self: Any, x: Any) -> Any:
    return torch.meshgrid(x[:, 0], x[0], indexing="ij"), torch.meshgrid(x[0], x[1])


def rows(self: Any, x: Any) -> Any:
    total = x[0]
    for row, twice in zip(x, x * 2, strict=True):
        total = total + row * twice
    return total


DYNAMIC = [{0: dl.Dim.DYNAMIC}]


def test_operators_of_numbers_alone() -> None:
    check(numbers_alone, (torch.randn(4, 3),), (torch.randn(7, 3),), dynamic=DYNAMIC)


def test_tensors_where_numbers_are_wanted() -> None:
    args = (torch.randn(4, 3), torch.tensor(3)), (torch.randn(5, 3), torch.tensor(2))
    check(tensors_as_numbers, *args, dynamic=[*DYNAMIC, {}])


def test_functions_of_torch_that_call_private_ones() -> None:
    check(grids, (torch.randn(4, 3),), (torch.randn(6, 3),), dynamic=DYNAMIC)


def test_rows_of_a_tensor() -> None:
    check(rows, (torch.randn(4, 3),))


def hooked_once(self: Any, x: Any) -> Any:
    if not self.hooked:
        self.hooked = True
        self.lin.register_forward_hook(lambda module, args, output: output * 2)
        self.ordered["b"] = 2
        self.counted["x"] += 1
        self.grouped["k"].append(1)
    return self.lin(x)


@both_modes
def test_hooks_and_containers_of_every_kind_are_put_back(strict: bool) -> None:
    model = module(
        hooked_once, hooked=False, ordered=OrderedDict(a=1), counted=Counter(), grouped=defaultdict(list)
    )
    program = dl.export(model, (torch.randn(2, 4),), strict=strict)
    assert not model.hooked and not model.lin._forward_hooks
    assert list(model.ordered) == ["a"] and not model.counted and not model.grouped
    assert_equals_eager(model, program, (torch.randn(2, 4),))


def resized(self: Any, x: Any) -> Any:
    return F.interpolate(x, size=tuple(x.sum((0, 1, 3)).long()), mode="nearest")


def test_sizes_given_as_tensors() -> None:
    check(resized, (torch.ones(1, 1, 2, 2),), (torch.full((1, 1, 2, 2), 2.0),))


def test_the_fast_path_of_an_encoder_layer() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    model = nn.TransformerEncoder(layer, 2).eval().requires_grad_(False)
    program = export_both(
        model, (torch.randn(2, 5, 8),), dynamic_shapes=[{0: dl.Dim.DYNAMIC, 1: dl.Dim.DYNAMIC}]
    )
    assert "aten._transformer_encoder_layer_fwd.default" in operators(program)
    assert_equals_eager(model, program, (torch.randn(3, 7, 8), None, None, None))


def pooled_and_put_back(self: Any, x: Any) -> Any:
    values, places = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(values, places, 2, output_size=x.shape[2:]), F.interpolate(
        x, scale_factor=2, mode="nearest-exact"
    )


def warped(self: Any, x: Any, grid: Any) -> Any:
    return F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)


def test_places_in_images() -> None:
    image, larger = torch.randn(2, 3, 8, 6), torch.randn(4, 3, 9, 10)
    free = {0: dl.Dim.DYNAMIC, 2: dl.Dim.DYNAMIC, 3: dl.Dim.DYNAMIC}
    check(pooled_and_put_back, (image,), (larger,), dynamic=[free])
    grids = torch.rand(2, 4, 4, 2) * 3 - 1.5, torch.rand(4, 4, 4, 2) * 3 - 1.5
    check(warped, (image, grids[0]), (larger, grids[1]), dynamic=[free, {0: dl.Dim.DYNAMIC}])


@torch.compiler.assume_constant_result
def probed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


@functools.lru_cache
@torch.compiler.assume_constant_result
def probed_once(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def constants_of_the_process(self: Any, x: Any) -> Any:
    found = probed("json") and probed_once("json")
    return x + 1 if found and not probed("no_such_module") and not probed(name="no_such_module") else x


def test_functions_that_are_marked_as_constant_are_called_natively() -> None:
    """What strict mode refuses elsewhere: the import system's lock is taken."""
    probed_once.cache_clear()
    dl.export(module(constants_of_the_process), (torch.randn(3, 4),), strict=True)
    assert probed_once.cache_info().currsize == 0
    program = check(constants_of_the_process, (torch.randn(3, 4),), (torch.randn(5, 4),), dynamic=DYNAMIC)
    assert operators(program) == ["aten.add.Tensor"]
    unmarked = module(lambda self, x: x + 1 if importlib.util.find_spec("no_such") else x)
    with pytest.raises(dl.UnsupportedError, match="_imp"):
        dl.export(unmarked, (torch.randn(3, 4),), strict=True)


def operands_in_order(self: Any, x: Any) -> Any:
    t = self.held
    return t + x, t - x, t * x, t / x, t**x, t % x, t // x, t @ x, x + t, 2 - x, 2 * x


def test_a_buffer_before_a_result_stays_before_it() -> None:
    """Python asks a subclass's reflected method first."""
    model = module(operands_in_order)
    model.register_buffer("held", torch.rand(3, 3) + 1)
    x = torch.rand(3, 3) + 1
    programs = [dl.export(model, (x,), strict=strict) for strict in (True, False)]
    assert same_graph(programs[0].graph_module, programs[1].graph_module) == []
    for program in programs:
        assert_equals_eager(model, program, (x,))
    assert "aten.rsub.Tensor" not in operators(programs[1])


class Tied(nn.Module):
    """Finds its parameters again in sets, dicts and lists."""

    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.k = nn.Linear(4, 4)
        self.k.weight = self.l.weight

    def forward(self, x: Any) -> Any:
        dtype = next(p.dtype for p in self.parameters() if p.is_floating_point())
        seen = set()
        for _, parameter in self.named_parameters():
            seen.add(parameter)
        names = {parameter: name for name, parameter in self.named_parameters()}
        order = {}
        order[self.l.bias] = 5.0
        held = [self.l.weight, self.k.bias]
        found = self.k.weight in names, self.l.bias in seen, self.k.weight in held, x in seen, x in [x]
        counts = len(list(self.parameters())), len(seen), len(names), operator.contains(seen, self.k.bias)
        names.pop(self.k.weight)
        return self.l(x).to(dtype) * order[self.l.bias], found, counts, names[self.l.bias], len(names)


@both_modes
def test_parameters_are_found_by_identity(strict: bool) -> None:
    """A shared parameter is one element of a set and one key; what is looked up is found, without reading data."""
    model = Tied()
    program = dl.export(model, (torch.randn(2, 4),), strict=strict)
    assert_equals_eager(model, program, (torch.randn(2, 4),))
