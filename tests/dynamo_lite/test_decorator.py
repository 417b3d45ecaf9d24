"""``@exported``: a program over a live module (the live-module section of the model; M12, M28-M32)."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.live_model import ROWS, eager, model_class
from tests.exporting import MODES, arrays, both_modes, calls, numbers, text


@both_modes
def test_first_call_captures_and_later_calls_run(strict: bool) -> None:
    """The first call captures, proves and keeps the program; ``exported_program`` hands it out."""
    model = model_class(strict)()
    twin = copy.deepcopy(model)
    with pytest.raises(dl.InputError) as caught:
        model.forward.exported_program(model)
    assert caught.value.id == "not-exported-yet"
    for seed, rows in enumerate((4, 1, 64)):
        x = numbers(rows, 3, seed=seed)
        assert arrays(model(x)) == arrays(eager(twin, x))
        assert arrays(list(model.buffers())) == arrays(list(twin.buffers()))
    program = model.forward.exported_program(model)
    assert program is model.forward.exported_programs(model)[-1]
    assert len(model.forward.exported_programs(model)) == 1
    assert program.proof.status == "proved"
    assert type(twin).forward.exported_programs(twin) == []


@both_modes
def test_state_is_read_at_each_call(strict: bool) -> None:
    """Parameters and buffers are the live ones: load_state_dict, in-place changes and replaced tensors are seen."""
    kind = model_class(strict)
    model, other = kind(), kind()
    x = numbers(4, 3)
    model(x)
    model.load_state_dict(other.state_dict())
    assert arrays(model(x)) == arrays(eager(other, x))
    with torch.no_grad():
        model.lin.weight.mul_(2)
        other.lin.weight.mul_(2)
    assert arrays(model(x)) == arrays(eager(other, x))
    model.lin.weight = nn.Parameter(numbers(3, 3))
    other.lin.weight = nn.Parameter(numbers(3, 3))
    model.total = torch.ones(3)
    other.total = torch.ones(3)
    assert arrays(model(x)) == arrays(eager(other, x))
    held = model.total
    model(x)
    assert model.total is held
    assert len(model.forward.exported_programs(model)) == 1


@both_modes
def test_reexport_keeps_variants(strict: bool) -> None:
    """``"reexport"`` captures another variant; each is used where it applies."""
    model = model_class(strict, "reexport")()
    twin = copy.deepcopy(model)
    x = numbers(4, 3)
    for factor in (3, 4, 3, 4):
        model.factor = twin.factor = factor
        assert arrays(model(x)) == arrays(eager(twin, x))
    assert len(model.forward.exported_programs(model)) == 2
    shift = numbers(3, seed=2)
    assert arrays(model(x, shift)) == arrays(eager(twin, x, shift))
    assert len(model.forward.exported_programs(model)) == 3


@both_modes
def test_eager_runs_the_original(strict: bool) -> None:
    """``"eager"`` runs the original where no program applies."""
    model = model_class(strict, "eager")()
    twin = copy.deepcopy(model)
    x = numbers(4, 3)
    model(x), eager(twin, x)
    model.factor = twin.factor = 9
    assert arrays(model(x)) == arrays(eager(twin, x))
    big = numbers(65, 3)
    assert arrays(model(big)) == arrays(eager(twin, big))
    assert len(model.forward.exported_programs(model)) == 1


@both_modes
def test_contract_and_defaults(strict: bool) -> None:
    """M12, M13: a call may leave a default out or give it; another value or size is a miss."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    model(x, None)
    model(x=x)
    with pytest.raises(dl.GuardError):
        model(x, numbers(3))
    with pytest.raises(dl.GuardError, match="n = 65"):
        model(numbers(65, 3))
    with pytest.raises(dl.GuardError):
        model(numbers(4, 3).double())


def test_bad_on_mismatch() -> None:
    """An unknown choice is refused at once."""
    with pytest.raises(dl.InputError) as caught:
        dl.exported(on_mismatch="ignore")
    assert caught.value.id == "bad-on-mismatch"


