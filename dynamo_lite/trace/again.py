"""Tensors that forward leaves in attributes: caches of what the module's state and sizes determine are told from state by a second call.

What an attribute holds after a call is lost to a program. That is right where no later call can tell: where it is overwritten
before it is read, or read in place of the same computation. So forward is run again from the module as the first
call left it, on the same inputs: what it left is replaced by *stand-ins*, tensors and sizes of which nothing is known (those
of an earlier call, with other sizes), but for tensors that parameters and buffers alone determine. The two calls must compute the same
from the inputs, and leave the same behind: then, call by call, all do. Where the second call asked whether a size is that of
the earlier call, it is run once more with that size the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dynamo_lite.fake import FakeTensor, is_fake
from dynamo_lite.trace.calls import ModuleCalls
from dynamo_lite.trace.errors import TENSOR_LEFT_OUTSIDE
from dynamo_lite.trace.level import Level
from fx_ir.functionalize import root_of
from fx_ir.node import Node
from fx_ir.ops.registry import Operator
from solver import expr as E
from solver.errors import Location
from solver.sym import SymNumber

if TYPE_CHECKING:
    from dynamo_lite.frontend import Run
    from dynamo_lite.trace.tracer import Tracer

_PLAIN = (int, float, bool, str, bytes, type(None), complex)
Key = Any


@dataclass(frozen=True, slots=True)
class Stray:
    """A place outside that would keep tensors of the trace: a key of a dict or list, and the tensors that it held before it was put back."""

    where: str
    location: Location | None
    container: Any
    key: Any
    tensors: tuple[FakeTensor, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A dict or list from outside that the run wrote, and a copy of what it held at the end."""

    container: Any
    after: Any


class Differs(Exception):
    """The second call is not the first one's equal, or it cannot be told whether it is."""


def check_strays(tracer: Tracer, run: Run, repeat: Callable[[], Run], repeatable: bool) -> None:
    """Raises ``tensor-left-outside`` unless every call makes anew what this one left. ``repeat`` runs forward again.

    Not ``repeatable``: the attributes can be looked at after a call, and are not what eager leaves there.
    """
    stray = next((stray for stray in run.strays if _is_result(tracer, stray)), None)
    if repeatable and stray is None and run.written is not None and not _updates_state(tracer, run):
        try:
            asked = _compare(tracer, run, run.written, repeat, None)
            if asked is not None:
                _compare(tracer, run, run.written, repeat, asked)
            return
        except Exception:  # what the second call does that the first did not may raise anything
            pass
    stray = stray or run.strays[0]
    raise TENSOR_LEFT_OUTSIDE(where=stray.where, location=stray.location) from None


def _is_result(tracer: Tracer, stray: Stray) -> bool:
    """Whether this may be meant for others to read: what inputs or draws took part in, or a tensor in place of another one."""
    held = stray.container.get(stray.key) if isinstance(stray.container, dict) else None
    if tracer.library.is_tensor(held) and not tracer.library.is_recomputed(stray.container, stray.key):
        return True
    return not all(_pure(tracer, fake) for fake in stray.tensors)


def _updates_state(tracer: Tracer, run: Run) -> bool:
    state = any(tracer.node_of(entry.fake) is not entry.placeholder for entry in tracer.state.entries)
    buffers = any(run.buffers.get(name, tensor) is not tensor for name, tensor, _ in tracer.state.buffers)
    inputs = any(
        item.fake is not None and tracer.node_of(item.fake) is not item.placeholder for item in tracer.inputs
    )
    return state or buffers or inputs


def _pure(tracer: Tracer, fake: FakeTensor) -> bool:
    """Whether the state of the module and sizes alone determine a tensor."""
    root: Any = root_of(fake)
    if root.node.graph is not tracer.top.graph:
        return False
    state = {entry.placeholder for entry in tracer.state.entries}
    waiting, seen = [tracer.node_of(fake)], set[Node]()
    while waiting:
        node = waiting.pop()
        if node in seen or node in state or isinstance(node.meta["val"], SymNumber):
            continue
        seen.add(node)
        if isinstance(node.target, Operator):
            if node.target.random or node.target.namespace != "aten":
                return False
        elif node.op == "placeholder" or node.op == "get_attr":
            return False
        waiting += node.all_input_nodes
    return True


