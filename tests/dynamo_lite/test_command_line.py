"""``python -m dynamo_lite``: what is printed, and one block for an error, the model's own included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TARGETS = """
import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third, self.fourth, self.fifth = 1, 2, 3, 4, 5

    def forward(self, x):
        kept = x[:2] if x.shape[0] > 4 else x
        return kept * (self.fifth + self.second + self.fourth + self.first + self.third)


class Wrong(nn.Module):
    def forward(self, x):
        return x @ torch.ones(7, 7)


def good(least=5):
    return Net(), (torch.ones(5, 3),), {}, {"x": {0: dl.Dim("b", min=least)}}


def loose():
    return good(1)


def wrong():
    return Wrong(), (torch.ones(5, 3),), {}, None


def broken():
    raise ValueError("no model today")
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("targets")
    (folder / "targets.py").write_text(TARGETS)
    return folder


def command(place: Path, *words: str, seed: int = 0) -> subprocess.CompletedProcess[str]:
    packages = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": packages, "PYTHONHASHSEED": str(seed)}
    run = [sys.executable, "-m", "dynamo_lite", *words]
    return subprocess.run(run, cwd=place, env=environment, capture_output=True, text=True, check=False)


def test_a_program_is_exported_and_run(place: Path) -> None:
    """Printed alike whatever strings hash to."""
    first, second = (
        command(place, "export", "targets:good", "-o", f"{seed}.dlp", seed=seed) for seed in (0, 3)
    )
    assert first.returncode == 0, first.stderr
    texts = [done.stdout.partition("problem: ")[0] for done in (first, second)]
    assert texts[0] == texts[1] and "self.fifth == 5" in texts[0]
    answer = command(place, "verify", "0.dlp", "--json")
    assert answer.returncode == 0 and json.loads(answer.stdout)["status"] == "proved"
    assert command(place, "run", "0.dlp").returncode == 0


@pytest.mark.parametrize(
    ("target", "status", "says"),
    [
        ("targets:loose", 1, 'use x.shape[0]: Dim("b", min=5); proved to suffice'),
        ("targets:absent", 2, "targets has no function absent"),
        ("targets:wrong", 1, "[model-raises] the model itself raises"),
        ("targets:broken", 1, "ValueError: no model today"),
    ],
)
def test_an_error_shows_the_users_code_alone(place: Path, target: str, status: int, says: str) -> None:
    """Ours in a traceback only where ``--debug`` asks for it."""
    done = command(place, "export", target)
    assert done.returncode == status and says in done.stderr
    assert "dynamo_lite/cli.py" not in done.stderr
    assert "dynamo_lite/cli.py" in command(place, "export", target, "--debug").stderr
