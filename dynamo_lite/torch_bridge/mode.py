"""The non-strict front end on PyTorch: a function mode meets every call of PyTorch's API while the program runs.

Functions that are Python (``nn.functional``) arrive whole. They run as copies whose ``has_torch_function`` is false, so that only
what they call is met, as in strict mode, and both give one graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CellType, FunctionType, MethodWrapperType
from typing import TYPE_CHECKING, Any, Final, cast

import torch
from torch._ops import OpOverload, OpOverloadPacket
from torch.autograd.function import Function
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as theirs

from dynamo_lite import dispatch
from dynamo_lite.lowering.errors import where
from dynamo_lite.native_watch import is_watch
from dynamo_lite.torch_bridge import legacy
from dynamo_lite.torch_bridge.answers import ANSWERS, PATCHED, set_grad_enabled
from dynamo_lite.torch_bridge.custom import call_overload, call_packet
from dynamo_lite.torch_bridge.errors import C_FUNCTION_REFUSED
from dynamo_lite.torch_bridge.fake import TorchFake
from dynamo_lite.torch_bridge.leaves import BY_ATTRIBUTE, LEAVES
from dynamo_lite.torch_bridge.shell import Shell, answer, call, shell_of, unwatched, unwrap, wrap
from dynamo_lite.trace.errors import NOT_PYTHON
from fx_ir.pytree import tree_map

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

_COMPUTED: Final = frozenset({"T", "mT", "mH", "H", "data", "real", "imag"})
_GRADIENT: Final = frozenset({"requires_grad", "is_leaf", "grad_fn"})
_SETS_MODE: Final = frozenset({id(torch._C._set_grad_enabled)})


class _Inference:
    """``torch.inference_mode``: what CPython runs under it computes on fakes; only the gradient mode matters."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __enter__(self) -> None:
        self.before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(self.before and not self.on)

    def __exit__(self, *exc: object) -> None:
        torch._C._set_grad_enabled(self.before)


