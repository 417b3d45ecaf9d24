"""The machine of the running thread."""

from __future__ import annotations

import threading

from dynamo_lite.strict.machine.frame import Machine


class _Local(threading.local):
    machine: Machine | None = None


_local = _Local()


def current_machine() -> Machine:
    """The running thread's machine, made (without a policy) where there is none."""
    machine = _local.machine
    if machine is None:
        machine = _local.machine = Machine()
    return machine


def exchange(machine: Machine | None) -> Machine | None:
    """Makes ``machine`` the thread's; returns the one before."""
    before = _local.machine
    _local.machine = machine
    return before


def peek() -> Machine | None:
    """The running thread's machine, if any."""
    return _local.machine
