"""State that is carried, refused or lifted (M6, M17, M28-M33)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from fx_ir.signature import InputKind, OutputKind
from tests.exporting import (
    MODES,
    agree,
    arrays,
    both,
    both_modes,
    line_of,
    module,
    numbers,
    refused,
)


def test_check_in_a_branch_stays_there() -> None:
    """7, M17: what a branch of ``cond`` checks does not leak out of it."""

    def forward(x: Any) -> Any:
        def large(x: Any) -> Any:
            dl.check(x.shape[0] > 5)
            return x + 1

        return dl.cond(x.sum() > 0, large, lambda x: x - 1, (x,))

    for program in both(forward, (numbers(8),), dynamic_shapes={"x": {0: Dim("n", min=1, max=9)}}):
        agree(program, forward, [(torch.ones(6),), (-torch.ones(2),)])

    def after(x: Any) -> Any:
        def large(x: Any) -> Any:
            dl.check(x.shape[0] > 5)
            return x + 1

        y = dl.cond(x.sum() > 0, large, lambda x: x - 1, (x,))
        return y * 2 if x.shape[0] > 5 else y

    for strict in MODES:
        error = refused(
            after, (numbers(8),), dynamic_shapes={"x": {0: Dim("n", min=1, max=9)}}, strict=strict
        )
        assert isinstance(error, dl.ConstraintViolationError)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.l(self.l(x))


@both_modes
def test_unflattened_program_exports_again(strict: bool) -> None:
    """11, M34: with the same arguments."""
    model, x = Twice(), numbers(2, 4)
    again = dl.export(dl.unflatten(dl.export(model, (x,), strict=strict)), (x,), strict=strict)
    agree(again, model, [(x,)])


@both_modes
def test_part_of_an_unflattened_program_is_one_call(strict: bool) -> None:
    """12, M34: of a module that is called twice."""
    model, x = Twice(), numbers(2, 4)
    assert arrays(dl.unflatten(dl.export(model, (x,), strict=strict)).l(x)) == arrays(model.l(x))


class CachesNew(nn.Module):
    def forward(self, x: Any) -> Any:
        self.cache = x * 2
        return self.cache + 1


@both_modes
def test_new_tensor_attribute(strict: bool) -> None:
    """9, M30: an attribute that did not exist would hold a tensor: refused, the model untouched."""
    model = CachesNew()
    error = refused(model, (numbers(3),), strict=strict, error=dl.StateError)
    assert "self.cache" in error.message
    assert not hasattr(model, "cache")


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("count", torch.tensor(0), persistent=False)
        self.child = nn.Module()
        self.child.register_buffer("last", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.total = self.total + x
        self.count += 1
        self.child.last.copy_(x)
        view = self.total[1:]
        view.mul_(2)
        return self.total / self.count


def test_buffers_are_carried() -> None:
    """10, M31, M32: assigned, updated in place, in a submodule, and through a view: the second call sees all of it."""
    model = Running()
    for program in both(model, (numbers(3),)):
        targets = [
            spec.target
            for spec in program.graph_signature.output_specs
            if spec.kind is OutputKind.BUFFER_MUTATION
        ]
        assert sorted(map(str, targets)) == ["child.last", "count", "total"]
        run, eager = program.module(), Running()
        for seed in range(3):
            assert arrays(run(numbers(3, seed=seed))) == arrays(eager(numbers(3, seed=seed)))
        assert arrays(run.child.last) == arrays(eager.child.last)


def test_copy_of_an_input() -> None:
    """14: ``copy.copy(x) + 1`` works; so do the ways of copying."""

    def forward(x: Any) -> Any:
        return copy.copy(x) + 1, copy.deepcopy(x) * 2, x.clone() - 1

    for program in both(forward, (numbers(3),)):
        agree(program, forward, [(numbers(3, seed=seed),) for seed in range(2)])


@pytest.mark.parametrize("wrong", ["program", 3, None, ["file"]])
def test_load_what_is_no_file(wrong: Any) -> None:
    """15: an InputError that says what it wants."""
    if wrong == "program":
        wrong = dl.export(module(lambda x: x + 1), (numbers(3),))
    with pytest.raises(dl.InputError) as caught:
        dl.load(wrong)
    assert "path" in f"{caught.value.message} {caught.value.hint}"


def test_grad_mode_around_a_part() -> None:
    """39: ``no_grad`` around a part of forward; values as eager, ``requires_grad`` as eager."""

    class Partly(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(numbers(3))

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                a = x * self.weight
                frozen = a.requires_grad
            b = x + self.weight
            return a + b if not frozen and b.requires_grad else a - b

    model = Partly()
    for program in both(model, (numbers(3),)):
        agree(program, model, [(numbers(3, seed=seed),) for seed in range(2)])


def test_state_kinds_in_the_signature() -> None:
    """M32: parameters, buffers and constants are lifted; the program is self-contained."""

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(numbers(3))
            self.register_buffer("mean", numbers(3, seed=1))
            self.plain = numbers(3, seed=2)
            self.listed = [numbers(3, seed=3)]

        def forward(self, x: Any) -> Any:
            return x * self.weight + self.mean + self.plain + self.listed[0] + torch.tensor([1.0, 2.0, 3.0])

    model = Holder()
    for program in both(model, (numbers(3),)):
        kinds = [(spec.kind, spec.target) for spec in program.graph_signature.input_specs]
        assert kinds[:4] == [
            (InputKind.PARAMETER, "weight"),
            (InputKind.BUFFER, "mean"),
            (InputKind.CONSTANT_TENSOR, "plain"),
            (InputKind.CONSTANT_TENSOR, "listed[0]"),
        ]
        agree(program, model, [(numbers(3, seed=seed),) for seed in range(2)])


def test_literal_tensors_are_fresh_at_each_run() -> None:
    """M6, M32: ``torch.tensor([...])`` made in forward may be written; each run starts from the literal."""

    def forward(x: Any) -> Any:
        t = torch.tensor([1.0, 2.0, 3.0])
        t += x
        t[0] = 7.0
        return t

    for program in both(forward, (numbers(3),)):
        run = program.module()
        for seed in (0, 1, 0):
            assert arrays(run(numbers(3, seed=seed))) == arrays(forward(numbers(3, seed=seed)))


class RegistersLate(nn.Module):
    def forward(self, x: Any) -> Any:
        self.register_buffer("late", x * 2)
        return x + self.late


class MakesParameter(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * nn.Parameter(torch.ones(3))  # makes a parameter


@both_modes
def test_state_must_exist_before(strict: bool) -> None:
    """M28: state that forward would create is refused, and the module is as before."""
    error = refused(RegistersLate(), (numbers(3),), strict=strict, error=dl.StateError)
    assert "self.late" in error.message
    error = refused(MakesParameter(), (numbers(3),), strict=strict, error=dl.UnsupportedError)
    assert error.id == "parameter-made-in-forward"
    assert error.location.line == line_of("makes a parameter", __file__)
