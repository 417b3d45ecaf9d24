"""Errors of the lowering: data read while tracing, and what a tensor under export cannot do."""

from __future__ import annotations

from typing import Final

from dynamo_lite import dispatch
from solver.errors import DataDependentError, Location, UnsupportedError, declare

BRANCH_ON_DATA: Final = declare(
    "branch-on-tensor-data",
    DataDependentError,
    "a Python decision needs the value of a tensor ({what}), which an exported program does not know",
    hint="keep both outcomes with cond(pred, true_fn, false_fn, operands), or select elementwise with where",
    about="`if`, `while`, `and`, `assert`, `in` … on the data of a tensor.",
)
READS_DATA: Final = declare(
    "reads-tensor-data",
    DataDependentError,
    "{what} needs the value of a tensor as a plain Python object, which an exported program does not know",
    hint="keep the value a tensor, or read a scalar with .item(), which stays symbolic",
    about="Conversions of a tensor's data to a plain Python value while exporting.",
)
NO_MEMORY: Final = declare(
    "tensor-has-no-memory",
    UnsupportedError,
    "{what} needs the memory of a tensor, and a tensor under export has none",
    hint="express the computation with tensor operators, or wrap it as an operator with library.custom_op",
    about="`numpy()`, `data_ptr()`, `__array__` and their kind while exporting.",
)
NO_AUTOGRAD: Final = declare(
    "no-autograd",
    UnsupportedError,
    "{what} needs automatic differentiation, which {where} does not have",
    hint="do it outside forward, with PyTorch; requires_grad is metadata here",
    about="Gradients are asked of the NumPy tensor library or of a tensor under export.",
)
MISSING_OPERATOR: Final = declare(
    "missing-operator",
    UnsupportedError,
    "{function} needs the operator {packet}, which the operator table does not have",
    hint="write it with operators that exist, or register it with library.custom_op",
    about="A tensor function whose operator is not declared.",
)


def where() -> Location | None:
    """The user's line, as far as the recorder knows it."""
    locate = getattr(dispatch.recorder(), "locate", None)
    return locate() if locate is not None else None


PARAMETER_IN_FORWARD: Final = declare(
    "parameter-made-in-forward",
    UnsupportedError,
    "forward makes a parameter of a tensor that it computed",
    hint="make parameters in __init__; in forward use the tensor itself",
    about="All state must exist before export.",
)
OUT_OF_ANOTHER_KIND: Final = declare(
    "out-of-another-kind",
    UnsupportedError,
    "{function} is given {given} as out for its result {result}",
    hint="make the tensor of the result's shape and dtype, or use the result itself",
    about="`out=` would be resized, or change the dtype that is computed in.",
)
NO_FAKE_RULE: Final = declare(
    "no-fake-rule",
    UnsupportedError,
    "the custom operator {op} has no fake rule",
    hint='give it one with register_fake("{op}"): it says shapes and dtypes of the results from those of the arguments',
    about="An operator made by custom_op is met while exporting.",
)
