"""Where every tensor call ends: without a recorder it runs a kernel, with one it is recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal, Protocol

from fx_ir.ops.registry import Operator

Asked = Literal["layout", "offset", "grad", "class", "mode", "inference", "state", "switch"]
Arguments = tuple[Any, ...]
Keywords = Mapping[str, Any]


class Recorder(Protocol):
    """What a tracer offers to the lowering."""

    def call(self, op: Operator, args: Arguments, kwargs: Keywords) -> Any:
        """Applies ``op`` to values that may be fakes, real tensors, symbols and plain constants, and records it."""

    def fake_of(self, value: Any) -> Any:
        """The fake that stands for a tensor of this trace: itself, or the lifted real tensor."""

    def looked(self, what: Asked) -> None:
        """The program asked for strides, ``requires_grad`` and the like: what it did then holds for such inputs only."""

    def known(self, tensor: Any) -> Any:
        """The number that a tensor of one element is known to hold without a look at data, or None."""

    def going_on(self, condition: Any) -> bool | None:
        """Of a decision on data: the outcome that is taken because the other only raises, asserted from now on; else None."""


EagerCall = Callable[[Operator, Arguments, Keywords], Any]
Prepare = Callable[[Operator, Arguments, Keywords], tuple[Arguments, Keywords]]


class _State(threading.local):
    recorder: Recorder | None = None
    prepare: Prepare | None = None


_STATE: Final = _State()
_EAGER: list[EagerCall] = []


def set_eager(call: EagerCall) -> None:
    """Registers the way to run an operator now (``torchlite`` does, when it is imported)."""
    _EAGER[:] = [call]


def recorder() -> Recorder | None:
    """The recorder of this thread, or None outside tracing."""
    return _STATE.recorder


@contextmanager
def recording(target: Recorder | None) -> Iterator[None]:
    """Makes ``target`` the recorder of this thread for the block."""
    before = _STATE.recorder
    _STATE.recorder = target
    try:
        yield
    finally:
        _STATE.recorder = before


@contextmanager
def preparing(prepare: Prepare | None) -> Iterator[None]:
    """Lets ``prepare`` change the arguments of calls before they are recorded, for the block (a library's autocast)."""
    before = _STATE.prepare
    _STATE.prepare = prepare
    try:
        yield
    finally:
        _STATE.prepare = before


def call(op: Operator, args: Arguments, kwargs: Keywords) -> Any:
    """Runs or records ``op`` on arguments that are already bound to its schema."""
    target = _STATE.recorder
    if target is not None:
        if _STATE.prepare is not None:
            args, kwargs = _STATE.prepare(op, args, kwargs)
        return target.call(op, args, kwargs)
    return _EAGER[0](op, args, kwargs)
