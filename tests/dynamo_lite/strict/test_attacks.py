"""Models whose forward leans on effects, order, identity and classes: the program gives what eager gives, or export refuses."""

from __future__ import annotations

import collections
import copy
import functools
import heapq
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn

STATE: dict[str, Any] = {"n": 1}
NAMES = ["b", "a"]


class Shouting:
    """Comparison, repr and truth with effects."""

    calls: ClassVar[list[str]] = []

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        Shouting.calls.append("eq")
        return isinstance(other, Shouting) and self.value == other.value

    def __hash__(self) -> int:
        Shouting.calls.append("hash")
        return self.value % 2

    def __lt__(self, other: Shouting) -> bool:
        Shouting.calls.append("lt")
        return self.value < other.value

    def __repr__(self) -> str:
        Shouting.calls.append("repr")
        return f"S{len(Shouting.calls)}"

    def __bool__(self) -> bool:
        self.value += 1
        return self.value > 2


class Memo:
    """A hash that is computed once."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.known: int | None = None

    def __hash__(self) -> int:
        if self.known is None:
            self.known = hash(self.value) + 1
        return self.known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memo) and self.known == other.known


def hash_count(x: Any) -> Any:
    table = {Shouting(i): i for i in range(4)}
    return x + table[Shouting(3)] + len(Shouting.calls)


def repr_count(x: Any) -> Any:
    return x + len(repr([Shouting(1), (Shouting(2), {"k": Shouting(3)})])) + len(Shouting.calls)


def truth_writes(x: Any) -> Any:
    item = Shouting(1)
    return x + (10 if item else 20) + (1 if item else 2) + item.value


def heap_order(x: Any) -> Any:
    heap = [Shouting(3), Shouting(1), Shouting(2)]
    heapq.heapify(heap)
    return x * heapq.heappop(heap).value + len(Shouting.calls)


def memo_hash(x: Any) -> Any:
    key = Memo(3)
    before = key.known is None
    return x + len({key, Memo(3)}) + before + (key.known or 0)


def default_list(x: Any, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(1)
    return x + len(seen)


def closure_counter() -> Callable[[Any], Any]:
    count = 0

    def forward(x: Any) -> Any:
        nonlocal count
        count += 1
        return x + count

    return forward


def patches_class(x: Any) -> Any:
    before = Shouting.__lt__
    Shouting.__lt__ = lambda self, other: self.value > other.value  # type: ignore[method-assign]
    try:
        return x + sorted([Shouting(1), Shouting(2)])[0].value
    finally:
        Shouting.__lt__ = before  # type: ignore[method-assign]


def patches_hash(x: Any) -> Any:
    table = {Memo(1): 5}
    Memo.__eq__ = lambda self, other: True  # type: ignore[method-assign]
    Memo.__hash__ = lambda self: 2  # type: ignore[method-assign]
    return x + table.get(Memo(7), 0)


def globals_write(x: Any) -> Any:
    globals()["STATE"]["n"] += 1
    STATE.setdefault("m", 4)
    return x + STATE["n"] + STATE["m"]


def string_set(x: Any) -> Any:
    return x + list({"alpha", "beta", "gamma", "delta"}).index("alpha")


def in_place_chain(x: Any) -> Any:
    operator.iadd(NAMES, ["c"])  # type: ignore[no-untyped-call]
    NAMES.sort()
    NAMES[1:2] = ["q", "r"]
    del NAMES[0]
    return x + len(NAMES) + NAMES.index("r")


def counter_update(x: Any) -> Any:
    counter = collections.Counter(Shouting(i % 2) for i in range(4))
    counter.update([Shouting(1)])
    return x + counter[Shouting(1)] + len(Shouting.calls)


def reduce_effect(x: Any) -> Any:
    total = functools.reduce(lambda a, b: (STATE.__setitem__("n", a), a + b)[1], [1, 2, 3])  # type: ignore[func-returns-value]
    return x + total + STATE["n"]


def sort_key_effect(x: Any) -> Any:
    seen: list[int] = []
    ordered = sorted([3, 1, 2], key=lambda v: seen.append(v) or -v)  # type: ignore[func-returns-value]
    return x + ordered[0] + len(seen)


def deep_copied(x: Any) -> Any:
    made: Any = copy.deepcopy({"a": [Shouting(1)], "b": Memo(2)})
    made["a"].append(Shouting(9))
    return x + len(made["a"]) + (made["b"].known is None)


def nested_defaults(x: Any) -> Any:
    table: Any = collections.defaultdict(lambda: collections.defaultdict(int))
    table[Memo(1)]["z"] += 2
    return x + table[Memo(1)]["z"]


def equal_containers(x: Any) -> Any:
    left, right = [{"a": (Shouting(1), 2)}], [{"a": (Shouting(1), 2)}]
    return x + (left == right) + len(Shouting.calls)


def index_and_format(x: Any) -> Any:
    class Three:
        def __index__(self) -> int:
            STATE["n"] += 1
            return 3

        def __format__(self, spec: str) -> str:
            return "7" * STATE["n"]

    return x + [0, 1, 2, 9][Three()] + len("{:x}".format(Three())) + len("%d" % Three())  # type: ignore[str-format]  # noqa: UP031, UP032


def class_attribute_shared(x: Any) -> Any:
    class Local:
        items: ClassVar[list[int]] = []

        def __init_subclass__(cls) -> None:
            Local.items.append(len(cls.__name__))

        def __set_name__(self, owner: type, name: str) -> None:
            Local.items.append(len(name))

    class Child(Local):
        attribute = Local()

    return x + sum(Child.items)


ATTACKS: tuple[Callable[..., Any], ...] = (
    hash_count, repr_count, truth_writes, heap_order, memo_hash, default_list, closure_counter(), patches_class,
    patches_hash, globals_write, string_set, in_place_chain, counter_update, reduce_effect, sort_key_effect,
    deep_copied, nested_defaults, equal_containers, index_and_format, class_attribute_shared,
)  # fmt: skip
ORIGINAL = dict(vars(Memo))


def outside() -> Any:
    return (
        dict(STATE), list(NAMES), list(Shouting.calls), Shouting.__lt__.__code__.co_firstlineno,
        {name: vars(Memo).get(name) for name in ORIGINAL}, default_list.__defaults__,
    )  # fmt: skip


def reset() -> None:
    STATE.clear()
    STATE["n"] = 1
    NAMES[:] = ["b", "a"]
    Shouting.calls.clear()
    default_list.__defaults__[0].clear()  # type: ignore[index]
    Memo.__eq__, Memo.__hash__ = ORIGINAL["__eq__"], ORIGINAL["__hash__"]  # type: ignore[method-assign]


@pytest.mark.parametrize("forward", ATTACKS, ids=lambda forward: forward.__name__)
def test_right_or_refused(forward: Callable[..., Any]) -> None:
    """The exported program gives what the first eager call gives, and export leaves everything as it was."""
    model = type("Model", (nn.Module,), {"forward": staticmethod(forward)})()
    x = torch.ones(2)
    reset()
    before = copy.copy(outside())
    try:
        found = dl.export(model, (x,), strict=True).module()(x).tolist()
    except dl.ExportError:
        found = None
    assert outside() == before
    expected = model(x).tolist()
    reset()
    assert found in (None, expected)
    refused = {forward.__name__} & REFUSED
    assert bool(refused) == (found is None)


# a list among the inputs that forward writes to
REFUSED: frozenset[str] = frozenset({"default_list"})
