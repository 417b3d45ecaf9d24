"""Unusable input of every kind: error class, one sentence with the values, place, one hint; model and disk as before."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from tests.exporting import MODES, blamed, both_modes, line_of, module, numbers, refused, state


def well_formed(error: Any) -> None:
    """What every error of ours has."""
    assert isinstance(error, dl.ExportError)
    assert error.id
    assert error.id == error.id.lower()
    assert "\n" not in error.message
    assert error.hint
    assert "\n" not in error.hint


@both_modes
@pytest.mark.parametrize("value", [3, "model", None, len, nn.Linear, lambda x: x, [nn.Linear(2, 2)]])
def test_not_a_module(value: Any, strict: bool) -> None:
    """M1: the first argument is no module."""
    with pytest.raises(dl.InputError) as caught:
        dl.export(value, (numbers(2),), strict=strict)
    well_formed(caught.value)
    assert caught.value.id == "not-a-module"
    assert type(value).__name__ in caught.value.message
    assert set(blamed(caught.value)) == {__file__}


def forward(x: Any, y: Any = None, *, scale: float = 1.0) -> Any:
    return x * scale if y is None else x * scale + y


ARGUMENTS: list[Any] = [
    pytest.param((), {}, "x", id="none given"),
    pytest.param((numbers(2),) * 3, {}, "positional", id="too many"),
    pytest.param((numbers(2),), {"z": 1}, "z", id="unknown keyword"),
    pytest.param((numbers(2),), {"x": numbers(2)}, "x", id="given twice"),
]


@both_modes
@pytest.mark.parametrize(("args", "kwargs", "named"), ARGUMENTS)
def test_arguments_do_not_fit(args: Any, kwargs: Any, named: str, strict: bool) -> None:
    """M1: the example inputs do not fit the signature."""
    error = refused(forward, args, kwargs, strict=strict, error=dl.InputError)
    well_formed(error)
    assert error.id == "arguments-do-not-fit"
    assert named in error.message
    assert (error.location.file, error.location.line) == (__file__, forward.__code__.co_firstlineno)


@both_modes
def test_args_is_no_tuple(strict: bool) -> None:
    """M1: a tensor where the tuple of arguments belongs."""
    error = refused(forward, numbers(2), strict=strict, error=dl.InputError)
    well_formed(error)
    assert error.id == "args-not-a-tuple"
    assert "(x,)" in error.hint


@dataclass
class Strange:
    t: Any


@both_modes
@pytest.mark.parametrize(
    "args", [(Strange(numbers(2)),), ([numbers(2), Strange(1)],), ({"a": object()},), ({1, 2},)]
)
def test_unregistered_class(args: Any, strict: bool) -> None:
    """M11: an unregistered class as an input, at any depth."""
    error = refused(lambda x: x, args, strict=strict, error=dl.InputError)
    well_formed(error)
    assert error.id == "unregistered-class"
    assert "register" in error.hint


n = Dim("n", min=1, max=8)
SPECIFICATIONS: list[Any] = [
    pytest.param({"z": {0: n}}, "spec-unknown-argument", "z", id="unknown argument"),
    pytest.param({"x": {5: n}}, "spec-does-not-fit", "5", id="unknown dimension"),
    pytest.param({"x": (n,)}, "spec-does-not-fit", "2 dimensions", id="too few entries"),
    pytest.param({"x": [[n], None]}, "spec-does-not-fit", "x", id="nested too deep"),
    pytest.param({"x": "n"}, "spec-does-not-fit", "'n'", id="a string"),
    pytest.param({"x": {0: 2.5}}, "spec-does-not-fit", "2.5", id="a float"),
    pytest.param(({0: n}, None, None, None), "spec-does-not-fit", "4 entries", id="too many arguments"),
    pytest.param(7, "spec-does-not-fit", "int", id="a number"),
    pytest.param({"y": {0: n}}, "spec-does-not-fit", "y", id="for what is no tensor"),
    pytest.param({"x": {0: Dim("n", min=5, max=8)}}, "example-outside-range", "4", id="example too small"),
    pytest.param({"x": {0: Dim("n", max=3)}}, "example-outside-range", "4", id="example too large"),
    pytest.param({"x": {0: 3 * n}}, "example-not-derived", "4", id="no multiple"),
    pytest.param({"x": {0: 5}}, "example-size-mismatch", "5", id="another static size"),
    pytest.param({"x": {0: n, 1: n}}, "example-size-mismatch", "3", id="one Dim, two sizes"),
]


@both_modes
@pytest.mark.parametrize(("spec", "id", "named"), SPECIFICATIONS)
def test_specification_misfits(spec: Any, id: str, named: str, strict: bool) -> None:
    """M36: structure, missing argument, contradiction with the example; each with the values."""
    error = refused(forward, (numbers(4, 3),), dynamic_shapes=spec, strict=strict)
    well_formed(error)
    assert error.id == id
    assert named in error.message
    expected = dl.InputError if id.startswith("spec-") else dl.ConstraintViolationError
    assert isinstance(error, expected)
    assert error.location is not None
    assert error.location.file == __file__


def test_empty_range() -> None:
    """M36: an empty range is refused where the Dim is made."""
    with pytest.raises(dl.InputError) as caught:
        Dim("n", min=5, max=3)
    well_formed(caught.value)
    assert caught.value.id == "empty-range"
    assert "5..3" in caught.value.message


class Raises(nn.Module):
    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error
        self.count = 0
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.total += x
        self.fail()
        return x

    def fail(self) -> None:
        if self.count:
            raise self.error  # the model's own error


@both_modes
@pytest.mark.parametrize("error", [ValueError("own"), KeyError("k"), ZeroDivisionError(), AssertionError()])
def test_model_raises_by_itself(error: Exception, strict: bool) -> None:
    """M28: the model's own error at its own line, no frames of ours; the model is as before."""
    model = Raises(error)
    before = state(model)
    with pytest.raises(type(error)) as caught:
        dl.export(model, (numbers(3),), strict=strict)
    assert caught.value is error
    assert set(blamed(error)) == {__file__}
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    assert entry is not None
    assert entry.tb_lineno == line_of("the model's own error", __file__)
    assert "[model-raises]" in error.__notes__[-1]
    error.__traceback__ = None
    assert state(model) == before


