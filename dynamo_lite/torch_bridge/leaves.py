"""Which of PyTorch's callables is which tensor function: one table by identity, built when the bridge is imported.

Every C function of ``torch._C._VariableFunctions``, ``torch._C._nn`` and their kin, every method and attribute of
``torch.Tensor`` has an entry. One whose operator the table of operators lacks is an entry too: called, it names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, GetSetDescriptorType, MethodDescriptorType, WrapperDescriptorType
from typing import Any, Final

import torch

from dynamo_lite import dispatch
from dynamo_lite.lowering import conversion, metadata
from dynamo_lite.lowering.access import is_tensor
from dynamo_lite.lowering.errors import where
from dynamo_lite.lowering.leaf import TensorFunction
from dynamo_lite.lowering.metadata import history
from dynamo_lite.lowering.packets import lazy, python_lower
from dynamo_lite.lowering.table import FUNCTIONS, GETTERS, METHODS, NN_FUNCTIONS, SETTERS
from dynamo_lite.torch_bridge import legacy
from dynamo_lite.torch_bridge.convert import TO_OURS, to_torch
from dynamo_lite.torch_bridge.errors import OVERRIDES

LEAVES: Final[dict[int, TensorFunction]] = {}
"""Tensor functions by the identity of PyTorch's callable."""

BY_METHOD: Final[dict[str, TensorFunction]] = {}
"""Methods of a tensor under export by name, for the classes of ours that stand for one."""

BY_ATTRIBUTE: Final[dict[str, TensorFunction]] = {}
"""What reading an attribute of a tensor calls, by name."""

_KEPT: Final[list[Any]] = []  # what the table knows by identity must live as long as it
_ANSWERED: Final = frozenset(
    {"size", "type", "stride", "tolist", "data_ptr", "storage_offset", "broadcast_shapes"}
)


