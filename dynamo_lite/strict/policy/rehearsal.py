"""The policy of a rehearsal: that of the trace, but tensors and symbolic numbers may not be met."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, NoReturn

from dynamo_lite.lowering.leaf import TensorFunction
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.policy import Policy
from dynamo_lite.ways_out import WayOut

_TENSORS = "looks at a tensor or a size under export"


class RehearsalPolicy:
    """Asks ``inner`` for everything. ``refuse(why)`` makes the error for what C could not repeat."""

    def __init__(self, inner: Policy, refuse: Callable[[str], BaseException]) -> None:
        self.inner = inner
        self.refuse = refuse
        self.special_ids = inner.special_ids
        self.uncatchable = inner.uncatchable
        self.observer = inner.observer
        self.opaque: Callable[[CodeType], bool] = inner.opaque
        self.made: Callable[[Any], None] = inner.made
        self.entered: Callable[[FunctionType], None] = inner.entered
        self.described: Callable[[type, str, Any], None] = inner.described
        self.not_held: Callable[[Any, str], None] = inner.not_held
        self.judged: Callable[[type, type], None] = inner.judged
        self.missing_global: Callable[[dict[str, Any], str], None] = inner.missing_global
        self.before_write: Callable[[str, Any, Any], None] = inner.before_write
        self.operate: Callable[..., Any] = inner.operate
        self.answered: Callable[[Any, Any], None] = inner.answered

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        if fn is TensorFunction.__call__:
            raise self.refuse("computes with tensors")
        if fn is WayOut.__call__:
            raise self.refuse("calls a function that is run natively while tracing")
        for value in (*args, *kwargs.values()):
            self._checked(value)
        return self._checked(self.inner.call_native(fn, args, kwargs, frame))

    def _checked(self, value: Any) -> Any:
        if id(type(value)) in self.special_ids:
            raise self.refuse(_TENSORS)
        return value

    # --- reads

    def load_global(self, namespace: dict[str, Any], name: str, value: Any) -> Any:
        return self._checked(self.inner.load_global(namespace, name, value))

    def load_deref(self, cell: Any, name: str, value: Any) -> Any:
        return self._checked(self.inner.load_deref(cell, name, value))

    def load_attr(self, obj: Any, name: str, value: Any) -> Any:
        return self._checked(self.inner.load_attr(obj, name, value))

    def hooked(self, hook: FunctionType, obj: Any, name: str) -> Any:
        return self._checked(self.inner.hooked(hook, obj, name))

    def missing_attr(self, obj: Any, name: str) -> None:
        self.inner.missing_attr(obj, name)

    def load_item(self, container: Any, key: Any, value: Any) -> Any:
        return self._checked(self.inner.load_item(container, key, value))

    # --- operators, asked only where a special value takes part

    def _refused(self, *operands: Any) -> NoReturn:
        raise self.refuse(_TENSORS)

    truth = iterate = binary = compare = identical = unary = contains = subscript = format = _refused
