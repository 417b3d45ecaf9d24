"""Packed sequences: rows of several lengths laid out step by step, without padding, and recurrent networks over them.

``batch_sizes[t]`` tells how many rows still run at step ``t``; rows are sorted by length, the longest first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fx_ir import fake_context
from fx_ir.dtypes import int64
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array
from fx_ir.ops.recurrent import STEPS, Step, checked_width, plain, run
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import differ, same


def _fake_pack(input: TensorMeta, lengths: TensorMeta, batch_first: bool) -> tuple[TensorMeta, TensorMeta]:
    rows, steps = (input.shape[0], input.shape[1]) if batch_first else (input.shape[1], input.shape[0])
    if lengths.ndim != 1 or differ(lengths.shape[0], rows):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {list(lengths.shape)} (batch_size={rows})"
        )
    context = fake_context.current()
    total: Size = context.unbacked("_pack_padded_sequence", "int", 1, rows * steps)
    longest: Size = context.unbacked("_pack_padded_sequence", "int", 1, steps)
    data = TensorMeta((total, *input.shape[2:]), input.dtype, input.device)
    return data, TensorMeta((longest,), int64, lengths.device)


def pack(input: Array, lengths: Array, batch_first: bool) -> tuple[Array, Array]:
    """What each step still sees of the rows, one step after another. RuntimeError for lengths that are not sorted or below 1."""
    steps_first = input.swapaxes(0, 1) if batch_first else input
    steps, rows = steps_first.shape[:2]
    if lengths.shape != (rows,):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size} ({rows=})"
        )
    if rows and lengths.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element that is <= 0"
        )
    if np.any(np.diff(lengths) > 0):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True."
        )
    if lengths[0] > steps:
        raise RuntimeError(f"Expected lengths of at most {steps}, got {lengths[0]}")
    sizes = np.array([(lengths > step).sum() for step in range(lengths[0])], np.int64)
    return np.concatenate([steps_first[step, :size] for step, size in enumerate(sizes)]), sizes


def _fake_pad(
    data: TensorMeta, batch_sizes: TensorMeta, batch_first: bool, padding_value: Any, total_length: Size
) -> tuple[TensorMeta, TensorMeta]:
    rows: Size = fake_context.current().unbacked("_pad_packed_sequence", "int", 1)
    steps = batch_sizes.shape[0] if type(total_length) is int and total_length <= 0 else total_length
    if not same(steps, batch_sizes.shape[0]) and steps < batch_sizes.shape[0]:
        raise RuntimeError(
            f"Expected total_length to be at least the length of the longest sequence in input, but got {total_length=}"
        )
    whole = TensorMeta((steps, rows, *data.shape[1:]), data.dtype, data.device)
    if batch_first:
        second, first, *rest = whole.strides
        whole = TensorMeta(
            (rows, steps, *data.shape[1:]), data.dtype, data.device, lambda: (first, second, *rest)
        )
    return whole, TensorMeta((rows,), int64, batch_sizes.device)


def pad(
    data: Array, batch_sizes: Array, batch_first: bool, padding_value: Any, total_length: int
) -> tuple[Array, Array]:
    """The rows beside each other again, what is missing filled with ``padding_value``, and their lengths."""
    longest, rows = len(batch_sizes), int(batch_sizes[0])
    if 0 < total_length < longest:
        raise RuntimeError(
            f"Expected total_length to be at least the length of the longest sequence in input, but got {total_length=}"
        )
    whole = np.full((max(total_length, longest), rows, *data.shape[1:]), padding_value, data.dtype)
    start = 0
    for step, size in enumerate(batch_sizes.tolist()):
        whole[step, :size] = data[start : start + size]
        start += size
    lengths = (batch_sizes[None, :] > np.arange(rows)[:, None]).sum(axis=1).astype(np.int64)
    return whole.swapaxes(0, 1) if batch_first else whole, lengths


# --- networks --------------------------------------------------------------------------------------------------------


def _fake_run(
    data: TensorMeta, states: Sequence[TensorMeta], params: Sequence[TensorMeta], bidirectional: bool
) -> TensorMeta:
    width = checked_width(data, states, params, bidirectional)
    return TensorMeta((data.shape[0], width), data.dtype, data.device)


def _fake_several(
    data: TensorMeta,
    batch_sizes: TensorMeta,
    hx: Sequence[TensorMeta],
    params: Sequence[TensorMeta],
    *options: Any,
) -> tuple[TensorMeta, ...]:
    return _fake_run(data, hx, params, options[-1]), plain(hx[0]), plain(hx[1])


def _fake_single(
    data: TensorMeta, batch_sizes: TensorMeta, hx: TensorMeta, params: Sequence[TensorMeta], *options: Any
) -> tuple[TensorMeta, ...]:
    return _fake_run(data, [hx], params, options[-1]), plain(hx)


def _run(*arguments: Any) -> tuple[Array, list[Array]]:
    """``run`` with the batch sizes, which stand second in the operators."""
    step, data, batch_sizes, *rest = arguments
    given: tuple[Any, ...] = (step, data, *rest, False, batch_sizes)
    return run(*given)


def _several(data: Array, batch_sizes: Array, hx: Sequence[Array], *rest: Any) -> tuple[Array, ...]:
    output, states = _run(STEPS["lstm"], data, batch_sizes, hx, *rest)
    return output, *states


def _single(step: Step) -> Callable[..., tuple[Array, Array]]:
    def kernel(data: Array, batch_sizes: Array, hx: Array, *rest: Any) -> tuple[Array, Array]:
        output, (hidden,) = _run(step, data, batch_sizes, [hx], *rest)
        return output, hidden

    return kernel


def _declare() -> None:
    register(
        "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)",
        fake=_fake_pack,
        kernel=pack,
    )
    register(
        "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) "
        "-> (Tensor, Tensor)",
        fake=_fake_pad,
        kernel=pad,
    )
    options = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
    head = "Tensor data, Tensor batch_sizes,"
    for name, step in STEPS.items():
        several = name == "lstm"
        state = "Tensor[] hx" if several else "Tensor hx"
        results = "(Tensor, Tensor, Tensor)" if several else "(Tensor, Tensor)"
        register(
            f"aten::{name}.data({head} {state}, Tensor[] params, {options}) -> {results}",
            fake=_fake_several if several else _fake_single,
            kernel=_several if several else _single(step),
            random=True,
        )


_declare()
