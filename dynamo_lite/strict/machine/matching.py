"""Structural pattern matching."""

from __future__ import annotations

from typing import Any, Final

from dynamo_lite.strict.decode.versions import CALLED_PATTERN_MUST_BE
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import inherits, type_name
from dynamo_lite.strict.machine.truth import length

# Py_TPFLAGS_SEQUENCE and Py_TPFLAGS_MAPPING; Python does not show them but through __flags__
_SEQUENCE: Final = 1 << 5
_MAPPING: Final = 1 << 6
_SELF_MATCHING: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_flags: Final = type.__dict__["__flags__"].__get__


def get_len(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, length(frame, stack[-1]))


def match_mapping(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(bool(_flags(type(stack[-1])) & _MAPPING))


def match_sequence(frame: Frame, stack: list[Any], arg: None) -> None:
    stack.append(bool(_flags(type(stack[-1])) & _SEQUENCE))


def match_keys(frame: Frame, stack: list[Any], arg: None) -> Frame | None:
    return start(frame, _keys(frame, stack[-2], stack[-1]))


def _keys(frame: Frame, subject: Any, keys: tuple[Any, ...]) -> Routine:
    if not keys:
        return ()
    get = yield call(getattr, subject, "get")
    seen: set[Any] = set()
    values = []
    missing = object()
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = yield call(get, key, missing)
        if value is missing:
            return None
        values.append(value)
    return tuple(values)


def match_class(frame: Frame, stack: list[Any], count: int) -> Frame | None:
    names = stack.pop()
    cls = stack.pop()
    return start(frame, _class(frame, stack.pop(), cls, count, names))


def _class(frame: Frame, subject: Any, cls: Any, count: int, names: tuple[str, ...]) -> Routine:
    if not inherits(type(cls), type):
        raise TypeError(f"called match pattern must be a {CALLED_PATTERN_MUST_BE}")
    if not (yield call(isinstance, subject, cls)):
        return None
    seen: set[str] = set()
    values = []
    if count:
        try:
            positions = yield call(getattr, cls, "__match_args__")
            itself = False
        except AttributeError:
            positions = ()
            itself = any(inherits(cls, base) for base in _SELF_MATCHING)
        if type(positions) is not tuple:
            raise TypeError(
                f"{type_name(cls)}.__match_args__ must be a tuple (got {type_name(type(positions))})"
            )
        allowed = 1 if itself else len(positions)
        if allowed < count:
            plural = "" if allowed == 1 else "s"
            raise TypeError(
                f"{type_name(cls)}() accepts {allowed} positional sub-pattern{plural} ({count} given)"
            )
        if itself:
            values.append(subject)
        else:
            for name in positions[:count]:
                if type(name) is not str:
                    raise TypeError(f"__match_args__ elements must be strings (got {type_name(type(name))})")
                if name in seen:
                    raise TypeError(f"{type_name(cls)}() got multiple sub-patterns for attribute {name!r}")
                seen.add(name)
                try:
                    values.append((yield call(getattr, subject, name)))
                except AttributeError:
                    return None
    for name in names:
        if name in seen:
            raise TypeError(f"{type_name(cls)}() got multiple sub-patterns for attribute {name!r}")
        seen.add(name)
        try:
            values.append((yield call(getattr, subject, name)))
        except AttributeError:
            return None
    return tuple(values)
