"""Errors of the strict front end's machine."""

from __future__ import annotations

from typing import Final

from solver.errors import ErrorSpec, InputError, UnsupportedError, declare

UNKNOWN_OPCODE: Final[ErrorSpec] = declare(
    "unknown-opcode",
    UnsupportedError,
    "The code of {code} uses opcode {opcode}, which the interpreter has no rule for.",
    hint="Run it on a CPython version that this release supports (3.11, 3.12 or 3.13).",
    about="A bytecode instruction without a rule: a newer CPython, or code made by a tool.",
)
UNSUPPORTED_PYTHON: Final[ErrorSpec] = declare(
    "unsupported-python",
    UnsupportedError,
    "The interpreter has no instruction table for CPython {version}.",
    hint="Use CPython 3.11, 3.12 or 3.13.",
    about="The bytecode of each CPython version is described by one table.",
)
NOT_INTERPRETABLE: Final[ErrorSpec] = declare(
    "not-interpretable",
    InputError,
    "interpret() takes something that can be called, not {what}.",
    hint="Pass a function, a method, a class, a functools.partial, or an object with __call__.",
    about="The argument of interpret() is not callable.",
)
