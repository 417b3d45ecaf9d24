"""What front ends and the executor need of this library: its fake, how modules are read, its backend."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamo_lite import dispatch
from dynamo_lite.fake import FakeTensor, is_fake
from dynamo_lite.library import register_library
from dynamo_lite.lowering import modes
from dynamo_lite.lowering.access import FAKE, register_access
from dynamo_lite.lowering.table import install_methods
from dynamo_lite.torchlite._tensor import Tensor, describe, make, wrap
from dynamo_lite.torchlite.eager import on_host, write
from dynamo_lite.torchlite.nn import hooks
from dynamo_lite.torchlite.nn.module import Module
from dynamo_lite.torchlite.parameter import Parameter
from fx_ir.backend import register_backend
from fx_ir.dtypes import Device, DType, Layout, MemoryFormat, get_default_dtype
from fx_ir.errors import KERNEL_MISSING
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import Operator

if TYPE_CHECKING:
    from dynamo_lite.strict.policy.tracing import TracePolicy
    from dynamo_lite.trace.tracer import Tracer


class TorchliteFake(FakeTensor):
    """A tensor of this library under export."""

    __slots__ = ()

    library_class = Tensor


install_methods(TorchliteFake)
register_access(TorchliteFake, FAKE)


class Library:
    """How a front end looks at tensors and modules of this library."""

    name = "torchlite"
    backend = "torchlite"
    autograd = False
    fake_class: type[FakeTensor] = TorchliteFake

    def is_tensor(self, value: object) -> bool:
        return issubclass(type(value), Tensor)

    def is_module(self, value: object) -> bool:
        return issubclass(type(value), Module)

    def describe(self, tensor: Any) -> TensorMeta:
        return describe(tensor)

    def plain(self, value: Any) -> Any:
        return on_host(value)

    def is_plain(self, value: Any) -> bool:
        return isinstance(value, (DType, Device, Layout, MemoryFormat))

    def tensor_types(self) -> Collection[type]:
        return (Tensor, Parameter)

    def named_parameters(self, module: Any) -> Iterator[tuple[str, Any]]:
        return Module.named_parameters(module, remove_duplicate=False)

    def named_buffers(self, module: Any) -> Iterator[tuple[str, Any, bool]]:
        for path, owner in Module.named_modules(module, remove_duplicate=False):
            for name, buffer in owner._buffers.items():
                if buffer is not None:
                    persistent = name not in owner._non_persistent_buffers_set
                    yield (f"{path}.{name}" if path else name), buffer, persistent

    def named_modules(self, module: Any) -> Iterator[tuple[str, Any]]:
        return Module.named_modules(module)

    def dynamic_shapes(self, given: Any) -> Any:
        return given

    def hooks_everywhere(self) -> tuple[Any, ...]:
        return hooks.GLOBAL_FORWARD_PRE, hooks.GLOBAL_FORWARD

    def ambient(self) -> DType:
        return get_default_dtype()

    def settings(self) -> Mapping[int, Callable[[], Any]]:
        return {}

    def grad_enabled(self) -> bool:
        return modes.grad_enabled()

    def inference_enabled(self) -> bool:
        return modes.inference_enabled()

    def session(self) -> AbstractContextManager[None]:
        return nullcontext()

    def begin(self, tracer: Tracer) -> None:
        pass

    def strict_policy(self) -> type[TracePolicy]:
        from dynamo_lite.strict.policy.tracing import TracePolicy

        return TracePolicy

    def run_native(
        self, tracer: Tracer, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        tracer.given.watch(args, kwargs)
        return target(*args, **kwargs)

    def bare(self, value: Any) -> Any:
        return value

    def in_shell(self, fake: Any) -> Any:
        return fake

    def is_recomputed(self, namespace: Mapping[str, Any], name: str) -> bool:
        return False

    def dressed(self, value: Any) -> Any:
        return value

    def module_class(self) -> type[Any]:
        return Module

    def apply(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return dispatch.call(op, *op.bind(args, kwargs))


class Backend:
    """Runs programs on NumPy kernels over this library's tensors."""

    name = "torchlite"
    joined = None
    native_attribute = "_array"  # where unwrap finds the native value

    def check_around(self) -> None:
        """No mode changes what NumPy computes."""

    def grad_enabled(self) -> bool:
        return modes.grad_enabled()

    def is_tensor(self, obj: object) -> bool:
        return isinstance(obj, Tensor) and not is_fake(obj)

    def describe(self, obj: Any) -> TensorMeta:
        return describe(obj)

    def unwrap(self, obj: Any) -> Any:
        return obj._array

    def wrap(self, native: Any, meta: TensorMeta | None = None) -> Any:
        return make(native, meta.requires_grad) if meta is not None else wrap(native)

    def assign(self, obj: Any, native: Any) -> None:
        write(obj, wrap(native))

    def kernel(self, op: Operator) -> Callable[..., Any]:
        if op.kernel is None:
            raise KERNEL_MISSING(op=op, backend=self.name)
        return op.kernel

    def quietly(self, run: Callable[..., Any]) -> Callable[..., Any]:
        quiet: Callable[..., Any] = np.errstate(all="ignore")(run)
        return quiet

    def shares_memory(self, first: Any, second: Any) -> bool:
        return bool(np.shares_memory(first._array, second._array))

    def part_of(self, part: Any, whole: Any, held: Any) -> None:
        """Arrays cannot be taken at an offset in another's memory: what is returned is a copy."""

    def kept(self, native: Any) -> Any:
        return native

    def span(self, native: Any) -> tuple[int, int]:
        return np.lib.array_utils.byte_bounds(native) if native.size else (0, 0)

    def snapshot(self, obj: Any) -> Any:
        return make(np.array(obj._array, copy=True), obj._requires_grad)

    def to_numpy(self, obj: Any) -> np.ndarray[Any, Any]:
        array: np.ndarray[Any, Any] = obj._array
        return array

    def from_numpy(self, array: np.ndarray[Any, Any], meta: TensorMeta, *, parameter: bool = False) -> Any:
        if parameter:
            return Parameter(wrap(array), requires_grad=meta.requires_grad)
        return make(array, meta.requires_grad)

    def constant(self, value: Any) -> Any:
        return value


register_library(Library())
register_backend(Backend())
