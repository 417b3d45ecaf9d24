"""``interpret``: run Python in the symbolic interpreter with ordinary values."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dynamo_lite.strict import builtins as replacements
from dynamo_lite.strict.errors import NOT_INTERPRETABLE
from dynamo_lite.strict.machine import table
from dynamo_lite.strict.machine.current import current_machine, peek
from dynamo_lite.strict.machine.limit import LIMIT
from dynamo_lite.strict.machine.run import execute, get_traceback, set_traceback, user_traceback
from dynamo_lite.strict.machine.slots import classes_changed

P = ParamSpec("P")
R = TypeVar("R")
assert table and replacements


def interpret(fn: Callable[P, R]) -> Callable[P, R]:
    """A callable that runs ``fn`` in the interpreter: same result, same exceptions, same effects as CPython.

    Raises InputError where ``fn`` cannot be called.
    """
    if not callable(fn):
        raise NOT_INTERPRETABLE(what=type(fn).__name__)

    def interpreted(*args: P.args, **kwargs: P.kwargs) -> R:
        return enter(fn, args, kwargs)  # type: ignore[no-any-return]

    try:
        return functools.update_wrapper(interpreted, fn)
    except (AttributeError, TypeError):  # a C type's own descriptors stand where a function has values
        return interpreted


def is_interpreting() -> bool:
    """Whether the calling code is run by the interpreter."""
    machine = peek()
    return machine is not None and machine.frame is not machine.base


def enter(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls ``fn`` interpreted on the thread's machine."""
    machine = current_machine()
    nested = machine.frame is not machine.base
    if not nested:
        classes_changed()
        machine.base.depth = _depth()
        machine.base.globals = sys._getframe(2).f_globals
        machine.begin(LIMIT.raise_it())
    error: BaseException | None = None
    try:
        return execute(machine, fn, args, kwargs or None)
    except BaseException as problem:
        error = problem
        set_traceback(problem, user_traceback(get_traceback(problem)))
        raise
    finally:
        del error
        if not nested:
            machine.base.globals = {}
            LIMIT.lower()


def _depth() -> int:
    depth = 0
    frame: Any = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth
