"""What a decision of the running program asks about, where CPython compares and asks for the truth of it in one instruction.

At such an instruction C may also compare what two containers hold, and ask for the truth of that. The profile hook tells our
comparisons apart: whether what is asked for its truth is what a comparison gave to the very instruction, and which one it was.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Final, NamedTuple

from dynamo_lite import places
from dynamo_lite.lowering.leaf import TensorFunction
from dynamo_lite.strict.decode.versions import COMPARISON_ASKS

# The names of functions of ours that compare: of symbolic numbers, of fakes, of fakes in native code.
COMPARING: Final = frozenset({"compared", "__call__", "method"} if COMPARISON_ASKS else ())
_COMPARISONS: Final = frozenset({"lt", "le", "eq", "ne", "gt", "ge"})
_CALL: Final = TensorFunction.__call__.__code__


class Comparison(NamedTuple):
    """A comparison that a function of ours made: for which frame and instruction, which it was, and what it gave."""

    frame: int
    offset: int
    name: str
    result: Any


def comparison(frame: FrameType, result: Any) -> Comparison | None:
    """The comparison that a frame is done with; None where it was something else."""
    code, caller = frame.f_code, frame.f_back
    if caller is None or not places.is_ours(code):
        return None
    held = frame.f_locals
    maker = held["self"] if code is _CALL else held.get("make", held.get("function"))
    name = getattr(maker, "__name__", "").strip("_")
    return Comparison(id(caller), caller.f_lasti, name, result) if name in _COMPARISONS else None


def asked_about(last: Comparison | None) -> str | None:
    """The comparison whose truth the running instruction of the program asks for: the last one, or None."""
    frame: FrameType | None = sys._getframe(1)
    inner: FrameType | None = None
    while frame is not None and places.is_opaque(frame.f_code):
        inner, frame = frame, frame.f_back
    if last is None or frame is None or inner is None or not _asks(inner, last.result):
        return None
    return last.name if (id(frame), frame.f_lasti) == last[:2] else None


def _asks(frame: FrameType, value: Any) -> bool:
    """Whether a function of ours asks for the truth of that very value."""
    held = frame.f_locals
    if frame.f_code is _CALL:
        return held["self"].__name__ == "__bool__" and held["args"][0] is value
    if "function" in held:
        return held["function"].__name__ == "__bool__" and held["self"] is value
    return frame.f_code.co_name == "__bool__" and held["self"] is value
