"""The README's program says what the README says that it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dynamo_lite as dl

README = Path(__file__).resolve().parent.parent.parent / "README.md"


def test_the_program_and_its_error(tmp_path: Path) -> None:
    """M24: with ``min=1`` the error that is shown, with its proposal the program."""
    text = README.read_text(encoding="utf-8")
    ((source, shown),) = re.findall(r"```python\n(.*?)```\n+```\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "model.py"
    file.write_text(source, encoding="utf-8")
    with pytest.raises(dl.ConstraintViolationError) as caught:
        exec(compile(source, str(file), "exec"), {"__name__": "model"})
    assert f"solver.errors.ConstraintViolationError: {caught.value}\n".replace(str(file), "model.py") == shown
    exec(compile(source.replace("min=1", "min=2"), str(file), "exec"), {"__name__": "model"})
