"""``torch.export.Dim`` and its kin as our dimension specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch.export import AdditionalInputs as TorchAdditionalInputs
from torch.export import ShapesCollection as TorchShapesCollection
from torch.export.dynamic_shapes import Dim as TorchDim
from torch.export.dynamic_shapes import _DerivedDim, _DimHint

from dynamo_lite.shapes import AdditionalInputs, ShapesCollection
from solver.dims import Dim, DimHint


def to_ours(spec: Any) -> Any:
    """A nest of specifications with PyTorch's dimensions replaced by ours."""
    if isinstance(spec, _DimHint):
        hint: DimHint = getattr(Dim, spec.type.name)
        return hint if spec.min is None and spec.max is None else hint(min=spec.min, max=spec.max)
    if isinstance(spec, _DerivedDim):
        root = to_ours(spec.root)
        # A derived dimension is linear; its two values tell scale and offset.
        offset = spec.fn(0)
        scale = spec.fn(1) - offset
        return root * scale + offset
    if isinstance(spec, TorchDim):
        return Dim(spec.__name__, min=spec.min, max=spec.max if isinstance(spec.max, int) else None)
    if isinstance(spec, TorchShapesCollection):
        return _collection(spec)
    if isinstance(spec, TorchAdditionalInputs):
        made = AdditionalInputs()
        made._examples = [(tuple(args), dict(kwargs or {})) for args, kwargs in spec._examples]
        return made
    if isinstance(spec, Mapping):
        return {key: to_ours(value) for key, value in spec.items()}
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        found = [to_ours(one) for one in spec]
        return tuple(found) if isinstance(spec, tuple) else found
    return spec


def _collection(given: Any) -> ShapesCollection:
    made = ShapesCollection()
    made._by_id = {identity: (given, to_ours(spec)) for identity, spec in given._shapes.items()}
    return made
