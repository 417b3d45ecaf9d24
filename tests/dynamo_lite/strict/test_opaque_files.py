"""Files that the interpreter calls natively are the standard library's, not any of the same name."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch


def test_a_users_file_of_the_same_name_is_interpreted(tmp_path: Path) -> None:
    file = tmp_path / "random.py"
    file.write_text("def scaled(x):\n    return x if x.sum() > 0 else -x\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("users_random", file)
    assert spec is not None and spec.loader is not None
    users: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(users)

    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return users.scaled(x)

    with pytest.raises(dl.DataDependentError) as caught:
        dl.export(Model(), (torch.ones(3),), strict=True)
    assert caught.value.location is not None and caught.value.location.file == str(file)


def test_the_standard_library_is_still_refused() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * random.random()

    with pytest.raises(dl.UnsupportedError, match="random"):
        dl.export(Model(), (torch.ones(3),), strict=True)
