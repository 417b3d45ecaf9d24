"""Whose memory results have: constants that were there before, updated inputs seen as another element type, ``out`` and layouts kept."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module, operators

TABLE: Final = torch.arange(4.0)


def places(values: Any, known: Any) -> list[Any]:
    """Of each tensor: which object and whose memory it is, ``known`` ones by their place, and where in it."""
    objects = {id(tensor): name for name, tensor in known.items()}
    memory = {tensor.untyped_storage().data_ptr(): name for name, tensor in known.items()}
    return [
        (
            objects.setdefault(id(value), len(objects)),
            memory.setdefault(value.untyped_storage().data_ptr(), len(memory)),
            value.storage_offset() * value.element_size(),
            value.stride(),
        )
        for value in values
    ]


RETURNED: Final = {
    "closure": lambda self, x: (TABLE, TABLE, x + 1),
    "part": lambda self, x: (TABLE[1:], TABLE, TABLE.view(2, 2)),
    "attribute": lambda self, x: (self.plain, self.plain[1:]),
    "detached": lambda self, x: (self.plain.detach(), self.plain),
    "buffer": lambda self, x: (self.buf, self.buf[1:]),
    "literal": lambda self, x: (torch.tensor([1, 2]), torch.tensor([1, 2])[1:]),
    "made by C++": lambda self, x: (torch.Tensor([1.0, 2.0]), x * 2),
}


@both_modes
@pytest.mark.parametrize("name", RETURNED)
def test_a_constant_is_itself_and_a_new_one_is_new(name: str, strict: bool) -> None:
    model = module(RETURNED[name], plain=torch.arange(3.0))
    known = {"table": TABLE, "plain": model.plain, "buf": model.buf}
    program, x = dl.export(model, (torch.ones(4),), strict=strict).module(), torch.ones(4)
    for _ in range(2):
        assert_same(model(x), program(x))
    kept = [[*run(x), *run(x)] for run in (model, program)]
    assert places(kept[0], known) == places(kept[1], known)


@both_modes
def test_a_constant_of_an_array_that_forward_makes_is_new_at_each_call(strict: bool) -> None:
    model = module(lambda self, x: torch.from_numpy(np.arange(3.0)))
    program = dl.export(model, (torch.ones(4),), strict=strict).module()
    program(torch.ones(4)).add_(1)
    assert_same(program(torch.ones(4)), model(torch.ones(4)))


def seen_as(dtype: torch.dtype, first: bool) -> Any:
    def forward(self: Any, x: Any) -> Any:
        if first:
            seen = x[1:].view(dtype)
            x.add_(1)
            return seen, seen[:, 1:]
        x.mul_(2)
        return x.view(dtype), x[1:, :2].view(dtype)

    return forward


def as_complex(self: Any, x: Any) -> Any:
    seen = torch.view_as_complex(x.view(-1, 2, 2))
    x.add_(1)
    return seen, seen[1:], torch.view_as_real(seen)


def as_real(self: Any, x: Any) -> Any:
    x.mul_(2)
    return torch.view_as_real(x), x.real, x.imag[1:]


UPDATED: Final = {
    **{
        f"{dtype} {first}": (seen_as(dtype, first), torch.randn(3, 4))
        for dtype in (torch.int32, torch.int16, torch.uint8, torch.int64)
        for first in (False, True)
    },
    "complex": (as_complex, torch.randn(3, 4)),
    "real": (as_real, torch.randn(3, 4, dtype=torch.complex64)),
}  # fmt: skip


@both_modes
@pytest.mark.parametrize("name", UPDATED)
def test_an_updated_input_seen_as_another_type_is_seen_in_its_own_memory(name: str, strict: bool) -> None:
    forward, x = UPDATED[name]
    model = module(forward)
    for spec in (None, ({0: dl.Dim.DYNAMIC},)):
        program = dl.export(model, (x.clone(),), dynamic_shapes=spec, strict=strict).module()
        first, second = x.clone(), x.clone()
        expected, given = model(first), program(second)
        assert_same((first, *expected), (second, *given))
        assert places(expected, {"x": first}) == places(given, {"x": second})


OUTS: Final = {
    "empty": lambda self, x: torch.add(x, 1, out=torch.empty(0)),
    "new_empty": lambda self, x: torch.sum(x, 1, out=x.new_empty(0, 3)),
    "several": lambda self, x: torch.max(x, 0, out=(torch.empty(0), torch.empty(0, dtype=torch.int64))),
}


@both_modes
@pytest.mark.parametrize("name", OUTS)
def test_an_empty_out_takes_the_result(name: str, strict: bool) -> None:
    model = module(OUTS[name])
    program = dl.export(model, (torch.ones(3, 4),), dynamic_shapes=({0: dl.Dim.DYNAMIC},), strict=strict)
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        assert_same(tuple(model(x)), tuple(program.module()(x)))


@both_modes
def test_out_is_the_tensor_that_was_given(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        out = torch.empty(0)
        made = torch.mul(x, 2, out=out)
        made.add_(1)
        return made is out, out.shape[0], out

    model = module(forward)
    assert_same(
        model(torch.ones(4)), dl.export(model, (torch.ones(4),), strict=strict).module()(torch.ones(4))
    )


def resized_view(self: Any, x: Any) -> Any:
    out = torch.empty(0)
    view = out[:]
    torch.mul(x, 2, out=out)
    return out, view


def resized_to_columns(self: Any, x: Any) -> Any:
    return torch.mul(x, 2, out=torch.empty(0))


@both_modes
@pytest.mark.parametrize(
    ("forward", "x"), [(resized_view, torch.ones(4)), (resized_to_columns, torch.ones(4, 3).t())]
)
def test_what_resizing_does_to_views_and_layouts_is_not_known(forward: Any, x: Any, strict: bool) -> None:
    with pytest.raises(dl.UnsupportedError, match="out-of-another-kind"):
        dl.export(module(forward), (x,), strict=strict)


@both_modes
def test_an_update_in_place_keeps_the_order_of_memory(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y = torch.full_like(x, 3.0)
        y.masked_fill_(y > 0, -1)
        return y, y[1:]

    model, x = module(forward), torch.ones(5, 3).t()
    program = dl.export(model, (x,), strict=strict).module()
    expected, given = model(x), program(x)
    assert_same(expected, given)
    assert [y.stride() for y in expected] == [y.stride() for y in given] == [(1, 3), (1, 3)]


@both_modes
def test_an_update_in_place_keeps_an_order_that_the_example_had_not(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        y, z = x * 2, x + 1
        y.masked_fill_(y > 0, -1)
        return y, z.scatter_(0, torch.zeros(1, 5, dtype=torch.int64), 7.0), (x * 3).relu_()

    model = module(forward)
    program = dl.export(model, (torch.ones(3, 5),), strict=strict)
    for x in (torch.ones(3, 5), torch.ones(5, 3).t(), torch.ones(6, 5)[::2]):
        expected, given = model(x), program.module()(x)
        assert_same(expected, given)
        assert [y.stride() for y in expected] == [y.stride() for y in given]
    assert operators(program).count("aten.copy.default") == 2


def test_the_history_of_a_live_buffer_goes_on() -> None:
    def forward(self: Any, x: Any) -> Any:
        self.buf.mul_(x.sum())
        return x

    model, live = module(forward), module(dl.exported()(forward))
    slopes = []
    for each in (model, live):
        x = torch.full((4,), 0.5, requires_grad=True)
        for _ in range(3):
            each(x)
        slopes.append(torch.autograd.grad(each.buf.sum(), x)[0])
    assert_same(*slopes)


@both_modes
def test_contiguous_may_preserve_the_format(strict: bool) -> None:
    model = module(lambda self, x: x.contiguous(memory_format=torch.preserve_format))
    x = torch.ones(3, 4)
    program = dl.export(model, (x,), dynamic_shapes=({0: dl.Dim.DYNAMIC},), strict=strict).module()
    assert program(x) is x
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported"):
        dl.export(model, (torch.ones(4, 3).t(),), strict=strict)
