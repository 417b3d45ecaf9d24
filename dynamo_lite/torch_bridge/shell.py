"""What stands for a tensor while CPython runs the program: a real ``torch.Tensor`` without data that holds the fake.

PyTorch's C++ asks ``isinstance(x, torch.Tensor)`` and then reads memory, so that a class which only claims to be a tensor crashes
the process. A wrapper subclass is a tensor to C++: metadata is asked of the Python properties below, methods go straight to the
lowering, functions are met by the mode, and whatever still reaches the dispatcher is refused there by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import getprofile, setprofile
from types import MethodType
from typing import Any, Final

import torch

from dynamo_lite.lowering.errors import NO_MEMORY, where
from dynamo_lite.lowering.leaf import TensorFunction
from dynamo_lite.lowering.modes import set_grad_enabled
from dynamo_lite.native_watch import Watch
from dynamo_lite.torch_bridge.convert import TORCH_DTYPES
from dynamo_lite.torch_bridge.errors import REACHED_DISPATCHER
from dynamo_lite.torch_bridge.fake import TorchFake
from dynamo_lite.torch_bridge.leaves import BY_ATTRIBUTE, BY_METHOD, SET_ATTRIBUTE

_HOOK: Final = Watch.hook
_CONTAINERS: Final = frozenset({tuple, list, dict, slice})
_ITERATORS: Final = frozenset({type(iter(())), type(iter([]))})  # of a tensor's rows


class Shell(torch.Tensor):
    """Holds a fake in ``fake``. One fake has one shell, so that ``is`` answers as eager does."""

    fake: TorchFake
    holds_fake = True
    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise REACHED_DISPATCHER(name=str(func), location=where())

    def __repr__(self) -> str:
        return repr(self.__dict__["fake"])

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NO_MEMORY(what="pickling", location=where())

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        raise NO_MEMORY(what="__dlpack__", location=where())

    def __hash__(self) -> int:
        return id(self)


def shell_of(fake: TorchFake) -> Shell:
    """The tensor that stands for ``fake`` in native code."""
    known = getattr(fake, "shell", None)
    if known is None:
        meta = fake.meta
        made: Any = torch.Tensor._make_wrapper_subclass(
            Shell, (0,) * len(meta.shape), dtype=TORCH_DTYPES[meta.dtype]
        )
        made.__dict__["fake"] = fake
        known = fake.shell = made
    return known


def unwrap(value: Any) -> Any:
    """Arguments of native code as the lowering takes them: shells replaced by their fakes."""
    kind = type(value)
    if kind is Shell:
        return value.__dict__["fake"]
    if kind in _CONTAINERS:
        if kind is dict:
            return {key: unwrap(item) for key, item in value.items()}
        if kind is slice:
            return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
        return kind([unwrap(item) for item in value])
    return value


def wrap(value: Any) -> Any:
    """An answer of the lowering as native code takes it: fakes in their shells."""
    kind = type(value)
    if kind is TorchFake:
        return shell_of(value)
    if kind is tuple or kind is list:
        return kind([wrap(item) for item in value])
    if issubclass(kind, tuple) and hasattr(kind, "n_fields"):
        return kind([wrap(item) for item in value])
    if kind in _ITERATORS:
        return iter([wrap(item) for item in value])
    return value


def unwatched(work: Callable[..., Any], *args: Any) -> Any:
    """``work(*args)`` without the hook that watches the program: at every call of ours it doubles the time.

    What runs of the program's in there takes the hook up again.
    """
    hook = getprofile()
    if type(hook) is not MethodType or hook.__func__ is not _HOOK:  # none, or a profiler of the user's
        return work(*args)
    setprofile(None)
    try:
        return work(*args)
    finally:
        setprofile(hook)


def answer(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Calls an answer of ours from native code."""
    return wrap(function(*unwrap(args), **{name: unwrap(value) for name, value in kwargs.items()}))


def call(function: TensorFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Calls a tensor function from native code, under PyTorch's gradient mode as it is now."""
    set_grad_enabled(torch.is_grad_enabled())
    plain = tuple([unwrap(value) for value in args])
    return wrap(
        function.lower(plain, {name: unwrap(value) for name, value in kwargs.items()} if kwargs else kwargs)
    )


def _apart(function: TensorFunction, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    with torch._C.DisableTorchFunction():
        return call(function, args, kwargs)


def _method(function: TensorFunction) -> Callable[..., Any]:
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return unwatched(_apart, function, (self, *args), kwargs)

    return method


def _reflected(function: TensorFunction, direct: TensorFunction) -> Callable[..., Any]:
    """Python asks a subclass first, as a shell is of a real tensor; the program has the operands as they stand."""

    def method(self: Any, other: Any, /) -> Any:
        if isinstance(other, torch.Tensor):
            return unwatched(_apart, direct, (other, self), {})
        return unwatched(_apart, function, (self, other), {})

    return method


def _getter(name: str) -> property:
    setter = SET_ATTRIBUTE.get(name)
    write = None if setter is None else lambda self, value: unwatched(call, setter, (self, value), {})
    function = BY_ATTRIBUTE.get(name)
    if function is None or name in vars(TorchFake):
        return property(lambda self: wrap(getattr(self.__dict__["fake"], name)), write)
    return property(lambda self: unwatched(call, function, (self,), {}), write)


_OWN: Final = frozenset(vars(Shell)) | {"__new__", "__init__"}
for _name, _function in BY_METHOD.items():
    if _name not in _OWN:
        _direct = BY_METHOD.get(_name.replace("__r", "__", 1)) if _name.startswith("__r") else None
        setattr(Shell, _name, _method(_function) if _direct is None else _reflected(_function, _direct))
for _name in {*BY_ATTRIBUTE, "shape", "dtype", "device", "layout"} - _OWN:
    setattr(Shell, _name, _getter(_name))
