"""Captures an ``nn.Module`` as one graph of ATen operators and proves that its shape specification implies every guard.

The names below are the public interface; each is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy  # noqa: F401  the one dependency that every use needs

if TYPE_CHECKING:
    from dynamo_lite import torchlite as torchlite
    from dynamo_lite.capture import export as export
    from dynamo_lite.comparison import compare as compare
    from dynamo_lite.decorator import exported as exported
    from dynamo_lite.files import load as load
    from dynamo_lite.files import save as save
    from dynamo_lite.files import verify as verify
    from dynamo_lite.shapes import AdditionalInputs as AdditionalInputs
    from dynamo_lite.shapes import ShapesCollection as ShapesCollection
    from dynamo_lite.strict.interpret import interpret as interpret
    from dynamo_lite.strict.interpret import is_interpreting as is_interpreting
    from dynamo_lite.trace.control import cond as cond
    from dynamo_lite.trace.loop_functions import associative_scan as associative_scan
    from dynamo_lite.trace.loop_functions import map as map
    from dynamo_lite.trace.loop_functions import scan as scan
    from dynamo_lite.trace.loop_functions import while_loop as while_loop
    from dynamo_lite.unflatten import unflatten as unflatten
    from dynamo_lite.ways_out import allow_call as allow_call
    from dynamo_lite.ways_out import assume_constant as assume_constant
    from dynamo_lite.ways_out import check as check
    from fx_ir.program import ExportedProgram as ExportedProgram
    from fx_ir.pytree import register_constant as register_constant
    from fx_ir.pytree import register_dataclass as register_dataclass
    from fx_ir.pytree import register_pytree_node as register_pytree_node
    from solver.dims import Dim as Dim
    from solver.dims import dims as dims
    from solver.errors import ConstraintViolationError as ConstraintViolationError
    from solver.errors import DataDependentError as DataDependentError
    from solver.errors import ExportError as ExportError
    from solver.errors import GuardError as GuardError
    from solver.errors import InputError as InputError
    from solver.errors import StateError as StateError
    from solver.errors import UnsupportedError as UnsupportedError
    from solver.specs import DictSpec as DictSpec
    from solver.specs import IntVar as IntVar
    from solver.specs import ObjectSpec as ObjectSpec
    from solver.specs import ParamsSpec as ParamsSpec
    from solver.specs import SeqSpec as SeqSpec
    from solver.specs import ShapesSpec as ShapesSpec
    from solver.specs import ShapeVar as ShapeVar
    from solver.specs import TensorSpec as TensorSpec

_HOMES: Final[dict[str, tuple[str, ...]]] = {
    "dynamo_lite.comparison": ("compare",),
    "dynamo_lite.decorator": ("exported",),
    "dynamo_lite.capture": ("export",),
    "dynamo_lite.files": ("load", "save", "verify"),
    "dynamo_lite.shapes": ("AdditionalInputs", "ShapesCollection"),
    "dynamo_lite.strict.interpret": ("interpret", "is_interpreting"),
    "dynamo_lite.trace.control": ("cond",),
    "dynamo_lite.trace.loop_functions": ("associative_scan", "map", "scan", "while_loop"),
    "dynamo_lite.unflatten": ("unflatten",),
    "dynamo_lite.ways_out": ("allow_call", "assume_constant", "check"),
    "fx_ir.program": ("ExportedProgram",),
    "fx_ir.pytree": ("register_constant", "register_dataclass", "register_pytree_node"),
    "solver.dims": ("Dim", "dims"),
    "solver.errors": (
        "ConstraintViolationError",
        "DataDependentError",
        "ExportError",
        "GuardError",
        "InputError",
        "StateError",
        "UnsupportedError",
    ),
    "solver.specs": (
        "DictSpec",
        "IntVar",
        "ObjectSpec",
        "ParamsSpec",
        "SeqSpec",
        "ShapesSpec",
        "ShapeVar",
        "TensorSpec",
    ),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["torchlite", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name == "torchlite":
        return import_module("dynamo_lite.torchlite")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
