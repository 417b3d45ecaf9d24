"""What a front end needs to know of a tensor library: ``torchlite``, or real PyTorch through the bridge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from dynamo_lite.fake import FakeTensor
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import Operator

if TYPE_CHECKING:
    from dynamo_lite.strict.policy.tracing import TracePolicy
    from dynamo_lite.trace.tracer import Tracer


class TensorLibrary(Protocol):
    """One tensor library. Nothing here reads a tensor's data."""

    name: str
    backend: str
    autograd: bool  # whether its tensors compute gradients
    fake_class: type[FakeTensor]

    def is_tensor(self, value: object) -> bool:
        """True for real tensors of the library (not for fakes)."""

    def tensor_types(self) -> Collection[type]:
        """The classes of real tensors."""

    def is_module(self, value: object) -> bool:
        """True for modules of the library."""

    def describe(self, tensor: Any) -> TensorMeta:
        """Metadata of a real tensor."""

    def plain(self, value: Any) -> Any:
        """An operator argument as graphs hold it (a library's own dtype becomes a ``DType``)."""

    def is_plain(self, value: Any) -> bool:
        """True for metadata objects that a program may take or return as they are: dtypes, devices."""

    def named_parameters(self, module: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by qualified name; a shared one once for each name."""

    def named_buffers(self, module: Any) -> Iterator[tuple[str, Any, bool]]:
        """Buffers by qualified name and whether they are persistent; a shared one once for each name."""

    def named_modules(self, module: Any) -> Iterator[tuple[str, Any]]:
        """The module and its descendants by qualified name."""

    def dynamic_shapes(self, given: Any) -> Any:
        """A specification with the library's own dimension objects replaced by ours."""

    def hooks_everywhere(self) -> Sequence[Mapping[Any, Any]]:
        """The registries of hooks that run for every module."""

    def ambient(self) -> Hashable:
        """What the library's global state says now that a captured program has burned in."""

    def settings(self) -> Mapping[int, Callable[[], Any]]:
        """Functions of C that tell a setting of the process, by identity: what they told a live program must be told again."""

    def grad_enabled(self) -> bool:
        """The gradient mode of this thread."""

    def inference_enabled(self) -> bool:
        """Whether this thread is in inference mode."""

    def session(self) -> AbstractContextManager[None]:
        """While a module is captured: the library's global state is taken over, and restored however the capture ends."""

    def begin(self, tracer: Tracer) -> None:
        """Prepares a new tracer."""

    def strict_policy(self) -> type[TracePolicy]:
        """What the strict front end asks while it interprets."""

    def run_native(
        self, tracer: Tracer, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """Runs ``target`` on fakes in CPython itself; fakes come back."""

    def bare(self, value: Any) -> Any:
        """The fake inside what native code was given in its place; any other value itself."""

    def in_shell(self, fake: Any) -> Any:
        """What native code is given in place of a fake."""

    def is_recomputed(self, namespace: Mapping[str, Any], name: str) -> bool:
        """Whether a hook of the library's assigns this attribute of the module anew before each forward."""

    def dressed(self, value: Any) -> Any:
        """Results with what the code that runs now is given in place of fakes."""

    def module_class(self) -> type[Any]:
        """The base class of modules."""

    def apply(self, op: Operator, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """An operator on tensors as native code holds them: computed now, or recorded while a trace runs."""


_LIBRARIES: list[TensorLibrary] = []


def register_library(library: TensorLibrary) -> None:
    """Makes a library known; the newest is asked first."""
    _LIBRARIES.insert(0, library)


def library_of_tensor(tensor: object) -> TensorLibrary:
    """The library whose tensor this is; StopIteration if it is no tensor."""
    return next(library for library in _LIBRARIES if library.is_tensor(tensor))


def library_for_backend(backend: str) -> TensorLibrary:
    """The library whose tensors a backend runs on; it is imported with its backend."""
    return next(library for library in _LIBRARIES if library.backend == backend)


def library_of(module: object) -> TensorLibrary | None:
    """The library whose module this is."""
    return next((library for library in _LIBRARIES if library.is_module(module)), None)
