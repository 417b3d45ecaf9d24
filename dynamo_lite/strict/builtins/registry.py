"""How replacements are declared: a routine or a handler for a C function, a method of a C type, or a class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite.strict.machine.calls import (
    CONSTRUCTORS,
    METHOD_NAMES,
    METHODS,
    REPLACEMENTS,
    Kwargs,
    Replacement,
    native,
)
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, start

RoutineFunction = Callable[..., Routine]
Needed = Callable[..., bool]


def _from_routine(fn: Any, routine: RoutineFunction, needed: Needed | None) -> Replacement:
    """A replacement that runs ``routine(frame, *args, **kwargs)``.

    Where the arguments do not fit its signature the real function is called, for its own error; and where ``needed`` says
    that no interpreted code would take part, for its speed.
    """

    def replacement(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        given = kwargs or {}
        try:
            made = routine(frame, *args, **given) if needed is None or needed(frame, *args, **given) else None
        except TypeError:
            made = None
        return native(frame, fn, args, kwargs) if made is None else start(frame, made)

    return replacement


def replaces(*fns: Any, needed: Needed | None = None) -> Callable[[RoutineFunction], RoutineFunction]:
    """Declares a routine in place of C functions, descriptors, or classes that are called."""

    def declare(routine: RoutineFunction) -> RoutineFunction:
        for fn in fns:
            made = _from_routine(fn, routine, needed)
            if isinstance(fn, type):
                CONSTRUCTORS[id(fn)] = made
            else:
                REPLACEMENTS[fn] = made
        return routine

    return declare


def replaces_directly(*fns: Any) -> Callable[[Replacement], Replacement]:
    """Declares a handler ``(frame, args, kwargs) -> frame or None`` in place of C functions or classes."""

    def declare(handler: Replacement) -> Replacement:
        for fn in fns:
            if isinstance(fn, type):
                CONSTRUCTORS[id(fn)] = handler
            else:
                REPLACEMENTS[fn] = handler
        return handler

    return declare


def replaces_method(
    cls: type, *names: str, needed: Needed | None = None
) -> Callable[[RoutineFunction], RoutineFunction]:
    """Declares a routine in place of methods of a C type; the object is its second argument."""

    def declare(routine: RoutineFunction) -> RoutineFunction:
        for name in names:
            METHODS[id(cls), name] = _from_routine(cls.__dict__[name], routine, needed)
            METHOD_NAMES.add(name)
        return routine

    return declare


def replaces_method_directly(cls: type, *names: str) -> Callable[[Replacement], Replacement]:
    """Declares a handler in place of methods of a C type."""

    def declare(handler: Replacement) -> Replacement:
        for name in names:
            METHODS[id(cls), name] = handler
            METHOD_NAMES.add(name)
        return handler

    return declare
