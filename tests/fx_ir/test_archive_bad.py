"""Files that are no programs, and saves that fail."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fx_ir.archive import load, save, weights
from fx_ir.contract import ConstLeaf
from solver.errors import ExportError, InputError
from tests.fx_ir.programs import counter_program, linear_program, rich_program, size_program


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.dlp"
    save(rich_program(), path)
    return path


def refusal(file: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        load(file)
    assert caught.value.hint and caught.value.id
    return caught.value


def rewrite(file: Path, change: Any, **entries: Any) -> None:
    """Writes the archive anew with ``program.json`` changed and entries replaced (None: left out)."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(parts["program.json"])
    change(body)
    parts["program.json"] = json.dumps(body).encode()
    parts.update({name.replace("__", "."): data for name, data in entries.items()})
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in parts.items():
            if data is not None:
                archive.writestr(name, data)


def test_wrong_arguments_are_told_what_is_wanted(tmp_path: Path) -> None:
    program = linear_program()
    for wrong in (program, 3, None, [1]):
        with pytest.raises(InputError, match="load wants the path") as caught:
            load(wrong)  # type: ignore[arg-type]
        assert caught.value.id == "archive-argument"
    with pytest.raises(InputError, match="save wants an ExportedProgram"):
        save("model", tmp_path / "x.dlp")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="save wants a path"):
        save(program, 3)  # type: ignore[arg-type]


def test_missing_empty_and_foreign_files(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.dlp").id == "archive-missing"
    assert refusal(tmp_path).id == "archive-missing"
    for name, data in {"empty": b"", "text": b"hello world" * 9, "pickle": b"\x80\x04N."}.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert refusal(path).id == "archive-foreign"
        assert refusal(io.BytesIO(data)).id == "archive-foreign"
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "program.json" in refusal(other).message
    assert refusal(io.StringIO("text")).id == "archive-foreign"


def test_every_truncation_is_refused(file: Path) -> None:
    data = file.read_bytes()
    for length in sorted({*range(0, len(data), max(1, len(data) // 60)), len(data) - 1}):
        assert refusal(io.BytesIO(data[:length])).id in ("archive-foreign", "archive-bad")


def test_damage_is_refused_or_harmless(file: Path) -> None:
    data = bytearray(file.read_bytes())
    reference = str(load(io.BytesIO(bytes(data))))
    rng = random.Random(7)
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 4))):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            loaded = load(io.BytesIO(bytes(damaged)))
        except InputError:
            continue
        assert str(loaded) == reference  # only bytes that mean nothing (dates, padding) were hit


def mutations(value: Any, rng: random.Random) -> Any:
    """The value with one random part replaced, dropped or repeated."""
    junk: list[Any] = [
        None,
        -1,
        2**70,
        0.5,
        "x",
        "__import__('os')",
        [],
        {},
        True,
        "aten::relu",
        {"node": "nope"},
    ]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutations(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        if rng.random() < 0.15:
            return value[:index] + value[index + 1 :]
        return [*value[:index], mutations(value[index], rng), *value[index + 1 :]]
    return rng.choice(junk)


@pytest.mark.parametrize("make", [rich_program, size_program])
def test_programs_that_mean_nothing_are_refused(make: Any) -> None:
    stream = io.BytesIO()
    save(make(), stream)
    with zipfile.ZipFile(stream) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(parts["program.json"])
    rng = random.Random(11)
    refused = 0
    for _ in range(400):
        parts["program.json"] = json.dumps(mutations(body, rng)).encode()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
        try:
            loaded = load(out)
        except InputError:
            refused += 1
            continue
        try:  # what is admitted can be shown and checked without a crash
            str(loaded)
            loaded.validate()
        except ExportError:
            refused += 1
    assert refused > 200


def test_versions_and_formats(file: Path) -> None:
    rewrite(file, lambda body: body.update(version=2))
    assert refusal(file).id == "archive-version" and "version 2" in refusal(file).message
    rewrite(file, lambda body: body.update(format="other"))
    assert refusal(file).id == "archive-foreign"
    rewrite(file, lambda body: None, shapeproof__json=b'{"format": "shapeproof/9"}')
    assert refusal(file)


def test_code_in_expressions_is_refused(file: Path) -> None:
    marker = file.parent / "touched"

    def attack(body: Any) -> None:
        body["contract"]["leaves"][0]["dims"][0] = f"__import__('os').mkdir({str(marker)!r})"

    rewrite(file, attack)
    assert refusal(file).id == "archive-bad" and not marker.exists()


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "a/../../b", "C:\\x", "..\\x"])
def test_paths_that_lead_out_are_refused(file: Path, name: str) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"x")
    assert "leads out of the archive" in refusal(file).message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_given_twice_and_bombs_are_refused(file: Path) -> None:
    data = file.read_bytes()
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("program.json", b"{}")
    assert "twice" in refusal(file).message
    file.write_bytes(data)
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist() if name != "program.json"}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("program.json", b" " * (100 << 20))
        for name, content in parts.items():
            archive.writestr(name, content)
    assert "would take" in refusal(file).message


def test_weights_that_lie_about_themselves(file: Path) -> None:
    def header(**entries: Any) -> bytes:
        text = json.dumps(entries).encode()
        return struct.pack("<Q", len(text)) + text + bytes(64)

    good = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    for entry in (
        {**good, "dtype": "F99"}, {**good, "shape": [5]}, {**good, "shape": [-4]}, {**good, "data_offsets": [0, 999]},
        {**good, "data_offsets": [16, 0]}, {**good, "shape": "4"}, {"dtype": "F32"}, 3,
    ):  # fmt: skip
        rewrite(file, lambda body: None, weights__safetensors=header(weight=entry, bias=good))
        assert refusal(file).id == "archive-bad"
    for data in (b"", b"1234567", struct.pack("<Q", 2**60), header(), header(bias=good)):
        rewrite(file, lambda body: None, weights__safetensors=data)
        assert refusal(file).id == "archive-bad"


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.dlp"
    save(linear_program(), path)
    before = path.read_bytes()

    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(weights, "chunks", fail)
    with pytest.raises(InputError, match="No space left") as caught:
        save(counter_program(), path)
    assert caught.value.id == "archive-write"
    monkeypatch.undo()
    bad = linear_program()
    bad.contract.leaves = (ConstLeaf("x", "x", object()),)
    with pytest.raises(InputError, match="cannot be saved: input x"):
        save(bad, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.dlp"]
    with pytest.raises(InputError, match="cannot be written"):
        save(linear_program(), tmp_path / "no" / "m.dlp")


def test_an_interrupted_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.dlp"
    save(linear_program(), path)
    before = path.read_bytes()

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "chunks", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(counter_program(), path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.dlp"]
