"""Calling classes: the metaclass, ``__new__`` and ``__init__``."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Final

from dynamo_lite.strict.machine.calls import (
    CALLERS,
    CONSTRUCTORS,
    REPLACEMENTS,
    Kwargs,
    bind,
    call_object,
    enter,
    native,
)
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, start
from dynamo_lite.strict.machine.slots import inherits, lookup, slot, type_name


def call_class(frame: Frame, cls: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """A class: the metaclass's ``__call__``, which is ``type.__call__`` unless someone defined another."""
    method = slot(frame, type(cls), "__call__")
    if method is not None:
        if type(method) is FunctionType:
            return enter(frame, method, (cls, *args), kwargs)
        return start(frame, call_object(frame, method, cls, args, kwargs))
    if type(cls) is not type and lookup(type(cls), "__call__") is not _TYPE_CALL:
        return native(frame, cls, args, kwargs)  # some other C callable
    return construct(frame, cls, args, kwargs)


_TYPE_CALL: Final[Any] = type.__dict__["__call__"]


def construct(frame: Frame, cls: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``type.__call__``: ``__new__``, then ``__init__`` if it gave an instance."""
    constructor = CONSTRUCTORS.get(id(cls))
    if constructor is not None:
        return constructor(frame, args, kwargs)
    new = slot(frame, cls, "__new__")
    init = slot(frame, cls, "__init__")
    if new is None:
        maker = lookup(cls, "__new__")
        if type(maker) is staticmethod:
            maker = maker.__func__
        if maker not in REPLACEMENTS:
            if init is None:
                if slot(frame, type(cls), "__call__") is None:
                    return native(frame, cls, args, kwargs)
                # called from the metaclass's own method
                return native(frame, _TYPE_CALL, (cls, *args), kwargs)
            native(frame, maker, (cls, *args), kwargs)
            obj = frame.stack.pop()
            if not inherits(type(obj), cls):
                frame.stack.append(obj)
                return None
            return initialise(frame, cls, obj, args, kwargs)
    return start(frame, _construct(frame, cls, args, kwargs))


def initialise(frame: Frame, cls: Any, obj: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """Runs an interpreted ``__init__``; the object is the call's result."""
    init = lookup(type(obj), "__init__")
    if type(init) is FunctionType:
        following = enter(frame, init, (obj, *args), kwargs)
        if following is not None:
            following.deliver = initialised
            following.extra = obj
            return following
        frame.stack[-1] = obj
        return None
    return start(frame, _initialise(frame, init, obj, args, kwargs))


def initialised(frame: Frame, result: Any) -> Frame:
    """The end of an ``__init__`` frame."""
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type_name(type(result))}'")
    back = frame.back
    assert back is not None
    back.stack.append(frame.extra)
    return back


def _initialise(frame: Frame, init: Any, obj: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Routine:
    bound = yield from bind(frame, init, obj, type(obj))
    result = yield bound, args, kwargs
    if result is not None:
        raise TypeError(f"__init__() should return None, not '{type_name(type(result))}'")
    return obj


def _construct(frame: Frame, cls: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Routine:
    """Construction where ``__new__`` is not plain C code."""
    new = lookup(cls, "__new__")
    maker = yield from bind(frame, new, None, cls)
    obj = yield maker, (cls, *args), kwargs
    if inherits(type(obj), cls):
        init = lookup(type(obj), "__init__")
        if type(init) is FunctionType:
            result = yield init, (obj, *args), kwargs
        else:
            bound = yield from bind(frame, init, obj, type(obj))
            result = yield bound, args, kwargs
        if result is not None:
            raise TypeError(f"__init__() should return None, not '{type_name(type(result))}'")
    return obj


def plain_init(frame: Frame, cls: Any) -> Any:
    """The ``__init__`` of a class that is made by ``object.__new__`` and initialised by a function; else None."""
    init = lookup(cls, "__init__")
    if (
        type(init) is FunctionType
        and lookup(cls, "__new__") is object.__new__
        and id(cls) not in CONSTRUCTORS
        and slot(frame, cls, "__init__") is not None
    ):
        return init
    return False


CALLERS[id(type)] = call_class