# --- the second call ---------------------------------------------------------------------------------------------------


def _compare(
    tracer: Tracer, run: Run, written: Sequence[Written], repeat: Callable[[], Run], same: E.IntExpr | None
) -> E.IntExpr | None:
    """Runs forward again and compares; raises :class:`Differs`. ``same`` is a size that is the same in both calls.

    Returns the size of which the call asked whether it is another one than before, if it did.
    """
    calls, outer = tracer.calls, tracer.level
    known = len(tracer.state.entries)
    first = _resolved(tracer, run.leaves)
    kept = {id(each.container): _resolved(tracer, each.after) for each in written}
    with tracer.env.trial() as guards:
        level = Level(tracer, outer)
        stand_ins = _StandIns(tracer, level, same)
        left = [stand_ins.content(each.after) for each in written]
        tracer.calls, tracer.level = ModuleCalls(), level
        try:
            with _holding(written, left):
                second = repeat()
            again = _resolved(tracer, second.leaves)
            after = {id(each.container): _resolved(tracer, each.after) for each in second.written or ()}
        finally:
            tracer.calls, tracer.level = calls, outer
        asked = stand_ins.asked([guard.expr for guard in guards])
    if len(tracer.state.entries) != known or (asked is not None and same is not None):
        raise Differs("a constant", asked)
    keys = _Keys(tracer, level)
    if (
        run.spec != second.spec
        or keys.of(first) != keys.of(again)
        or keys.effects(outer) != keys.effects(level)
    ):
        raise Differs("results")
    # Left behind is what the first call left behind; or the second one has written nothing.
    if second.written is None or (
        after
        and {id_: keys.of(held) for id_, held in after.items()}
        != {id_: keys.of(held) for id_, held in kept.items()}
    ):
        raise Differs("what is left")
    return asked


@contextmanager
def _holding(written: Sequence[Written], left: Sequence[Any]) -> Iterator[None]:
    """The containers hold ``left`` for the block."""
    before = [each.container.copy() for each in written]
    try:
        for each, content in zip(written, left, strict=True):
            _fill(each.container, content)
        yield
    finally:
        for each, content in zip(written, before, strict=True):
            _fill(each.container, content)


def _fill(container: Any, content: Any) -> None:
    """Puts back, place by place where no key comes or goes: other threads may look at a module."""
    if isinstance(container, dict) and container.keys() == content.keys():
        container.update((key, value) for key, value in content.items() if container[key] is not value)
        return
    container.clear()
    if isinstance(container, dict):
        container.update(content)
    else:
        container.extend(content)


class _StandIns:
    """What stands for the values of an earlier call: its sizes under names of their own, its tensors as placeholders."""

    def __init__(self, tracer: Tracer, level: Level, same: E.IntExpr | None) -> None:
        self._tracer = tracer
        self._level = level
        self._same = same
        self._sizes: dict[E.IntExpr, E.IntExpr] = {}
        self._fakes: dict[int, Any] = {}

    def content(self, held: Any) -> Any:
        if isinstance(held, dict):
            return {key: self._value(value) for key, value in held.items()}
        return [self._value(value) for value in held]

    def asked(self, conditions: Sequence[E.BoolExpr]) -> E.IntExpr | None:
        """The size of which the call asked whether it is another one than before. Raises Differs for other conditions."""
        if not conditions:
            return None
        for size, unknown in self._sizes.items():
            if [E.ne(unknown, size)] == list(conditions):
                return size
        raise Differs(conditions)

    def _renamed(self, size: Any) -> Any:
        if not isinstance(size, SymNumber):
            return size
        if not isinstance(size.expr, E.IntExpr):
            raise Differs(size)
        if size.expr is self._same:
            return size
        if size.expr not in self._sizes:
            self._sizes[size.expr] = self._tracer.env.stand_in(size.expr)
        return self._tracer.env.wrap(self._sizes[size.expr])

    def _value(self, value: Any) -> Any:
        library = self._tracer.library
        fake = library.bare(value)
        if is_fake(fake):
            made = self._fakes.get(id(fake))
            if made is None:
                made = self._fakes[id(fake)] = self._tensor(fake)
            return made if fake is value else value if made is fake else library.in_shell(made)
        if isinstance(value, SymNumber):
            return self._renamed(value)
        if type(value) in (list, tuple):
            return type(value)([self._value(item) for item in value])
        if type(value) is dict:
            return {key: self._value(item) for key, item in value.items()}
        return value

    def _tensor(self, fake: FakeTensor) -> FakeTensor:
        if _pure(self._tracer, fake) and set(_numbers(self._tracer, fake)) <= {self._same}:
            return fake
        shape = tuple(self._renamed(size) for size in fake.meta.shape)
        meta = fake.meta.like(shape=shape, strides=None if fake.meta.is_plain else _unknown_layout)
        node = self._level.graph.placeholder("earlier", meta={"val": meta})
        return self._tracer.value(meta, node)


