"""Readers: problem files, lists of them, ``.dlp`` and ``.pt2`` archives, to :class:`solver.problem.Problem`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Final

from solver.problem import Problem
from solver.readers.archive import Archive
from solver.readers.errors import BAD_ARCHIVE, UNREADABLE_FILE

__all__ = ["load", "load_data"]

MAX_FILE_BYTES: Final = 256 * 1024 * 1024
OBLIGATIONS: Final = "shapeproof.json"


def load(path: Path) -> tuple[list[Problem], bool]:
    """The problems of a file, and whether the file is a list of them. Raises InputError.

    A problem without a name gets the file's.
    """
    problems, many = _load(path)
    for index, problem in enumerate(problems):
        problem.name = problem.name or (f"{path.name}[{index}]" if many else path.name)
    return problems, many


def _load(path: Path) -> tuple[list[Problem], bool]:
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise UNREADABLE_FILE(file=path.name, what="it is no file")
        if zipfile.is_zipfile(path) or path.suffix in (".pt2", ".dlp"):
            return _load_archive(path)
        if size > MAX_FILE_BYTES:
            raise UNREADABLE_FILE(file=path.name, what=f"{size} bytes, more than {MAX_FILE_BYTES}")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise UNREADABLE_FILE(file=path.name, what=error.strerror or str(error)) from None
    except RecursionError:
        raise UNREADABLE_FILE(file=path.name, what="nested too deeply") from None
    except ValueError as error:
        raise UNREADABLE_FILE(
            file=path.name, what=f"not JSON: {' '.join(str(error).split())[:200]}"
        ) from None
    return load_data(data, path.name)


def load_data(data: object, name: str = "$") -> tuple[list[Problem], bool]:
    """The problems of a value read from JSON: an object, or a list of objects."""
    if isinstance(data, list):
        return [Problem.from_dict(item, f"{name}[{i}]") for i, item in enumerate(data)], True
    return [Problem.from_dict(data, name)], False


def _load_archive(path: Path) -> tuple[list[Problem], bool]:
    with Archive(path) as archive:
        obligations = [name for name in archive.entries if name.rpartition("/")[2] == OBLIGATIONS]
        if obligations:
            if len(obligations) > 1:
                raise BAD_ARCHIVE(
                    file=path.name, path=obligations[1], what="more than one set of obligations"
                )
            return load_data(archive.json(obligations[0]), f"{path.name}: {obligations[0]}")
        if path.suffix == ".dlp":
            raise BAD_ARCHIVE(file=path.name, path=OBLIGATIONS, what="the entry is missing")
    from solver.readers.pt2 import read_pt2

    problems = read_pt2(path)
    return problems, len(problems) > 1
