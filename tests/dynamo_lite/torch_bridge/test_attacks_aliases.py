"""What a program returns shares memory with what it was given, with its state and with other results as eager's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import dynamo_lite as dl
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module


def row_of_written(self: Any, x: Any) -> Any:
    x.add_(1)
    return x[0], x.t(), x.view(-1)[2:]


def written_row(self: Any, x: Any) -> Any:
    row = x[1]
    row.mul_(3)
    return row, x


def written_column(self: Any, x: Any) -> Any:
    column = x.narrow(1, 1, 2)
    column[0] = 5
    return column, column[1], x[:, 0]


def pieces(self: Any, x: Any) -> Any:
    first, second = x.chunk(2, 1)
    x.zero_()
    return first, second


def cache(self: Any, x: Any) -> Any:
    self.buf[:2] = x[0, :2]
    return self.buf[:2], self.buf.view(2, 2)


def whole_buffer(self: Any, x: Any) -> Any:
    self.buf.add_(1)
    return self.buf, self.buf[1:], self.buf.detach()


def intermediate(self: Any, x: Any) -> Any:
    y = x * 2
    row = y[0]
    row.add_(1)
    return y, row, y[0], row


def same_twice(self: Any, x: Any) -> Any:
    x.add_(1)
    row = x[0]
    return row, row, {"again": row}


def copied(self: Any, x: Any) -> Any:
    x.add_(1)
    return x[0].clone(), x.t().reshape(-1), x[0] + 0


def unwritten(self: Any, x: Any) -> Any:
    return x, x[0], self.buf, self.buf[1:], x.t()[1]


PROGRAMS: Final = (
    row_of_written, written_row, written_column, pieces, cache, whole_buffer, intermediate, same_twice, copied, unwritten,
)  # fmt: skip


def tensors(run: Any, owner: Any, given: Any) -> list[torch.Tensor]:
    """The results of a call, its input and the buffer."""
    return [*torch.utils._pytree.tree_leaves(run(given)), given, owner.buf]


def sharing(held: list[torch.Tensor]) -> list[tuple[int, int, int]]:
    """For each the first with the same storage, the first that is the same object, and the place in its storage."""
    storages = [each.untyped_storage().data_ptr() for each in held]
    objects = [id(each) for each in held]
    return [
        (storages.index(storage), objects.index(identity), each.storage_offset())
        for storage, identity, each in zip(storages, objects, held, strict=True)
    ]


@both_modes
@pytest.mark.parametrize("decorated", [False, True])
@pytest.mark.parametrize("forward", PROGRAMS)
def test_memory_is_shared_as_in_eager(forward: Callable[..., Any], decorated: bool, strict: bool) -> None:
    eager = module(forward)
    if decorated:
        run = owner = module(dl.exported(strict=strict)(forward))
    else:
        run = owner = dl.export(module(forward), (torch.ones(4, 4),), strict=strict).module()
    held: list[list[Any]] = [[], []]
    for start in (0.0, 1.0):
        for (target, state), found in zip(((eager, eager), (run, owner)), held, strict=True):
            found.append(tensors(target, state, torch.arange(16.0).reshape(4, 4) + start))
        expected, given = held[0][-1], held[1][-1]
        assert_same(expected, given)
        assert sharing(expected) == sharing(given)
        for results in (expected, given):
            results[0].add_(1)
        assert_same(expected, given)
    if decorated:  # the first call's results too: the live buffer is one tensor from call to call
        assert_same(*held)


@both_modes
def test_sums_over_written_views_are_eagers_to_the_bit(strict: bool) -> None:
    """A view that was written keeps its layout, by which kernels choose the order of their steps."""

    def forward(self: Any, x: Any) -> Any:
        y = x * 1
        part, turned = y[:, ::2], y.t()
        part.mul_(1.37)
        turned.add_(0.3)
        return part.sum(), part.mean(1), turned.std(0), part.as_strided((3,), (1,))

    model, x = module(forward), torch.randn(64, 65)
    assert_same(model(x), dl.export(model, (x,), strict=strict).module()(x))


@both_modes
def test_a_view_of_an_updated_input_holds_its_layout(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        x.add_(1)
        return x[:, 1:]

    program = dl.export(module(forward), (torch.ones(4, 4),), strict=strict).module()
    with pytest.raises(dl.GuardError, match="input-layout"):
        program(torch.ones(4, 8)[:, ::2])
    strided = module(lambda self, x: (x.add_(1), x.as_strided((2,), (1,)) * 2)[1])
    program = dl.export(strided, (torch.ones(4, 4),), strict=strict).module()
    for given in (torch.ones(4, 8)[:, ::2], torch.ones(5, 4)[1:]):
        with pytest.raises(dl.GuardError, match=r"input-layout|input-offset"):
            program(given)
    whole = dl.export(module(lambda self, x: x.add_(1)), (torch.ones(4, 4),), strict=strict).module()
    given = torch.ones(4, 8)[:, ::2]
    assert whole(given) is given and given.sum() == 32


@both_modes
def test_normal_numbers_drawn_into_a_part(strict: bool) -> None:
    def rows(self: Any, x: Any) -> Any:
        y = torch.zeros(8, 8)
        y[2:].normal_()
        y[:, :4].uniform_()
        y[:, ::3].bernoulli_(0.5)
        return y

    model, results = module(rows), []
    program = dl.export(model, (torch.ones(2),), strict=strict).module()
    for run in (model, program):
        torch.manual_seed(3)
        results.append(run(torch.ones(2)))
    assert_same(*results)
    with pytest.raises(dl.UnsupportedError, match="draws-into-a-part"):
        dl.export(module(lambda self, x: x.repeat(8, 4)[:, 1:].normal_()), (torch.ones(2),), strict=strict)


@both_modes
def test_the_flag_of_an_input_is_looked_at_where_it_is_set(strict: bool) -> None:
    program = dl.export(module(lambda self, x: x.requires_grad_(False) * 2), (torch.ones(2),), strict=strict)
    with pytest.raises(dl.GuardError, match="input-requires-grad"):
        program.module()(torch.ones(2, requires_grad=True))


VIEWS: Final[dict[str, Callable[[Any], Any]]] = {
    "grids": lambda x: torch.meshgrid(x[0], x[:, 1], indexing="ij"),
    "turned grids": lambda x: torch.meshgrid(x[0], x[1:, 1], x[2], indexing="xy"),
    "one grid": lambda x: torch.meshgrid(x[0], indexing="xy"),
    "the diagonal": lambda x: torch.einsum("ii->i", x),
    "permuted": lambda x: torch.einsum("ij->ji", x),
    "permuted by names": lambda x: torch.einsum("ba", x),
    "diagonals": lambda x: torch.einsum("ijij->ji", x.view(2, 2, 2, 2)),
    "with dots": lambda x: torch.einsum("a...b->b...a", x.view(2, 4, 2)),
    "raveled": lambda x: x.ravel(),
    "raveled column": lambda x: x[:, 1].ravel(),
    "raveled corner": lambda x: x[:2, :2].ravel(),
    "flattened column": lambda x: x[:, 1].flatten(),
    "product of one": lambda x: torch.cartesian_prod(x[0]),
}


@both_modes
@pytest.mark.parametrize("name", VIEWS)
def test_functions_that_give_views(name: str, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        seen = torch.utils._pytree.tree_leaves(VIEWS[name](x))
        x.mul_(3)
        return [each * 1 for each in seen]

    model, start = module(forward), torch.arange(16.0).reshape(4, 4)
    program = dl.export(model, (start.clone(),), strict=strict).module()
    expected, given = model(start.clone()), program(start.clone())
    assert_same(expected, given)
    assert [each.stride() for each in expected] == [each.stride() for each in given]


@pytest.mark.parametrize(
    "equation", ["ii", "ij->i", "...", "ii->", "a...a->...", "...a->a...", "aB->Ba", "ab"]
)
def test_sums_over_one_operand(equation: str) -> None:
    x = torch.arange(16.0).reshape(4, 4)
    model = module(lambda self, x: torch.einsum(equation, x))
    assert_same(model(x), dl.export(model, (x,), strict=True).module()(x))


@both_modes
@pytest.mark.parametrize("written", ["whole", "conjugate", "part", "real"])
def test_a_conjugate_shares_memory(written: str, strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        turned = x.conj()
        whole = {"whole": x, "conjugate": turned, "part": x[0], "real": torch.view_as_real(x)}[written]
        whole.mul_(2)
        return turned * 1

    x = torch.complex(torch.ones(2, 2), torch.ones(2, 2))
    with pytest.raises(dl.UnsupportedError, match="conjugate-written"):
        dl.export(module(forward), (x.clone(),), strict=strict)
    model = module(lambda self, x: (x.conj() + x, x.mH @ x, x.add_(1)))
    with pytest.raises(dl.UnsupportedError, match="conjugate-written"):
        dl.export(model, (x.clone(),), strict=strict)
    model = module(lambda self, x: (x.conj() + x, torch.conj_physical(x), (x * 1).add_(1)))
    assert_same(model(x), dl.export(model, (x,), strict=strict).module()(x))
