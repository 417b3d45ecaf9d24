"""What front ends ask of PyTorch: its fake, how modules are read, and what holds while a module is captured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn
from torch.nn.utils import parametrize

from dynamo_lite import dispatch
from dynamo_lite.fake import FakeTensor
from dynamo_lite.lowering import modes
from dynamo_lite.torch_bridge import autocast, dims, numbers
from dynamo_lite.torch_bridge.backend import Backend, from_array
from dynamo_lite.torch_bridge.convert import TO_OURS, describe, dtype_of, to_ours, to_torch
from dynamo_lite.torch_bridge.errors import AUTOCAST
from dynamo_lite.torch_bridge.fake import TorchFake
from dynamo_lite.torch_bridge.flags import FLAGS, switches_kept
from dynamo_lite.torch_bridge.patched import refuse_patched_tensors
from dynamo_lite.trace.errors import NOT_PYTHON
from fx_ir import dtypes
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import Operator
from fx_ir.pytree import tree_map

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer


KERNELS_OF = Backend()


def _walk(module: Any, once: bool) -> Iterator[tuple[str, Any]]:
    """The module tree in PyTorch's order; with ``once`` a shared module under its first name alone.

    PyTorch's own walk is a generator a level, which costs the depth of the tree at every step. Raises ``not-python`` for a
    scripted or traced module.
    """
    seen: set[int] = set()
    waiting = [("", module)]
    while waiting:
        path, owner = waiting.pop()
        if once:
            if id(owner) in seen:
                continue
            seen.add(id(owner))
        if isinstance(owner, torch.jit.ScriptModule):
            raise NOT_PYTHON(what=f"the module {path}, a {type(owner).__name__},")
        yield path, owner
        children = owner._modules
        if children:
            prefix = f"{path}." if path else ""
            waiting += [(prefix + name, child) for name, child in children.items() if child is not None][::-1]


_ONE_CAPTURE: Final = threading.RLock()


_functorch: Final = torch._C._functorch
# Stacks of PyTorch's that a model may push on: how deep each is, and how one entry is taken off.
_STACKS: Final[tuple[tuple[Callable[[], int], Callable[[], Any]], ...]] = (
    (lambda: len(_functorch.get_interpreter_stack() or ()), _functorch.pop_dynamic_layer_stack),
    (torch._C._len_torch_function_stack, torch._C._pop_torch_function_stack),
    (torch._C._len_torch_dispatch_stack, torch._C._pop_torch_dispatch_stack),
)


def _autocast_nesting() -> int:
    """How many autocast blocks are open; PyTorch tells only when it changes."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


