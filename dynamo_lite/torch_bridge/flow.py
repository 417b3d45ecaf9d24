"""Answers of PyTorch's functions that call functions of the user's or change a mode: checkpoints, autograd functions, modes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, NoReturn

import torch
import torch.func
import torch.overrides
import torch.utils.checkpoint
from torch.autograd.function import Function, FunctionCtx

from dynamo_lite import dispatch
from dynamo_lite.fake import is_fake
from dynamo_lite.lowering import modes
from dynamo_lite.lowering.errors import PARAMETER_IN_FORWARD, where
from dynamo_lite.strict.policy.errors import CALL_REFUSED
from dynamo_lite.torch_bridge import legacy
from dynamo_lite.torch_bridge.answers import PATCHED, answers
from dynamo_lite.torch_bridge.convert import TorchSize
from dynamo_lite.torch_bridge.errors import TRANSFORM


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

    def save_for_backward(self, *tensors: Any) -> None:
        self.to_save = tensors

    def mark_non_differentiable(self, *args: Any) -> None:
        pass

    def mark_dirty(self, *args: Any) -> None:
        pass

    def set_materialize_grads(self, value: bool) -> None:
        pass


@answers(Function.__dict__["apply"].__func__)
def _apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An autograd function: its forward is part of the program."""
    if cls.setup_context is not Function.setup_context:
        return _invoke(cls.forward, args, kwargs)
    return _invoke(cls.forward, (_Context(), *args), kwargs)


@answers(torch._C._InferenceMode)
class InferenceMode:
    """``torch.inference_mode`` as a mode of ours: results require no gradients."""

    def __init__(self, on: bool) -> None:
        self.on = on

    def __enter__(self) -> None:
        self.before = modes.set_inference_enabled(self.on)
        self.grad = modes.set_grad_enabled(not self.on and modes.grad_enabled())

    def __exit__(self, *exc: object) -> None:
        modes.set_inference_enabled(self.before)
        modes.set_grad_enabled(self.grad)


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


def _refuse_default(*args: Any) -> NoReturn:
    raise CALL_REFUSED(
        name="torch.set_default_dtype",
        reason="changes what every later call without dtype= makes",
        hint_text="pass dtype= where forward makes tensors",
        location=where(),
    )


answers(torch.set_default_dtype, torch.set_default_tensor_type)(_refuse_default)


def _refuse_transform(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise TRANSFORM(name=name, location=where())

    return refuse


# Transformations of functions compute on tensors of their own, in C++ that no front end sees into.
for _name in (
    "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap",
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
