"""What a tensor library offers to run programs, and which libraries there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Protocol

from fx_ir.errors import BACKEND_UNKNOWN, NO_BACKEND

if TYPE_CHECKING:
    import numpy as np

    from fx_ir.meta import TensorMeta
    from fx_ir.ops.registry import Operator


class Backend(Protocol):
    """A tensor library: its tensors, the native values its kernels take, and the kernels.

    A *tensor* is what users hold (``torchlite.Tensor``, ``torch.Tensor``); a *native* value is what kernels take
    (``numpy.ndarray``, ``torch.Tensor``). Kernels are called as an operator declaration says: positional arguments in
    order, keyword-only ones by name, everything filled in.
    """

    name: str

    @property
    def joined(self) -> Callable[[Any, list[Any]], Any] | None:
        """``joined(results, operands)``: what control flow returned, for an autograd that takes the whole for one operator.

        None for a library without autograd.
        """

    def check_around(self) -> None:
        """Raises GuardError where a mode around a call would make kernels compute something else."""

    def grad_enabled(self) -> bool:
        """The gradient mode around a call."""

    def is_tensor(self, obj: object) -> bool:
        """True for the library's tensors."""

    def describe(self, obj: Any) -> TensorMeta:
        """Shape, dtype, device, layout and ``requires_grad`` of a tensor; cheap, no data is read."""

    def unwrap(self, obj: Any) -> Any:
        """The native value of a tensor, sharing its memory."""

    def wrap(self, native: Any, meta: TensorMeta | None = None) -> Any:
        """A tensor over a native value; ``meta`` gives what the native value does not carry."""

    def assign(self, obj: Any, native: Any) -> None:
        """Copies a native value's data into a tensor, in place (without autograd)."""

    def kernel(self, op: Operator) -> Callable[..., Any]:
        """The function that computes an operator on native values. Raises ``kernel-missing``."""

    def quietly(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """``run`` without the warnings that kernels give where PyTorch's say nothing (overflow, invalid value)."""

    def shares_memory(self, first: Any, second: Any) -> bool:
        """Whether a write to one tensor may be seen through the other."""

    def part_of(self, part: Any, whole: Any, held: Any) -> Any:
        """The part of the tensor ``held`` that the native value ``part`` is of ``whole``, whose content ``held`` has now.

        None where ``part`` is a copy, or where it cannot be said.
        """

    def kept(self, native: Any) -> Any:
        """A native value that is overwritten after the run, as kernels may keep it for a backward pass."""

    def span(self, native: Any) -> tuple[int, int]:
        """The first byte of a native value in memory, and the one after its last; equal for a value without memory."""

    def snapshot(self, obj: Any) -> Any:
        """A copy of a tensor that shares nothing with it."""

    def to_numpy(self, obj: Any) -> np.ndarray[Any, Any]:
        """A tensor's data as an array (``bfloat16`` as ml_dtypes'), sharing memory where it can."""

    def from_numpy(self, array: np.ndarray[Any, Any], meta: TensorMeta, *, parameter: bool = False) -> Any:
        """A tensor (a parameter where that is a type of its own) over an array, with the metadata given."""

    def constant(self, value: Any) -> Any:
        """What kernels take for a ``DType``, ``Device``, ``Layout`` or ``MemoryFormat`` written in a graph."""


_BACKENDS: Final[dict[str, Backend]] = {}


def register_backend(backend: Backend) -> None:
    """Makes a backend known under its name; the newest of a name counts."""
    _BACKENDS[backend.name] = backend


def get_backend(name: str) -> Backend:
    """The backend of that name. Raises ``backend-unknown``."""
    found = _BACKENDS.get(name)
    if found is None:
        raise BACKEND_UNKNOWN(name=name, known=", ".join(sorted(_BACKENDS)) or "none")
    return found


def backend_of(values: Iterable[object]) -> Backend:
    """The newest registered backend that knows the tensors among ``values``. Raises ``no-backend`` without any."""
    tried = list(values)
    for value in tried:
        for backend in reversed(_BACKENDS.values()):
            if backend.is_tensor(value):
                return backend
    kinds = ", ".join(sorted({type(value).__name__ for value in tried})) or "nothing"
    raise NO_BACKEND(kinds=kinds)


def known_backends() -> list[Backend]:
    """Every registered backend, newest first."""
    return list(reversed(_BACKENDS.values()))
