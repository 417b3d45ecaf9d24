"""Sampling images at given places (``grid_sample``, ``affine_grid``) and putting pooled values back (``max_unpool2d``).

Formulas: Jaderberg et al., Spatial Transformer Networks (2015), for the linear ones; Keys (1981) for the cubic kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array, compute_type
from fx_ir.ops.matmul import check_same_dtype
from fx_ir.ops.pool import image_meta, in_order
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import differ

LINEAR, NEAREST, CUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
_KEYS_A: Final = -0.75


def fake_grid_sampler(
    input: TensorMeta, grid: TensorMeta, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> TensorMeta:
    check_same_dtype(input, grid)
    rank = input.ndim - 2
    if rank not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if differ(input.shape[0], grid.shape[0]):
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got input with sizes {list(input.shape)} "
            f"and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != rank:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {rank} in last dimension")
    for dim, size in enumerate(input.shape[2:], 2):
        if size <= 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)} "
                f"with dimension {dim} being empty"
            )
    if rank == 3 and interpolation_mode == CUBIC:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    return TensorMeta((*input.shape[:2], *grid.shape[1:-1]), input.dtype, input.device)


def _place(coordinate: Array, size: int, align: bool) -> Array:
    """From -1..1 to cells."""
    if align:
        return as_array((coordinate + 1) / 2 * (size - 1))
    return as_array(((coordinate + 1) * size - 1) / 2)


def _inside(place: Array, size: int, padding: int, align: bool) -> Array:
    """What lies outside, brought in by the padding mode."""
    if padding == REFLECTION:
        low, span = (0.0, float(size - 1)) if align else (-0.5, float(size))
        if span == 0:
            return np.zeros_like(place)
        far = np.abs(place - low)
        extra = np.fmod(far, span)
        place = as_array(np.where(np.floor(far / span) % 2 == 0, extra + low, span - extra + low))
    return as_array(np.clip(place, 0, size - 1)) if padding != ZEROS else place


def _taps(place: Array, size: int, mode: int, padding: int, align: bool) -> list[tuple[Array, Array]]:
    """``(cell, weight)`` along one axis; a cell outside has weight zero."""
    if mode != CUBIC:
        place = _inside(place, size, padding, align)
    if mode == NEAREST:
        pairs = [(np.rint(place), np.ones_like(place))]
    else:
        base = np.floor(place)
        part = place - base
        if mode == LINEAR:
            pairs = [(base, 1 - part), (base + 1, part)]
        else:
            pairs = [
                (_inside(as_array(base + i), size, padding, align), w) for i, w in enumerate(_cubic(part), -1)
            ]
    found = []
    for cell, weight in pairs:
        index = np.where(np.isfinite(cell), cell, -1).astype(np.int64)
        held = (index >= 0) & (index < size)
        found.append((np.clip(index, 0, size - 1), np.where(held, weight, 0).astype(place.dtype)))
    return found


def _cubic(part: Array) -> list[Array]:
    a = _KEYS_A

    def inner(x: Array) -> Array:
        return as_array(((a + 2) * x - (a + 3)) * x * x + 1)

    def outer(x: Array) -> Array:
        return as_array(((a * x - 5 * a) * x + 8 * a) * x - 4 * a)

    return [outer(as_array(part + 1)), inner(part), inner(as_array(1 - part)), outer(as_array(2 - part))]


def grid_sampler(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    sizes, wide = input.shape[2:], compute_type(input.dtype)
    grid = grid.astype(wide, copy=False)
    axes = [
        _taps(
            _place(grid[..., -1 - axis], size, align_corners),
            size,
            interpolation_mode,
            padding_mode,
            align_corners,
        )
        for axis, size in enumerate(sizes)
    ]
    batch = np.arange(input.shape[0]).reshape(-1, *(1,) * (grid.ndim - 2))
    result = np.zeros((input.shape[0], *grid.shape[1:-1], input.shape[1]), wide)
    rows = np.moveaxis(input.astype(wide, copy=False), 1, -1)
    for taps in product(*axes):
        weight = np.prod([weight for _, weight in taps], axis=0)
        result += rows[(batch, *[cell for cell, _ in taps])] * weight[..., None]
    return np.ascontiguousarray(np.moveaxis(result, -1, 1).astype(input.dtype, copy=False))


def fake_affine_grid(theta: TensorMeta, size: Sequence[Size], align_corners: bool) -> TensorMeta:
    rank = len(size) - 2
    if rank not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    return TensorMeta((size[0], *size[2:], rank), theta.dtype, theta.device)


def affine_grid(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    steps = []
    for count in size[2:]:
        line = np.linspace(-1, 1, count) if count > 1 else np.zeros(1)
        steps.append(line if align_corners else line * (count - 1) / count)
    cells = np.meshgrid(*steps, indexing="ij")
    base = np.stack([*cells[::-1], np.ones_like(cells[0])], -1).reshape(1, -1, len(size) - 1)
    result = base.astype(theta.dtype) @ theta.swapaxes(1, 2)
    return as_array(result.reshape(size[0], *size[2:], len(size) - 2))


def fake_max_unpool2d(self: TensorMeta, indices: TensorMeta, output_size: Sequence[Size]) -> TensorMeta:
    if indices.dtype.name != "int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.name}")
    return image_meta(self, 2, output_size)


def max_unpool2d(self: Array, indices: Array, output_size: Sequence[int]) -> Array:
    cells = output_size[0] * output_size[1]
    if indices.size and (indices.min() < 0 or indices.max() >= cells):
        raise RuntimeError(
            f"Found an invalid max index: (output volumes are of size {'x'.join(map(str, output_size))}"
        )
    planes = self.reshape(-1, self.shape[-2] * self.shape[-1])
    result = np.zeros((planes.shape[0], cells), self.dtype)
    np.put_along_axis(result, indices.reshape(planes.shape), planes, 1)
    return in_order(result.reshape(*self.shape[:-2], *output_size), self, 2)


_ARGUMENTS: Final = (
    "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor"
)
_rules: dict[str, Any] = {"fake": fake_grid_sampler, "kernel": grid_sampler}
for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):
    register(f"aten::{_name}{_ARGUMENTS}", **_rules)
register(
    "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
    fake=fake_affine_grid,
    kernel=affine_grid,
)
register(
    "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    fake=fake_max_unpool2d,
    kernel=max_unpool2d,
)
