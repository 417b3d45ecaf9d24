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
from dynamo_lite.strict.decode.record import Decoded, Instruction

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
# Of these, what raises nothing by itself: then it is the exception that is raised, and no other.
_PLAIN: Final = frozenset({"load_const", "push_null", "call_null_below", "call_null_above"})
_BUILTIN: Final = frozenset(
    id(each) for each in vars(builtins).values() if isinstance(each, type) and issubclass(each, BaseException)
)
_TRUTH_JUMPS: Final = {"pop_jump_if_false": False, "pop_jump_if_true": True}
# How ``<`` and so on come to the operands' methods, the right one's included.
_COMPARISONS: Final = (("lt", "gt"), ("le", "ge"), ("eq",), ("ne",), ("gt", "lt"), ("ge", "le"))
# What a chain of comparisons leaves to be done first.
_ON_THE_WAY: Final = frozenset({"push_null", "pop_top", "jump"})
# A handler with one of these may end what is raised; one without, up to its ``reraise``, only passes by (``finally``).
_ENDS: Final = frozenset(
    {"raise", "with_except_start", "check_exc_match", "check_eg_match", "end_async_for", "cleanup_throw"}
)
# What a handler does besides, without raising anything.
_QUIET: Final = frozenset({"push_exc_info", "copy", "pop_except", "stop_iteration_error"})
_DECODED: Final[dict[int, Decoded]] = {}


def outcome(places: Iterable[Place], compared: str | None = None) -> Outcome | None:
    """The outcome to go on with, or None where the decision is one. ``places`` are the running functions, innermost first.

    ``compared`` is the comparison (``lt``) whose truth is asked for, where the running instruction is one that compares as well.
    """
    found: Outcome | None = None
    kind: type[BaseException] | None = None
    for number, (code, offset, namespace) in enumerate(places):
        decoded = _decoded(code)
        index = _index(decoded, offset)
        if number == 0:
            found, kind = _jump(decoded, index, namespace, compared)
        elif kind is not None:
            kind = _leaving(decoded, index, namespace, kind)
        if kind is None:
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


def _jump(
    decoded: Decoded, index: int, namespace: Mapping[str, Any], compared: str | None
) -> tuple[Outcome, type[BaseException]] | tuple[None, None]:
    """The outcome of a jump on truth of which one side only raises, and what it raises."""
    first = index
    if decoded.instructions[index][0] == "to_bool" or _compares(decoded, index, compared):
        index += 1
    op, target = decoded.instructions[index]
    jumps_when = _TRUTH_JUMPS.get(op)
    if jumps_when is None:
        return None, None
    there, here = (_raises(decoded, start, namespace) for start in (target, index + 1))
    raised = there or here
    if raised is None or (there is not None and here is not None):
        return None, None
    goes_on = jumps_when if there is None else not jumps_when
    if compared == "eq" and index > first and not goes_on and not _with_number(decoded, first):
        return None, None  # containers differ where one item does, and which one nobody knows
    return Outcome(goes_on, raised.message), raised.kind


def _compares(decoded: Decoded, index: int, compared: str | None) -> bool:
    """Whether an instruction compares as ``compared`` does. (Containers ask their items whether they are equal, first of all.)"""
    op, which = decoded.instructions[index]
    return op == "compare_bool" and compared in _COMPARISONS[which]


def _with_number(decoded: Decoded, index: int) -> bool:
    """Whether the right side of a comparison is a constant number: then no containers are compared."""
    op, value = decoded.instructions[index - 1]
    reached = any("jump" in op and target == index for op, target in decoded.instructions)
    return op == "load_const" and type(value) in (int, float, bool, complex) and not reached


class _Raised(NamedTuple):
    """What is raised: exactly this class, or anything (``BaseException``)."""

    kind: type[BaseException]
    message: str | None = None


def _raises(decoded: Decoded, start: int, namespace: Mapping[str, Any]) -> _Raised | None:
    """What is raised where the code only raises from here on and the exception leaves the function; its message if that is a constant."""
    instructions = decoded.instructions
    while (op := instructions[start][0]) in _ON_THE_WAY:
        following = instructions[start][1] if op == "jump" else start + 1
        if following <= start:
            return None
        start = following
    kind = AssertionError if op == "load_assertion_error" else _class(instructions[start], namespace)
    if kind is None or not any(kind is each for each in _EXCEPTIONS):
        return None
    for index in range(start + 1, len(instructions)):
        op, arg = instructions[index]
        if op == "raise":
            if arg != 1:
                return None
            said = instructions[start + 1][1] if index == start + 3 else None
            plain = all(each in _PLAIN for each, _ in instructions[start + 1 : index])
            leaving = [
                _leaving(decoded, each, namespace, kind if plain else BaseException)
                for each in range(start, index + 1)
            ]
            known = leaving[-1] if all(each is leaving[-1] for each in leaving) else None
            return None if known is None else _Raised(known, said if isinstance(said, str) else None)
        if op not in _STRAIGHT:
            return None
    return None


def _class(instruction: Instruction, namespace: Mapping[str, Any]) -> type[BaseException] | None:
    """The class of builtin exceptions that an instruction loads by its name."""
    op, name = instruction
    found = namespace.get(name, getattr(builtins, name, None)) if op in _CLASSES else None
    return found if id(found) in _BUILTIN else None


def _leaving(
    decoded: Decoded, index: int, namespace: Mapping[str, Any], kind: type[BaseException]
) -> type[BaseException] | None:
    """What leaves the function of an exception that is raised here; None where it may be caught."""
    found: type[BaseException] | None = kind
    while found is not None and decoded.handlers and (handler := decoded.handlers[index]) is not None:
        index, found = _passing(decoded, handler[0], namespace, found)
    return found


def _passing(
    decoded: Decoded, index: int, namespace: Mapping[str, Any], kind: type[BaseException]
) -> tuple[int, type[BaseException] | None]:
    """Where a handler raises again, and what; None where it may catch the exception, or end otherwise."""
    instructions = decoded.instructions
    while (op := instructions[index][0]) != "reraise":
        tested = _tested(decoded, index, namespace)
        if tested is not None:
            index, classes = tested
            if kind is BaseException or issubclass(kind, classes):
                return index, None
            continue
        if op in _ENDS or "jump" in op or "return" in op or "yield" in op:
            return index, None
        if op not in _QUIET:
            kind = BaseException  # what is done on the way may raise another
        index += 1
    return index, kind


def _tested(
    decoded: Decoded, index: int, namespace: Mapping[str, Any]
) -> tuple[int, tuple[type[BaseException], ...]] | None:
    """Of ``except A:`` and ``except (A, B):`` with builtin classes: where it goes on for all others, and the classes."""
    classes = []
    while (found := _class(decoded.instructions[index], namespace)) is not None:
        classes.append(found)
        index += 1
    if decoded.instructions[index] == ("build_tuple", len(classes)):
        index += 1
    elif len(classes) != 1:
        return None
    if decoded.instructions[index][0] != "check_exc_match":
        return None
    op, target = decoded.instructions[index + 1]
    return (target, tuple(classes)) if op == "pop_jump_if_false" else None
