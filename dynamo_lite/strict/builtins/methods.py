"""Methods of C types that resume generators, compare or call back."""

from __future__ import annotations

import functools
from types import CoroutineType, GeneratorType
from typing import Any

from dynamo_lite.strict.builtins.registry import replaces_method, replaces_method_directly
from dynamo_lite.strict.builtins.sorting import sort_items
from dynamo_lite.strict.machine.attributes import VIRTUAL
from dynamo_lite.strict.machine.behind import code_behind, suspended
from dynamo_lite.strict.machine.calls import CALLERS, Kwargs, native
from dynamo_lite.strict.machine.frame import Frame, GeneratorFrame
from dynamo_lite.strict.machine.generators import NO_DEFAULT, _over, delegate_of, resume_next, throw_first
from dynamo_lite.strict.machine.iteration import (
    SEQUENCE_ITERATOR,
    SequenceProxy,
    _itself,
    collect,
    extend,
    iterates_in_python,
)
from dynamo_lite.strict.machine.routine import Routine, call, start
from dynamo_lite.strict.machine.slots import inherits, type_name
from dynamo_lite.strict.machine.view import view_of


@replaces_method_directly(GeneratorType, "__next__")
def generator_next(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    inner = suspended(args[0]) if len(args) == 1 and not kwargs else None
    if inner is None:
        return native(frame, GeneratorType.__next__, args, kwargs)
    return resume_next(frame, args[0], inner, None, NO_DEFAULT)


@replaces_method_directly(GeneratorType, "send")
def generator_send(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    inner = suspended(args[0]) if len(args) == 2 and not kwargs else None
    if inner is None:
        return native(frame, GeneratorType.send, args, kwargs)
    return resume_next(frame, args[0], inner, args[1], NO_DEFAULT)


@replaces_method_directly(GeneratorType, "throw")
@replaces_method_directly(CoroutineType, "throw")
def generator_throw(frame: Frame, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    if not args or kwargs:
        return native(frame, GeneratorType.throw, args, kwargs)
    throw = type(args[0]).throw
    inner = suspended(args[0])
    if inner is None or inner.running or _over(args[0], inner):
        return native(frame, throw, args, kwargs)
    if not inner.started and len(args) == 2:
        thrown = args[1]
        if inherits(type(thrown), BaseException):
            return throw_first(frame, args[0], inner, thrown)
        if issubclass(type(thrown), type) and inherits(thrown, BaseException):
            return start(frame, _throw_made(args[0], thrown))
    innermost = inner
    while (deeper := suspended(delegate_of(innermost))) is not None:
        innermost = deeper
    innermost.thrown = args[1:]
    try:
        return native(frame, throw, args, kwargs)
    finally:
        del innermost.thrown


def _throw_made(obj: Any, cls: Any) -> Routine:
    """``obj.throw(cls)``: what goes wrong when the exception is made is thrown in its place."""
    try:
        error = yield call(cls)
        if not inherits(type(error), BaseException):
            kind = type_name(type(error))
            raise TypeError(f"calling {cls!r} should have returned an instance of BaseException, not {kind}")
    except BaseException as problem:
        error = problem
    return (yield type(obj).throw, (obj, error), None)


@replaces_method(list, "sort")
def list_sort(frame: Frame, items: list[Any], /, *, key: Any = None, reverse: Any = False) -> Routine:
    if frame.policy is not None:
        frame.policy.before_write("content", items, None)
    yield from sort_items(frame, items, key, reverse)


def _needs_collecting(frame: Frame, *args: Any, **kwargs: Any) -> bool:
    return len(args) == 2 and (suspended(args[1]) is not None or iterates_in_python(frame, args[1]))


@replaces_method(list, "extend", needed=_needs_collecting)
def list_extend(frame: Frame, items: list[Any], iterable: Any, /) -> Routine:
    if frame.policy is not None:
        frame.policy.before_write("content", items, None)
    yield from extend(frame, items, iterable)


@replaces_method(str, "join", needed=_needs_collecting)
def str_join(frame: Frame, separator: str, iterable: Any, /) -> Routine:
    return separator.join((yield from collect(frame, iterable)))


@replaces_method(SEQUENCE_ITERATOR, "__reduce__")
def sequence_reduce(frame: Frame, iterator: Any, /) -> Routine:
    """The state of a sequence iterator as user code knows it: with the object, not the stand-in for it."""
    state = iterator.__reduce__()
    held = state[1][0]
    if isinstance(held, SequenceProxy):
        state = (state[0], (held.obj,), *state[2:])
    return (yield call(_itself, state))


# --- attributes of generators: those of the frame behind them


def _live(obj: Any) -> GeneratorFrame | None:
    return suspended(obj)


def _frame_attribute(name: str) -> Any:
    def compute(frame: Frame, obj: Any) -> Any:
        inner = _live(obj)
        if inner is None or inner.done or getattr(obj, name) is None:
            return getattr(obj, name)
        return view_of(inner)

    return compute


def _code_attribute(name: str) -> Any:
    def compute(frame: Frame, obj: Any) -> Any:
        return code_behind(obj) or getattr(obj, name)

    return compute


def _delegate_attribute(name: str) -> Any:
    def compute(frame: Frame, obj: Any) -> Any:
        inner = _live(obj)
        if inner is None:
            return getattr(obj, name)
        return None if inner.running else delegate_of(inner)

    return compute


def _running_attribute(name: str) -> Any:
    def compute(frame: Frame, obj: Any) -> Any:
        inner = _live(obj)
        return getattr(obj, name) if inner is None or not hasattr(inner, "running") else inner.running

    return compute


def _suspended_attribute(name: str) -> Any:
    def compute(frame: Frame, obj: Any) -> Any:
        inner = _live(obj)
        return getattr(obj, name) if inner is None else inner.started and not inner.running and not inner.done

    return compute


for _cls, _prefix, _delegate in ((GeneratorType, "gi", "yieldfrom"), (CoroutineType, "cr", "await")):
    for _attribute, _make in (
        ("frame", _frame_attribute),
        ("code", _code_attribute),
        (_delegate, _delegate_attribute),
        ("running", _running_attribute),
        ("suspended", _suspended_attribute),
    ):
        _name = f"{_prefix}_{_attribute}"
        VIRTUAL[id(_cls), _name] = _make(_name)


def call_lru_cache(frame: Frame, fn: Any, args: tuple[Any, ...], kwargs: Kwargs) -> Frame | None:
    """functools.lru_cache: C keeps the cache; the function is called natively, one cache for native and interpreted callers."""
    return native(frame, fn, args, kwargs)


CALLERS[id(functools._lru_cache_wrapper)] = call_lru_cache
