"""A tensor that a program updates shares its memory with no other that it is given: its graph knows each as a value of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence

Span = tuple[int, int]
"""The first byte of a tensor in memory, and the one after its last."""


def overlap(spans: Sequence[Span], written: Collection[int]) -> tuple[int, int] | None:
    """Two spans (by index) that overlap, of which the first is ``written``; None if there are none."""
    marked = set(written)
    furthest = furthest_written = -1  # the span that ends last of those so far, and of the written ones
    for index in sorted(range(len(spans)), key=lambda each: spans[each]):
        begin, end = spans[index]
        if begin == end:
            continue
        before = furthest if index in marked else furthest_written
        if before >= 0 and begin < spans[before][1]:
            return (index, before) if index in marked else (before, index)
        if furthest < 0 or end > spans[furthest][1]:
            furthest = index
        if index in marked and (furthest_written < 0 or end > spans[furthest_written][1]):
            furthest_written = index
    return None
