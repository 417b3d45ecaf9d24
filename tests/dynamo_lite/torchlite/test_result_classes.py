"""The classes of several results in files: found by their names in a process that has made none of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from fx_ir.pytree import named_def

LOADS = (
    "import sys, dynamo_lite as dl, dynamo_lite.torchlite as torch\n"
    "whole, (most, order) = dl.load(sys.argv[1]).module()(torch.ones(3, 4))\n"
    "print([type(value).__name__ for value in (whole, most, order)], most.values.shape)\n"
)


class Named(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.topk(1), (x.max(1), x.sort())


def test_loaded_by_another_process(tmp_path: Path) -> None:
    file = tmp_path / "program.dlp"
    dl.save(dl.export(Named(), (torch.ones(3, 4),)), file)
    run = [sys.executable, "-c", LOADS, str(file)]
    done = subprocess.run(run, capture_output=True, text=True, cwd=Path(__file__).parents[3], check=False)
    assert done.stdout.strip() == "['topk', 'max', 'sort'] torch.Size([3])", done.stderr


def test_names_of_nothing_are_nobody() -> None:
    """A name leads to a class of named results or of a named tuple, and to nothing else that modules hold."""
    names = (
        "os.path.join",
        "collections.OrderedDict.x",
        "pathlib.Path",
        "sys",
        "",
        "torch.return_types.nothing",
        "a.b",
    )
    assert all(named_def(name) is None for name in names)
