"""What a run may be asked to report and to ask: the interface between the machine and a tracing policy.

Without a policy (``dl.interpret``) the machine asks nobody. With one, every read of state, every write, every call of
something that is not interpreted Python and every operator on a special type goes through it. A method may raise
UnsupportedError to refuse; the error then leaves the run at once and user code cannot catch it (see ``uncatchable``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import CodeType, FunctionType
from typing import Any, Final, Protocol, runtime_checkable

from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.host import Observer

CONSTANT_MARK: Final = "_dynamo_marked_constant"
"""The attribute by which ``torch.compiler.assume_constant_result`` marks a function: it is called natively."""


@runtime_checkable
class Policy(Protocol):
    """Hooks, called only where a frame has a policy."""

    special_ids: Collection[int]
    """The identities of types (a metaclass may define ``__hash__``) whose operators are asked of the policy and never interpreted: tensors, symbolic numbers."""

    uncatchable: tuple[type[BaseException], ...]
    """Exceptions that no handler of the user's, not even ``finally``, gets to see: refusals end the run."""

    observer: Observer | None
    """Is told of Python functions that C code begins while it works for the machine; None: nobody wants to know."""

    def operate(self, fn: Callable[..., Any], *operands: Any) -> Any:
        """``fn(*operands)``, an operation of C code that may ask slots of the operands or of what they hold."""

    def made(self, value: Any) -> None:
        """A dict, a function or a class was made by an instruction: it is fresh."""

    def entered(self, fn: FunctionType) -> None:
        """A Python function is called, of which the policy has not been told in this run. It may be one that has ended since."""

    def judged(self, abstract: type, cls: type) -> None:
        """An abstract class is asked whether ``cls`` is a subclass of it."""

    def opaque(self, code: CodeType) -> bool:
        """Whether functions with this code are called natively. Asked once per code object."""

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        """Makes a call of something that is not interpreted Python code: C function, class, opaque function."""

    def load_global(self, namespace: dict[str, Any], name: str, value: Any) -> Any:
        """A global was read; returns the value to use."""

    def missing_global(self, namespace: dict[str, Any], name: str) -> None:
        """A global was asked for that is not there, nor among the builtins."""

    def load_deref(self, cell: Any, name: str, value: Any) -> Any:
        """A free variable was read."""

    def load_attr(self, obj: Any, name: str, value: Any) -> Any:
        """An attribute was read."""

    def hooked(self, hook: FunctionType, obj: Any, name: str) -> Any:
        """What a class's ``__getattr__`` gives, its reads reported, where the policy knows it by heart; else MISSING."""

    def described(self, cls: type, name: str, attribute: Any) -> None:
        """A descriptor that is interpreted was found on a class (or on one of its bases)."""

    def not_held(self, obj: Any, name: str) -> None:
        """A class answers for an attribute since the object holds none of this name."""

    def missing_attr(self, obj: Any, name: str) -> None:
        """An attribute was asked for that is not there."""

    def load_item(self, container: Any, key: Any, value: Any) -> Any:
        """An item was read by ``container[key]``."""

    def answered(self, fn: Any, value: Any) -> None:
        """The machine itself answered a function that tells of the process: ``globals``, ``sys.getrecursionlimit``."""

    def before_write(self, kind: str, obj: Any, key: Any) -> None:
        """A write is about to happen. ``kind`` is ``attr``, ``global``, ``deref``, ``item`` or ``content``.

        ``obj`` is what is written (object, namespace, cell, container); ``key`` the name or the key, None for ``content``.
        """

    def truth(self, value: Any) -> bool:
        """``bool(value)`` of a special type."""

    def iterate(self, value: Any) -> Any:
        """``iter(value)`` of a special type."""

    def binary(self, symbol: str, left: Any, right: Any) -> Any:
        """``left op right`` where one is special; ``symbol`` is Python's, with ``=`` at the end in place."""

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        """A rich comparison where one operand is special."""

    def identical(self, value: Any, other: Any) -> bool:
        """``value is other`` where ``value`` is of a special type."""

    def unary(self, symbol: str, value: Any) -> Any:
        """``-``, ``+``, ``~`` of a special type."""

    def contains(self, container: Any, value: Any) -> bool:
        """``value in container`` where one is special."""

    def subscript(self, container: Any, key: Any) -> Any:
        """``container[key]`` where the container, the key or a part of a tuple or slice key is special."""

    def format(self, value: Any, conversion: str | None, spec: str) -> str:
        """``f"{value!conversion:spec}"`` of a special type."""