class _LegacyClass(type):
    """Stands for a legacy tensor type, which C++ would fill with real memory."""

    stands_for: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _from_native(ANSWERS[id(cls.stands_for)], cls.stands_for)(*args, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        if type(value) is Shell:
            return legacy.is_instance(value.__dict__["fake"], cls.stands_for)
        return isinstance(value, cls.stands_for)


_LEGACY_CLASSES: Final = tuple(
    (name, _LegacyClass(name, (), {"stands_for": found, "dtype": found.dtype}))
    for name, found in legacy.TYPES.items()
)


class ExportMode(TorchFunctionMode):
    """Meets calls; inside :meth:`__torch_function__` PyTorch has it switched off. ``hook`` watches the program."""

    def __init__(self, hook: Any = None) -> None:
        super().__init__()
        self._hook = hook

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return unwatched(self._meet, func, args, kwargs or {})

    def _meet(self, func: Any, args: Any, kwargs: Any) -> Any:
        leaf = LEAVES.get(id(func))
        if leaf is not None:
            return call(leaf, args, kwargs)
        if id(func) in _SETS_MODE:
            set_grad_enabled(args[0])
            return func(*args)
        answered = ANSWERS.get(id(func))
        if answered is not None:
            return answer(answered, args, kwargs)
        if type(func) is OpOverload or type(func) is OpOverloadPacket:  # a fake rule of the program's may run
            custom = call_overload if type(func) is OpOverload else call_packet
            return wrap(_watched(self._hook, custom, (func, *unwrap(args)), unwrap(kwargs)))
        if type(func) is MethodWrapperType:
            return _attribute(func, args)
        if type(func) is FunctionType:
            with self:
                return _watched(self._hook, _without_overrides(func), args, kwargs)
        if any(type(value) is Shell for value in theirs.tree_leaves((args, kwargs))):
            raise C_FUNCTION_REFUSED(name=_name(func), location=where())
        return func(*args, **kwargs)


def _attribute(func: Any, args: tuple[Any, ...]) -> Any:
    """``tensor.name`` of a real tensor, or of a shell through ``torch.Tensor.name.__get__``."""
    name = func.__self__.__name__
    if func.__name__ == "__get__":
        if type(args[0]) is Shell:
            return getattr(args[0], name)
        if name in _COMPUTED:
            return call(BY_ATTRIBUTE[name], (args[0],), {})
        if name in _GRADIENT:
            recorder = dispatch.recorder()
            if recorder is not None:
                recorder.looked("state")
        return func(*args)
    raise C_FUNCTION_REFUSED(name=f"assigning .{name}", location=where())


def _name(func: Any) -> str:
    owner = getattr(func, "__module__", None) or getattr(
        getattr(func, "__objclass__", None), "__name__", "torch"
    )
    return f"{owner}.{getattr(func, '__name__', func)}"


_COPIES: Final[dict[int, tuple[Any, Any]]] = {}
_NO_OVERRIDES: Final = {
    "has_torch_function": lambda args: False,
    "has_torch_function_unary": lambda arg: False,
    "has_torch_function_variadic": lambda *args: False,
}


def _without_overrides(function: FunctionType) -> Callable[..., Any]:
    """A copy of a function of PyTorch's that does not ask whether it is overridden, nor do the private ones of its module."""
    known = _COPIES.get(id(function))
    if known is None:
        scope: dict[str, Any] = {**function.__globals__, **_NO_OVERRIDES}
        cells = tuple(map(_cell, function.__closure__)) if function.__closure__ else None
        copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        copy.__kwdefaults__ = function.__kwdefaults__
        known = _COPIES[id(function)] = (function, copy)
        for name in function.__code__.co_names:
            helper = scope.get(name)
            if name.startswith("_") and _is_helper(helper, function):
                scope[name] = _without_overrides(cast(FunctionType, helper))
    return known[1]


def _is_helper(value: Any, function: FunctionType) -> bool:
    """A Python function of the same module that no table answers for."""
    return (
        type(value) is FunctionType
        and value is not function
        and value.__globals__ is function.__globals__
        and id(value) not in LEAVES
        and id(value) not in ANSWERS
    )


def _cell(cell: CellType) -> CellType:
    """A cell whose function asks no more: functions that choose between two of their kind hold both in cells."""
    held = cell.cell_contents
    if type(held) is FunctionType and (held.__module__ or "").startswith("torch."):
        return CellType(_without_overrides(held))
    return cell


@contextmanager
def _patched() -> Iterator[None]:
    """The few Python functions that PyTorch's own hook does not see, replaced where users find them."""
    asks = torch.overrides.has_torch_function  # layers ask before they take a fast path
    classes = [
        *[(torch, name, cls) for name, cls in _LEGACY_CLASSES],
        (torch.overrides, asks.__name__, _while_tracing(_NO_OVERRIDES["has_torch_function"], asks)),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in (*PATCHED, *classes)]
    apply, script = Function.__dict__["apply"], _ScriptMethod.__dict__["__call__"]
    answered = ANSWERS[id(apply.__func__)]
    inference = torch._C._InferenceMode
    try:
        Function.apply = classmethod(_from_native(answered, apply.__func__))
        torch._C._InferenceMode = _while_tracing(_Inference, inference)
        # Testing tools of PyTorch put a function of theirs in its place.
        _ScriptMethod.__call__ = _while_tracing(_refuse_script, getattr(script, "__func__", script))
        for owner, name, answer in PATCHED:
            setattr(owner, name, _from_native(answer, getattr(owner, name)))
        for owner, name, cls in classes:
            setattr(owner, name, cls)
        yield
    finally:
        Function.apply = apply
        _ScriptMethod.__call__ = script
        torch._C._InferenceMode = inference
        for owner, name, original in before:
            setattr(owner, name, original)


_ScriptMethod: Final[Any] = torch._C.ScriptMethod


def _refuse_script(method: Any, *args: Any, **kwargs: Any) -> Any:
    """A method of a scripted module that the program has found by itself."""
    raise NOT_PYTHON(what=f"the scripted {method.name}", location=where())


def _while_tracing(ours: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """``ours`` in the thread that traces; other threads go on with the original."""

    def choose(*args: Any, **kwargs: Any) -> Any:
        return (original if dispatch.recorder() is None else ours)(*args, **kwargs)

    return choose


def _from_native(function: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    def answered(*args: Any, **kwargs: Any) -> Any:
        with torch._C.DisableTorchFunction():
            return unwatched(answer, function, args, kwargs)

    return _while_tracing(answered, original)


def _uncompiled() -> AbstractContextManager[None]:
    """Functions that ``torch.compile`` made run as they were written; where there are none nothing is imported."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    stance: AbstractContextManager[None] = torch.compiler.set_stance("force_eager")
    return stance


def run(tracer: Tracer, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Runs ``target`` on shells of the fakes; the result holds fakes again."""
    hook = sys.getprofile()
    return unwatched(_run, tracer, target, args, kwargs, hook if is_watch(hook) else None)


def _run(tracer: Tracer, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], hook: Any) -> Any:
    mode = ExportMode(hook)

    def invoke(function: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        with torch._C._EnableTorchFunction(), mode:
            return unshelled(_watched(hook, function, [wrap(value) for value in operands], {}))

    tracer.invoke = invoke
    given, named = tree_map(_shelled, (args, dict(kwargs)))
    tracer.given.watch(given, named)
    with _patched(), _uncompiled(), mode:
        result = _watched(hook, target, given, named)
    return unshelled(result)


def _watched(hook: Any, function: Callable[..., Any], args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    """Runs what is the program's, under the hook that watches it (None: there is none, or it is the user's)."""
    if hook is None:
        return function(*args, **kwargs)
    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        return function(*args, **kwargs)
    finally:
        sys.setprofile(before)


def _shelled(value: Any) -> Any:
    return shell_of(value) if type(value) is TorchFake else value


def unshelled(tree: Any) -> Any:
    """A result with the fakes in place of their shells."""
    return tree_map(lambda leaf: leaf.__dict__["fake"] if type(leaf) is Shell else leaf, tree)
