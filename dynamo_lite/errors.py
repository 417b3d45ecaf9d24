"""Errors of export and of the decorator."""

from __future__ import annotations

from typing import Final

from solver.errors import (
    ConstraintViolationError,
    DataDependentError,
    ExportError,
    GuardError,
    InputError,
    StateError,
    UnsupportedError,
    declare,
)

__all__ = [
    "ARGUMENTS_DO_NOT_FIT",
    "NOT_A_MODULE",
    "UNREGISTERED_CLASS",
    "ConstraintViolationError",
    "DataDependentError",
    "ExportError",
    "GuardError",
    "InputError",
    "StateError",
    "UnsupportedError",
]

NOT_A_MODULE: Final = declare(
    "not-a-module",
    InputError,
    "export takes an nn.Module, and an object of class {type} was given",
    hint="put the computation in the forward method of a module and pass an instance of it",
    about="The first argument of export is not a module of a known tensor library.",
)
ARGUMENTS_DO_NOT_FIT: Final = declare(
    "arguments-do-not-fit",
    InputError,
    "the example inputs do not fit forward{signature}: {problem}",
    hint="args is a tuple with the positional arguments, kwargs a dict with those given by name",
    about="The example inputs cannot be bound to the signature of forward.",
)
UNREGISTERED_CLASS: Final = declare(
    "unregistered-class",
    InputError,
    "the input {path} is of class {type}, which is neither a tensor nor a plain value nor a registered container",
    hint="register the class with dl.register_dataclass({type}) or dl.register_pytree_node({type}, ...)",
    about="Inputs are pytrees of tensors and plain values.",
)
ARGS_NOT_TUPLE: Final = declare(
    "args-not-a-tuple",
    InputError,
    "args must be a tuple, and an object of class {type} was given",
    hint="write (x,) for a single argument",
    about="The positional example inputs come as a tuple.",
)
ALIASED_INPUTS_WRITTEN: Final = declare(
    "aliased-inputs-written",
    InputError,
    "forward updates {written}, and {other} shares its memory",
    hint="keep the two apart, for instance with {other}.clone()",
    about="An update of one input or buffer would be seen through another; a program keeps its tensors apart.",
)
SPEC_UNKNOWN_ARGUMENT: Final = declare(
    "spec-unknown-argument",
    InputError,
    "dynamic_shapes names {name}, and forward was given {known}",
    hint="use the names of forward's parameters as keys",
    about="A dimension specification for an argument that does not exist.",
)
SPEC_DOES_NOT_FIT: Final = declare(
    "spec-does-not-fit",
    InputError,
    "the specification of {path} does not fit the input: {problem}",
    hint="nest the specification as the inputs are nested; for a tensor give {{dim: Dim}} or one entry a dimension",
    about="The structure of dynamic_shapes differs from that of the inputs.",
)
MISSING_STATE: Final = declare(
    "missing-state",
    StateError,
    "the model reads an attribute that does not exist: {problem}",
    hint="set every attribute that forward reads before export, in __init__",
    about="Added as a note to the model's own AttributeError.",
)
MODEL_RAISES: Final = declare(
    "model-raises",
    ExportError,
    "the model itself raises {type} on the example inputs",
    hint="call the model with the same inputs without export; all attributes must be set before export",
    about="Added as a note to an exception of the model's own.",
)
BAD_MISMATCH: Final = declare(
    "bad-on-mismatch",
    InputError,
    "on_mismatch is {given}",
    hint='use "error", "reexport" or "eager"',
    about="An unknown choice for calls outside the contract.",
)
NOT_EXPORTED_YET: Final = declare(
    "not-exported-yet",
    InputError,
    "this {type} has no program yet",
    hint="call the module once; the first call captures",
    about="A program was asked for before the first call of a decorated forward.",
)
LIVE_STATE_CHANGED: Final = declare(
    "live-state-changed",
    GuardError,
    "{name} of the live module is not {expected}",
    hint='capture again (on_mismatch="reexport"), or restore what it was at export',
    about="A decorated forward meets module state that differs from what was burned in.",
)
BAD_TARGET: Final = declare(
    "bad-target",
    InputError,
    "the target {target} cannot be used: {problem}",
    hint="name a function as package.module:factory that returns (model, args, kwargs, dynamic_shapes)",
    about="The command line was given a target that is no factory.",
)
INPUT_FILE: Final = declare(
    "input-file",
    InputError,
    "{file}: {problem}",
    hint="give an .npz file with one array for each input, by the names that `show` prints",
    about="Inputs for the run command cannot be read.",
)
