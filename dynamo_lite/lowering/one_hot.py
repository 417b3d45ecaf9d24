"""``one_hot``: its operator takes a plain number of classes, so a symbolic one is composed of comparisons."""

from __future__ import annotations

from typing import Any

from dynamo_lite.lowering.access import meta_of
from dynamo_lite.lowering.packets import apply
from fx_ir.dtypes import int64
from solver.sym import SymInt


def one_hot(tensor: Any, num_classes: Any = -1) -> Any:
    """A one in the place of each class, zeros elsewhere; a class out of range raises, in a program when it runs."""
    if not isinstance(num_classes, SymInt):
        return apply("one_hot", tensor, num_classes)
    if meta_of(tensor).dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    for compare, bound, sentence in (
        ("ge", 0, "Class values must be non-negative."),
        ("lt", num_classes, "Class values must be smaller than num_classes."),
    ):
        apply("_assert_async", apply("all", apply(compare, tensor, bound)), sentence)
    places = apply("eq", apply("unsqueeze", tensor, -1), apply("arange", num_classes))
    return apply("_to_copy", places, dtype=int64)
