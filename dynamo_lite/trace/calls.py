"""Which call of a module is running, and what goes in and comes out of those whose calling convention is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FrameType
from typing import TYPE_CHECKING, Any

from dynamo_lite.fake import is_fake
from dynamo_lite.trace.errors import PRESERVED_UNKNOWN, PRESERVED_VALUE, PRESERVED_WRITES
from fx_ir.node import Node
from fx_ir.pytree import TreeSpec, tree_flatten
from fx_ir.signature import (
    ArgumentSpec,
    ConstantArgument,
    ModuleCallEntry,
    ModuleCallSignature,
    SymIntArgument,
    TensorArgument,
)
from solver.sym import SymBool, SymFloat, SymInt

if TYPE_CHECKING:
    from dynamo_lite.trace.tracer import Tracer

_RESUMABLE = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_MISSING = object()


@dataclass(frozen=True, slots=True)
class KeptCall:
    """One call of a module whose signature is kept; ``inputs`` and ``outputs`` hold nodes and plain values."""

    label: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    in_spec: TreeSpec
    out_spec: TreeSpec


class ModuleCalls:
    """Numbers the calls of each module in one trace: ``encoder``, then ``encoder@1``, as PyTorch names them."""

    __slots__ = ("_frames", "_labels", "_last", "_running", "kept")

    def __init__(self) -> None:
        self._frames: dict[str, list[Any]] = {}
        self._labels: dict[int, tuple[str, str]] = {}
        self._running: dict[str, list[int]] = {}
        self._last: tuple[list[Any], tuple[tuple[str, str], ...]] = [], ()
        self.kept: list[KeptCall] = []

    def label(self, path: str, frame: object) -> str:
        """The name of the call of module ``path`` that ``frame`` is the activation of."""
        if not path:
            return path
        running = self._running.get(path)
        if running:
            return numbered(path, running[-1])
        frames = self._frames.setdefault(path, [])
        for index in range(len(frames) - 1, -1, -1):
            if frames[index] is frame:
                return numbered(path, index)
        frames.append(frame)
        return numbered(path, len(frames) - 1)

    def stack(self, running: list[Any]) -> tuple[tuple[str, str], ...]:
        """The module stack, outermost first, of activations of ``forward``: ``(path, class name)`` and frame in turn, innermost first.

        A forward that runs another of the same module (``super().forward``) is one call.
        """
        if running == self._last[0]:  # one after another, most operators are called in one place
            return self._last[1]
        found: list[tuple[tuple[str, str], object]] = []
        for known, frame in zip(running[::2], running[1::2], strict=True):
            if found and found[-1][0] is known:
                found[-1] = known, frame
            else:
                found.append((known, frame))
        found.reverse()
        made = tuple([self._labels.get(id(frame)) or self._labelled(known, frame) for known, frame in found])
        self._last = running, made
        return made

    def stack_at(self, innermost: FrameType) -> tuple[tuple[str, str], ...] | None:
        """The stack given last, if the same activation was the innermost; one of a generator may have another caller by now."""
        last, made = self._last
        same = bool(last) and last[1] is innermost and not innermost.f_code.co_flags & _RESUMABLE
        return made if same else None

    def _labelled(self, known: tuple[str, str], frame: object) -> tuple[str, str]:
        path, class_name = known
        made = self.label(path, frame), class_name
        if path and not self._running.get(path):  # ``_frames`` keeps the frame alive
            self._labels[id(frame)] = made
        return made

    @contextmanager
    def running(self, path: str) -> Iterator[str]:
        """A call of ``path`` whose frame is not looked for; yields its name."""
        frames = self._frames.setdefault(path, [])
        number = len(frames)
        frames.append(None)
        numbers = self._running.setdefault(path, [])
        numbers.append(number)
        self._last = [], ()
        try:
            yield numbered(path, number)
        finally:
            numbers.pop()
            self._last = [], ()


def numbered(path: str, number: int) -> str:
    """``path`` for a module's first call, ``path@1`` for its second."""
    return f"{path}@{number}" if number else path


