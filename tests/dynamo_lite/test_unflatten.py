"""``unflatten``: the hierarchy computes what the model does, whole and in parts, and is a model like any other (M34)."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from fx_ir.structure import same_graph
from tests.exporting import agree, arrays, both_modes, module, numbers


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        return self.l(self.l(x)).relu()


class Outer(Inner):
    def forward(self, x: Any) -> Any:
        return super().forward(x) + 1


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = Outer()
        self.seq = nn.Sequential(nn.Linear(4, 3), nn.ReLU())

    def forward(self, x: Any) -> Any:
        return self.seq(self.b(x) + self.b(x))


class Counting(nn.Module):
    """Takes a keyword, returns a dict, updates a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x: Any, *, scale: float = 2.0) -> Any:
        self.n += 1
        return {"y": self.l(x) * scale, "n": self.n * 1, "x": x}


class Uses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = Counting()

    def forward(self, x: Any) -> Any:
        return self.c(self.c(x, scale=3.0)["y"], scale=3.0)["y"]


BATCH = {"x": {0: Dim("b", min=0, max=64)}}


@both_modes
@pytest.mark.parametrize("keep", [(), ("b.l", "seq"), ("b",)], ids=lambda keep: "-".join(keep) or "none")
def test_parts_and_whole(strict: bool, keep: tuple[str, ...]) -> None:
    """M34: each module computes its first call's part; the whole computes what the model does, at other sizes too."""
    model, x = Net(), numbers(2, 4)
    program = dl.export(model, (x,), dynamic_shapes=BATCH, strict=strict, preserve_module_call_signature=keep)
    assert program.check_assumptions(model) == [] and all("forward" not in vars(m) for m in model.modules())
    for made in (program, program.run_decompositions()):
        back = dl.unflatten(made)
        for given in (x, numbers(5, 4), numbers(0, 4)):
            assert arrays(back(given)) == arrays(model(given))
            assert arrays(back.b.l(given)) == arrays(model.b.l(given))
            assert arrays(back.b(given)) == arrays(model.b(given))
            assert arrays(back.seq(given)) == arrays(model.seq(given))
    assert {name: arrays(value) for name, value in back.state_dict().items()} == {
        name: arrays(value) for name, value in model.state_dict().items()
    }


@both_modes
def test_exported_again(strict: bool) -> None:
    """M34: what ``unflatten`` gives exports with the same arguments and specification, and again."""
    model, x = Net(), numbers(2, 4)
    program = dl.export(model, (x,), dynamic_shapes=BATCH, strict=strict)
    for _ in range(2):
        program = dl.export(dl.unflatten(program), (x,), dynamic_shapes=BATCH, strict=strict)
        agree(program, model, [(x,), (numbers(7, 4),)])
    with pytest.raises(dl.GuardError):
        program.module()(numbers(65, 4))


def test_a_single_name_is_a_name() -> None:
    """M34: a string names one module."""
    program = dl.export(Net(), (numbers(2, 4),), preserve_module_call_signature="seq")
    assert [entry.fqn for entry in program.module_call_graph if entry.signature] == ["", "seq"]


@both_modes
def test_kept_signature(strict: bool) -> None:
    """M34: keywords, containers, buffers that are updated, and a call of the part alone."""
    model, x = Uses(), numbers(3, 4)
    program = dl.export(
        model, (x,), dynamic_shapes=BATCH, strict=strict, preserve_module_call_signature=("c",)
    )
    assert [entry.fqn for entry in program.module_call_graph if entry.signature] == ["", "c", "c@1"]
    back, eager = dl.unflatten(program), copy.deepcopy(model)
    for given in (x, numbers(1, 4)):
        assert arrays(back(given)) == arrays(eager(given))
        assert arrays(back.c.n) == arrays(eager.c.n)
    assert arrays(back.c(x, scale=3.0)) == arrays(eager.c(x, scale=3.0))
    with pytest.raises(dl.InputError, match="c takes"):
        back.c(x)
    assert arrays(program.state_dict["c.n"]) == arrays(torch.zeros(()))


@both_modes
def test_file_and_copies(strict: bool, tmp_path: Path) -> None:
    """M33, M34: a loaded program unflattens too; state is the module's own; deep copies stand alone."""
    model, x = Uses(), numbers(3, 4)
    program = dl.export(
        model, (x,), dynamic_shapes=BATCH, strict=strict, preserve_module_call_signature=("c",)
    )
    dl.save(program, tmp_path / "m.dlp")
    back = dl.unflatten(dl.load(tmp_path / "m.dlp"))
    other = copy.deepcopy(back)
    with torch.no_grad():
        other.c.l.weight.fill_(0.0)
    assert arrays(back(x)) == arrays(model(x))
    assert arrays(other(x)) != arrays(model(x))
    assert arrays(other.c.n) == arrays(torch.full((), 2.0))


