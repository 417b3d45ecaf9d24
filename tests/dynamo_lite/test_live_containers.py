"""A container that C reads whole is an assumption of the decorator: changed between calls it raises, and is never stale."""

from __future__ import annotations

import array
import functools
from collections import ChainMap, OrderedDict, deque
from collections.abc import Callable
from contextvars import ContextVar
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn


class Thing:
    def __init__(self, value: int) -> None:
        self.value = value


class Table(dict[Any, Any]):
    pass


class Row(list[Any]):
    pass


_PROXIED: Final = {"a": 1}
_SEEN: Final = {"a": 1}


def _again(table: dict[str, int]) -> None:
    """The same keys in another order."""
    table["a"] = table.pop("a")


def _big() -> list[int]:
    return list(range(1500))


# what makes the container, what forward computes of it, what changes it
CASES: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "long list": (_big, sum, lambda box: box.__setitem__(1400, 9)),
    "length of a long list": (_big, len, lambda box: box.append(9)),
    "loop over a long list": (_big, lambda box: max(i for i in box), lambda box: box.append(9000)),
    "long dict": (lambda: dict.fromkeys(_big(), 1), lambda box: sum(box.values()), lambda box: box.update({1: 5})),
    "absent of a long dict": (lambda: dict.fromkeys(_big()), lambda box: (3000 in box) + 1, lambda box: box.update({3000: 1})),
    "long set": (lambda: set(_big()), lambda box: (3000 in box) + 1, lambda box: box.add(3000)),
    "long list in a tuple": (lambda: (_big(),), lambda box: sum(box[0]), lambda box: box[0].append(9)),
    "deque": (lambda: deque([1, 2]), sum, lambda box: box.append(9)),
    "bytearray": (lambda: bytearray(b"ab"), lambda box: (box == b"ab") + 1, lambda box: box.append(9)),
    "array": (lambda: array.array("i", [1, 2]), lambda box: box.tolist()[1], lambda box: box.__setitem__(1, 9)),
    "ordered dict": (
        lambda: OrderedDict(a=1, b=2), lambda box: next(iter(box.values())), lambda box: box.move_to_end("a"),
    ),
    "order of a dict": (lambda: {"a": 1, "b": 2}, lambda box: next(iter(box.values())), _again),
    "keys without an order": (lambda: {Thing(1)}, len, lambda box: box.add(Thing(2))),
    "objects as keys": (lambda: {Thing(1): 1}, lambda box: sum(box.values()), lambda box: box.update({next(iter(box)): 5})),
    "subclass of dict": (lambda: Table(a=1), lambda box: sum(box.values()), lambda box: box.update(a=9)),
    "subclass of list": (lambda: Row([1, 2]), sum, lambda box: box.append(9)),
    "nested": (lambda: [[1], [2]], lambda box: sum(map(sum, box)), lambda box: box[1].append(9)),
    "chain of mappings": (lambda: ChainMap({"a": 1}, {"b": 2}), lambda box: sum(box.values()), lambda box: box.update(a=9)),
    "proxy": (lambda: MappingProxyType(_PROXIED), lambda box: sum(box.values()), lambda box: _PROXIED.update(a=9)),
    "view": (_SEEN.values, sum, lambda box: _SEEN.update(a=9)),
    "namespace": (lambda: SimpleNamespace(a=1), lambda box: sum(vars(box).values()), lambda box: setattr(box, "b", 9)),
    "instance dictionary": (lambda: Thing(3), lambda box: sum(box.__dict__.values()), lambda box: setattr(box, "b", 9)),
    "partial": (lambda: functools.partial(max, [1, 2]), lambda box: box(), lambda box: box.args[0].append(9)),
    "method of a list": (lambda: [1, 2].__getitem__, lambda box: box(0), lambda box: box.__self__.__setitem__(0, 9)),
    "context variable": (lambda: ContextVar("held", default=2), lambda box: box.get(), lambda box: box.set(9)),
}  # fmt: skip


class Model(nn.Module):
    def __init__(self, box: Any, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.box = box
        self.function = function

    @dl.exported()
    def forward(self, x: Any) -> Any:
        return x * self.function(self.box)


@pytest.mark.parametrize("name", CASES)
def test_a_changed_container_is_never_stale(name: str) -> None:
    make, function, change = CASES[name]
    box = make()
    model, x = Model(box, function), torch.ones(2)
    before = function(box)
    assert float(model(x)[0]) == before
    assert float(model(x)[0]) == before  # unchanged it is served again
    change(box)
    assert function(box) != before
    with pytest.raises(dl.GuardError):
        model(x)


def test_equal_items_are_no_change() -> None:
    box = deque([1000, 2000])
    model, x = Model(box, sum), torch.ones(2)
    model(x)
    box.clear()
    box.extend(int(text) for text in ("1000", "2000"))  # other objects
    assert float(model(x)[0]) == 3000
