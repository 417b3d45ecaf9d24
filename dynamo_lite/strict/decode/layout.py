"""Marks of change that CPython keeps itself: an object's class, a type's version tag, and what a function runs.

They are read from memory, many in one operation. Where they lie is searched for on objects made for that; what is not found
exactly as expected is not used, and whoever asks has a slower way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

try:
    import ctypes
except ImportError:  # pragma: no cover - a CPython without it
    ctypes = None  # type: ignore[assignment]

Mark = memoryview
"""Some bytes of an object, as they are whenever they are read."""
_NO_NAME: Final = "no class has this attribute"
_SIZE: Final = 4
_TYPE_SIZE: Final[int] = type.__dict__["__basicsize__"].__get__(type)


def settle(cls: type) -> None:
    """Has the type given a version tag, if it has none: a look-up does. Runs no code of the program's."""
    try:
        type.__getattribute__(cls, _NO_NAME)
    except AttributeError:
        return


def _view(address: int, size: int) -> Mark:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


def _tag_offset() -> int | None:
    """Where a type's tag lies: the one word that is zero from a change of its base on until a look-up."""
    base = type("base", (), {})
    cls = type("cls", (base,), {})

    def words() -> list[bytes]:
        whole = bytes(_view(id(cls), _TYPE_SIZE))
        return [whole[start : start + _SIZE] for start in range(0, len(whole), _SIZE)]

    settle(cls)
    first, again = words(), words()
    base.attribute = 1  # type: ignore[attr-defined]
    changed = words()
    settle(cls)
    settled = words()
    settle(cls)
    zero = bytes(_SIZE)
    found = [
        index * _SIZE
        for index, word in enumerate(first)
        if word == again[index] != zero == changed[index] and settled[index] not in (zero, word)
    ]
    return found[0] if len(found) == 1 and words() == settled else None


def _code_offset() -> int | None:
    """Where a function's code, defaults and keyword defaults lie, one after the other."""

    def function(a: int = 1, *, b: int = 2) -> None: ...

    def wanted() -> bytes:
        held = (function.__code__, function.__defaults__, function.__kwdefaults__)
        return b"".join([id(each).to_bytes(_POINTER, _ORDER) for each in held])

    size = type(function).__basicsize__
    offset = bytes(_view(id(function), size)).find(wanted())
    if offset < 0 or offset % _POINTER:
        return None
    function.__defaults__ = (2,)
    function.__kwdefaults__ = {"b": 3}
    function.__code__ = function.__code__.replace(co_name="other")
    return offset if bytes(_view(id(function), size)).find(wanted()) == offset else None


def _class_offset() -> int | None:
    """Where an object's class lies."""
    first, second = (type(name, (), {}) for name in ("first", "second"))
    value = first()

    def offset() -> int:
        return bytes(_view(id(value), object.__basicsize__)).find(id(type(value)).to_bytes(_POINTER, _ORDER))

    before = offset()
    value.__class__ = second
    return before if before >= 0 and offset() == before else None


def _found(search: Callable[[], int | None]) -> int | None:
    return search() if ctypes is not None else None


if ctypes is not None:
    import sys

    _POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
    _ORDER: Final[Any] = sys.byteorder
_CLASS: Final = _found(_class_offset)
_TAG: Final = _found(_tag_offset)
_CODE: Final = _found(_code_offset)


def class_mark(value: Any) -> Mark | None:
    """Which class an object has."""
    return None if _CLASS is None else _view(id(value) + _CLASS, _POINTER)


def type_mark(cls: type) -> Mark | None:
    """The type's version tag: zero where it has none; never the same again once the type or a base of it was changed."""
    return None if _TAG is None else _view(id(cls) + _TAG, _SIZE)


def function_mark(fn: Any) -> Mark | None:
    """Which code, defaults and keyword defaults a Python function has, by identity."""
    return None if _CODE is None else _view(id(fn) + _CODE, 3 * _POINTER)
