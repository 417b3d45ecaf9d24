"""Operators of Python on tensors: which operator each dunder is, and when it gives up with ``NotImplemented``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamo_lite.lowering.access import meta_of
from dynamo_lite.lowering.leaf import Lower
from dynamo_lite.lowering.packets import apply, packet_lower
from fx_ir.dtypes import result_type
from fx_ir.ops.matching import kind_of
from fx_ir.ops.registry import PACKETS

_OPERANDS: Final = frozenset("TbifcIFBNPQ")

BINARY: Final[Mapping[str, str]] = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__rsub__": "rsub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow",
    "__matmul__": "matmul", "__and__": "__and__", "__or__": "__or__", "__xor__": "__xor__", "__rand__": "__and__",
    "__ror__": "__or__", "__rxor__": "__xor__", "__lshift__": "__lshift__", "__rshift__": "__rshift__",
    "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__imod__": "remainder_",
    "__ifloordiv__": "floor_divide_", "__ipow__": "pow_", "__iand__": "__iand__", "__ior__": "__ior__",
    "__ixor__": "__ixor__", "__ilshift__": "__ilshift__", "__irshift__": "__irshift__",
}  # fmt: skip
SWAPPED: Final[Mapping[str, str]] = {
    "__rpow__": "pow", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rmatmul__": "matmul",
    "__rlshift__": "bitwise_left_shift", "__rrshift__": "bitwise_right_shift",
}  # fmt: skip
UNARY: Final[Mapping[str, str]] = {"__neg__": "neg", "__invert__": "bitwise_not", "__abs__": "abs"}
# Operators without an overload for a number on the left.
_TENSOR_FIRST: Final = frozenset({"floor_divide", "remainder", "bitwise_left_shift", "bitwise_right_shift"})
# Where the table has one spelling of an operator that PyTorch spells twice.
_SPARE: Final[Mapping[str, str]] = {
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__iand__": "bitwise_and_", "__ior__": "bitwise_or_",
    "__ixor__": "bitwise_xor_", "__ilshift__": "bitwise_left_shift_", "__irshift__": "bitwise_right_shift_",
}  # fmt: skip


def _spelled(name: str) -> str:
    return name if f"aten::{name}" in PACKETS else _SPARE.get(name, name)


def available(name: str) -> bool:
    """Whether the operator table has the operator that this name stands for."""
    return f"aten::{_spelled(name)}" in PACKETS


def _named(name: str) -> Lower:
    return packet_lower(_spelled(name))


def _later(name: str) -> Lower:
    """The packet's lowering, looked up at the first call."""
    found: Lower | None = None

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        nonlocal found
        if found is None:
            found = _named(name)
        return found(args, kwargs)

    return lower


def binary(name: str) -> Lower:
    """A binary operator: NotImplemented unless the other operand is a tensor or a number."""
    inner = _later(name)

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if kind_of(args[1]) not in _OPERANDS:
            return NotImplemented
        return inner(args, kwargs)

    return lower


def swapped(name: str) -> Lower:
    """A reflected operator: the other operand comes first."""
    inner = _later(name)

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        mine, other = args
        kind = kind_of(other)
        if kind not in _OPERANDS:
            return NotImplemented
        if kind != "T" and name in _TENSOR_FIRST:
            # The type that the number and the tensor give together, so that the 0-d tensor promotes as the number would.
            meta = meta_of(mine)
            other = apply("scalar_tensor", other, dtype=result_type(other, meta), device=meta.device)
        return inner((other, mine), kwargs)

    return lower


def unary(name: str) -> Lower:
    """A unary operator."""
    return _later(name)


def rtruediv(tensor: Any, other: Any) -> Any:
    """``number / tensor`` is the reciprocal times the number, as in PyTorch."""
    if kind_of(other) not in _OPERANDS:
        return NotImplemented
    return apply("mul", apply("reciprocal", tensor), other)


def pos(tensor: Any) -> Any:
    """``+tensor`` is the tensor itself; bool tensors have no sign."""
    if meta_of(tensor).dtype.name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return tensor


def divmod_(tensor: Any, other: Any) -> Any:
    """``divmod`` through floor division and remainder."""
    if kind_of(other) not in _OPERANDS:
        return NotImplemented
    return apply("floor_divide", tensor, other), apply("remainder", tensor, other)
