"""Small programs that go wrong elsewhere, with PyTorch's tensors: in both modes right, or refused with the reason."""

from __future__ import annotations

import copy
import os
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import torch

import dynamo_lite as dl
from dynamo_lite import Dim
from tests.dynamo_lite.torch_bridge.support import assert_same, both_modes, module


def model_of(function: Callable[..., Any]) -> Any:
    """A module whose forward is ``function`` without a ``self``; one or two arguments."""
    if function.__code__.co_argcount == 1:
        return module(lambda self, x: function(x))
    return module(lambda self, x, y: function(x, y))


def exported(function: Callable[..., Any], args: tuple[Any, ...], shapes: Any, strict: bool) -> Any:
    return dl.export(model_of(function), args, dynamic_shapes=shapes, strict=strict)


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape)


@both_modes
@pytest.mark.parametrize(
    ("condition", "witness"),
    [
        (lambda x: x.shape[0] == 1, 1),
        (lambda x: x.shape[0] < 2, 1),
        (lambda x: not x.shape[0] > 1, 1),
        (lambda x: x.t().is_contiguous(), 1),
        (lambda x: x.shape[0] == 0, 0),
    ],
)
def test_sizes_zero_and_one_decide(condition: Any, witness: int, strict: bool) -> None:
    def forward(x: Any) -> Any:
        return x * 2 if condition(x) else x * 3

    with pytest.raises(dl.ConstraintViolationError) as caught:
        exported(forward, (numbers(4, 3),), [{0: Dim("b", min=witness, max=64)}], strict)
    assert f"x.shape[0]={witness}" in str(caught.value).replace(" ", "")
    program = exported(forward, (numbers(4, 3),), [{0: Dim("b", min=witness + 1, max=64)}], strict).module()
    for size in (witness + 1, 5, 64):
        assert_same(forward(numbers(size, 3)), program(numbers(size, 3)))


@both_modes
def test_two_sizes_decide_together(strict: bool) -> None:
    def forward(x: Any) -> Any:
        return x * 2 if x.shape[0] * x.shape[1] >= 20 else x * 3

    with pytest.raises(dl.ConstraintViolationError):
        exported(forward, (numbers(4, 5),), [{0: Dim("a", min=2), 1: Dim("b", min=2)}], strict)


@both_modes
def test_example_of_size_one_stays_dynamic(strict: bool) -> None:
    weight = numbers(3, 2)
    program = exported(
        lambda x: x @ weight, (numbers(1, 3),), [{0: Dim("b", min=1, max=32)}], strict
    ).module()
    for size in (1, 2, 32):
        assert_same(numbers(size, 3) @ weight, program(numbers(size, 3)))


@both_modes
def test_reshape_asks_for_one_condition(strict: bool) -> None:
    def forward(x: Any) -> Any:
        return x.reshape(-1, 8)

    with pytest.raises(dl.ConstraintViolationError) as caught:
        exported(forward, (numbers(8, 6),), [{0: Dim("a"), 1: Dim("b")}], strict)
    assert "% 8" in str(caught.value)
    program = exported(forward, (numbers(8, 6),), [{0: Dim.DYNAMIC, 1: Dim.DYNAMIC}], strict).module()
    assert_same(forward(numbers(4, 4)), program(numbers(4, 4)))
    with pytest.raises(dl.GuardError):
        program(numbers(3, 3))


@both_modes
def test_slice_adds_no_guard(strict: bool) -> None:
    program = exported(
        lambda x, y: x[:, :5] + y, (numbers(2, 9), numbers(2, 5)), [{1: Dim("s", min=5)}, None], strict
    )
    assert not [guard for guard in program.guards if "!=" in str(guard.expr)]
    assert_same(numbers(2, 5) * 2, program.module()(numbers(2, 5), numbers(2, 5)))


@both_modes
def test_one_tensor_for_two_inputs(strict: bool) -> None:
    shared = torch.ones(2)
    program = exported(lambda x, y: x - 2 * y, (shared, shared), None, strict).module()
    assert_same(program(numbers(2), torch.ones(2)), numbers(2) - 2)


