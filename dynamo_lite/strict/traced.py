"""Running a function under a policy, and asking where the running program is."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType
from typing import Any

from dynamo_lite import places
from dynamo_lite.strict import builtins as replacements
from dynamo_lite.strict.machine import table
from dynamo_lite.strict.machine.current import RUNNING, peek
from dynamo_lite.strict.machine.frame import NULL, Frame, Machine
from dynamo_lite.strict.machine.host import HOST
from dynamo_lite.strict.machine.limit import LIMIT
from dynamo_lite.strict.machine.policy import Policy
from dynamo_lite.strict.machine.run import execute, get_traceback, set_traceback, user_traceback
from dynamo_lite.strict.machine.slots import classes_changed
from dynamo_lite.strict.outcomes import Outcome, outcome
from solver.errors import Location

assert table and replacements


def run_traced(policy: Policy, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls ``fn`` interpreted under ``policy`` on a machine of its own; the thread's machine is put back after it."""
    machine, before = Machine(policy), peek()
    nested = before is not None and before.frame is not before.base
    limit = machine.limit
    try:
        RUNNING.machine = machine
        HOST.acquire(machine)
        limit = LIMIT.known if nested else LIMIT.raise_it(tracing=True)
        machine.begin(limit, before if nested else None)
        if nested:
            LIMIT.grant(machine.granted, tracing=True)
        classes_changed()
        return execute(machine, fn, args, kwargs or None)
    except BaseException as problem:
        set_traceback(problem, user_traceback(get_traceback(problem)))
        raise
    finally:
        RUNNING.machine = before
        try:
            _end(machine, limit, before if nested else None)
        except BaseException:  # an interrupt came in between: once more
            _end(machine, limit, before if nested else None)
            raise


def _end(machine: Machine, limit: int, below: Machine | None) -> None:
    """What ends with a run; twice is as good as once."""
    if machine.limit != limit:
        LIMIT.change(limit)
    if below is None:
        LIMIT.lower()
    else:
        LIMIT.grant(below.granted, below.policy is not None)
    classes_changed()
    HOST.release(machine)


def _frames() -> list[Frame]:
    machine = peek()
    found: list[Frame] = []
    frame = None if machine is None else machine.frame
    while frame is not None:
        if frame.code is not None:
            found.append(frame)
        frame = frame.back
    return found


def location() -> Location | None:
    """The line of user code that the thread's machine is running, or None."""
    machine = peek()
    frame = None if machine is None else machine.frame
    while frame is not None:
        if frame.code is not None:
            return frame.location()
        frame = frame.back
    return None


def user_variables() -> dict[str, Any]:
    """The variables of the innermost interpreted frame that is the user's."""
    for frame in _frames():
        assert frame.code is not None
        if not places.is_library_file(frame.code.code.co_filename):
            names = frame.code.decoded.slot_names
            held = zip(names, frame.stack, strict=False)
            return {name: _content(value) for name, value in held if value is not NULL}
    return {}


def _content(value: Any) -> Any:
    if type(value) is CellType:
        try:
            return value.cell_contents
        except ValueError:
            return None
    return value


def outcome_here() -> Outcome | None:
    """Of the decision that the running instruction makes: the outcome that goes on, where the other one only raises."""
    return outcome(
        (frame.code.code, frame.code.decoded.offsets[frame.index()], frame.globals)
        for frame in _frames()
        if frame.code is not None
    )


def stack() -> list[Location]:
    """The lines of all interpreted frames, innermost first."""
    return [frame.location() for frame in _frames()]
