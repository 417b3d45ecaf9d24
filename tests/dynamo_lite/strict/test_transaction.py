"""Everything outside is as before: after success, after an error, and after an interrupt at each step."""

from __future__ import annotations

import array
import contextvars
import functools
import gc
import heapq
import io
import struct
import sys
import types
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from types import CodeType
from typing import Any, TypeVar

import numpy as np
import pytest

from dynamo_lite.strict.machine import code
from dynamo_lite.strict.machine.frame import Frame
from dynamo_lite.strict.machine.null import NullPolicy
from dynamo_lite.strict.machine.slots import MISSING
from dynamo_lite.strict.mutators import changed_by_numpy, mutated
from dynamo_lite.strict.traced import location, run_traced
from dynamo_lite.strict.transaction import Transaction

this: Any = sys.modules[__name__]
COUNTER = 1
REMOVED = 1
LATER = 1
BY_NAME = 1
ADDED: int
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("VARIABLE", default=0)


class Recording(NullPolicy):
    """Puts every announced write in a transaction, and may interrupt at a given step."""

    def __init__(self, transaction: Transaction, stop_at: int | None = None) -> None:
        self.transaction = transaction
        self.steps = 0
        self.stop_at = stop_at

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.stop_at:
            raise KeyboardInterrupt

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        self._step()
        container = mutated(fn, args)
        if container is not MISSING:
            self.transaction.write("content", container, None)
        for changed in changed_by_numpy(fn, args, kwargs):
            self.transaction.write("content", changed, None)
        result = fn(*args, **kwargs)
        self.transaction.made(result)
        self._step()
        return result

    def load_attr(self, obj: Any, name: str, value: Any) -> Any:
        self._step()
        return value

    def load_global(self, namespace: dict[str, Any], name: str, value: Any) -> Any:
        self._step()
        return value

    def before_write(self, kind: str, obj: Any, key: Any) -> None:
        self._step()
        self.transaction.write(kind, obj, key)
        self._step()

    def made(self, value: Any) -> None:
        self.transaction.made(value)


class Slotted:
    __slots__ = ("filled", "late")
    filled: int
    late: int

    def __init__(self) -> None:
        self.filled = 1


class Plain:
    shared = [1]

    def __init__(self) -> None:
        self.first = 1
        self.second = 2
        self._hidden = 3

    third: int
    extra: int

    @property
    def hidden(self) -> int:
        return self._hidden

    @hidden.setter
    def hidden(self, value: int) -> None:
        self._hidden = value


class World:
    """Outside state of every kind."""

    def __init__(self) -> None:
        self.items = [3, 1, 2]
        self.table: dict[str, Any] = {"a": 1, "b": [1]}
        self.ordered = OrderedDict(x=1, y=2)
        self.members = {1, 2}
        self.queue = deque([1, 2, 3], maxlen=3)
        self.raw = bytearray(b"abc")
        self.numbers = array.array("i", [1, 2])
        self.plain = Plain()
        self.slotted = Slotted()
        self.lists: defaultdict[str, list[int]] = defaultdict(list, a=[1])
        self.counted = Counter("aab")
        self.viewed = bytearray(b"abcd")
        self.view = memoryview(self.viewed)[1:3]
        self.grid = np.arange(6).reshape(2, 3)
        self.heap = [1, 5, 3]
        self.packed = bytearray(8)
        self.stdout = sys.stdout
        self.simple = types.SimpleNamespace(a=1, b=2)
        self.variable: Any = TypeVar("variable")
        self.error = ValueError("outside")

        def function() -> None: ...

        self.function: Any = function

    @functools.cached_property
    def computed(self) -> int:
        return len(self.items) + 40

    def state(self) -> Any:
        return (
            list(self.items), list(self.table.items()), list(self.table["b"]), list(self.ordered.items()),
            set(self.members), list(self.queue), bytes(self.raw), list(self.numbers), list(vars(self.plain).items()),
            self.slotted.filled, hasattr(self.slotted, "late"), list(Plain.shared), "extra" in vars(Plain), COUNTER,
            "ADDED" in globals(), dict(self.lists), list(self.counted.items()), bytes(self.viewed), self.grid.tolist(),
            list(self.heap), bytes(self.packed), "computed" in vars(self), BY_NAME, list(warnings.filters),
            "written_module" in sys.modules, list(vars(this).items()), list(vars(self.simple).items()),
            list(vars(self.function).items()), list(vars(self.error).items()),
            getattr(self.variable, "extra", None), sys.stdout is self.stdout,
        )  # fmt: skip


