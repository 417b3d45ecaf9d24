"""Inputs: identity, metadata, values and how they are passed (M8-M13, M32)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from tests.exporting import (
    agree,
    arrays,
    both,
    both_modes,
    export,
    numbers,
    placeholders,
    refused,
    text,
)


def test_one_tensor_given_twice() -> None:
    """6: two inputs, right result, also when one object stood for both in the example."""

    def forward(a: Any, b: Any) -> Any:
        return a - 2 * b

    t = torch.ones(2)
    for program in both(forward, (t, t)):
        assert placeholders(program) == ["a", "b"]
        agree(program, forward, [(numbers(2), numbers(2, seed=1))])

    def nested(pair: Any) -> Any:
        return pair[0] - 2 * pair[1]

    for program in both(nested, ([t, t],)):
        agree(program, nested, [([numbers(2), numbers(2, seed=1)],)])


@both_modes
def test_one_tensor_given_twice_and_written(strict: bool) -> None:
    """6, M32: where an input is updated, another input that is the same object would see it: refused, with the way out."""

    def forward(a: Any, b: Any) -> Any:
        a.add_(1)
        return a - 2 * b

    t = torch.ones(2)
    error = refused(forward, (t, t), strict=strict, error=dl.InputError)
    assert "a" in error.message
    assert "b" in error.message
    assert "clone" in error.hint
    program = export(forward, (torch.ones(2), torch.ones(2)), strict=strict)
    agree(program, forward, [(numbers(2), numbers(2, seed=1))])
    with pytest.raises(dl.GuardError) as caught:
        program.module()(t, t)
    assert caught.value.id == "input-alias"
    assert arrays(t) == arrays(torch.ones(2))
    base = torch.ones(3)
    with pytest.raises(dl.GuardError) as caught:
        program.module()(base[:2], base[1:])
    assert caught.value.id == "input-alias"
    pair = torch.ones(2, 2)
    assert arrays(program.module()(pair[0], pair[1])) == arrays(torch.zeros(2))
    refused(forward, (base[:2], base[1:]), strict=strict, error=dl.InputError)


def test_keyword_order() -> None:
    """18: keyword arguments in another order than the signature are bound by name."""

    def forward(a: Any, *, b: Any, c: Any = None) -> Any:
        return a - 2 * b + 3 * c

    kwargs = {"c": numbers(3, seed=2), "b": numbers(3, seed=1)}
    for program in both(forward, (numbers(3),), kwargs):
        run = program.module()
        expected = arrays(forward(numbers(3), **kwargs))
        assert arrays(run(numbers(3), **kwargs)) == expected
        assert arrays(run(numbers(3), b=kwargs["b"], c=kwargs["c"])) == expected
    for program in both(lambda a, b: a - 2 * b, (), {"b": numbers(3, seed=1), "a": numbers(3)}):
        result = program.module()(a=numbers(3), b=numbers(3, seed=1))
        assert arrays(result) == arrays(numbers(3) - 2 * numbers(3, seed=1))


def test_none_and_tensors() -> None:
    """19, M12, M13: ``None`` at export, a tensor at run time, and the other way round, nested too: GuardError."""

    def forward(x: Any, y: Any = None) -> Any:
        return x if y is None else x + y

    def nested(pair: Any) -> Any:
        return pair["a"] if pair["b"] is None else pair["a"] + pair["b"]

    for program in both(forward, (numbers(3), None)):
        with pytest.raises(dl.GuardError, match="None"):
            program.module()(numbers(3), numbers(3))
    for program in both(forward, (numbers(3), numbers(3))):
        with pytest.raises(dl.GuardError, match="expected a tensor"):
            program.module()(numbers(3), None)
    for program in both(nested, ({"a": numbers(3), "b": None},)):
        with pytest.raises(dl.GuardError):
            program.module()({"a": numbers(3), "b": numbers(3)})


CONTRACTS: list[Any] = [
    pytest.param(
        lambda x: x + 1 if x.dtype is torch.float32 else x - 1,
        numbers(3, 2),
        torch.tensor(np.ones((3, 2))),
        "dtype",
        id="dtype",
    ),
    pytest.param(
        lambda x: x + 1 if x.is_contiguous() else x - 1,
        numbers(3, 2),
        numbers(2, 3).t(),
        "input-layout",
        id="is_contiguous",
    ),
    pytest.param(
        lambda x: x + 1 if x.stride()[0] == 2 else x - 1,
        numbers(3, 2),
        numbers(2, 3).t(),
        "input-layout",
        id="stride",
    ),
    pytest.param(
        lambda x: x + 1 if x.is_contiguous() else x - 1,
        numbers(2, 3).t(),
        numbers(3, 2),
        "input-layout",
        id="not contiguous",
    ),
    pytest.param(
        lambda x: x + 1 if x.requires_grad else x - 1,
        numbers(3, 2),
        nn.Parameter(numbers(3, 2)),
        "requires-grad",
        id="requires_grad",
    ),
    pytest.param(
        lambda x: x + 1 if x.dim() == 2 else x - 1, numbers(3, 2), numbers(3), "input-rank", id="dim"
    ),
]


@pytest.mark.parametrize(("forward", "example", "other", "kind"), CONTRACTS)
def test_metadata_that_decides_is_in_the_contract(forward: Any, example: Any, other: Any, kind: str) -> None:
    """20, M8: a branch on metadata; an input that would take the other way is a GuardError."""
    for program in both(forward, (example,)):
        agree(program, forward, [(example,)])
        with pytest.raises(dl.GuardError) as caught:
            program.module()(other)
        assert kind in caught.value.id


def test_metadata_that_is_not_asked_for_is_not_in_the_contract() -> None:
    """20: without such a question another layout or ``requires_grad`` is accepted, and the result is right."""

    def forward(x: Any) -> Any:
        return (x * 2).sum(0)

    for program in both(forward, (numbers(3, 2),)):
        for other in (numbers(2, 3).t(), nn.Parameter(numbers(3, 2))):
            assert arrays(program.module()(other)) == arrays(forward(other))


def test_views_by_layout() -> None:
    """20: whether ``reshape`` shares memory is a question of strides once somebody writes."""

    def forward(x: Any) -> Any:
        y = x.reshape(-1)
        y.add_(1)
        return x + 0

    for program in both(forward, (numbers(3, 2),)):
        agree(program, forward, [(numbers(3, 2),)])
        with pytest.raises(dl.GuardError) as caught:
            program.module()(numbers(2, 3).t())
        assert caught.value.id == "input-layout"


def test_identity_of_inputs() -> None:
    """20: ``x is y`` in strict mode, both answers, in the contract."""

    def forward(x: Any, y: Any) -> Any:
        return x + 1 if x is y else x - y

    t = numbers(3)
    program = export(forward, (numbers(3), numbers(3, seed=1)), strict=True)
    agree(program, forward, [(numbers(3), numbers(3, seed=1))])
    with pytest.raises(dl.GuardError) as caught:
        program.module()(t, t)
    assert caught.value.id == "input-alias"
    program = export(forward, (t, t), strict=True)
    assert text(program) == ["add = aten.add.Tensor(x, 1)"]
    assert arrays(program.module()(t, t)) == arrays(t + 1)
    with pytest.raises(dl.GuardError) as caught:
        program.module()(numbers(3), numbers(3))
    assert caught.value.id == "input-alias"


def test_class_of_a_tensor() -> None:
    """20: ``type(x) is Tensor`` and ``isinstance`` in strict mode."""

    def forward(x: Any) -> Any:
        assert isinstance(x, torch.Tensor)
        assert type(x.shape[0]) is int
        return x + 1 if type(x) is torch.Tensor else x - 1

    program = export(forward, (numbers(3),), dynamic_shapes={"x": {0: Dim("n")}}, strict=True)
    assert text(program) == ["add = aten.add.Tensor(x, 1)"]


@pytest.mark.parametrize("value", ["it's", 'say "hi"', "back\\slash", "new\nline", "{braces}", "ü", ""])
def test_string_inputs(value: str) -> None:
    """21, M9, M12: a string input with any character works, and is checked."""

    def forward(x: Any, name: str) -> Any:
        return x + len(name)

    for program in both(forward, (numbers(3), value)):
        agree(program, forward, [(numbers(3), value)])
        with pytest.raises(dl.GuardError):
            program.module()(numbers(3), value + "x")


SPECIALISING: list[Any] = [
    pytest.param(lambda x: x + 1 if int(x.shape[0]) > 5 else x - 1, "n > 5", id="int() > 5"),
    pytest.param(lambda x: x + len(str(x.shape[0])), None, id="len(str())"),
    pytest.param(lambda x: x + 1 if f"{x.shape[0]}" == "8" else x - 1, "n == 8", id="f-string"),
    pytest.param(lambda x: x + {8: 1}[x.shape[0]], "n == 8", id="dict key"),
]


@both_modes
@pytest.mark.parametrize(("forward", "exact"), SPECIALISING)
def test_plain_values_of_sizes(forward: Any, exact: str | None, strict: bool) -> None:
    """24: never burned in without a guard: strict the exact condition where there is one, non-strict ``s == 8``."""
    shapes = {"x": {0: Dim("n", min=1, max=64)}}
    error = refused(forward, (numbers(8),), dynamic_shapes=shapes, strict=strict)
    assert isinstance(error, dl.ConstraintViolationError)
    (guard,) = (guard.expr for guard in error.report.guards)
    expected = {"n > 5": "n >= 6", "n == 8": "n == 8", None: "n == 8"}[exact] if strict else "n == 8"
    assert guard == expected


def test_identity_of_a_size() -> None:
    """24: ``n is 8`` in strict mode is the exact condition."""
    source = "def forward(x):\n    return x + 1 if x.shape[0] is EIGHT else x - 1\n"
    namespace: dict[str, Any] = {"EIGHT": 8}
    exec(compile(source, __file__, "exec"), namespace)
    forward = namespace["forward"]
    error = refused(forward, (numbers(8),), dynamic_shapes={"x": {0: Dim("n", max=64)}}, strict=True)
    assert [guard.expr for guard in error.report.guards] == ["n == 8"]