@both_modes
def test_operator_misuse_is_the_models_own_error(strict: bool) -> None:
    """M20: shapes that an operator refuses raise what eager raises, at the user's line."""

    def multiply(x: Any) -> Any:
        return x @ x  # does not fit

    with pytest.raises(RuntimeError) as eager:
        multiply(numbers(4, 3))
    with pytest.raises(RuntimeError) as caught:
        dl.export(module(multiply), (numbers(4, 3),), strict=strict)
    assert str(caught.value) == str(eager.value)
    assert set(blamed(caught.value)) == {__file__}


def test_unsupported_construct() -> None:
    """M3: what strict mode cannot analyse names the construct, the line and a way out."""

    def opens(x: Any) -> Any:
        with open("/dev/null") as file:  # opens a file
            file.read()
        return x

    error = refused(opens, (numbers(3),), strict=True, error=dl.UnsupportedError)
    well_formed(error)
    assert "io.open reads or writes files" in error.message
    assert error.location.line == line_of("opens a file", __file__)


@both_modes
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda x: bool(x.sum()), id="bool"),
        pytest.param(lambda x: x.numpy(), id="numpy"),
        pytest.param(lambda x: [0, 1][int(x.sum())], id="index"),
        pytest.param(lambda x: list(range(x.sum().item())), id="range"),
        pytest.param(lambda x: x.sum() in [1, 2], id="in"),
    ],
)
def test_data_dependent(use: Any, strict: bool) -> None:
    """M16: whatever needs the data is refused with the user's line."""

    def decide(x: Any) -> Any:
        use(x)
        return x

    error = refused(decide, (torch.tensor([1, 2]),), strict=strict)
    well_formed(error)
    assert type(error) in (dl.DataDependentError, dl.UnsupportedError)
    assert error.location.file == __file__


# --- files -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    program = dl.export(module(lambda x: x + 1), (numbers(3),))
    path = tmp_path / "program.dlp"
    dl.save(program, path)
    return path


def missing(path: Path) -> None:
    path.unlink()


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def foreign(path: Path) -> None:
    path.write_text("not a program")