def disturb(world: World, cell_setter: Any) -> int:
    """Writes to all of it."""
    global COUNTER, ADDED, LATER
    COUNTER += 1
    globals()["LATER"] = 2
    LATER += 1
    vars(world.simple)["early"] = 1
    ADDED = 1
    cell_setter(5)
    world.items.append(4)
    world.items.sort(key=lambda item: -item)
    world.items[0] = 9
    world.items += [7]
    del world.items[1:2]
    world.table["c"] = 3
    world.table["b"].append(2)
    del world.table["a"]
    world.table.update(d=4)
    world.table |= {"e": 5}
    world.ordered.move_to_end("x")
    world.members.add(3)
    world.members |= {7}
    world.queue.append(4)
    world.raw += b"d"
    world.raw[0] = 90
    world.numbers.append(3)
    world.plain.first = 10
    del world.plain.second
    world.plain.third = 3
    world.plain.hidden = 8
    setattr(world.plain, "fourth", 4)  # noqa: B010
    object.__setattr__(world.plain, "fifth", 5)
    world.plain.__dict__["sixth"] = 6
    world.slotted.filled = 2
    world.slotted.late = 3
    Plain.shared.append(2)
    Plain.extra = 1
    world.lists["b"].append(2)
    world.lists["a"] += [5]
    world.counted.update("bc")
    world.view[0] = 90
    world.grid[0] = 7
    world.grid += 1
    world.grid.fill(3)
    np.copyto(world.grid, 5)
    np.add(world.grid, 1, out=world.grid)
    heapq.heappush(world.heap, 0)
    struct.pack_into("i", world.packed, 0, 77)
    assert world.computed
    vars(world.plain)["seventh"] = 7
    globals()["BY_NAME"] = 2
    warnings.filters.insert(0, ("ignore", None, Warning, None, 0))  # type: ignore[attr-defined]
    sys.modules["written_module"] = sys
    this.added_later = 1
    del this.REMOVED
    world.simple.a = 2
    del world.simple.b
    world.function.extra = 1
    world.error.extra = 1  # type: ignore[attr-defined]
    world.variable.extra = 1
    sys.stdout = io.StringIO()
    fresh: dict[str, int] = {}
    fresh["a"] = 1
    fresh_list = [1]
    fresh_list.append(2)
    return len(world.items)


def closure() -> tuple[Any, Any]:
    value = 1

    def setter(new: int) -> None:
        nonlocal value
        value = new

    return setter, lambda: value


def attempt(stop_at: int | None = None, fail: bool = False) -> tuple[int, bool]:
    """Runs the disturbance in a transaction; the number of steps, and whether it was interrupted."""
    world = World()
    setter, read = closure()
    before = world.state()

    def program() -> None:
        disturb(world, setter)
        if fail:
            raise LookupError

    interrupted = False
    transaction = Transaction(location)
    policy = Recording(transaction, stop_at)
    try:
        with transaction:
            run_traced(policy, program, (), {})
    except (KeyboardInterrupt, LookupError):
        interrupted = True
    assert world.state() == before
    assert read() == 1
    return policy.steps, interrupted


def test_rolled_back_after_success() -> None:
    assert not attempt()[1]


def test_rolled_back_after_an_error() -> None:
    assert attempt(fail=True)[1]


def test_rolled_back_after_an_interrupt_at_each_step() -> None:
    steps, _ = attempt()
    assert steps > 80
    for stop_at in range(1, steps + 1):
        assert attempt(stop_at)[1]


