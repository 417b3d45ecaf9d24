"""PyTorch is imported only where the user's module needs it, and in the version that was tested."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from dynamo_lite.torch_bridge.version import TESTED

ROOT = Path(__file__).parents[3]

WITHOUT = """
import sys
import dynamo_lite as dl, dynamo_lite.torchlite as tl

class Model(tl.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = tl.nn.Linear(4, 4)

    @dl.exported
    def forward(self, x):
        return self.lin(x)

model = Model()
model(tl.ones(2, 4))
for strict in (False, True):
    program = dl.export(model, (tl.ones(2, 4),), strict=strict)
    dl.save(program, sys.argv[1])
    dl.load(sys.argv[1]).module()(tl.ones(2, 4))
try:
    dl.export(object(), ())
except dl.InputError:
    pass
print(sorted(name for name in sys.modules if name.partition(".")[0] == "torch"))
"""

ANOTHER = """
import torch
torch.__version__ = "2.12.1+cpu"
import dynamo_lite as dl
for _ in range(2):
    try:
        dl.export(torch.nn.Linear(4, 4), (torch.ones(2, 4),))
    except dl.UnsupportedError as error:
        print(error)
"""


def output(code: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return done.stdout


def test_pytorch_is_not_imported_for_others(tmp_path: Path) -> None:
    assert output(WITHOUT, str(tmp_path / "program.dlp")).strip() == "[]"


def test_another_version_is_an_error_that_says_so() -> None:
    found = output(ANOTHER)
    assert found.count("[torch-version]") == 2 and "2.12.1+cpu" in found and TESTED[0] in found


def test_the_extra_admits_what_is_tested() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    admitted = [found[1] for line in extras["torch"] if (found := re.fullmatch(r"torch==([\d.]+)", line))]
    assert admitted == list(TESTED)
