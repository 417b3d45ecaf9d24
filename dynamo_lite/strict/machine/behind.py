"""Which frame stands behind a real generator or coroutine object: objects by identity, while they live."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, Final

from dynamo_lite.strict.machine.frame import GeneratorFrame

# the object, the frame behind it, and its code, which outlives the frame
_BEHIND: Final[dict[int, tuple[weakref.ref[Any], weakref.ref[GeneratorFrame], CodeType]]] = {}
_forget: Final[Callable[..., Any]] = _BEHIND.pop


def remember(made: Any, frame: GeneratorFrame, code: CodeType) -> weakref.ref[Any]:
    """Puts the frame behind the object, which keeps it: the collector sees it do so."""
    key = id(made)
    # a callback of C code alone, where no interrupt can be lost; the reference that it is given is the default of ``pop``
    held = weakref.ref(made, partial(_forget, key))
    _BEHIND[key] = held, weakref.ref(frame), code
    return held


def suspended(obj: Any) -> GeneratorFrame | None:
    """The frame behind a generator object, where it is one of ours."""
    found = _BEHIND.get(id(obj))
    return None if found is None else found[1]()


def code_behind(obj: Any) -> CodeType | None:
    """The code of a generator object, where it is one of ours."""
    found = _BEHIND.get(id(obj))
    return None if found is None or found[0]() is not obj else found[2]
