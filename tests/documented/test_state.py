"""The documented examples about module state (M28-M32)."""

from __future__ import annotations

from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from fx_ir.signature import OutputKind
from tests.exporting import arrays, blamed, both, both_modes, guards, line_of, numbers, refused, text


class Accumulate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("buffer", torch.zeros(3))


class InPlace(Accumulate):
    def forward(self, x: Any) -> Any:
        self.buffer[:] = self.buffer + x
        return self.buffer * 2


class Assigned(Accumulate):
    def forward(self, x: Any) -> Any:
        self.buffer = self.buffer + x
        return self.buffer * 2


@pytest.mark.parametrize("kind", [InPlace, Assigned])
def test_buffer_update(kind: type[Accumulate]) -> None:
    """M31, M32: a buffer-mutation output; two runs in a row carry the state, and the module keeps its own."""
    model = kind()
    for program in both(model, (torch.ones(3),)):
        spec = program.graph_signature.output_specs[0]
        assert (spec.kind, spec.target) == (OutputKind.BUFFER_MUTATION, "buffer")
        assert guards(program) == []
        run, other, eager = program.module(), program.module(), kind()
        for seed in range(2):
            assert arrays(run(numbers(3, seed=seed))) == arrays(eager(numbers(3, seed=seed)))
        assert arrays(run.buffer) == arrays(eager.buffer)
        assert arrays(other.buffer) == arrays(model.buffer) == arrays(torch.zeros(3))


class PlainTensor(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cache = torch.zeros(3)


class AssignsPlain(PlainTensor):
    def forward(self, x: Any) -> Any:
        self.cache = x * 2  # assigns a plain tensor
        return x


class WritesPlain(PlainTensor):
    def forward(self, x: Any) -> Any:
        self.cache.add_(x)  # writes a plain tensor
        return x


@both_modes
@pytest.mark.parametrize(
    ("kind", "marker"), [(AssignsPlain, "assigns a plain tensor"), (WritesPlain, "writes a plain tensor")]
)
def test_plain_tensor_attribute_is_not_updated(kind: type[nn.Module], marker: str, strict: bool) -> None:
    """M30: the error says to register it as a buffer."""
    error = refused(kind(), (torch.ones(3),), strict=strict, error=dl.StateError)
    assert "cache" in error.message
    assert "register_buffer" in error.hint
    assert (error.location.file, error.location.line) == (__file__, line_of(marker, __file__))


class UpdatesParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.weight.add_(x)  # updates a parameter
        return x


@both_modes
def test_parameter_is_not_updated(strict: bool) -> None:
    """M31: the error names the parameter, and ``no_grad`` in its hint."""
    error = refused(UpdatesParameter(), (torch.ones(3),), strict=strict, error=dl.StateError)
    assert error.id == "parameter-written"
    assert "the parameter weight" in error.message
    assert "no_grad" in error.hint
    assert error.location.line == line_of("updates a parameter", __file__)


class ReadsMissing(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + self.missing  # reads what is missing


@both_modes
def test_missing_attribute_is_the_models_own_error(strict: bool) -> None:
    """M28: an AttributeError at the user's line, our id and hint in a note, no frames of ours."""
    with pytest.raises(AttributeError) as caught:
        dl.export(ReadsMissing(), (torch.ones(3),), strict=strict)
    error = caught.value
    assert "object has no attribute 'missing'" in str(error)
    (note,) = error.__notes__
    assert "[missing-state]" in note
    assert "hint: set every attribute that forward reads before export" in note
    files = list(blamed(error))
    assert set(files) == {__file__}
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    assert entry is not None
    assert entry.tb_lineno == line_of("reads what is missing", __file__)


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 3

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.count = self.count * 2
        return x + self.count


def test_static_attribute_is_updated_and_rolled_back() -> None:
    """M29: reads see the last write, nothing remains in the graph, the module is as before (the helper compares)."""
    model = Counts()
    for program in both(model, (torch.ones(3),)):
        assert text(program) == ["add = aten.add.Tensor(x, 8)"]
        assert model.count == 3
        assert any(effect.kind == "attribute" and effect.what == "self.count" for effect in program.effects)
