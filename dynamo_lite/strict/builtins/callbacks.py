"""C functions and classes that keep or call a callback themselves.

They are given a stand-in that runs the callback interpreted, in a run of its own. A stand-in is another object than the
callback, so it only goes where user code cannot get it back to compare it: into lazy iterators, substitutions and the like.
"""

from __future__ import annotations

import bisect
import builtins
import contextvars
import functools
import itertools
import operator
import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

from dynamo_lite.strict.builtins.iterables import FIRST, NONE, OTHERS, SECOND, items_too, with_iterables
from dynamo_lite.strict.builtins.registry import replaces_directly, replaces_method_directly
from dynamo_lite.strict.machine.calls import CALLERS, Kwargs, Replacement, native
from dynamo_lite.strict.machine.current import current_machine
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.run import execute
from dynamo_lite.strict.machine.slots import MISSING, lookup, slot


class Callback:
    """Runs a callable interpreted when C calls it."""

    __slots__ = ("fn",)

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return execute(current_machine(), self.fn, args, kwargs or None)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _itself, (self.fn,)


def _itself(fn: Any) -> Any:
    return fn


# C functions that look at the frame that calls them: it must be the interpreted one
_READ_THE_CALLER: Final = frozenset({
    builtins.eval, builtins.exec, builtins.globals, builtins.locals, builtins.vars, builtins.dir, builtins.compile,
    builtins.__import__, sys._getframe, sys.exc_info, sys.exception, warnings.warn,
})  # fmt: skip


def needs_callback(frame: Frame, fn: Any) -> bool:
    """Whether calling the object runs interpreted code; or reads, writes or does what a policy judges."""
    kind = type(fn)
    if frame.policy is not None:
        return issubclass(kind, type) or lookup(kind, "__call__") is not MISSING
    if kind is FunctionType or kind is MethodType or kind is functools.partial:
        return True
    if kind is BuiltinFunctionType:
        return fn in _READ_THE_CALLER
    if issubclass(kind, type):
        return slot(frame, fn, "__init__") is not None or slot(frame, fn, "__new__") is not None
    return slot(frame, kind, "__call__") is not None


def _wrapping(fn: Any, position: int, keyword: str | None = None, iterables: slice = NONE) -> Replacement:
    """The same call with a stand-in for the callback at ``position`` (or given as ``keyword``), and for what is iterated over."""

    def replacement(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
        if len(args) > position and needs_callback(frame, args[position]):
            args = (*args[:position], Callback(args[position]), *args[position + 1 :])
        elif keyword is not None and kwargs and keyword in kwargs and needs_callback(frame, kwargs[keyword]):
            kwargs = {**kwargs, keyword: Callback(kwargs[keyword])}
        args, kwargs = with_iterables(frame, args, kwargs, iterables)
        return native(frame, fn, args, kwargs)

    return replacement


# class or function → where its callback is, and what it iterates over
_CALLBACKS: Final[tuple[tuple[Any, int, str | None, slice], ...]] = (
    (map, 0, None, OTHERS),
    (filter, 0, None, SECOND),
    (itertools.accumulate, 1, "func", FIRST),
    (itertools.groupby, 1, "key", FIRST),
    (itertools.takewhile, 0, None, SECOND),
    (itertools.dropwhile, 0, None, SECOND),
    (itertools.filterfalse, 0, None, SECOND),
    (functools.cmp_to_key, 0, "mycmp", NONE),
    (bisect.bisect_left, 9, "key", NONE),
    (bisect.bisect_right, 9, "key", NONE),
    (bisect.insort_left, 9, "key", NONE),
    (bisect.insort_right, 9, "key", NONE),
)
for _fn, _position, _keyword, _where in _CALLBACKS:
    replaces_directly(_fn)(_wrapping(_fn, _position, _keyword, _where))


@replaces_directly(itertools.starmap)
def starmap(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) == 2:
        fn, items = args
        args = Callback(fn) if needs_callback(frame, fn) else fn, items_too(frame, items)
    return native(frame, itertools.starmap, args, kwargs)


for _name in ("sub", "subn"):
    replaces_method_directly(re.Pattern, _name)(_wrapping(getattr(re.Pattern, _name), 1, "repl"))
replaces_method_directly(contextvars.Context, "run")(_wrapping(contextvars.Context.run, 1))


@replaces_directly(iter)
def iter_with_sentinel(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """``iter(callable, sentinel)``; with one argument the protocol of iteration."""
    from dynamo_lite.strict.machine.iteration import get_iter_of

    if len(args) == 1 and not kwargs:
        return get_iter_of(frame, args[0])
    if len(args) == 2 and not kwargs and needs_callback(frame, args[0]):
        args = (Callback(args[0]), args[1])
    return native(frame, iter, args, kwargs)


# --- objects of C types that look up or call when they are called


def _call_attrgetter(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) != 1 or kwargs:
        return native(frame, fn, args, kwargs)
    return start(frame, _attributes(fn.__reduce__()[1], args[0]))


def _attributes(names: tuple[str, ...], obj: Any) -> Routine:
    found = []
    for name in names:
        value = obj
        for part in name.split("."):
            value = yield call(getattr, value, part)
        found.append(value)
    return found[0] if len(found) == 1 else tuple(found)


def _call_itemgetter(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) != 1 or kwargs:
        return native(frame, fn, args, kwargs)
    return start(frame, _items(fn.__reduce__()[1], args[0]))


def _items(keys: tuple[Any, ...], obj: Any) -> Routine:
    found = []
    for key in keys:
        found.append((yield call(operator.getitem, obj, key)))
    return found[0] if len(found) == 1 else tuple(found)


def _call_methodcaller(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) != 1 or kwargs:
        return native(frame, fn, args, kwargs)
    maker, given = fn.__reduce__()[:2]
    # with keywords, the state is a partial of the class
    name, rest = (maker.args[0], maker.keywords) if isinstance(maker, functools.partial) else (given[0], {})
    values = given if isinstance(maker, functools.partial) else given[1:]
    return start(frame, _method(name, tuple(values), dict(rest), args[0]))


def _method(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], obj: Any) -> Routine:
    method = yield call(getattr, obj, name)
    return (yield method, args, kwargs or None)


_OBJECTS: Final[dict[type, Callable[[Frame, Any, tuple[Any, ...], Kwargs], Frame | None]]] = {
    operator.attrgetter: _call_attrgetter,
    operator.itemgetter: _call_itemgetter,
    operator.methodcaller: _call_methodcaller,
}
for _type, _caller in _OBJECTS.items():
    CALLERS[id(_type)] = _caller


@replaces_directly(operator.getitem)
def getitem(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    from dynamo_lite.strict.machine.items import get_item

    if len(args) != 2 or kwargs:
        return native(frame, operator.getitem, args, kwargs)
    return get_item(frame, *args)


# --- defaultdict: the factory is the user's own object, so the missing key is made here


@replaces_method_directly(defaultdict, "__missing__")
def missing(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if len(args) != 2 or kwargs or args[0].default_factory is None:
        return native(frame, defaultdict.__missing__, args, kwargs)
    return start(frame, _missing(frame, *args))


def _missing(frame: Frame, table: Any, key: Any) -> Routine:
    value = yield call(table.default_factory)
    if frame.policy is not None:
        frame.policy.before_write("item", table, key)
    dict.__setitem__(table, key, value)
    return value