def test_rolled_back_after_an_interrupt_at_each_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal would come: before any instruction that the machine runs."""
    steps = stop_at = 0
    bound = code._bound

    def counting(op: str, arg: Any) -> tuple[Any, Any]:
        handler, argument = bound(op, arg)

        def step(frame: Frame, stack: list[Any], given: Any) -> Frame | None:
            nonlocal steps
            steps += 1
            if steps == stop_at:
                raise KeyboardInterrupt
            following: Frame | None = handler(frame, stack, given)
            return following

        return step, argument

    monkeypatch.setattr(code, "_bound", counting)
    code.forget()
    try:
        attempt()
        total = steps
        assert total > 300
        for stop_at in range(1, total + 1):  # noqa: B007 read by ``step``
            steps = 0
            assert attempt()[1]
    finally:
        code.forget()


def test_the_ledger_names_outside_writes_with_their_lines_and_no_fresh_ones() -> None:
    world = World()
    setter, _ = closure()
    transaction = Transaction(location)
    with transaction:
        run_traced(Recording(transaction), disturb, (world, setter), {})
        ledger = [effect for *_, effect in transaction.outside_writes()]
    whats = [effect.what for effect in ledger]
    for what in (
        "global COUNTER",
        "closure variable value",
        "list contents",
        "Plain.first",
        "Slotted.late",
        "Plain.extra",
    ):
        assert what in whats
    first = disturb.__code__.co_firstlineno
    assert ledger[0].location is not None
    assert ledger[0].location.line == first + 3
    assert ledger[0].location.file == __file__
    # items, b, shared, lists["a"], heap, the filters of warnings; no entry for the fresh list and dict
    assert whats.count("list contents") == 6


def test_fresh_objects_are_told_from_outside_ones() -> None:
    outside = [1]
    with Transaction() as transaction:
        fresh = [1]
        fresh_dict = {"a": 1}
        transaction.made(fresh_dict)
        assert transaction.is_fresh(fresh)
        assert transaction.is_fresh(fresh_dict)
        assert not transaction.is_fresh(outside)


def test_context_variables_are_rolled_back_by_running_in_a_copied_context() -> None:
    def program() -> int:
        VARIABLE.set(3)
        return VARIABLE.get()

    with Transaction() as transaction:
        assert contextvars.copy_context().run(run_traced, Recording(transaction), program, (), {}) == 3
    assert VARIABLE.get() == 0


class Refusal(Exception):
    pass


class Refusing(NullPolicy):
    uncatchable: tuple[type[BaseException], ...] = (Refusal,)

    def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
        if fn is abs:
            raise Refusal
        return fn(*args, **kwargs)


def test_a_refusal_cannot_be_caught_by_the_program() -> None:
    seen: list[str] = []

    def program() -> None:
        try:
            abs(1)
        except BaseException:
            seen.append("handler")
        finally:
            seen.append("finally")

    with pytest.raises(Refusal):
        run_traced(Refusing(), program, (), {})
    assert seen == []


def test_opaque_functions_are_called_natively_through_the_policy() -> None:
    def helper(x: int) -> int:
        return x + 1

    calls: list[Any] = []

    class Opaque(NullPolicy):
        def opaque(self, code: CodeType) -> bool:
            return code is helper.__code__

        def call_native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: Frame) -> Any:
            calls.append((fn, args, kwargs))
            return fn(*args, **kwargs)

    def program() -> int:
        return helper(x=2)

    assert run_traced(Opaque(), program, (), {}) == 3
    assert calls == [(helper, (), {"x": 2})]


def test_what_is_made_is_fresh_where_the_program_froze_its_objects() -> None:
    gc.freeze()
    try:
        old: list[Any] = [[] for _ in range(50)]
        transaction = Transaction(location)
        with transaction:
            old.clear()
            made: list[Any] = [[] for _ in range(50)]  # in the memory of the old ones, if that was let go
            assert all(transaction.is_fresh(each) for each in made)
    finally:
        gc.unfreeze()
