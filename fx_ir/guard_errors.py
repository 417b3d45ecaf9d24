"""Errors raised when a call does not keep a program's input contract."""

from __future__ import annotations

from typing import Final

from solver.errors import GuardError, declare

_AGAIN: Final = "pass {expected}, or export the model again for inputs of the new kind"

ARGUMENT_MISSING: Final = declare(
    "argument-missing",
    GuardError,
    "argument {name} is missing",
    hint="an exported program has no defaults: pass every argument that was given or defaulted at export",
    about="A call leaves out an argument of the exported program.",
)
ARGUMENT_UNEXPECTED: Final = declare(
    "argument-unexpected",
    GuardError,
    "argument {name} was not there at export (the program takes {known})",
    hint="leave it out, or export the model again with it",
    about="A call gives an argument that the program does not have.",
)
ARGUMENT_BY_POSITION: Final = declare(
    "argument-by-position",
    GuardError,
    "argument number {number} is given by position, and the program takes {names} by name",
    hint="pass it by name, as {name}",
    about="A call gives by position what was given by name, or by default, at export.",
)
ARGUMENT_TWICE: Final = declare(
    "argument-twice",
    GuardError,
    "argument {name} is given by position and by name",
    hint="give it once",
    about="A call gives one argument in two ways.",
)
STRUCTURE: Final = declare(
    "input-structure",
    GuardError,
    "{path}: expected {expected}, given {given}",
    hint="the nesting of containers, their lengths and keys are fixed at export; pass the same, or export the model again",
    about="An input is nested otherwise than the example was.",
)
NOT_A_TENSOR: Final = declare(
    "input-not-a-tensor",
    GuardError,
    "{path}: expected a tensor {expected}, given {given}",
    hint="pass a tensor of the library that runs the program",
    about="Something else stands where a tensor is expected.",
)
DTYPE: Final = declare(
    "input-dtype",
    GuardError,
    "{path}: expected dtype {expected}, given {given}",
    hint=_AGAIN,
    about="A tensor's element type differs.",
)
DEVICE: Final = declare(
    "input-device",
    GuardError,
    "{path}: expected device {expected}, given {given}",
    hint=_AGAIN,
    about="A tensor is elsewhere.",
)
RANK: Final = declare(
    "input-rank",
    GuardError,
    "{path}: expected {expected} dimensions, given {given}",
    hint="pass a tensor of {expected} dimensions, or export the model again",
    about="A tensor has another number of dimensions.",
)
SIZE: Final = declare(
    "input-size",
    GuardError,
    "{path}.shape[{dim}]: expected {expected}, given {given}",
    hint="pass a tensor of that size, or export the model again with this dimension dynamic (dynamic_shapes)",
    about="A dimension has a size that the specification does not allow.",
)
RANGE: Final = declare(
    "input-range",
    GuardError,
    "{symbol} = {given} ({where}) is outside the exported range {expected}",
    hint="pass a size within the range, or export the model again with a wider Dim",
    about="A dynamic size is outside its range.",
)
DIVISION: Final = declare(
    "input-division",
    GuardError,
    "{path}.shape[{dim}]: expected {expected} for a whole number {symbol}, given {given}",
    hint="pass a size of that form, or export the model again with another derived dimension",
    about="A derived dimension's size does not come from an integer root.",
)
CONDITION: Final = declare(
    "input-condition",
    GuardError,
    "the condition {expected} ({kind}) does not hold for {given}",
    hint="pass sizes for which it holds, or export the model again",
    about="Sizes break a condition between them.",
)
VALUE: Final = declare(
    "input-value",
    GuardError,
    "{path}: expected the value {expected} burned in at export, given {given}",
    hint="pass {expected}, or export the model again with the new value",
    about="An input that is not a tensor has another value than at export.",
)
INTEGER: Final = declare(
    "input-integer",
    GuardError,
    "{path}: expected {expected}, given {given}",
    hint="pass a Python int",
    about="A dynamic integer input has another type or value.",
)
GRAD: Final = declare(
    "input-requires-grad",
    GuardError,
    "{path}: expected requires_grad={expected}, given {given}",
    hint="the program decided on requires_grad; pass a tensor with the same, or export the model again",
    about="A tensor's requires_grad differs and the program looked at it.",
)
LAYOUT: Final = declare(
    "input-layout",
    GuardError,
    "{path}: expected {expected}, given {given}",
    hint="the program decided on the layout; pass such a tensor, or export the model again",
    about="A tensor's strides differ and the program looked at them.",
)
CLASS: Final = declare(
    "input-class",
    GuardError,
    "{path}: expected a tensor of class {expected}, given one of {given}",
    hint="the program decided on the class; pass such a tensor, or export the model again",
    about="A tensor's class differs (a parameter, a plain tensor) and the program looked at it.",
)
ALIAS: Final = declare(
    "input-alias",
    GuardError,
    "{path}: expected {expected}, given {given}",
    hint="the program decided on the identity of its inputs; pass them as at export, or export the model again",
    about="Two inputs are (or are not) one object, and the program looked.",
)
MODE: Final = declare(
    "gradient-mode-around",
    GuardError,
    "the program asked for the gradient mode, which was {expected} at export, and runs where it is {given}",
    hint="run it in that mode, or export the model again in the other",
    about="The model decided on the gradient mode, so that its program stands for the one mode alone.",
)
STATE_SHARED: Final = declare(
    "state-shared",
    GuardError,
    "the program updates {written}, and {other} shares its memory",
    hint="pass a clone, or keep the tensors of the module apart",
    about="An input shares memory with a buffer that is updated, or two tensors of the state do.",
)
ASSERTION: Final = declare(
    "runtime-assertion",
    GuardError,
    "{message}",
    hint="the input makes a condition false that the program states (check, or a size that depends on data)",
    about="A runtime assertion of the program failed.",
)
