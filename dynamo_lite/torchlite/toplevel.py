"""Functions of the top level that are no operators: checks, predicates, symbolic numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamo_lite import dispatch
from dynamo_lite.lowering.access import is_tensor as _is_tensor
from dynamo_lite.lowering.access import meta_of
from dynamo_lite.lowering.packets import apply, special
from dynamo_lite.trace.control import cond
from dynamo_lite.ways_out import check as _check
from fx_ir.dtypes import DType
from fx_ir.dtypes import promote_types as promote_types
from fx_ir.dtypes import result_type as _result_type
from solver.sym import (
    SymBool,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
)

__all__ = [
    "_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
    "_check_type", "_check_value", "can_cast", "cond", "is_storage", "is_tensor", "promote_types", "result_type",
    "set_printoptions", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
    "typename",
]  # fmt: skip


def _check_with(kind: type[Exception]) -> Callable[..., None]:
    """``_check`` with another exception for what is false now."""

    def check(cond: Any, message: Any = None) -> None:
        if isinstance(cond, SymBool):
            _check(cond, message)
        elif not cond:
            text = message() if callable(message) else message
            raise kind(text or "Expected cond to be True, but got False")

    return check


_check_value = special("torch._check_value", _check_with(ValueError))
_check_index = special("torch._check_index", _check_with(IndexError))
_check_type = special("torch._check_type", _check_with(TypeError))
_check_not_implemented = special("torch._check_not_implemented", _check_with(NotImplementedError))


def _is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """States that ``i`` is a size: not negative, and at most ``max`` if that is given."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


_check_is_size = special("torch._check_is_size", _is_size)


def _tensor_all(cond: Any, message: Any = None) -> None:
    """Raises RuntimeError unless every element of a bool tensor is true (an assertion in an exported program)."""
    if dispatch.recorder() is None:
        if not bool(apply("all", cond)):
            text = message() if callable(message) else message
            raise RuntimeError(text or "Expected cond to be True, but got False")
    else:
        text = message() if callable(message) else message
        apply("_assert_async", apply("all", cond), text or "Expected cond to be True, but got False")


_check_tensor_all = special("torch._check_tensor_all", _tensor_all)


def _asserted(condition: Any, message: str) -> None:
    """``assert condition, message``; a condition on sizes becomes a fact."""
    if _is_tensor(condition):
        _tensor_all(condition, message)
    elif isinstance(condition, SymBool):
        _check(condition, message)
    elif not condition:
        raise AssertionError(message)


_assert = special("torch._assert", _asserted)
is_tensor = special("torch.is_tensor", _is_tensor)


def is_storage(obj: object) -> bool:
    """Always False: storages are not visible here."""
    return False


def _result(*operands: Any) -> DType:
    """The dtype that an operator on these tensors and numbers gives."""
    return _result_type(*[meta_of(operand) if _is_tensor(operand) else operand for operand in operands])


result_type = special("torch.result_type", _result)


def can_cast(from_: DType, to: DType) -> bool:
    """Whether PyTorch's casting rules admit the conversion in place."""
    return from_.category <= to.category and not (to is not from_ and to.name == "bool")


def sym_sum(args: Any) -> Any:
    """The sum of symbolic and plain ints."""
    total: Any = 0
    for arg in args:
        total = total + arg
    return total


def typename(obj: Any) -> str:
    """The name of an object's type, as PyTorch words it."""
    if _is_tensor(obj):
        from dynamo_lite.lowering.conversion import type_

        return str(type_(obj))
    kind = obj if isinstance(obj, type) else type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors print."""
    from dynamo_lite.torchlite import printing

    printing.OPTIONS.update(precision, threshold, edgeitems, linewidth, profile, sci_mode)