@both_modes
def test_facts_of_a_branch_stay_inside(strict: bool) -> None:
    def checked(x: Any) -> Any:
        torch._check(x.shape[0] > 5)
        return x * 2

    def forward(x: Any) -> Any:
        y = torch.cond(x.sum() > 0, checked, lambda x: x * 3, (x,))
        return y if x.shape[0] > 5 else y + 1

    with pytest.raises(dl.ConstraintViolationError):
        exported(forward, (numbers(8),), [{0: Dim("b", min=2)}], strict)


@both_modes
def test_outside_list_gets_no_tensor(strict: bool) -> None:
    bank: list[Any] = []

    def forward(x: Any) -> Any:
        bank.append(x * 2)
        return x

    with pytest.raises(dl.StateError):
        exported(forward, (numbers(2),), None, True)
    holder = module(lambda self, x: (self.bank.append(1), self.bank.append([x * 2]), x)[2], bank=[])
    with pytest.raises(dl.StateError):
        dl.export(holder, (numbers(2),), strict=strict)
    assert holder.bank == []
    assert bank == []


@both_modes
def test_new_attribute_is_refused_and_gone(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        self.cache = x * 2
        return self.cache

    model = module(forward)
    with pytest.raises(dl.StateError):
        dl.export(model, (numbers(2),), strict=strict)
    assert not hasattr(model, "cache")


@both_modes
def test_replaced_buffer_is_seen_by_the_next_call(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        self.buf = self.buf + x
        return self.buf * 1

    model = module(forward)
    program = dl.export(model, (numbers(4),), strict=strict).module()
    for _ in range(2):
        assert_same(model(numbers(4)), program(numbers(4)))


@both_modes
def test_copy_of_an_input(strict: bool) -> None:
    def forward(x: Any) -> Any:
        return copy.copy(x) + 1, copy.deepcopy(x) * 2

    assert_same(forward(numbers(3)), exported(forward, (numbers(3),), None, strict).module()(numbers(3)))


@both_modes
def test_facts_that_cannot_hold_are_refused(strict: bool) -> None:
    def forward(x: Any) -> Any:
        u = x[0].to(torch.int64).item()
        torch._check(u > 1)
        torch._check(u * x.shape[0] == 5)
        return torch.zeros(u)

    with pytest.raises(dl.ExportError):
        exported(forward, (torch.full((6,), 2.0),), None, strict)


@both_modes
def test_half_consumed_generator(strict: bool) -> None:
    def forward(x: Any) -> Any:
        rows = (row * 2 for row in x)
        first = next(rows)
        return first, torch.stack(list(rows))

    assert_same(
        forward(numbers(3, 2)), exported(forward, (numbers(3, 2),), None, strict).module()(numbers(3, 2))
    )


@both_modes
def test_keywords_are_bound_by_name(strict: bool) -> None:
    model = module(lambda self, x, y=None, z=None: x - 2 * y + 3 * z)
    x, y, z = numbers(3), torch.ones(3), torch.full((3,), 5.0)
    program = dl.export(model, (x,), {"z": z, "y": y}, strict=strict).module()
    assert_same(model(x, y=y, z=z), program(x, z=z, y=y))
    assert_same(model(x, y=y, z=z), program(x, y=y, z=z))


@both_modes
def test_none_stays_none(strict: bool) -> None:
    program = dl.export(
        module(lambda self, x, y: x if y is None else x * y), (numbers(3), None), strict=strict
    )
    with pytest.raises(dl.GuardError):
        program.module()(numbers(3), numbers(3))


def test_identity_of_inputs_is_asked() -> None:
    def forward(x: Any, y: Any) -> Any:
        return x + y if x is y else x - y

    program = exported(forward, (numbers(3), numbers(3)), None, True).module()
    one = numbers(3)
    with pytest.raises(dl.GuardError):
        program(one, one)


@both_modes
def test_ranges_and_derived_sizes_are_held(strict: bool) -> None:
    program = exported(lambda x: x * 2, (numbers(4),), [{0: Dim("b", min=2)}], strict).module()
    with pytest.raises(dl.GuardError):
        program(numbers(1))
    program = exported(lambda x: x * 2, (numbers(4),), [{0: 2 * Dim("b")}], strict).module()
    with pytest.raises(dl.GuardError):
        program(numbers(5))


@both_modes
@pytest.mark.parametrize(
    "question",
    [
        lambda n: int(n) > 5,
        lambda n: len(str(n)) == 1,
        lambda n: f"{n}" == "8",
        lambda n: {8: True}.get(n, False),
    ],
)
def test_values_of_sizes_leave_guards(question: Any, strict: bool) -> None:
    def forward(x: Any) -> Any:
        return x * 2 if question(x.shape[0]) else x * 3

    with pytest.raises(dl.ConstraintViolationError):
        exported(forward, (numbers(8),), [{0: Dim("b", min=2, max=64)}], strict)


@both_modes
def test_impure_calls(strict: bool) -> None:
    def forward(x: Any) -> Any:
        return x * random.random()

    if strict:
        with pytest.raises(dl.UnsupportedError):
            exported(forward, (numbers(3),), None, True)
    else:
        assert any(
            "random" in effect.what for effect in exported(forward, (numbers(3),), None, False).effects
        )

    def reads(x: Any) -> Any:
        return x * len(os.environ["PATH"])

    program = exported(reads, (numbers(3),), None, strict)
    assert any("PATH" in assumption.path for assumption in program.assumptions)


class _Drawn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * random.random()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient


def _draws_after_a_failure(x: Any) -> Any:
    with suppress(RuntimeError):
        x.reshape(7)
    return x * random.random()


@pytest.mark.parametrize(
    "draws",
    (
        lambda x: (x + 1).relu() * random.random(),
        _draws_after_a_failure,
        lambda x: torch.cond(x.sum() > 0, lambda x: x * random.random(), lambda x: x + 1, (x,)),
        _Drawn.apply,
        lambda x: torch.nn.functional.triplet_margin_with_distance_loss(
            x, x, x, distance_function=lambda a, b: (a - b).sum(-1) * random.random()
        ),
    ),
    ids=("call", "failed call", "branch", "autograd", "callback"),
)
def test_random_numbers_are_seen_wherever_they_are_drawn(draws: Any) -> None:
    def forward(x: Any) -> Any:
        return draws(x)

    effects = exported(forward, (numbers(2, 3),), None, False).effects
    assert [effect.kind for effect in effects if "random" in effect.what] == ["random"]


@both_modes
def test_shapes_are_compared_as_one_condition(strict: bool) -> None:
    def forward(x: Any, y: Any) -> Any:
        return x.sum() if x.shape == y.shape else y.sum()

    program = exported(forward, (numbers(3, 4), numbers(3, 5)), [{1: Dim.DYNAMIC}, {1: Dim.DYNAMIC}], strict)
    assert_same(forward(numbers(3, 2), numbers(3, 7)), program.module()(numbers(3, 2), numbers(3, 7)))
    with pytest.raises(dl.GuardError):
        program.module()(numbers(3, 2), numbers(3, 2))


@both_modes
def test_slice_at_the_largest_size_stays_dynamic(strict: bool) -> None:
    def forward(x: Any) -> Any:
        return x[0 : x.shape[0]] * 2

    program = exported(forward, (numbers(16),), [{0: Dim("b", min=1, max=16)}], strict).module()
    assert_same(forward(numbers(3)), program(numbers(3)))


@both_modes
def test_sizes_found_equal_are_named_once(strict: bool) -> None:
    with pytest.raises(dl.ConstraintViolationError) as caught:
        exported(
            lambda x, y: x + y, (numbers(3), numbers(3)), [{0: Dim("a", min=2)}, {0: Dim("b", min=2)}], strict
        )
    assert "a" in str(caught.value) and "b" in str(caught.value)


@both_modes
def test_a_wrong_name_is_the_users_error(strict: bool) -> None:
    with pytest.raises(AttributeError, match="sinn"):
        exported(lambda x: x.sinn(), (numbers(3),), None, strict)


@both_modes
def test_grad_mode_around_a_part(strict: bool) -> None:
    def forward(self: Any, x: Any) -> Any:
        with torch.no_grad():
            y = self.lin(x)
        return y, y.requires_grad, self.lin(x).requires_grad

    model = module(forward)
    assert_same(
        model(numbers(2, 4)), dl.export(model, (numbers(2, 4),), strict=strict).module()(numbers(2, 4))
    )


@both_modes
def test_transformed_gradients_are_right_or_refused(strict: bool) -> None:
    def forward(x: Any) -> Any:
        return torch.func.grad(lambda t: (t * t).sum())(x)

    try:
        program = exported(forward, (numbers(3),), None, strict).module()
    except dl.UnsupportedError:
        return
    assert_same(forward(numbers(3) + 1), program(numbers(3) + 1))
