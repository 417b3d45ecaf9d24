"""Eager calls: modes, random streams, copies, and what the library refuses."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from solver.errors import UnsupportedError


def test_grad_modes_nest_and_decorate() -> None:
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def inside() -> bool:
        return torch.is_grad_enabled()

    @torch.no_grad
    def bare() -> bool:
        return torch.is_grad_enabled()

    @torch.inference_mode()
    def inference() -> tuple[bool, bool]:
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled()

    assert not inside() and not bare() and inference() == (False, True)
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_set_grad_enabled_acts_at_once() -> None:
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def inside() -> bool:
        return torch.is_grad_enabled()

    assert torch.is_grad_enabled() and not inside() and torch.is_grad_enabled()


def test_one_seed_gives_one_stream() -> None:
    def draw() -> list[Any]:
        made = [torch.randn(2), torch.rand(2), torch.randint(0, 9, (3,)), torch.randperm(4)]
        made += [
            torch.empty(2).normal_(),
            nn.functional.dropout(torch.ones(8), 0.5),
            torch.bernoulli(torch.full((4,), 0.5)),
        ]
        return [tensor.tolist() for tensor in made]

    torch.manual_seed(3)
    first = draw()
    again = draw()
    torch.manual_seed(3)
    assert draw() == first != again


def test_the_stream_can_be_saved_and_a_generator_is_its_own() -> None:
    state = torch.get_rng_state()
    first = torch.randn(3).tolist()
    torch.set_rng_state(state)
    assert torch.randn(3).tolist() == first
    state = torch.get_rng_state()
    own = torch.Generator().manual_seed(1)
    drawn = torch.randn(3, generator=own).tolist()
    assert torch.randn(3, generator=torch.Generator().manual_seed(1)).tolist() == drawn
    after = torch.randn(3).tolist()
    torch.set_rng_state(state)
    assert torch.randn(3).tolist() == after


def test_dropout_keeps_the_mean() -> None:
    torch.manual_seed(0)
    kept = nn.functional.dropout(torch.ones(100_000), 0.25)
    values = np.unique(kept.numpy())
    assert np.allclose(values, [0, 4 / 3]) and abs(float(kept.mean()) - 1) < 0.02


def test_copies() -> None:
    x = torch.arange(3.0)
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    x += 1
    assert shallow is not x and shallow.tolist() == [1.0, 2.0, 3.0] and deep.tolist() == [0.0, 1.0, 2.0]
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1] is not x
    again = pickle.loads(pickle.dumps(nn.Parameter(x)))
    assert type(again) is nn.Parameter and again.requires_grad and again.tolist() == x.tolist()
    x.note = "mine"
    assert pickle.loads(pickle.dumps(x)).note == "mine"


def test_memory_is_shared_with_numpy() -> None:
    array = np.zeros(2, dtype=np.float32)
    x = torch.from_numpy(array)
    x += 1
    assert array.tolist() == [1.0, 1.0]
    array[0] = 5
    assert x.tolist() == [5.0, 1.0] and np.shares_memory(x.numpy(), array)
    assert not np.shares_memory(torch.tensor(array).numpy(), array)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: x.sum().backward(),
        lambda x: torch.autograd.grad(x.sum(), x),
        lambda x: x.register_hook(lambda g: g),
    ],
)
def test_there_is_no_autograd(body: Any) -> None:
    with pytest.raises(UnsupportedError) as caught:
        body(torch.ones(2, requires_grad=True))
    assert caught.value.id == "no-autograd" and "PyTorch" in caught.value.hint


def test_default_dtype() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.ones(1).dtype is torch.float64 and torch.tensor(1.0).dtype is torch.float64
        assert (torch.arange(2) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.get_default_dtype() is torch.float32
    with pytest.raises(TypeError):
        torch.set_default_dtype(torch.int32)


def test_assert_close() -> None:
    a = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(a, a + 1e-7)
    torch.testing.assert_close({"x": [a]}, {"x": [a]})
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 2"):
        torch.testing.assert_close(a, torch.tensor([1.0, 2.1]))
    with pytest.raises(AssertionError, match="dtype"):
        torch.testing.assert_close(a, a.double())
    with pytest.raises(AssertionError, match="shape"):
        torch.testing.assert_close(a, a[:1])
    with pytest.raises(AssertionError, match=r"\['x'\]\[0\]"):
        torch.testing.assert_close({"x": [a]}, {"x": [a + 1]})
    with pytest.raises(AssertionError):
        torch.testing.assert_close(torch.tensor(float("nan")), torch.tensor(float("nan")))
    torch.testing.assert_close(torch.tensor(float("nan")), torch.tensor(float("nan")), equal_nan=True)


@pytest.mark.parametrize(
    "check, error",
    [
        (torch._check, RuntimeError),
        (torch._check_value, ValueError),
        (torch._check_index, IndexError),
        (torch._check_type, TypeError),
    ],
)
def test_checks_raise_outside_export(check: Any, error: type[Exception]) -> None:
    check(True)
    with pytest.raises(error, match="why"):
        check(False, lambda: "why")


def test_control_flow_runs() -> None:
    assert torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(1),)).tolist() == [
        2.0
    ]
    assert torch.cond(False, lambda x: x + 1, lambda x: x - 1, (torch.ones(1),)).tolist() == [0.0]
    from dynamo_lite.torchlite._higher_order_ops.map import map as mapped

    assert mapped(lambda x, y: x * y, torch.arange(3.0), torch.tensor(2.0)).tolist() == [0.0, 2.0, 4.0]


def test_printing_options() -> None:
    torch.set_printoptions(precision=2)
    try:
        assert repr(torch.tensor([0.123456])) == "tensor([0.12])"
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.tensor([0.123456])) == "tensor([0.1235])"


def test_pytrees_have_both_names() -> None:
    from dynamo_lite.torchlite.utils import _pytree, pytree

    leaves, spec = _pytree.tree_flatten({"a": [1, 2], "b": (3,)})
    assert leaves == [1, 2, 3] and pytree.tree_unflatten(leaves, spec) == {"a": [1, 2], "b": (3,)}
    assert torch.utils._pytree is _pytree


def test_compiler_questions() -> None:
    assert not (
        torch.compiler.is_exporting() or torch.compiler.is_compiling() or torch.compiler.is_dynamo_compiling()
    )
    assert not torch.jit.is_scripting() and not torch.cuda.is_available()
    with pytest.raises(AssertionError, match="CUDA"):
        torch.ones(1).cuda()
    with torch.autocast("cpu", enabled=False):
        assert torch.ones(1).dtype is torch.float32
    with pytest.raises(NotImplementedError, match="autocast"), torch.autocast("cpu"):
        pass
