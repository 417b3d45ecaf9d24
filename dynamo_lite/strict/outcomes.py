"""Decisions on data of which one outcome only raises: ``assert x.max() < n``, ``if not ok: raise ValueError(…)``.

Such a decision chooses nothing: a program that goes on with the other outcome, and asserts when it runs that it was that
one, is right for every input. Read off the bytecode that asks, in both modes: a jump on truth whose one side leads in a
straight line to raising an exception that nobody on the way out catches.
"""

from __future__ import annotations

import builtins
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any, Final, NamedTuple

from dynamo_lite.strict.decode import decode
from dynamo_lite.strict.decode.record import Decoded

Place = tuple[CodeType, int, Mapping[str, Any]]
"""A running function's code, the byte offset of the instruction that runs, its globals."""


class Outcome(NamedTuple):
    """``goes_on`` is the truth value with which the program does not raise; ``message`` what it says where it does."""

    goes_on: bool
    message: str | None


# Nothing in C takes one of these for an answer, as it takes AttributeError, StopIteration, IndexError, KeyError or TypeError.
_EXCEPTIONS: Final[tuple[type[BaseException], ...]] = (
    AssertionError,
    ValueError,
    RuntimeError,
    NotImplementedError,
)
_CLASSES: Final = frozenset({"load_global", "load_global_null_below", "load_global_null_above"})
# What leads in a straight line to ``raise``: a message is put together, and nothing is left behind.
_STRAIGHT: Final = frozenset(
    {
        "load_const", "load_fast", "load_deref", "load_global", "load_global_null_below", "load_global_null_above",
        "load_attr", "load_method_below", "load_method_above", "binary_subscr", "binary_op", "compare", "push_null",
        "format_value", "convert_value", "build_string", "build_tuple", "build_list", "call_null_below",
        "call_null_above", "call_kw_null_below", "call_kw_null_above",
    }
)  # fmt: skip
_TRUTH_JUMPS: Final = {"pop_jump_if_false": False, "pop_jump_if_true": True}
# A handler with one of these may end what is raised; one without, up to its ``reraise``, only passes by (``finally``).
_ENDS: Final = frozenset(
    {"raise", "with_except_start", "check_exc_match", "check_eg_match", "end_async_for", "cleanup_throw"}
)
_DECODED: Final[dict[int, Decoded]] = {}


def outcome(places: Iterable[Place]) -> Outcome | None:
    """The outcome to go on with, or None where the decision is one. ``places`` are the running functions, innermost first."""
    found: Outcome | None = None
    for number, (code, offset, namespace) in enumerate(places):
        decoded = _decoded(code)
        index = _index(decoded, offset)
        if number == 0:
            found = _jump(decoded, index, namespace)
        if found is None or not _passes(decoded, index):
            return None
    return found


def _decoded(code: CodeType) -> Decoded:
    found = _DECODED.get(id(code))
    if found is None or found.code is not code:
        found = _DECODED[id(code)] = decode(code)
    return found


def _index(decoded: Decoded, offset: int) -> int:
    """The first instruction of the ones made of the byte that runs (which may be the last of an instruction's cache)."""
    last = bisect_right(decoded.offsets, offset) - 1
    return bisect_left(decoded.offsets, decoded.offsets[last])


def _jump(decoded: Decoded, index: int, namespace: Mapping[str, Any]) -> Outcome | None:
    if decoded.instructions[index][0] == "to_bool":
        index += 1
    op, target = decoded.instructions[index]
    jumps_when = _TRUTH_JUMPS.get(op)
    if jumps_when is None:
        return None
    there, here = (_raises(decoded, start, namespace) for start in (target, index + 1))
    if (there is None) is (here is None):
        return None
    (message,) = there or here or (None,)
    return Outcome(jumps_when if there is None else not jumps_when, message)


def _raises(decoded: Decoded, start: int, namespace: Mapping[str, Any]) -> tuple[str | None] | None:
    """Whether the code only raises from here on; then what it says, where that is a constant."""
    instructions = decoded.instructions
    while start < len(instructions) and instructions[start][0] == "push_null":
        start += 1
    op, name = instructions[start]
    if op in _CLASSES:
        if namespace.get(name, getattr(builtins, name, None)) not in _EXCEPTIONS:
            return None
    elif op != "load_assertion_error":
        return None
    for index in range(start + 1, len(instructions)):
        op, arg = instructions[index]
        if op == "raise":
            if arg != 1 or not all(_passes(decoded, each) for each in range(start, index + 1)):
                return None
            said = instructions[start + 1][1] if index == start + 3 else None
            return (said if isinstance(said, str) else None,)
        if op not in _STRAIGHT:
            return None
    return None


def _passes(decoded: Decoded, index: int) -> bool:
    """Whether an exception raised here leaves the function, whatever it is."""
    while decoded.handlers and (handler := decoded.handlers[index]) is not None:
        index = handler[0]
        while (op := decoded.instructions[index][0]) != "reraise":
            if op in _ENDS or "jump" in op or "return" in op or "yield" in op:
                return False
            index += 1
    return True
