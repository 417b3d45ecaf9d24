"""Symbolic numbers that PyTorch's own code recognises as its own: subclasses of ``torch.SymInt``, ``SymFloat`` and ``SymBool``.

PyTorch parses arguments in C++ before anything of ours is asked, and admits exactly these classes there. Every public method is
ours; PyTorch's ``node`` does not exist, and asking for it is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import torch

from dynamo_lite.lowering.errors import where
from dynamo_lite.torch_bridge.errors import NODE_ASKED
from solver.sym import SymBool, SymFloat, SymInt, sym_float, sym_max, sym_min, sym_not, sym_sqrt


def _refused(self: Any) -> Any:
    raise NODE_ASKED(text=repr(self), location=where())


class TorchSymInt(SymInt, torch.SymInt):
    """A symbolic integer."""

    node = property(_refused)
    __slots__ = ()

    def __sym_float__(self) -> Any:
        return sym_float(self)

    def __sym_max__(self, other: Any) -> Any:
        return sym_max(self, other)

    def __sym_min__(self, other: Any) -> Any:
        return sym_min(self, other)


class TorchSymFloat(SymFloat, torch.SymFloat):
    """A symbolic float."""

    node = property(_refused)
    __slots__ = ()

    def __sym_max__(self, other: Any) -> Any:
        return sym_max(self, other)

    def __sym_min__(self, other: Any) -> Any:
        return sym_min(self, other)

    def __sym_int__(self) -> Any:
        return math.trunc(self)


class TorchSymBool(SymBool, torch.SymBool):
    """A symbolic condition."""

    node = property(_refused)
    __slots__ = ()

    def __sym_not__(self) -> Any:
        return sym_not(self)


def _square_root(self: Any) -> Any:
    return sym_sqrt(self)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the number's value, for what stays no expression (``sin`` and its kin)."""
    return lambda self, *args: function(float(self), *args)


TorchSymInt.__sym_sqrt__ = TorchSymFloat.__sym_sqrt__ = _square_root
for _name in ("acos", "asin", "atan", "cos", "cosh", "sin", "sinh", "tan", "tanh", "log2"):
    for _class in (TorchSymInt, TorchSymFloat):
        setattr(_class, f"__sym_{_name}__", _plain(getattr(math, _name)))

# PyTorch's private spellings of arithmetic are its public ones here.
_SPELLINGS: Final = {
    "__int_truediv__": "__truediv__", "__rint_truediv__": "__rtruediv__", "__int_floordiv__": "__floordiv__",
    "__rint_floordiv__": "__rfloordiv__", "__float_truediv__": "__truediv__", "__rfloat_truediv__": "__rtruediv__",
    "__float_pow__": "__pow__", "__rfloat_pow__": "__rpow__", "__pow_by_natural__": "__pow__",
    "__rpow_by_natural__": "__rpow__",
}  # fmt: skip
for _class in (TorchSymInt, TorchSymFloat):
    for _name, _public in _SPELLINGS.items():
        setattr(_class, _name, getattr(_class, _public))


def install(env: Any) -> None:
    """Makes a shape environment give out these classes."""
    env.int_type, env.float_type, env.bool_type = TorchSymInt, TorchSymFloat, TorchSymBool