class Library:
    """How a front end looks at tensors and modules of PyTorch."""

    name = "torch"
    backend = "torch"
    autograd = True
    fake_class: type[FakeTensor] = TorchFake

    def is_tensor(self, value: object) -> bool:
        # A shell is a tensor to PyTorch, and holds a fake: no memory of anybody's.
        return issubclass(type(value), torch.Tensor) and not hasattr(type(value), "holds_fake")

    def tensor_types(self) -> Collection[type]:
        found = [torch.Tensor]
        for cls in found:
            found += type.__subclasses__(cls)
        return found

    def is_module(self, value: object) -> bool:
        return issubclass(type(value), nn.Module)

    def describe(self, tensor: Any) -> TensorMeta:
        return describe(tensor)

    def plain(self, value: Any) -> Any:
        return to_ours(value)

    def is_plain(self, value: Any) -> bool:
        return type(value) in TO_OURS

    def named_parameters(self, module: Any) -> Iterator[tuple[str, Any]]:
        for path, owner in _walk(module, once=False):
            for name, parameter in owner._parameters.items():
                if parameter is not None:
                    yield (f"{path}.{name}" if path else name), parameter

    def named_buffers(self, module: Any) -> Iterator[tuple[str, Any, bool]]:
        for path, owner in _walk(module, once=False):
            for name, buffer in owner._buffers.items():
                if buffer is not None:
                    persistent = name not in owner._non_persistent_buffers_set
                    yield (f"{path}.{name}" if path else name), buffer, persistent

    def named_modules(self, module: Any) -> Iterator[tuple[str, Any]]:
        return _walk(module, once=True)

    # --- while a module is captured

    def dynamic_shapes(self, given: Any) -> Any:
        """A specification with PyTorch's own dimensions replaced by ours."""
        return dims.to_ours(given)

    def hooks_everywhere(self) -> tuple[Any, ...]:
        hooks = nn.modules.module
        return (
            hooks._global_forward_pre_hooks,
            hooks._global_forward_hooks,
            hooks._global_backward_pre_hooks,
            hooks._global_backward_hooks,
        )

    def ambient(self) -> tuple[Any, ...]:
        """Default dtype and device, autocast, and how many function modes are on."""
        return (
            torch.get_default_dtype(),
            torch._C._is_any_autocast_enabled(),
            torch._C._len_torch_function_stack(),
        )

    def settings(self) -> Mapping[int, Callable[[], Any]]:
        return FLAGS

    def grad_enabled(self) -> bool:
        return torch.is_grad_enabled()

    def inference_enabled(self) -> bool:
        return torch.is_inference_mode_enabled()

    @contextmanager
    def session(self) -> Iterator[None]:
        """What PyTorch's global state says becomes ours, and is as before afterwards, however the block ends.

        Some of it belongs to the process, so captures wait for each other.
        """
        with _ONE_CAPTURE, switches_kept():
            yield from self._session()

    def _session(self) -> Iterator[None]:
        refuse_patched_tensors()
        grad, default = modes.grad_enabled(), dtypes.get_default_dtype()
        torch_grad, torch_default = torch.is_grad_enabled(), torch.get_default_dtype()
        if torch.is_autocast_enabled("cpu"):
            raise AUTOCAST(where="around export", location=None)
        cast = torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
        nesting, depths = _autocast_nesting(), [depth() for depth, _ in _STACKS]
        compiler = torch.compiler
        flags = compiler._is_compiling_flag, compiler._is_exporting_flag
        computed, parametrize._cache = (
            parametrize._cache,
            {},
        )  # what ``parametrize.cached()`` keeps is this trace's own
        modes.set_grad_enabled(torch_grad)
        dtypes.set_default_dtype(dtype_of(torch.get_default_dtype()))
        compiler._is_compiling_flag = compiler._is_exporting_flag = True
        try:
            with dispatch.preparing(autocast.prepare):
                yield
        finally:
            compiler._is_compiling_flag, compiler._is_exporting_flag = flags
            parametrize._cache = computed
            # What a refused program has entered it does not leave: a refusal is nothing that it can handle.
            for (depth, pop), before in zip(_STACKS, depths, strict=True):
                while depth() > before:
                    pop()
            torch.set_autocast_enabled("cpu", False)
            torch.set_autocast_dtype("cpu", cast[0])
            torch.set_autocast_cache_enabled(cast[1])
            for _ in range(_autocast_nesting(), nesting):
                torch.autocast_increment_nesting()
            for _ in range(nesting, _autocast_nesting()):
                torch.autocast_decrement_nesting()
            torch.set_grad_enabled(torch_grad)
            torch.set_default_dtype(torch_default)
            modes.set_grad_enabled(grad)
            dtypes.set_default_dtype(default)

    def begin(self, tracer: Tracer) -> None:
        """Symbols of this trace are PyTorch's too, and constants become tensors of PyTorch."""
        numbers.install(tracer.env)
        tracer.make_constant = from_array  # type: ignore[attr-defined]

    def strict_policy(self) -> Any:
        """The policy of the strict front end for this library."""
        from dynamo_lite.torch_bridge.policy import TorchPolicy

        return TorchPolicy

    def run_native(
        self, tracer: Tracer, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Runs ``target`` natively: fakes travel inside tensors without data, calls are met by a function mode."""
        from dynamo_lite.torch_bridge.mode import run

        return run(tracer, target, args, kwargs)

    def bare(self, value: Any) -> Any:
        """The fake inside what native code was given for it; any other value itself."""
        from dynamo_lite.torch_bridge.shell import Shell

        return value.__dict__["fake"] if type(value) is Shell else value

    def in_shell(self, fake: Any) -> Any:
        """The tensor without data in which native code is given a fake."""
        from dynamo_lite.torch_bridge.shell import wrap

        return wrap(fake)

    def is_recomputed(self, namespace: Mapping[str, Any], name: str) -> bool:
        """Weight and spectral norms and pruning of ``torch.nn.utils`` set the attribute that their hook names."""
        hooks = namespace.get("_forward_pre_hooks", {}).values()
        return any(
            type(hook).__module__.startswith("torch.nn.utils.")
            and name in (getattr(hook, "name", None), getattr(hook, "_tensor_name", None))
            for hook in hooks
        )

    def module_class(self) -> type[Any]:
        return nn.Module

    def apply(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """An operator on tensors of PyTorch, on shells of fakes or, in strict mode, on fakes themselves."""
        recorder = dispatch.recorder()
        if recorder is None:
            given, keywords = op.bind(args, kwargs)
            values = [to_torch(value) for value in given]
            return KERNELS_OF.kernel(op)(
                *values, **{name: to_torch(value) for name, value in keywords.items()}
            )
        from dynamo_lite.torch_bridge.shell import unwrap

        modes.set_grad_enabled(torch.is_grad_enabled())
        return self.dressed(recorder.call(op, *op.bind(unwrap(args), unwrap(dict(kwargs)))))

    def dressed(self, value: Any) -> Any:
        """Fakes as the code that runs now holds them: in shells where CPython runs it."""
        from dynamo_lite.torch_bridge.shell import wrap

        return tree_map(wrap, value) if torch._C._len_torch_function_stack() else value