@both_modes
def test_hooks_and_replacements(strict: bool) -> None:
    """M34: a module may be replaced by another that takes and returns the same; hooks see and change results."""
    model, x = Net(), numbers(2, 4)
    back = dl.unflatten(dl.export(model, (x,), dynamic_shapes=BATCH, strict=strict))
    back.seq = nn.Linear(4, 3)
    model.seq = back.seq
    assert arrays(back(x)) == arrays(model(x))
    back.b.register_forward_hook(lambda module, args, result: result * 2)
    model.b.register_forward_hook(lambda module, args, result: result * 2)
    assert arrays(back(x)) == arrays(model(x))


def test_contract_is_held() -> None:
    """M26, M34: the whole checks its inputs as the program does."""
    back = dl.unflatten(dl.export(Net(), (numbers(2, 4),), dynamic_shapes={"x": {0: Dim("b", min=2, max=3)}}))
    with pytest.raises(dl.GuardError):
        back(numbers(4, 4))
    with pytest.raises(dl.GuardError):
        back(numbers(2, 4).to(torch.float64))


@both_modes
def test_sizes_come_from_the_parts_own_inputs(strict: bool) -> None:
    """M34: a part that uses a size can be called alone where its own arguments tell it; otherwise it says so."""

    class Heads(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.reshape(x.shape[0], 2, 2).transpose(0, 1)

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.heads = Heads()
            self.pad = Pad()

        def forward(self, x: Any) -> Any:
            return self.pad(self.heads(x), x.shape[0] * 2)

    class Pad(nn.Module):
        def forward(self, x: Any, n: Any) -> Any:
            return torch.cat([x.flatten(), torch.zeros(n)])

    model, x = Padded(), numbers(3, 4)
    shapes = {"x": {0: Dim("b", min=1, max=64)}}
    back = dl.unflatten(dl.export(model, (x,), dynamic_shapes=shapes, strict=strict))
    for given in (x, numbers(5, 4)):
        assert arrays(back(given)) == arrays(model(given))
        assert arrays(back.heads(given)) == arrays(model.heads(given))
    kept = dl.export(
        model, (x,), dynamic_shapes=shapes, strict=strict, preserve_module_call_signature=("pad",)
    )
    assert arrays(dl.unflatten(kept).pad(model.heads(x), 6)) == arrays(model.pad(model.heads(x), 6))


@both_modes
def test_inputs_that_are_written(strict: bool) -> None:
    """M32, M34: updates of inputs and results that are inputs, as eager."""

    def forward(x: Any, y: Any) -> Any:
        x.add_(y)
        return x, y * 2, y

    back = dl.unflatten(dl.export(module(forward), (numbers(3), numbers(3)), strict=strict))
    x, y = numbers(3), numbers(3) + 1
    first, _, third = back(x, y)
    assert first is x and third is y
    assert arrays(x) == arrays(numbers(3) + y)


def test_bad_arguments() -> None:
    """M34: unknown names, wrong objects, modules that compute nothing, and arguments that are written."""
    x = numbers(2, 4)
    with pytest.raises(dl.InputError, match="'nope'"):
        dl.export(Net(), (x,), preserve_module_call_signature=("nope",))
    with pytest.raises(dl.InputError, match="unflatten wants"):
        dl.unflatten(Net())  # type: ignore[arg-type]

    class Writes(nn.Module):
        def forward(self, x: Any) -> Any:
            x.add_(1)
            return x

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w, self.idle = Writes(), nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.idle(self.w(x * 2))

    model = Holder()
    with pytest.raises(dl.UnsupportedError, match="updates an argument"):
        dl.export(model, (x,), preserve_module_call_signature=("w",))
    assert "forward" not in vars(model.w)
    back = dl.unflatten(dl.export(model, (x,)))
    assert arrays(back(x)) == arrays(model(x))
    with pytest.raises(dl.InputError, match="computes nothing"):
        back.idle(x)
    kept = dl.unflatten(dl.export(model, (x,), preserve_module_call_signature=("idle",)))
    assert arrays(kept.idle(x)) == arrays(x)
    with pytest.raises(dl.InputError, match="1 tensors by position"):
        back.w(x, x)


@both_modes
def test_exported_again_with_updates(strict: bool) -> None:
    """M34: buffers and inputs that are written give the same graph when exported again."""

    class Writes(Uses):
        def forward(self, x: Any) -> Any:
            x[0].add_(1)
            return super().forward(x)

    model, x = Writes(), numbers(3, 4)
    first = dl.export(model, (x,), dynamic_shapes={"x": {0: Dim("b", min=1, max=9)}}, strict=strict)
    again = dl.export(
        dl.unflatten(first), (x,), dynamic_shapes={"x": {0: Dim("b", min=1, max=9)}}, strict=strict
    )
    assert same_graph(first.graph_module, again.graph_module) == []
    assert first.graph_signature == again.graph_signature
    agree(again, copy.deepcopy(model), [(x,)])
