"""The machine of the running thread."""

from __future__ import annotations

import threading

from dynamo_lite.strict.machine.frame import Machine


class _Local(threading.local):
    machine: Machine | None = None


RUNNING = _Local()
"""A run puts its machine here and the one before back by plain assignment: an interrupt cannot come in between."""


def current_machine() -> Machine:
    """The running thread's machine, made (without a policy) where there is none."""
    machine = RUNNING.machine
    if machine is None:
        machine = RUNNING.machine = Machine()
    return machine


def peek() -> Machine | None:
    """The running thread's machine, if any."""
    return RUNNING.machine
