"""The C half of ``abc``: instance and subclass checks that may call interpreted hooks."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import abc
import collections.abc
from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.builtins.registry import replaces
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, call
from dynamo_lite.strict.machine.slots import inherits, lookup
from dynamo_lite.strict.machine.truth import truth

_SUBCLASS_CHECK: Final[Any] = abc.ABCMeta.__dict__["__subclasscheck__"]
# hooks that only read class dictionaries: C may call them
_PURE_FILES: Final = frozenset({collections.abc.Sized.__subclasshook__.__func__.__code__.co_filename})  # type: ignore[attr-defined]


def _plain(cls: Any) -> bool:
    """Whether checking against the class runs nothing but ``abc`` itself and pure hooks, here and in its subclasses."""
    if lookup(type(cls), "__subclasscheck__") is not _SUBCLASS_CHECK:
        return False
    hook = lookup(cls, "__subclasshook__")
    function = hook.__func__ if type(hook) is classmethod else hook
    if type(function) is FunctionType and function.__code__.co_filename not in _PURE_FILES:
        return False
    return all(_plain(each) for each in type.__subclasses__(cls) if issubclass(type(each), abc.ABCMeta))


def _instance_needed(frame: Frame, cls: Any, instance: Any, /) -> bool:
    return not _plain(cls)


@replaces(_abc._abc_instancecheck, needed=_instance_needed)
def instance_check(frame: Frame, cls: Any, instance: Any, /) -> Routine:
    claimed = yield call(getattr, instance, "__class__")
    check = yield call(getattr, cls, "__subclasscheck__")
    if (yield from truth(frame, (yield call(check, claimed)))):
        return True
    if type(instance) is claimed:
        return False
    return (yield from truth(frame, (yield call(check, type(instance)))))


@replaces(_abc._abc_subclasscheck, needed=_instance_needed)
def subclass_check(frame: Frame, cls: Any, subclass: Any, /) -> Routine:
    if not inherits(type(subclass), type):
        raise TypeError("issubclass() arg 1 must be a class")
    hook = yield call(getattr, cls, "__subclasshook__")
    answer = yield call(hook, subclass)
    if answer is not NotImplemented:
        if answer is not True and answer is not False:
            raise AssertionError("__subclasshook__ must return True, False, or NotImplemented")
        return answer
    if inherits(subclass, cls):
        return True
    for reference in _abc._get_dump(cls)[0]:
        registered = reference()
        if registered is not None and (yield call(issubclass, subclass, registered)):
            return True
    for each in (yield (yield call(getattr, cls, "__subclasses__")), (), None):
        if (yield call(issubclass, subclass, each)):
            return True
    return False