def bridged(inner: TensorFunction) -> TensorFunction:
    """The tensor function with PyTorch's dtypes, devices and sizes taken, and given back, as such."""
    types = TO_OURS

    def lower(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        for value in args:
            if type(value) in types:
                args = tuple([types[type(v)](v) if type(v) in types else v for v in args])
                break
        if kwargs:
            kwargs = {name: types[type(v)](v) if type(v) in types else v for name, v in kwargs.items()}
        try:
            return inner.lower(args, kwargs)
        except TypeError:
            _refuse_overrides(inner.__qualname__, (*args, *kwargs.values()))
            raise

    returned = getattr(torch.return_types, inner.__name__.rstrip("*"), None)
    if returned is not None:
        return TensorFunction(
            inner.__qualname__, lambda args, kwargs: _named(returned, lower(args, kwargs)), inner.__doc__
        )
    if inner.__name__ not in _ANSWERED and not inner.__qualname__.endswith("__get__"):
        return TensorFunction(inner.__qualname__, lower, inner.__doc__)
    return TensorFunction(
        inner.__qualname__, lambda args, kwargs: to_torch(lower(args, kwargs)), inner.__doc__
    )


def _refuse_overrides(name: str, values: Iterable[Any]) -> None:
    """Raises ``torch-function-class`` for an object that would have been asked to do the function's work."""
    for value in values:
        if type(value) in (list, tuple):
            _refuse_overrides(name, value)
        elif hasattr(type(value), "__torch_function__") and not is_tensor(value):
            raise OVERRIDES(function=name, name=type(value).__name__, location=where())


def _named(cls: Any, result: Any) -> Any:
    """Several results under PyTorch's names for them (``.values``, ``.indices``)."""
    return cls(result) if isinstance(result, tuple) and len(result) == cls.n_fields else result


def enter(callable_: Any, function: TensorFunction) -> None:
    """Says that ``callable_`` is ``function``."""
    if id(callable_) not in LEAVES:
        _KEPT.append(callable_)
        LEAVES[id(callable_)] = function


def special(name: str, function: Callable[..., Any]) -> TensorFunction:
    """A tensor function whose lowering is a Python function of ours."""
    return bridged(TensorFunction(f"torch.{name}", python_lower(function), function.__doc__))


def _missing(qualname: str, name: str) -> TensorFunction:
    """An entry for a name that the lowering does not list: its operator, if there is one when it is called."""
    from dynamo_lite.lowering.leaf import REGISTRY

    return REGISTRY.get(f"{qualname}*") or lazy(f"{qualname}*", name)


_NAMESPACES: Final[tuple[tuple[Any, Mapping[str, TensorFunction], str], ...]] = (
    (torch._C._VariableFunctions, FUNCTIONS, "torch"),
    (torch._C._nn, NN_FUNCTIONS, "nn"),
    (torch._C._linalg, {}, "linalg"),
    (torch._C._fft, {}, "fft"),
    (torch._C._special, {}, "special"),
    (torch._C._sparse, {}, "sparse"),
)  # fmt: skip
_UNTOUCHED: Final = frozenset({
    "__class__", "__new__", "__init__", "__dict__", "__getattribute__", "__setattr__", "__delattr__", "__subclasshook__",
    "__init_subclass__", "__hash__", "__dir__", "__reduce__", "__reduce_ex__", "__sizeof__", "__str__", "__module__",
    "__weakref__", "__doc__", "__slots__", "__setstate__", "__getstate__",
})  # fmt: skip


# C functions that take no part in computing: their answers stand elsewhere.
_ANSWERED_FUNCTIONS: Final = frozenset(
    {"_parse_to", "_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned"}
)
# C functions whose arguments are the operator's, and not those of the public Python function of the name.
_PRIVATE: Final = frozenset({"tensordot", "unique_consecutive"})


def _namespace(
    space: Any, known: Mapping[str, TensorFunction], prefix: str
) -> Iterable[tuple[Any, TensorFunction]]:
    for name in dir(space):
        found = getattr(space, name)
        if name.startswith("__") or name in _ANSWERED_FUNCTIONS or not callable(found):
            continue
        public = None if name in _PRIVATE else known.get(name)
        yield found, bridged(public or _missing(f"{prefix}.{name}", name))


def _descriptors() -> Iterable[tuple[str, Any]]:
    """Attributes of ``torch.Tensor`` by name, the nearest class's first."""
    seen: set[str] = set(_UNTOUCHED)
    for cls in (torch.Tensor, torch._C.TensorBase):
        for name, found in vars(cls).items():
            if name not in seen:
                seen.add(name)
                yield name, found


def _is_param(self: Any) -> bool:
    """What ``isinstance(x, torch.nn.Parameter)`` asks; of an input the answer joins the contract."""
    tracer: Any = dispatch.recorder()
    return issubclass(tracer.class_of(tracer.fake_of(self)), torch.nn.Parameter)


# What only autograd knows of a tensor, and what native code would read of its memory.
_UNANSWERED: Final = tuple(
    (name, history(name))
    for name in (
        "_base", "_grad", "_grad_fn", "_backward_hooks", "_post_accumulate_grad_hooks", "retains_grad", "grad_dtype", "_cdata",
    )
)  # fmt: skip


_LEGACY: Final[Mapping[str, TensorFunction]] = {
    "new": TensorFunction("Tensor.new", python_lower(legacy.new), legacy.new.__doc__),
    "type": TensorFunction("Tensor.type", python_lower(legacy.convert), legacy.convert.__doc__),
}


def _build() -> None:
    for space, known, prefix in _NAMESPACES:
        for callable_, function in _namespace(space, known, prefix):
            enter(callable_, function)
    for name, found in _descriptors():
        if type(found) is GetSetDescriptorType:
            if name in GETTERS:
                function = BY_ATTRIBUTE[name] = bridged(GETTERS[name])
                enter(found, function)
        elif type(found) in (MethodDescriptorType, WrapperDescriptorType) or (
            type(found) is FunctionType and name in METHODS
        ):
            inner = _LEGACY.get(name) or METHODS.get(name) or _missing(f"Tensor.{name}", name)
            function = BY_METHOD[name] = bridged(inner)
            enter(found, function)
    for name, inner in METHODS.items():
        if name not in BY_METHOD:
            BY_METHOD[name] = bridged(inner)
    for name, function in vars(torch.Tensor).items():
        if type(function) is FunctionType and not name.startswith("_") and name not in BY_METHOD:
            BY_METHOD[name] = _missing(f"Tensor.{name}", name)
    for name, read in (*_UNANSWERED, ("_is_param", _is_param)):
        BY_ATTRIBUTE[name] = special(f"Tensor.{name}.__get__", read)


_build()
SET_ATTRIBUTE: Final = {name: bridged(setter) for name, setter in SETTERS.items()}
assert conversion and metadata
