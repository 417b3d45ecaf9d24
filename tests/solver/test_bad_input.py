"""Problems and archives whose structure is broken at random: an exit status and, where unusable, one sentence."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import dynamo_lite as dl
from dynamo_lite import torchlite as torch
from solver.cli import main

DATA = Path(__file__).parent.parent / "data"
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 2**70, -(2**300), 1.5, float("nan"), "", "\x00", "\ud800", "a" * 300, [], {}, [[[]]]),
    *(
        "__import__('os').system('x')",
        "9**9**9",
        "b[0]",
        "b.x",
        "x:=3",
        "lambda: 1",
        "2**(2**40)",
        "b//0 > 1",
    ),
    *("not " * 3000 + "b>1", "b+" * 3000 + "b>1", "-" * 5000 + "b", "((b+1)**40)**40>2", "int(1e400)"),
)


def paths(data: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield here
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from paths(value, (*here, key))


def broken(random: Random, data: Any) -> Any:
    """A copy with one to three parts replaced, removed, or put in the place of others."""
    data = copy.deepcopy(data)
    for _ in range(random.randint(1, 3)):
        places = [path for path in paths(data) if path]
        if not places:
            break
        *steps, last = random.choice(places)
        parent = data
        for step in steps:
            parent = parent[step]
        kind = random.randrange(3)
        if kind == 0:
            parent[last] = copy.deepcopy(random.choice(HOSTILE))
        elif kind == 1:
            del parent[last]
        else:
            source = data
            for step in random.choice(places):
                source = source[step]
            parent[last] = copy.deepcopy(source)
    return data


def checked(file: Path, capsys: pytest.CaptureFixture[str]) -> int:
    status = main(["verify", str(file)])
    captured = capsys.readouterr()
    assert status in range(6)
    if status == 2:
        assert captured.err.startswith("[") and len(captured.err) < 1500 and not captured.out
    return status


def test_problems_with_broken_structure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = json.loads((DATA / "guards.json").read_text())
    file = tmp_path / "p.json"
    for seed in range(200):
        random = Random(seed)
        file.write_text(json.dumps(broken(random, random.choice(cases))))
        checked(file, capsys)


def test_archives_with_broken_structure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archives = sorted((DATA / "pt2").glob("*.pt2"))
    file = tmp_path / "x.pt2"
    for seed in range(120):
        random = Random(seed)
        with zipfile.ZipFile(random.choice(archives)) as source, zipfile.ZipFile(file, "w") as target:
            name = next(n for n in source.namelist() if n.endswith("model.json"))
            target.writestr(name, json.dumps(broken(random, json.loads(source.read(name)))))
        checked(file, capsys)


def ours(folder: Path) -> dict[str, bytes]:
    """The members of an archive that ``save`` wrote, of a program with guards that are proved and adopted."""
    sizes = {"x": {0: dl.Dim("b", min=2, max=30), 1: dl.Dim.AUTO}}
    program = dl.export(Guarded(), (torch.ones(6, 4),), dynamic_shapes=sizes, strict=True)
    dl.save(program, folder / "whole.dlp")
    with zipfile.ZipFile(folder / "whole.dlp") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Guarded(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return x.view(-1, 2) if x.shape[0] * x.shape[1] % 4 == 0 else x


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as target:
        for name, data in members.items():
            target.writestr(name, data)
    return buffer.getvalue()


def damaged(random: Random, members: dict[str, bytes]) -> bytes:
    """An archive of ours with bits turned over, cut short, without a member, or with a changed member."""
    kind = random.randrange(5)
    members = dict(members)
    obligations = next(name for name in members if name.endswith("shapeproof.json"))
    if kind == 0:
        del members[random.choice(sorted(members))]
    elif kind == 1:
        members[obligations] = json.dumps(broken(random, json.loads(members[obligations]))).encode()
    elif kind == 2:
        members[obligations] = flipped(random, members[obligations])
    whole = packed(members, random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
    if kind == 3:
        return whole[: random.randrange(len(whole))]
    return flipped(random, whole) if kind == 4 else whole


def flipped(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def damage(seeds: range, file: Path, capsys: pytest.CaptureFixture[str]) -> set[int]:
    members = ours(file.parent)
    found = set()
    for seed in seeds:
        file.write_bytes(damaged(Random(seed), members))
        found.add(checked(file, capsys))
    return found


def test_damaged_archives_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {0, 2} <= damage(range(300), tmp_path / "x.dlp", capsys)


@pytest.mark.long
def test_damaged_archives_of_ours_at_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert {0, 2} <= damage(range(1000, 6000), tmp_path / "x.dlp", capsys)


@pytest.mark.parametrize("key", ["name", "note"])
def test_half_a_surrogate_pair_is_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    case = {**json.loads((DATA / "guards.json").read_text())[0], key: "\ud800"}
    (tmp_path / "p.json").write_text(json.dumps(case))
    assert main(["verify", str(tmp_path / "p.json")]) == 2
    assert f"p.json.{key}" in capsys.readouterr().err