# --- calling conventions that are kept ---------------------------------------------------------------------------------


@contextmanager
def keeping(tracer: Tracer, module: Any, names: Sequence[str]) -> Iterator[None]:
    """While the block runs, calls of the modules ``names`` leave their arguments and results in ``tracer.calls.kept``.

    Raises ``preserved-module-unknown``.
    """
    known = dict(tracer.library.named_modules(module))
    for name in names:
        if name not in known or name == "":
            raise PRESERVED_UNKNOWN(name=name, known=", ".join(filter(None, known)) or "none")
    before = {name: vars(known[name]).get("forward", _MISSING) for name in names}
    try:
        for name in names:
            vars(known[name])["forward"] = _kept_forward(tracer, name, known[name].forward)
        yield
    finally:
        for name, held in before.items():
            if held is _MISSING:
                vars(known[name]).pop("forward", None)
            else:
                vars(known[name])["forward"] = held


def _kept_forward(tracer: Tracer, path: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        leaves, in_spec = tree_flatten((args, kwargs))
        inputs = _held(tracer, path, leaves)
        with tracer.calls.running(path) as label:
            result = tracer.invoke(partial(original, **kwargs) if kwargs else original, args)
        if any(a is not b for a, b in zip(inputs, _held(tracer, path, leaves), strict=True)):
            raise PRESERVED_WRITES(name=path, location=tracer.locate())
        results, out_spec = tree_flatten(result)
        tracer.calls.kept.append(KeptCall(label, inputs, _held(tracer, path, results), in_spec, out_spec))
        return tracer.library.dressed(result)

    return forward


def _held(tracer: Tracer, path: str, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Nodes for tensors and sizes, plain values as they are."""
    return tuple(_held_one(tracer, path, tracer.library.bare(leaf)) for leaf in leaves)


def _held_one(tracer: Tracer, path: str, leaf: Any) -> Any:
    if is_fake(leaf) or tracer.library.is_tensor(leaf):
        return tracer.node_of(tracer.fake_of(leaf))
    if isinstance(leaf, (SymInt, SymFloat, SymBool)):
        return tracer.level.sizes.of(leaf.expr)
    plain = tracer.library.plain(leaf)
    if (
        plain is None
        or isinstance(plain, (int, float, complex, bool, str, bytes))
        or tracer.library.is_plain(leaf)
    ):
        return plain
    raise PRESERVED_VALUE(name=path, type=type(leaf).__name__, location=tracer.locate())


def call_graph(
    tracer: Tracer, module: Any, root: ModuleCallSignature, arg_names: Mapping[str, Sequence[str]]
) -> list[ModuleCallEntry]:
    """One entry a module, and one a further call of a module whose signature is kept; made when names are final.

    ``arg_names`` are the parameters of each kept module's forward.
    """
    kept = {call.label: call for call in tracer.calls.kept}
    alive = set(tracer.top.graph.nodes)
    entries: list[ModuleCallEntry] = []
    for path, _ in tracer.library.named_modules(module):
        labels = [label for label in kept if label.partition("@")[0] == path]
        if not path:
            entries.append(ModuleCallEntry("", root))
        elif not labels:
            entries.append(ModuleCallEntry(path))
        for label in labels:
            call = kept[label]
            signature = ModuleCallSignature(
                [_argument(value, alive) for value in call.inputs],
                [_argument(value, alive) for value in call.outputs],
                call.in_spec,
                call.out_spec,
                list(arg_names.get(path, ())),
            )
            entries.append(ModuleCallEntry(label, signature))
    return entries


def _argument(value: Any, alive: set[Node]) -> ArgumentSpec:
    """What stands for a value; a node that the program does without has the empty name."""
    if not isinstance(value, Node):
        return ConstantArgument("", value)
    name = value.name if value in alive else ""
    return SymIntArgument(name) if isinstance(value.meta["val"], SymInt) else TensorArgument(name)
