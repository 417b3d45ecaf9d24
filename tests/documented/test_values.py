"""The documented examples about static and dynamic values (M6-M13), with the results that the model's page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from fx_ir.guard_errors import ARGUMENT_MISSING, SIZE, VALUE
from fx_ir.signature import ConstantArgument
from tests.exporting import (
    agree,
    arrays,
    both,
    both_modes,
    guards,
    module,
    numbers,
    placeholders,
    refused,
    text,
)


def add_static(x: Any, y: int) -> Any:
    z = y + 7
    return x + z


def test_static_arithmetic_folds() -> None:
    """M1, M6, M9: one operator, ``add(x, 10)``; the Python sum does not appear."""
    for program in both(add_static, (torch.randn(1), 3)):
        assert text(program) == ["add = aten.add.Tensor(x, 10)"]
        assert placeholders(program) == ["x", "y"]
        assert guards(program) == []
        agree(program, add_static, [(numbers(1, seed=seed), 3) for seed in range(3)])


def test_static_input_is_hard_coded() -> None:
    """M12: at run time another value is an error that names input, value expected and value given."""
    for program in both(add_static, (torch.randn(1), 3)):
        with pytest.raises(dl.GuardError) as caught:
            program.module()(torch.randn(1), 4)
        assert caught.value.id == VALUE.id
        assert "y: expected the value 3" in caught.value.message
        assert "given 4" in caught.value.message


def test_static_shape_is_hard_coded() -> None:
    """M8: the shape of an input tensor is static without a specification."""
    for program in both(add_static, (torch.randn(1), 3)):
        with pytest.raises(dl.GuardError) as caught:
            program.module()(torch.randn(2), 3)
        assert caught.value.id == SIZE.id
        assert "x.shape[0]: expected 1, given 2" in caught.value.message


@dataclass
class Input:
    f: Any
    p: Any


dl.register_dataclass(Input)


def add_one(x: Input) -> Any:
    return x.f + 1


def test_registered_dataclass() -> None:
    """M10, M11: one ``add``, placeholders for both fields."""
    for program in both(add_one, (Input(f=torch.ones(10, 4), p=torch.zeros(10, 4)),)):
        assert text(program) == ["add = aten.add.Tensor(x_f, 1)"]
        assert placeholders(program) == ["x_f", "x_p"]
        result = program.module()(Input(f=numbers(10, 4), p=numbers(10, 4)))
        assert arrays(result) == arrays(numbers(10, 4) + 1)


@dataclass
class Unregistered:
    f: Any


@both_modes
def test_unregistered_class(strict: bool) -> None:
    """M11: an unregistered class as an input is an error that says how to register it."""
    error = refused(add_one, (Unregistered(torch.ones(2)),), strict=strict, error=dl.InputError)
    assert error.id == "unregistered-class"
    assert "the input x is of class Unregistered" in error.message
    assert "dl.register_dataclass(Unregistered)" in error.hint
    assert error.location.file == __file__


def optional(x: Any, y: Any = None) -> Any:
    return y * x if y is not None else x + x


def test_optional_input_given() -> None:
    """M13: with ``y`` the branch that uses it."""
    for program in both(optional, (torch.randn(3), torch.randn(3))):
        assert text(program) == ["mul = aten.mul.Tensor(y, x)"]
        agree(program, optional, [(numbers(3), numbers(3, seed=1))])


def test_optional_input_left_out() -> None:
    """M13: without ``y`` its default is burned in; the program asks for it, and shows it in its signature."""
    for program in both(optional, (torch.randn(3),)):
        assert text(program) == ["add = aten.add.Tensor(x, x)"]
        assert placeholders(program) == ["x", "y"]
        assert program.graph_signature.input_specs[1].arg == ConstantArgument("y", None)
        run = program.module()
        assert arrays(run(numbers(3), None)) == arrays(numbers(3) + numbers(3))
        with pytest.raises(dl.GuardError) as caught:
            run(numbers(3))
        assert caught.value.id == ARGUMENT_MISSING.id
        assert "argument y is missing" in caught.value.message
        with pytest.raises(dl.GuardError) as caught:
            run(numbers(3), numbers(3))
        assert caught.value.id == VALUE.id
        assert "y: expected the value None" in caught.value.message


def test_index_select_rule() -> None:
    """M20, M22: the fake rule of index_select puts ``index.numel()`` where it selects."""

    def select(x: Any, index: Any) -> Any:
        return x.index_select(1, index)

    rows, picked = dl.dims("rows", "picked")
    shapes = {"x": {0: rows}, "index": {0: picked}}
    for program in both(select, (numbers(3, 4), torch.tensor([0, 2])), dynamic_shapes=shapes):
        assert text(program) == ["index_select = aten.index_select.default(x, 1, index)"]
        (node,) = (node for node in program.graph.nodes if node.op == "call_function")
        assert [repr(size) for size in node.meta["val"].shape] == ["rows", "picked"]
        sizes = [(0, 0), (1, 1), (5, 3)]
        model = module(select)
        agree(program, model, [(numbers(a, 4), torch.tensor([1] * b, dtype=torch.int64)) for a, b in sizes])
