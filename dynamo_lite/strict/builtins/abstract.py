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
from dynamo_lite.strict.machine.slots import MISSING, dict_of, inherits, lookup
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
    if frame.policy is not None and issubclass(type(cls), abc.ABCMeta):
        # what is special is of our classes, whose ``__class__`` is the library's
        special = id(type(instance)) in frame.policy.special_ids
        frame.policy.judged(cls, instance.__class__ if special else type(instance))
    return not _plain(cls)


def _subclass_needed(frame: Frame, cls: Any, subclass: Any, /) -> bool:
    if frame.policy is not None and issubclass(type(cls), abc.ABCMeta) and issubclass(type(subclass), type):
        frame.policy.judged(cls, subclass)
    return not _plain(cls)


def _known(frame: Frame, cls: Any, subclass: Any) -> bool | None:
    """What was answered before, as C's caches or those of the trace have it."""
    known = frame.machine.answers.get((id(cls), id(subclass)))
    if known is not None and (known[0] or known[1] == abc.get_cache_token()):
        return known[0]
    _, positive, negative, version = _abc._get_dump(cls)
    if any(reference() is subclass for reference in positive):
        return True
    if version == abc.get_cache_token() and any(reference() is subclass for reference in negative):
        return False
    return None


def _remember(frame: Frame, cls: Any, subclass: Any, answer: bool) -> bool:
    """Keeps an answer as C would: in its caches, to which only a check in C has access; those of the program outlive no trace."""
    if frame.policy is not None:
        frame.machine.answers[id(cls), id(subclass)] = answer, abc.get_cache_token(), cls, subclass
    elif lookup(type(cls), "__getattribute__") is type.__getattribute__:
        own = dict_of(cls).get("__subclasshook__", MISSING)
        type.__setattr__(cls, "__subclasshook__", staticmethod(lambda other: answer))
        try:
            _abc._abc_subclasscheck(cls, subclass)
        finally:
            if own is MISSING:
                type.__delattr__(cls, "__subclasshook__")
            else:
                type.__setattr__(cls, "__subclasshook__", own)
    return answer


@replaces(_abc._abc_instancecheck, needed=_instance_needed)
def instance_check(frame: Frame, cls: Any, instance: Any, /) -> Routine:
    claimed = yield call(getattr, instance, "__class__")
    check = yield call(getattr, cls, "__subclasscheck__")
    if (yield from truth(frame, (yield call(check, claimed)))):
        return True
    if type(instance) is claimed:
        return False
    return (yield from truth(frame, (yield call(check, type(instance)))))


@replaces(_abc._abc_subclasscheck, needed=_subclass_needed)
def subclass_check(frame: Frame, cls: Any, subclass: Any, /) -> Routine:
    if not inherits(type(subclass), type):
        raise TypeError("issubclass() arg 1 must be a class")
    known = _known(frame, cls, subclass)
    if known is not None:
        return known
    answer = yield from _by_hook_or_bases(cls, subclass)
    if answer is None:
        registered = [each for reference in _abc._get_dump(cls)[0] if (each := reference()) is not None]
        if any(each is subclass for each in registered):
            return True  # which C does not remember
        answer = yield from _by_others(cls, subclass, registered)
    return _remember(frame, cls, subclass, answer)


def _by_hook_or_bases(cls: Any, subclass: Any) -> Routine:
    hook = yield call(getattr, cls, "__subclasshook__")
    answer = yield call(hook, subclass)
    if answer is not NotImplemented:
        if answer is not True and answer is not False:
            raise AssertionError("__subclasshook__ must return True, False, or NotImplemented")
        return answer
    return True if inherits(subclass, cls) else None


def _by_others(cls: Any, subclass: Any, registered: list[Any]) -> Routine:
    """Whether it is a subclass of a registered class, or of a subclass."""
    for each in registered:
        if (yield call(issubclass, subclass, each)):
            return True
    known = lookup(type(cls), "__subclasses__") is type.__dict__["__subclasses__"]
    subclasses = (
        type.__subclasses__(cls) if known else (yield (yield call(getattr, cls, "__subclasses__")), (), None)
    )
    for each in subclasses:
        if (yield call(issubclass, subclass, each)):
            return True
    return False
