"""``torch.export`` under its own names, by way of ``dynamo_lite``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamo_lite import (
        AdditionalInputs,
        Dim,
        ExportedProgram,
        ShapesCollection,
        dims,
        export,
        load,
        register_dataclass,
        save,
        unflatten,
    )

__all__ = [
    "AdditionalInputs", "Dim", "ExportedProgram", "ShapesCollection", "dims", "export", "load", "register_dataclass",
    "save", "unflatten",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import dynamo_lite

    if name in __all__:
        return getattr(dynamo_lite, name)
    raise AttributeError(f"torchlite has no torch.export.{name}")
