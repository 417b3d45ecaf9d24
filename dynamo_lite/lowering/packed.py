"""Packed sequences under a trace: what is known of their sizes without looking at data.

The first of the batch sizes is the number of rows, since rows of no length are refused when they are packed.
"""

from __future__ import annotations

from operator import getitem
from typing import Any, Final

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import meta_of
from dynamo_lite.lowering.packets import apply
from fx_ir.node import Node
from fx_ir.ops.registry import OPS
from fx_ir.ops.shapes import same
from solver.sym import SymInt

_PACK: Final = OPS["aten::_pack_padded_sequence"]


def rows_of(batch_sizes: Node) -> Any:
    """The number of rows of the sequence that these are the batch sizes of; None where it was not packed in this trace."""
    if batch_sizes.target is not getitem or batch_sizes.args[1] != 1:
        return None
    packing = batch_sizes.args[0]
    if not isinstance(packing, Node) or packing.target is not _PACK:
        return None
    input, _, batch_first = packing.args
    return input.meta["val"].shape[0 if batch_first else 1]


def _padded(data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: Any) -> Any:
    """The operator takes a plain ``total_length``: what a symbolic one has beyond the longest row is padding of its own."""
    longest = meta_of(batch_sizes).shape[0]
    if same(total_length, longest):
        return apply("_pad_packed_sequence", data, batch_sizes, batch_first, padding_value, 0)
    if not isinstance(total_length, SymInt):
        return apply("_pad_packed_sequence", data, batch_sizes, batch_first, padding_value, total_length)
    padded, lengths = apply("_pad_packed_sequence", data, batch_sizes, False, padding_value, 0)
    widths = [0, 0] * (meta_of(padded).ndim - 1) + [0, total_length - longest]
    padded = apply("constant_pad_nd", padded, widths, padding_value)
    return apply("transpose", padded, 0, 1) if batch_first else padded, lengths


def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: Any
) -> tuple[Any, ...]:
    """The rows beside each other again; as many as were packed."""
    padded, lengths = _padded(data, batch_sizes, batch_first, padding_value, total_length)
    tracer: Any = dispatch.recorder()
    if tracer is not None:
        rows = rows_of(tracer.node_of(tracer.fake_of(batch_sizes)))
        if rows is not None:
            tracer.check(meta_of(lengths).shape[0] == rows)
    return padded, lengths
