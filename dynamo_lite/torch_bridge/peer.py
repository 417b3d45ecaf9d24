"""PyTorch's own two modes on the same model, for :func:`dynamo_lite.compare`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch

from dynamo_lite.comparison import Side


def torch_sides(
    mod: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any
) -> list[Side]:
    """``torch.export.export`` in strict and in non-strict mode; what it raises is the side's error.

    Specifications of ours are given to PyTorch as its own.
    """
    shapes = _theirs(dynamic_shapes)
    return [_side(name, mod, args, kwargs, shapes, strict) for name, strict in _MODES]


_MODES = (("torch strict", True), ("torch non-strict", False))


def _side(name: str, mod: Any, args: Any, kwargs: Any, shapes: Any, strict: bool) -> Side:
    start = time.perf_counter()
    try:
        program = torch.export.export(mod, args, dict(kwargs or {}), dynamic_shapes=shapes, strict=strict)
    except Exception as error:
        return Side(name, time.perf_counter() - start, error=error)
    elapsed = time.perf_counter() - start
    guards = [line.strip() for line in getattr(program, "_guards_code", None) or []]
    return Side(name, elapsed, program, None, len(program.graph.nodes), guards)


def _theirs(spec: Any) -> Any:
    """A nest of specifications with our dimensions replaced by PyTorch's."""
    from torch.export import Dim as TorchDim

    from solver.dims import DerivedDim, Dim, DimHint

    if isinstance(spec, DimHint):
        hint = getattr(TorchDim, spec.kind)
        return hint if spec.min is None and spec.max is None else hint(min=spec.min, max=spec.max)
    if isinstance(spec, DerivedDim):
        root = _theirs(spec.root)
        scaled = root if spec.scale == 1 else spec.scale * root
        return scaled + spec.offset if spec.offset else scaled
    if isinstance(spec, Dim):
        return TorchDim(spec.__name__, min=spec.min, max=spec.max)
    if isinstance(spec, Mapping):
        return {key: _theirs(value) for key, value in spec.items()}
    if type(spec) in (list, tuple):
        return type(spec)(_theirs(value) for value in spec)
    return spec
