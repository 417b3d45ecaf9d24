"""The obligations of a live ``torch.export.ExportedProgram``, by the reader of its files."""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from solver.problem import Problem
from solver.readers.pt2 import read_pt2


def problem_of(program: Any) -> Problem:
    """What must hold for a program of PyTorch's to be right for every input that its specification admits.

    The program is written as PyTorch writes it, without its weights, and read as a file is. Raises InputError for
    what is no such program.
    """
    from torch._export.serde.serialize import EnumEncoder, ExportedProgramSerializer, _dataclass_to_dict

    artifact = ExportedProgramSerializer().serialize(program)
    text = json.dumps(_dataclass_to_dict(artifact.exported_program), cls=EnumEncoder, allow_nan=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.pt2"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("program/archive_format", "pt2")
            archive.writestr("program/models/model.json", text)
        (problem,) = read_pt2(path)
    return problem
