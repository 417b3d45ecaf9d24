"""A tensor or a size beside an object of the program's: its slots are interpreted, or refused by name, and what they write is put back."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from tests.dynamo_lite.strict.leaks import Detector

LOG: list[str] = []


class Answers:
    """Answers every operator, and says so."""

    def __getitem__(self, key: Any) -> int:
        LOG.append("getitem")
        return 3

    def __setitem__(self, key: Any, value: Any) -> None:
        LOG.append("setitem")

    def __delitem__(self, key: Any) -> None:
        LOG.append("delitem")

    def __contains__(self, value: Any) -> bool:
        LOG.append("contains")
        return True

    def __eq__(self, other: object) -> bool:
        LOG.append("eq")
        return True

    def __hash__(self) -> int:
        LOG.append("hash")
        return 1

    def __lt__(self, other: Any) -> bool:
        LOG.append("lt")
        return True

    def __gt__(self, other: Any) -> bool:
        LOG.append("gt")
        return True

    def __radd__(self, other: Any) -> int:
        LOG.append("radd")
        return 3

    def __iadd__(self, other: Any) -> Answers:
        LOG.append("iadd")
        return self

    def __rmatmul__(self, other: Any) -> int:
        LOG.append("rmatmul")
        return 3

    def __rpow__(self, other: Any, modulus: Any = None) -> int:
        LOG.append("rpow")
        return 3

    def __rdivmod__(self, other: Any) -> tuple[int, int]:
        LOG.append("rdivmod")
        return 3, 1

    def __index__(self) -> int:
        LOG.append("index")
        return 1


class Missing(dict[Any, int]):
    def __missing__(self, key: Any) -> int:
        LOG.append("missing")
        return 3


class Row(list[int]):
    def __getitem__(self, key: Any) -> Any:
        LOG.append("row")
        return list.__getitem__(self, key)


class Walk:
    """Contains what it yields."""

    def __iter__(self) -> Any:
        LOG.append("iter")
        yield 7
        yield 3


ITEM: Final = Answers()


def _set(x: Any, key: Any) -> int:
    ITEM[key] = x
    return 1


def _delete(key: Any) -> int:
    del ITEM[key]
    return 1


def _in_place(value: Any) -> int:
    item: Any = ITEM
    item += value
    return 1


def _matched(size: Any) -> int:
    match size:
        case Answers.known:  # type: ignore[attr-defined]
            return 3
    return 0


Answers.known = ITEM  # type: ignore[attr-defined]

# of a tensor x and its first size n; eager is asked what each gives
CASES: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "size in object": lambda x, n: n in ITEM, "size in iterable": lambda x, n: n in Walk(),
    "size in list": lambda x, n: n in [ITEM], "tensor in list": lambda x, n: x in [ITEM],
    "item by size": lambda x, n: ITEM[n], "item by tensor": lambda x, n: ITEM[x],
    "slice by size": lambda x, n: ITEM[n:], "item of a list": lambda x, n: Row([1, 2, 3, 4])[n],
    "missing size": lambda x, n: Missing()[n], "set by size": lambda x, n: _set(1, n),
    "set a tensor": lambda x, n: _set(x, 1), "delete by size": lambda x, n: _delete(n),
    "size == object": lambda x, n: n == ITEM, "object == tensor": lambda x, n: ITEM == x,  # noqa: SIM300
    "tensor == object": lambda x, n: x == ITEM, "size > object": lambda x, n: n > ITEM,
    "tensor > object": lambda x, n: x > ITEM, "size + object": lambda x, n: n + ITEM,
    "tensor + object": lambda x, n: x + ITEM, "object += size": lambda x, n: _in_place(n),
    "object += tensor": lambda x, n: _in_place(x), "tensor @ object": lambda x, n: x @ ITEM,
    "size ** object": lambda x, n: n**ITEM, "divmod": lambda x, n: divmod(n, ITEM)[0],
    "match": lambda x, n: _matched(n), "max": lambda x, n: max(n, ITEM) == 3,
    "operator.getitem": lambda x, n: operator.getitem(ITEM, n), "operator.eq": lambda x, n: operator.eq(n, ITEM),
    "slice of a list": lambda x, n: [1, 2, 3, 4][ITEM : n][0], "slice of a tensor": lambda x, n: x[ITEM:].shape[0],
    "key of both": lambda x, n: {(n, ITEM): 4}[n, ITEM], "key of a tensor": lambda x, n: {(x, ITEM): 4}[x, ITEM],
    "pow": lambda x, n: pow(n, ITEM), "deque": lambda x, n: n in deque([ITEM]),
    "index": lambda x, n: [n, 2].index(ITEM), "count": lambda x, n: [n].count(ITEM),
    "equal lists": lambda x, n: [ITEM] == [n],  # noqa: SIM300
    "equal dicts": lambda x, n: {1: n} == {1: ITEM},
}  # fmt: skip
# C asks these slots itself, and gives them the size: refused by name
REFUSED: Final = frozenset({"pow", "deque", "index", "count", "equal lists", "equal dicts"})


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", CASES)
def test_as_eager_or_refused_by_name(name: str, dynamic: bool) -> None:
    def forward(x: Any) -> Any:
        return x * CASES[name](x, x.shape[0]) + len(LOG)

    model, x = type("Model", (nn.Module,), {"forward": staticmethod(forward)})(), torch.ones(3)
    LOG.clear()
    detector = Detector()
    try:
        with detector.installed():
            program = dl.export(
                model, (x,), dynamic_shapes=({0: dl.Dim.AUTO},) if dynamic else None, strict=True
            )
    except dl.UnsupportedError as error:
        assert name in REFUSED and dynamic and "Answers.__" in str(error)
        assert LOG == []
    else:
        assert not (name in REFUSED and dynamic)
        assert LOG == []  # rolled back
        assert program.module()(x).tolist() == model(x).tolist()
    assert detector.escaped == []
