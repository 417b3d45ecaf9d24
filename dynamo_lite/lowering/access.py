"""What the lowering may ask of a tensor without knowing its class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from dynamo_lite import dispatch
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import is_tensor

__all__ = ["TensorAccess", "from_array", "is_tensor", "meta_of", "register_access", "set_maker"]


@dataclass(frozen=True, slots=True)
class TensorAccess:
    """How to look at one class of tensors.

    ``meta_of`` gives the description; ``array_of`` the memory as an ndarray, None for a class without memory; ``setters``
    assign the few writable attributes (``data``, ``grad``, ``requires_grad``).
    """

    meta_of: Callable[[Any], TensorMeta]
    array_of: Callable[[Any], Any] | None = None
    grad_of: Callable[[Any], Any] = lambda tensor: None
    is_leaf: Callable[[Any], bool] = lambda tensor: True
    setters: dict[str, Callable[[Any, Any], None]] | None = None


FAKE: Final = TensorAccess(
    attrgetter("meta"), is_leaf=lambda fake: fake.kind != "value" or not fake.meta.requires_grad
)

_ACCESS: Final[dict[type, TensorAccess]] = {}
_MAKER: list[Callable[[Any, bool], Any]] = []


def register_access(cls: type, access: TensorAccess) -> None:
    """Says how instances of ``cls`` and of its subclasses are looked at."""
    _ACCESS[cls] = access


def access_of(tensor: Any) -> TensorAccess:
    """How to look at ``tensor``; TypeError for what is no tensor of a known library."""
    cls = type(tensor)
    found = _ACCESS.get(cls)
    if found is None:
        for base in cls.__mro__[1:]:
            if base in _ACCESS:
                found = _ACCESS[cls] = _ACCESS[base]
                return found
        raise TypeError(f"expected Tensor, got {cls.__name__}")
    return found


def meta_of(tensor: Any) -> TensorMeta:
    """Shape, dtype, device and layout of a tensor, real or fake."""
    return access_of(tensor).meta_of(tensor)


def set_maker(make: Callable[[Any, bool], Any]) -> None:
    """Registers how a tensor is made over an array: ``make(array, requires_grad)`` shares its memory."""
    _MAKER[:] = [make]


def from_array(array: Any, requires_grad: bool = False) -> Any:
    """A tensor over an ndarray, a lifted constant under a trace."""
    target = dispatch.recorder()
    if target is None:
        return _MAKER[0](array, requires_grad)
    make = getattr(target, "make_constant", None)
    made = _MAKER[0](array, requires_grad) if make is None else make(array)
    state = getattr(target, "state", None)
    if state is not None:
        state.made[id(made)] = array.tolist() if array.dtype.kind == "i" and array.size <= 16 else None
    return target.fake_of(made)
