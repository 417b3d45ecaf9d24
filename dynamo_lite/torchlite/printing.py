"""Text of a tensor, as PyTorch prints it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fx_ir.dtypes import bool_, get_default_dtype, int64

if TYPE_CHECKING:
    from dynamo_lite.torchlite._tensor import Tensor

_PREFIX: Final = "tensor("
Array = np.ndarray[Any, Any]
_PROFILES: Final = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, float("inf"), 3, 80)}


class _Options:
    """What ``set_printoptions`` sets."""

    precision: int = 4
    threshold: float = 1000
    edge: int = 3
    width: int = 80
    scientific: bool | None = None

    def update(
        self,
        precision: int | None,
        threshold: float | None,
        edge: int | None,
        width: int | None,
        profile: str | None,
        scientific: bool | None,
    ) -> None:
        if profile is not None:
            self.precision, self.threshold, self.edge, self.width = _PROFILES[profile]
        self.precision = self.precision if precision is None else precision
        self.threshold = self.threshold if threshold is None else threshold
        self.edge = self.edge if edge is None else edge
        self.width = self.width if width is None else width
        self.scientific = scientific


OPTIONS: Final = _Options()


class _Formatter:
    """How the elements of one tensor are written: all as wide as the widest."""

    def __init__(self, values: Array) -> None:
        self.floating = values.dtype.kind == "f"
        self.integral = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max((len(str(value)) for value in values.reshape(-1).tolist()), default=1)
            return
        finite = values[np.isfinite(values) & (values != 0)]
        if finite.size == 0:
            self.width = max((len(self.text(float(value))) for value in values.reshape(-1)), default=1)
            return
        self._choose(finite)
        self.width = max(len(self._bare(float(value))) for value in finite)

    def _choose(self, finite: Array) -> None:
        smallest, largest = float(np.abs(finite).min()), float(np.abs(finite).max())
        self.integral = bool(np.all(finite == np.ceil(finite)))
        self.scientific = (
            largest / smallest > 1000.0 or largest > 1.0e8 or (not self.integral and smallest < 1.0e-4)
            if OPTIONS.scientific is None
            else OPTIONS.scientific
        )

    def _bare(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{OPTIONS.precision}e}"
        if self.integral:
            return f"{value:.0f}" + ("" if math.isinf(value) or math.isnan(value) else ".")
        return f"{value:.{OPTIONS.precision}f}"

    def text(self, value: Any) -> str:
        return (self._bare(value) if self.floating else str(value)).rjust(self.width)


class _ComplexFormatter:
    def __init__(self, values: Array) -> None:
        self.real, self.imag = _Formatter(values.real), _Formatter(values.imag)
        self.width = self.real.width + self.imag.width + 2

    def text(self, value: complex) -> str:
        imag = self.imag.text(value.imag).lstrip() + "j"
        return self.real.text(value.real) + (imag if imag[0] in "+-" else "+" + imag)


def _formatter(values: Array) -> _Formatter | _ComplexFormatter:
    return _ComplexFormatter(values) if values.dtype.kind == "c" else _Formatter(values)


def _row(values: Array, indent: int, summarise: bool, formatter: _Formatter | _ComplexFormatter) -> str:
    per_line = max(1, (OPTIONS.width - indent) // (formatter.width + 2))
    listed = values.tolist()
    if summarise and len(listed) > 2 * OPTIONS.edge:
        head, tail = listed[: OPTIONS.edge], listed[-OPTIONS.edge :]
        words = [*map(formatter.text, head), " ...", *map(formatter.text, tail)]
    else:
        words = [formatter.text(value) for value in listed]
    lines = [", ".join(words[start : start + per_line]) for start in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(values: Array, indent: int, summarise: bool, formatter: _Formatter | _ComplexFormatter) -> str:
    if values.ndim == 0:
        return formatter.text(values.item())
    if values.ndim == 1:
        return _row(values, indent, summarise, formatter)
    if summarise and len(values) > 2 * OPTIONS.edge:
        parts = [_nested(part, indent + 1, summarise, formatter) for part in values[: OPTIONS.edge]]
        parts.append("...")
        parts += [_nested(part, indent + 1, summarise, formatter) for part in values[-OPTIONS.edge :]]
    else:
        parts = [_nested(part, indent + 1, summarise, formatter) for part in values]
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _summary(values: Array) -> Array:
    """The elements that a summary shows."""
    for axis in range(values.ndim):
        if values.shape[axis] > 2 * OPTIONS.edge:
            values = values.take([*range(OPTIONS.edge), *range(-OPTIONS.edge, 0)], axis=axis)
    return values


def tensor_text(tensor: Tensor) -> str:
    """``tensor([…], dtype=…)``."""
    values, dtype = tensor._array, tensor.dtype
    if dtype.is_floating_point and values.dtype.kind != "f":
        values = values.astype(np.float32)
    suffixes: list[str] = []
    indent = len(_PREFIX)
    if values.size == 0:
        if values.ndim != 1:
            suffixes.append(f"size={tuple(values.shape)}")
        if dtype is not get_default_dtype():
            suffixes.append(f"dtype={dtype}")
        body = "[]"
    else:
        if dtype not in (get_default_dtype(), int64, bool_) and not (
            dtype.is_complex and dtype is get_default_dtype().to_complex()
        ):
            suffixes.append(f"dtype={dtype}")
        summarise = values.size > OPTIONS.threshold
        body = _nested(values, indent, summarise, _formatter(_summary(values) if summarise else values))
    if tensor._requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(_PREFIX + body, suffixes, indent)


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > OPTIONS.width:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
