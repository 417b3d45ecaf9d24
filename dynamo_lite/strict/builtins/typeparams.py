"""Constructors of ``typing`` that C implements and that note the module which called them (3.12 and later)."""

from __future__ import annotations

import typing
from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces_directly
from dynamo_lite.strict.machine.calls import Kwargs, Replacement, native
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.view import user_frame


def _constructor(cls: Any) -> Replacement:
    def construct(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        following = native(frame, cls, args, kwargs)
        frame.stack[-1].__module__ = user_frame(frame).globals.get("__name__")
        return following

    return construct


def _make(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return cls(*args, **kwargs)


def _alias(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``TypeAliasType``, whose module cannot be set later: it is called by a function of that module."""
    if frame.policy is not None:
        return native(frame, _ALIAS, args, kwargs)
    caller = FunctionType(_make.__code__, {"__name__": user_frame(frame).globals.get("__name__")})
    frame.stack.append(caller(_ALIAS, args, kwargs or {}))
    return None


_ALIAS: Final[Any] = getattr(typing, "TypeAliasType", None)
if _ALIAS is not None:
    replaces_directly(_ALIAS)(_alias)

for _name in ("TypeVar", "ParamSpec", "TypeVarTuple"):
    _cls = getattr(typing, _name)
    if _cls.__module__ == "typing" and not hasattr(_cls.__init__, "__code__"):
        replaces_directly(_cls)(_constructor(_cls))
