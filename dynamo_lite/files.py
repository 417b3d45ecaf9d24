"""Saving, loading and verifying programs."""

from __future__ import annotations

import sys
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

import dynamo_lite.torchlite  # noqa: F401  registers the tensors that a loaded program holds
from fx_ir import archive
from fx_ir.ops.registry import RESOLVERS, Operator
from fx_ir.program import ExportedProgram

if TYPE_CHECKING:
    from solver.report import Report


def _from_torch(name: str) -> Operator | None:
    """Operators of ``torch.library`` that this process has registered; PyTorch is not imported for it."""
    if sys.modules.get("torch") is None:
        return None
    from dynamo_lite.torch_bridge.custom import resolve

    return resolve(name)


RESOLVERS.append(_from_torch)


def save(ep: ExportedProgram, file: str | PathLike[str]) -> None:
    """Writes a program with its weights and its proof obligations to ``file`` (``.dlp``).

    The file appears whole or not at all. Raises :class:`InputError` for what is no program or cannot be written.
    """
    archive.save(ep, file)


def load(file: str | PathLike[str]) -> ExportedProgram:
    """Reads what :func:`save` wrote. No code of the file is run.

    Tensors are PyTorch's if the program is of a PyTorch model and PyTorch has been imported; otherwise they are ``torchlite``'s.

    Raises :class:`InputError` for a missing, truncated or foreign file, an unknown version, and a custom operator or
    pytree class that is not registered here.
    """
    if sys.modules.get("torch") is not None:
        import_module("dynamo_lite.torch_bridge")  # its tensors are what the user goes on with
    return archive.load(file)


def verify(ep: Any) -> Report:
    """Proves the guards of a live program again, ours or a ``torch.export.ExportedProgram``."""
    from solver.prove import prove

    if isinstance(ep, ExportedProgram):
        from solver.problem import Problem

        return prove(ep.problem if ep.problem is not None else Problem("program"))
    from dynamo_lite.torch_bridge.obligations import problem_of

    return prove(problem_of(ep))
