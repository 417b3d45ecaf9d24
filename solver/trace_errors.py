"""The errors of expressions, specifications and the shape environment."""

from __future__ import annotations

from solver.errors import (
    ConstraintViolationError,
    DataDependentError,
    InputError,
    UnsupportedError,
    declare,
)

EXPRESSION_TOO_LARGE = declare(
    "expression-too-large",
    UnsupportedError,
    "a size expression has more than {limit} {what}",
    hint="compute the value from a tensor's shape where it is needed instead of one closed formula",
)

BAD_PROBLEM = declare(
    "bad-problem",
    InputError,
    "{path}: {what}",
    hint="the format is shapeproof/1: name, symbols, spec, facts and guards, expressions as text",
)

BAD_DIM = declare(
    "bad-dim",
    InputError,
    "{what}",
    hint="a dimension is Dim(name, min=, max=), a positive multiple of one plus an integer, a Dim hint, an int or None",
)

EMPTY_RANGE = declare(
    "empty-range",
    InputError,
    "{what} has the empty range {min}..{max}",
    hint="give a min that is at most max",
)

DIM_REDEFINED = declare(
    "dim-redefined",
    InputError,
    "{source} uses {dim}, but {other_source} uses {other}: one name, two ranges",
    hint="define the Dim once and use the same object for both",
)

BAD_SPEC = declare(
    "bad-spec",
    InputError,
    "{what}",
    hint="nest the specification like the inputs: TensorSpec for tensors, IntVar for ints, None for what is static",
)

OUTSIDE_RANGE = declare(
    "example-outside-range",
    ConstraintViolationError,
    "{source} is {size} in the example, which {dim} (from {min} to {max}) does not allow",
    hint="change the example or the range",
)

SIZE_MISMATCH = declare(
    "example-size-mismatch",
    ConstraintViolationError,
    "{source} is {size} in the example, but {dim} makes it {expected}{because}",
    hint="change the example, or give this dimension a Dim of its own",
)

NOT_DERIVED = declare(
    "example-not-derived",
    ConstraintViolationError,
    "{source} is {size} in the example, which is {dim} for no integer {root}",
    hint="change the example or the derived dimension",
)

ASSUMPTION_FALSE = declare(
    "assumption-false",
    ConstraintViolationError,
    "the assumption {assumption} does not hold for the example ({values})",
    hint="change the example or the assumption",
)

DIM_COLLAPSED = declare(
    "dynamic-is-constant",
    ConstraintViolationError,
    "{source} is marked Dim.DYNAMIC, but the program is right only for {value}: it needs {guard}",
    hint="use Dim.AUTO or no specification for this dimension, or remove the condition at this line",
)

GUARDS_NOT_IMPLIED = declare(
    "guards-not-implied",
    ConstraintViolationError,
    "{what}",
    hint="{fix}",
)

FACTS_CONFLICT = declare(
    "facts-conflict",
    ConstraintViolationError,
    "{what} cannot hold: it contradicts {others}",
    hint="correct the check that does not say what the program needs",
)

CHECK_FAILED = declare(
    "check-failed",
    ConstraintViolationError,
    "the check {check} is false{message}",
    hint="correct the check or the example inputs",
)

DATA_DEPENDENT_SIZE = declare(
    "data-dependent-size",
    DataDependentError,
    "this line decides on {condition}, which depends on data ({sources}){origin}",
    hint="say before this line which way it goes, with _check({check}) or _check({otherwise}), or keep both ways with cond",
)

DATA_DEPENDENT_VALUE = declare(
    "data-dependent-value",
    DataDependentError,
    "this line needs the value of {value}, which depends on data ({sources}){origin}",
    hint="keep it symbolic: leave out int(), float() or str() around it, pass it to operators, or compare it after a _check(...)",
)
