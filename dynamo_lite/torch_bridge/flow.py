"""Answers of PyTorch's functions that call functions of the user's or change a mode: checkpoints, autograd functions, modes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import torch
import torch.func
import torch.overrides
import torch.utils.checkpoint
from torch.autograd.function import Function, FunctionCtx

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.lowering import modes
from dynamo_lite.lowering.access import is_tensor, meta_of
from dynamo_lite.lowering.errors import PARAMETER_IN_FORWARD, where
from dynamo_lite.strict.policy.errors import CALL_REFUSED
from dynamo_lite.torch_bridge import legacy
from dynamo_lite.torch_bridge.answers import PATCHED, answers, set_grad_enabled
from dynamo_lite.torch_bridge.convert import TorchSize
from dynamo_lite.torch_bridge.errors import OUTPUT_DIRTY, TRANSFORM
from dynamo_lite.torch_bridge.shell import unwrap
from dynamo_lite.trace.gradients import FLOATING
from dynamo_lite.trace.tracer import Tracer


def _invoke(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Runs a function of the user's the way the trace runs Python."""
    target: Any = dispatch.recorder()
    return target.invoke(functools.partial(function, **kwargs) if kwargs else function, args)


@answers(torch.utils.checkpoint.checkpoint)
def _checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Any = None,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Recomputation is autograd's affair: the function is part of the program."""
    return _invoke(function, args, kwargs)


class _Context(FunctionCtx):
    """What an autograd function's forward gets: it may save, and nothing is kept."""

    def __init__(self, given: tuple[Any, ...]) -> None:
        self._given = given
        self._constant: tuple[Any, ...] = ()
        self._dirty = False

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        target: Any = dispatch.recorder()
        target.looked("grad")
        target.looked("state")
        return tuple([is_tensor(value) and meta_of(value).requires_grad for value in self._given])

    def save_for_backward(self, *tensors: Any) -> None:
        self.to_save = tensors

    def mark_non_differentiable(self, *args: Any) -> None:
        self._constant = unwrap(args)

    def mark_dirty(self, *args: Any) -> None:
        self._dirty = True

    def set_materialize_grads(self, value: bool) -> None:
        pass


@answers(Function.__dict__["apply"].__func__)
def _apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An autograd function: its forward is part of the program, its backward is not, which the results say."""
    context = _Context(args)
    with _without_gradients():
        if cls.setup_context is Function.setup_context:
            result = _invoke(cls.forward, (context, *args), kwargs)
        else:
            result = _invoke(cls.forward, args, kwargs)
            _invoke(cls.setup_context, (context, args, result))
    target: Any = dispatch.recorder()
    if not isinstance(target, Tracer):
        return result
    sources = [target.fake_of(value) for value in args if is_tensor(value)]
    if not target.gradients.flow(sources):
        return result
    if context._dirty:
        raise OUTPUT_DIRTY(name=cls.__name__, location=where())
    constant = {id(value) for value in context._constant}
    why = f"the autograd function {cls.__name__}"

    def differentiable(value: Any) -> Any:
        if not is_tensor(value) or id(value) in constant or meta_of(value).dtype.category < FLOATING:
            return value
        fake = target.fake_of(value)
        return target.gradients.replaced(fake, sources, why, all(fake is not source for source in sources))

    return tuple(map(differentiable, result)) if type(result) is tuple else differentiable(result)


@contextmanager
def _without_gradients() -> Iterator[None]:
    """Gradients off for what runs inside, interpreted or native, as PyTorch calls an autograd function's forward."""
    native = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        with modes.gradients_fixed_off():
            yield
    finally:
        torch._C._set_grad_enabled(native)


@answers(torch._C._InferenceMode)
class InferenceMode:
    """``torch.inference_mode`` as a mode of ours: results require no gradients."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __enter__(self) -> None:
        self.before = modes.set_inference_enabled(self.on)
        self.grad = modes.grad_enabled()
        set_grad_enabled(not self.on and self.grad)

    def __exit__(self, *exc: object) -> None:
        modes.set_inference_enabled(self.before)
        set_grad_enabled(self.grad)


@answers(torch.Size)
def _size(sizes: Any = ()) -> Any:
    return TorchSize(sizes)


def refuse_seeding(name: str) -> NoReturn:
    """Refuses what would change the state of a random generator."""
    raise CALL_REFUSED(
        name=name,
        reason="changes the state of the random generator",
        hint_text="seed outside forward",
        location=where(),
    )


def _seeding(name: str) -> Callable[..., NoReturn]:
    return lambda *args, **kwargs: refuse_seeding(name)


@answers(torch.Tensor._make_subclass)
def _make_subclass(cls: type, data: Any, require_grad: bool = False, *args: Any, **kwargs: Any) -> Any:
    """Parameters and buffers made of real tensors stay real; of computed ones they are refused."""
    if is_fake(data) or issubclass(type(data), torch.SymInt):
        raise PARAMETER_IN_FORWARD(location=where())
    return torch.Tensor._make_subclass(cls, data, require_grad, *args, **kwargs)


answers(torch.Tensor)(legacy.of_default)
for _legacy in legacy.TYPES.values():
    answers(_legacy)(legacy.of_type(_legacy))

for _name in ("manual_seed", "seed", "set_rng_state"):
    answers(getattr(torch, _name))(_seeding(f"torch.{_name}"))


def _refuse_default(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any) -> NoReturn:
        raise CALL_REFUSED(
            name=f"torch.{name}",
            reason="changes what every later call that makes a tensor takes by default",
            hint_text="pass dtype= and device= where forward makes tensors",
            location=where(),
        )

    return refuse


for _name in ("set_default_dtype", "set_default_tensor_type", "set_default_device"):
    answers(getattr(torch, _name))(_refuse_default(_name))


def _refuse_transform(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise TRANSFORM(name=name, location=where())

    return refuse


# Transformations of functions compute on tensors of their own, in C++ that no front end sees into.
for _name in (
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp",
):  # fmt: skip
    _refused = answers(getattr(torch.func, _name))(_refuse_transform(f"torch.func.{_name}"))
    PATCHED.append((torch.func, _name, _refused))


# Profilers look at eager execution alone: a region that they name is nothing to a program.
_REGION: Final = torch.autograd.profiler.record_function


@answers(_REGION.__enter__)
def _enter_region(self: Any) -> Any:
    return self


@answers(_REGION.__exit__)
def _leave_region(self: Any, *exc: object) -> None:
    return None


PATCHED.extend(
    [
        (torch.utils.checkpoint, "checkpoint", _checkpoint),
        (_REGION, "__enter__", _enter_region),
        (_REGION, "__exit__", _leave_region),
        *[
            (torch.overrides, name, lambda *args: False)  # as the strict policy answers
            for name in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
        ],
    ]
)