def _unknown_layout() -> Any:
    raise Differs("the layout of an earlier call's tensor")


def _numbers(tracer: Tracer, fake: FakeTensor) -> Iterator[E.Expr]:
    """The symbolic sizes that a tensor has, or is computed with."""
    waiting, seen = [tracer.node_of(fake)], set[Node]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        value = node.meta["val"]
        if isinstance(value, SymNumber):
            yield value.expr
            continue
        for size in getattr(value, "shape", ()):
            if isinstance(size, SymNumber):
                yield size.expr
        waiting += node.all_input_nodes


class _Keys:
    """Keys of values: equal for values that both calls compute alike from the same inputs."""

    def __init__(self, tracer: Tracer, level: Level) -> None:
        self._tracer = tracer
        self._keys: dict[Node, int] = {}
        self._numbers: dict[Key, int] = {}
        draws = itertools.count()
        for node in tracer.top.graph.nodes:
            self._keys[node] = self._intern(node, draws)
        outer = {held: self._keys[node] for node, held in level.captured.items() if node in self._keys}
        draws = itertools.count()
        for node in level.graph.nodes:
            self._keys[node] = outer[node] if node in outer else self._intern(node, draws)

    def _intern(self, node: Node, draws: Iterator[int]) -> int:
        key: Key = (node.target, self._argument(node.args), self._argument(node.kwargs))
        value = node.meta.get("val")
        if isinstance(value, SymNumber):
            key = value.expr
        elif node.op != "call_function":
            key = id(node)
        elif isinstance(node.target, Operator) and node.target.random:
            key = (*key, next(draws))
        return self._numbers.setdefault(key, len(self._numbers))

    def _argument(self, value: Any) -> Key:
        if isinstance(value, Node):
            return "node", self._keys[value]
        if isinstance(value, (list, tuple)):
            return tuple(self._argument(item) for item in value)
        if isinstance(value, Mapping):
            return tuple((name, self._argument(item)) for name, item in value.items())
        # repr tells -0.0 from 0.0 and finds one nan the same as another
        return type(value), repr(value) if isinstance(value, _PLAIN) else value if isinstance(
            value, Hashable
        ) else id(value)

    def of(self, value: Any) -> Key:
        """The key of a resolved value."""
        if isinstance(value, Node):
            return "node", self._keys[value]
        if isinstance(value, SymNumber):
            return "number", value.expr
        if isinstance(value, dict):
            return "dict", *[(key, self.of(item)) for key, item in value.items()]
        if type(value) in (list, tuple):
            return type(value), *[self.of(item) for item in value]
        return self._argument(value)

    def effects(self, level: Level) -> list[int]:
        """The keys of what a call asserts and draws, in order."""
        return [self._keys[n] for n in level.graph.nodes if n.op == "call_function" and n.is_impure()]


def _resolved(tracer: Tracer, value: Any) -> Any:
    """``value`` with the node of its present value in place of each tensor."""
    fake = tracer.library.bare(value)
    if is_fake(fake):
        return tracer.node_of(fake)
    if type(value) in (list, tuple):
        return type(value)([_resolved(tracer, item) for item in value])
    if isinstance(value, dict):
        return {key: _resolved(tracer, item) for key, item in value.items()}
    return value
