"""What forward does to its inputs beyond their data: a program does the same, or it is refused by name."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_equals_eager, both_modes, export_both, module


def x() -> torch.Tensor:
    return torch.arange(12.0).reshape(3, 4)


def sets(self: Any, d: Any) -> Any:
    d["a"] = d["a"] * 2
    return d["a"]


def pops(self: Any, d: Any) -> Any:
    d.pop("n")
    return d["a"]


def swaps(self: Any, d: Any) -> Any:
    d["a"], d["b"] = d["b"], d["a"]
    return d["a"] - d["b"]


def reorders(self: Any, d: Any) -> Any:
    d["a"] = d.pop("a")
    return d["a"]


def appends(self: Any, d: Any) -> Any:
    d["c"].append(3)
    return d["a"]


def replaces(self: Any, d: Any) -> Any:
    d["c"][0] = d["c"][0] + 1
    return d["a"]


CHANGES: Final = (sets, pops, swaps, reorders, appends, replaces)


@both_modes
@pytest.mark.parametrize("kind", [dict, OrderedDict])
@pytest.mark.parametrize("forward", CHANGES)
def test_a_container_of_the_caller_is_not_changed(
    forward: Callable[..., Any], kind: type[dict[str, Any]], strict: bool
) -> None:
    given = kind({"a": x(), "b": x() + 1, "c": [x()], "n": 3})
    with pytest.raises(dl.StateError, match="input-changed") as caught:
        dl.export(module(forward), (given,), strict=strict)
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert list(given) == ["a", "b", "c", "n"] and len(given["c"]) == 1


def copies(self: Any, d: Any, *rest: Any, **named: Any) -> Any:
    own, items = dict(d), list(d["c"])
    own["a"] = own.pop("n") * own["a"]
    items.append(own["a"])
    own["b"].add_(1)
    d["a"] = d["a"]
    named["more"] = named.pop("key") * 2
    return own["a"], items, rest[0], named


def test_copies_are_forwards_own() -> None:
    args = ({"a": x(), "b": x() + 1, "c": [x()], "n": 3}, x())
    model = module(copies)
    program = export_both(model, args, {"key": x()})
    assert_equals_eager(model, program, args, {"key": x()})
    assert not program.effects


@dataclasses.dataclass
class Pair:
    first: Any
    second: Any


dl.register_dataclass(Pair)


@both_modes
def test_what_an_objects_copy_becomes_is_an_effect(strict: bool) -> None:
    def forward(self: Any, pair: Any) -> Any:
        pair.first = pair.first * 2
        return pair.first

    program = dl.export(module(forward), (Pair(x(), x()),), strict=strict)
    assert [effect.became for effect in program.effects] == ["rolled back"]
    assert "pair" in program.effects[0].what
    given = Pair(x(), x())
    assert torch.equal(program.module()(given), x() * 2)


OUTS: Final = (
    ("other shape", (1,), torch.float32),
    ("no elements", (0,), torch.float32),
    ("other dtype", (4,), torch.float64),
)


@both_modes
@pytest.mark.parametrize(("shape", "dtype"), [row[1:] for row in OUTS], ids=[row[0] for row in OUTS])
def test_out_is_neither_resized_nor_converted(
    shape: tuple[int, ...], dtype: torch.dtype, strict: bool
) -> None:
    def forward(self: Any, x: Any, out: Any) -> Any:
        torch.sum(x, 0, out=out)
        return out * 1

    with pytest.raises(dl.UnsupportedError, match="out-of-another-kind"):
        dl.export(module(forward), (x(), torch.zeros(shape, dtype=dtype)), strict=strict)
    args = (x(), torch.zeros(4))
    model = module(forward)
    assert_equals_eager(model, dl.export(model, args, strict=strict), args)


def test_a_mask_with_one_element_converts_it() -> None:
    def forward(self: Any, x: Any, mask: Any) -> Any:
        x[mask] = torch.tensor(3)
        x[:, mask[0]] = torch.tensor([2.5], dtype=torch.float64)
        x.index_put_((mask[:, 0],), torch.tensor(7))
        return x

    args = (x(), x() > 4)
    model = module(forward)
    assert_equals_eager(model, export_both(model, args), args)


EXPANDED: Final[dict[str, Callable[[Any], Any]]] = {
    "sizes": lambda x: x.expand(3, 4),
    "kept": lambda x: x.expand(-1, -1),
    "as itself": lambda x: x.expand_as(x),
    "in front": lambda x: x.expand(1, -1, -1),
    "broadcast": lambda x: x.broadcast_to(x.shape),
    "a part": lambda x: x.expand(3, 4)[0],
}


@pytest.mark.parametrize("name", EXPANDED)
def test_what_was_not_stretched_is_written_through(name: str) -> None:
    def forward(self: Any, x: Any) -> Any:
        EXPANDED[name](x).add_(1)
        return x * 2

    model = module(forward)
    assert_equals_eager(model, export_both(model, (x(),)), (x(),))


@both_modes
def test_what_was_stretched_is_refused(strict: bool) -> None:
    stretched = module(lambda self, x: x[:1].expand(3, 4).add_(1))
    with pytest.raises(RuntimeError, match="more than one element"):
        stretched(x())
    with pytest.raises(RuntimeError, match="more than one element"):
        dl.export(stretched, (x(),), strict=strict)
    for forward in (
        lambda self, x: x[:1].expand(3, 4)[0].add_(1),
        lambda self, x: x.unfold(0, 1, 1).add_(1),
    ):
        with pytest.raises(dl.UnsupportedError, match="write-through-expand"):
            dl.export(module(forward), (x(),), strict=strict)


NESTED: Final = ({"a": [x(), {"z": x()}]},)
MISFITS: Final[dict[str, tuple[Any, str]]] = {
    "a key too many": ({"b": None, "a": None, "c": {0: dl.Dim("n")}}, "'c' is not among 'a'"),
    "another key": ({"b": [{0: dl.Dim("n")}]}, "'b' is not among 'a'"),
    "deeper": ({"a": [None, {"y": {0: dl.Dim("n")}}]}, "'y' is not among 'z'"),
    "an entry too many": ({"a": [None, None, {0: dl.Dim("n")}]}, "3 entries are given for 2"),
}


@both_modes
@pytest.mark.parametrize("name", MISFITS)
def test_a_specification_of_what_the_input_does_not_hold(name: str, strict: bool) -> None:
    spec, problem = MISFITS[name]
    model = module(lambda self, d: d["a"][0] + d["a"][1]["z"])
    with pytest.raises(dl.InputError, match=problem):
        dl.export(model, NESTED, dynamic_shapes={"d": spec}, strict=strict)
    program = dl.export(
        model, NESTED, dynamic_shapes={"d": {"a": [None, None, None], "e": []}}, strict=strict
    )
    assert not program.range_constraints


@both_modes
def test_an_example_of_size_one_asks_for_no_more_than_that(strict: bool) -> None:
    names = {"x": {0: dl.Dim("one", min=1, max=1)}, "y": {0: dl.Dim("many")}}
    program = dl.export(module(lambda self, x, y: x + y), (x()[:1], x()), dynamic_shapes=names, strict=strict)
    for count in (0, 1, 2, 5):
        given = torch.arange(4.0 * count).reshape(count, 4)
        assert torch.equal(program.module()(x()[:1], given), x()[:1] + given)