def foreign_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "something else")


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def newer(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    changed = {name: data.replace(b'"dlp/1"', b'"dlp/999"') for name, data in content.items()}
    if changed == content:
        import json
        import re

        changed = {}
        for name, data in content.items():
            if name.endswith(".json"):
                data = re.sub(rb'("(?:format|version)": ?)("[^"]*/)?\d+', rb"\g<1>\g<2>999", data)
                json.loads(data)
            changed[name] = data
    assert changed != content
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in changed.items():
            archive.writestr(name, data)


@pytest.mark.parametrize("spoil", [missing, truncated, empty, foreign, foreign_zip, a_directory, newer])
def test_unusable_files(spoil: Any, saved: Path) -> None:
    """M33: missing, truncated, foreign, of an unknown version: InputError with the path, and the disk as before."""
    spoil(saved)
    before = sorted((p, p.read_bytes() if p.is_file() else b"") for p in saved.parent.iterdir())
    with pytest.raises(dl.InputError) as caught:
        dl.load(saved)
    well_formed(caught.value)
    assert saved.name in caught.value.message
    assert before == sorted((p, p.read_bytes() if p.is_file() else b"") for p in saved.parent.iterdir())


@both_modes
def test_saving_where_it_cannot_be(strict: bool, tmp_path: Path) -> None:
    """M33: a path that cannot be written, and what is no program: nothing is left on disk."""
    program = dl.export(module(lambda x: x + 1), (numbers(3),), strict=strict)
    with pytest.raises(dl.InputError) as caught:
        dl.save(program, tmp_path / "missing" / "program.dlp")
    well_formed(caught.value)
    with pytest.raises(dl.InputError) as caught:
        dl.save(3, tmp_path / "three.dlp")  # type: ignore[arg-type]
    well_formed(caught.value)
    assert list(tmp_path.iterdir()) == []


# --- run-time inputs ---------------------------------------------------------------------------------------------------


class Runs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x: Any, pair: Any, flag: bool, name: str, skipped: Any = None) -> Any:
        self.count += 1
        return (x + pair["a"] + pair["b"][0]) * (2 if flag else 3) * len(name)


GOOD: dict[str, Any] = {
    "x": numbers(4, 3),
    "pair": {"a": numbers(3), "b": [numbers(1)]},
    "flag": True,
    "name": "n",
}
BREAKS: list[Any] = [
    pytest.param({"x": numbers(4, 3).double()}, "input-dtype", "float64", id="dtype"),
    pytest.param({"x": numbers(3)}, "input-rank", "1", id="rank"),
    pytest.param({"x": numbers(4, 2)}, "input-size", "2", id="static size"),
    pytest.param({"x": numbers(9, 3)}, "input-range", "9", id="range"),
    pytest.param({"x": 3}, "input-not-a-tensor", "3", id="a number"),
    pytest.param({"x": None}, "input-not-a-tensor", "None", id="None"),
    pytest.param({"pair": {"a": numbers(3), "b": []}}, "input-structure", "pair", id="shorter list"),
    pytest.param({"pair": {"a": numbers(3), "b": (numbers(1),)}}, "input-structure", "pair", id="tuple"),
    pytest.param({"pair": {"a": numbers(3), "c": [numbers(1)]}}, "input-structure", "pair", id="other key"),
    pytest.param({"pair": numbers(3)}, "input-structure", "pair", id="no container"),
    pytest.param({"flag": False}, "input-value", "False", id="static bool"),
    pytest.param({"flag": 1}, "input-value", "1", id="equal but no bool"),
    pytest.param({"name": "m"}, "input-value", "'m'", id="static string"),
    pytest.param({"skipped": numbers(1)}, "input-value", "None", id="no longer None"),
    pytest.param({"more": 1}, "argument-unexpected", "more", id="unknown argument"),
    pytest.param({"x": ...}, "argument-missing", "x", id="missing argument"),
]


@pytest.mark.parametrize(("change", "id", "named"), BREAKS)
def test_run_time_inputs(change: dict[str, Any], id: str, named: str) -> None:
    """M12, M26: inputs that break the contract; nothing has run and no state has changed."""
    model = Runs()
    for strict in MODES:
        program = dl.export(
            model, (), {**GOOD, "skipped": None}, strict=strict, dynamic_shapes={"x": {0: n}, "pair": None}
        )
        run = program.module()
        inputs = {**GOOD, "skipped": None, **change}
        inputs = {name: value for name, value in inputs.items() if value is not ...}
        with pytest.raises(dl.GuardError) as caught:
            run(**inputs)
        well_formed(caught.value)
        assert caught.value.id == id
        assert named in caught.value.message
        assert int(run.count) == 0
        run(**GOOD, skipped=None)
        assert int(run.count) == 1
