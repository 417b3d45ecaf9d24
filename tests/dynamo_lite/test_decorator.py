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
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from tests.exporting import MODES, arrays, both_modes, calls, numbers, text

SCALE = 2
ROWS = {"x": {0: Dim("n", min=1, max=64)}}


def model_class(strict: bool, on_mismatch: str = "error", offset: int = 5) -> Any:
    """A class with a decorated forward that reads a parameter, a buffer, attributes, a closure variable and a global."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)
            self.drop = nn.Dropout(0.5)
            self.register_buffer("total", torch.zeros(3))
            self.register_buffer("mean", torch.zeros(3))
            self.factor = 3
            self.eval()

        @dl.exported(dynamic_shapes=ROWS, strict=strict, on_mismatch=on_mismatch)
        def forward(self, x: Any, shift: Any = None) -> Any:
            y = self.drop(self.lin(x)) * self.factor + offset * SCALE
            self.total.add_(y.sum(0))
            self.mean = self.total / self.factor
            return y + self.mean if shift is None else y + shift

    return Model


def eager(model: Any, *args: Any) -> Any:
    """The undecorated forward."""
    return type(model).forward.function(model, *args)


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


def change_training(model: Any) -> None:
    model.train()


def change_attribute(model: Any) -> None:
    model.factor = 4


def change_number_type(model: Any) -> None:
    model.factor = 3.0


def change_submodule(model: Any) -> None:
    model.drop = nn.ReLU()


def change_submodule_attribute(model: Any) -> None:
    model.drop.p = 0.25


def change_shape(model: Any) -> None:
    model.lin.bias = nn.Parameter(torch.zeros(1))


def change_dtype(model: Any) -> None:
    model.double()


def remove_bias(model: Any) -> None:
    model.lin.bias = None


CHANGES = [
    change_training,
    change_attribute,
    change_number_type,
    change_submodule,
    change_shape,
    change_dtype,
    remove_bias,
]


@both_modes
@pytest.mark.parametrize("change", CHANGES)
def test_changed_module_is_a_miss(change: Any, strict: bool) -> None:
    """Burned-in assumptions are checked at each call; ``"error"`` raises and names what changed."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    change(model)
    with pytest.raises(dl.GuardError) as caught:
        model(x)
    assert caught.value.id == "live-state-changed"
    assert caught.value.hint


@both_modes
def test_restored_module_hits_again(strict: bool) -> None:
    """After a miss the same program runs again once the module is as it was."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    model.train()
    with pytest.raises(dl.GuardError, match="training"):
        model(x)
    model.eval()
    model(x)
    assert len(model.forward.exported_programs(model)) == 1


@both_modes
def test_same_submodule_anew_is_no_miss(strict: bool) -> None:
    """A submodule replaced by another of the same kind, size and attributes is read from then on."""
    model = model_class(strict)()
    twin = copy.deepcopy(model)
    x = numbers(4, 3)
    assert arrays(model(x)) == arrays(eager(twin, x))
    model.lin = nn.Linear(3, 3).eval()
    twin.lin = copy.deepcopy(model.lin)
    assert arrays(model(x)) == arrays(eager(twin, x))
    assert len(model.forward.exported_programs(model)) == 1


@both_modes
def test_changed_global_and_closure(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Globals and closure variables that forward reads are assumptions too."""
    model = model_class(strict)()
    x = numbers(4, 3)
    model(x)
    monkeypatch.setitem(globals(), "SCALE", 7)
    with pytest.raises(dl.GuardError, match="SCALE"):
        model(x)
    assert any("SCALE" in line for line in model.forward.exported_program(model).check_assumptions(model))


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
    assert model.forward.exported_programs() == []


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
        assert text(model.forward.exported_program()) == [f"add = aten.add.Tensor(x, {expected})"]


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
    assert twin.forward.exported_programs() == []
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
    assert len(child.forward.exported_programs()) == 1
    assert not child.forward.exported_program().module().updates_state
    for strict in MODES:
        model = model_class(strict)()
        model(numbers(4, 3))
        assert model.forward.exported_program().module().updates_state


@both_modes
def test_writes_of_attributes_are_no_assumptions_about_the_written_value(strict: bool) -> None:
    """M29: what forward reads back after writing it is its own value; the module's is not assumed to be that."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = 0

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            self.last = 7
            return x + self.last

    model = Model()
    for _ in range(3):
        assert arrays(model(numbers(3))) == arrays(numbers(3) + 7)


class Settings:
    def __init__(self) -> None:
        self.scale = 2
        self.offsets = [1, 2]


TABLE = {"a": 1}


@both_modes
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda model: setattr(model.settings, "scale", 3), id="attribute of an object"),
        pytest.param(lambda model: model.settings.offsets.append(3), id="list of an object"),
        pytest.param(lambda model: model.sizes.__setitem__(0, 9), id="item of a list"),
        pytest.param(lambda model: setattr(model, "sizes", [3, 4]), id="another list"),
        pytest.param(lambda model: TABLE.update(a=5), id="item of a global"),
    ],
)
def test_changed_containers_and_objects(change: Any, strict: bool) -> None:
    """What forward reads of containers and objects that the module or its globals hold is checked too."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.settings = Settings()
            self.sizes = [4, 5]

        @dl.exported(strict=strict)
        def forward(self, x: Any) -> Any:
            return x * self.settings.scale + sum(self.settings.offsets) + self.sizes[0] + TABLE["a"]

    model = Model()
    try:
        for _ in range(2):
            assert arrays(model(numbers(3))) == arrays(numbers(3) * 2 + 3 + 4 + 1)
        change(model)
        with pytest.raises(dl.GuardError):
            model(numbers(3))
    finally:
        TABLE["a"] = 1


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
    assert model.forward.exported_programs() == []


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
    assert len(child.forward.exported_programs()) == 1