class Child(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(numbers(3))

    @dl.exported
    def forward(self, x: Any) -> Any:
        return x * self.weight


class Parent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.child: Any = Child()

    def forward(self, x: Any) -> Any:
        return self.child(x) + self.child.forward(x) + 1


def test_bare_decorator() -> None:
    """M3, M5: without parentheses; strict is the decorator's default."""
    child: Any = Child()
    x = numbers(3, seed=1)
    assert arrays(child(x)) == arrays(x * child.weight)
    assert Child.__dict__["forward"].strict is True
    assert text(child.forward.exported_program(child)) == ["mul = aten.mul.Tensor(x, p_weight)"]


@both_modes
def test_decorated_submodule_is_inlined(strict: bool) -> None:
    """A decorated submodule met while tracing is part of the program, whether it has a program of its own or not."""
    parent = Parent()
    for _ in range(2):
        program = dl.export(parent, (numbers(3),), strict=strict)
        assert calls(program) == [
            "torch.ops.aten.mul.Tensor",
            "torch.ops.aten.mul.Tensor",
            "torch.ops.aten.add.Tensor",
            "torch.ops.aten.add.Tensor",
        ]
        stacks = [node.meta["nn_module_stack"] for node in program.graph.nodes if node.op == "call_function"]
        assert stacks[0] == (("", "Parent"), ("child", "Child"))
        parent.child(numbers(3))


@both_modes
def test_decorated_module_is_exported_by_its_own_signature(strict: bool) -> None:
    """M1: ``export`` of a decorated module captures the original, with the names of its parameters."""
    model = model_class(strict)()
    program = dl.export(model, (numbers(4, 3),), dynamic_shapes=ROWS, strict=strict)
    assert [node.name for node in program.graph.placeholders][-2:] == ["x", "shift"]
    twin = copy.deepcopy(model)
    assert arrays(program.module()(numbers(7, 3), None)) == arrays(eager(twin, numbers(7, 3)))
    assert model.forward.exported_programs(model) == []


def test_decorated_class() -> None:
    """A whole class is decorated through its forward; subclasses have programs of their own."""

    @dl.exported(strict=False)
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return x + self.amount()

        def amount(self) -> int:
            return 1

    class Other(Model):
        def amount(self) -> int:
            return 2

    for kind, expected in ((Model, 1), (Other, 2)):
        model: Any = kind()
        assert arrays(model(numbers(3))) == arrays(numbers(3) + expected)
        assert text(model.forward.exported_program(model)) == [f"add = aten.add.Tensor(x, {expected})"]


def test_hooks_outside_forward_run() -> None:
    """Hooks on the decorated module itself run as usual, around the program."""
    child: Any = Child()
    seen: list[str] = []
    child.register_forward_hook(lambda module, args, result: seen.append("after"))
    child.register_forward_pre_hook(lambda module, args: seen.append("before"))
    child(numbers(3))
    child(numbers(3))
    assert seen == ["before", "after"] * 2


def test_programs_do_not_keep_their_module() -> None:
    """A module with programs is collected when nobody holds it; copies begin without programs."""
    child: Any = Child()
    child(numbers(3))
    twin = copy.deepcopy(child)
    assert twin.forward.exported_programs(twin) == []
    gone = weakref.ref(child)
    del child
    gc.collect()
    assert gone() is None


def test_threads() -> None:
    """A program without state updates may be called from several threads; one with updates says so."""
    child: Any = Child()
    x = numbers(3, seed=1)
    expected = arrays(x * child.weight)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(50):
            if arrays(child(x)) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(child.forward.exported_programs(child)) == 1
    assert not child.forward.exported_program(child).module().updates_state
    for strict in MODES:
        model = model_class(strict)()
        model(numbers(4, 3))
        assert model.forward.exported_program(model).module().updates_state


@both_modes
def test_errors_while_capturing(strict: bool) -> None:
    """M28: the first call raises what export raises, without our frames, and nothing is kept."""

    class Model(nn.Module):
        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x + 1 if x.sum() > 0 else self.missing

    model: Any = Model()
    for _ in range(2):
        with pytest.raises(dl.DataDependentError):
            model(numbers(3))
    assert model.forward.exported_programs(model) == []


def test_first_calls_from_several_threads() -> None:
    """Threads that make the first call together end with one program."""
    child: Any = Child()
    x = numbers(3, seed=1)
    barrier = threading.Barrier(4)
    results: list[Any] = []

    def work() -> None:
        barrier.wait()
        results.append(arrays(child(x)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [arrays(x * child.weight)] * 4
    assert len(child.forward.exported_programs(child)) == 1
