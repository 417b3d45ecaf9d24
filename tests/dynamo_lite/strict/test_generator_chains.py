"""Chains of generators that hold one another: what ends them runs as in CPython, and however many there are, no C stack overflows."""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from dynamo_lite.strict.interpret import interpret

_ENDS: Final = ("close", "throw", "leave", "drop", "never")


@pytest.fixture(autouse=True, scope="module")
def little_to_collect() -> Iterator[None]:
    """Each chain ends with a collection: of its own objects, not of all that the process holds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _chain(shape: str, how: str, end: str) -> list[str]:
    """What generators over generators say while they end: ``p`` loops, ``s`` delegates, ``o`` meets the exception by ``how``."""
    log: list[str] = []

    def plain(items: Any, number: int) -> Iterator[Any]:
        try:
            for item in items:  # noqa: UP028
                yield item
        except BaseException as error:
            log.append(f"{number} got {error!r} in {error.__context__!r}")
            raise
        finally:
            log.append(f"end {number}")

    def delegating(items: Any, number: int) -> Iterator[Any]:
        try:
            yield from items
        except BaseException as error:
            log.append(f"{number} got {error!r} in {error.__context__!r}")
            raise
        finally:
            log.append(f"end {number}")

    def odd(items: Any, number: int) -> Any:
        try:
            yield from items
        except BaseException as error:
            log.append(f"{number} got {error!r} in {error.__context__!r}")
            if how == "raise":
                raise KeyError(number) from None
            if how == "yield":
                yield "again"
            if how == "stop":
                raise StopIteration(number) from error
            if how == "return":
                return number
        finally:
            log.append(f"end {number}")

    makers: dict[str, Callable[[Any, int], Any]] = {"p": plain, "s": delegating, "o": odd}
    items: Any = iter([1, 2, 3])
    kept = []  # a traceback of CPython's keeps frames with what they hold
    for number, kind in enumerate(shape):
        items = makers[kind](items, number)
        if end != "drop":
            kept.append(items)
    try:
        if end != "never":
            log.append(f"first {next(items)}")
        if end == "close":
            log.append(f"closed {items.close()}")
        elif end == "throw":
            log.append(f"thrown {items.throw(ValueError(9))}")
        elif end == "leave":
            log.append(f"left {items.throw(GeneratorExit)}")
        elif end == "drop":
            del items
    except BaseException as error:
        log.append(f"{error!r} in {error.__context__!r} from {error.__cause__!r}")
        lines, tb = [], error.__traceback__
        while tb is not None:
            lines.append(tb.tb_lineno)
            tb = tb.tb_next
        log.append(f"at {lines}")
    while kept:
        kept.pop(0)
    gc.collect()
    return log


@pytest.mark.parametrize("end", _ENDS)
@pytest.mark.parametrize("how", ["raise", "yield", "stop", "return", "go on"])
def test_ends_of_short_chains(how: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda report: None)
    shapes = [
        shape for length in (1, 2, 3) for shape in map("".join, itertools.product("pso", repeat=length))
    ]
    for shape in shapes:
        if how == "yield" and shape != "o":
            continue  # the exception that it holds keeps in CPython what the frames of its traceback hold
        assert interpret(_chain)(shape, how, end) == _chain(shape, how, end), shape


@pytest.mark.parametrize("end", _ENDS)
@pytest.mark.parametrize("kind", ["p", "s", "ps", "sp"])
def test_deep_chains_end_in_silence(kind: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each generator's ``finally`` runs. In what order far in, is C's affair: it drops deep objects later."""
    reports: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)
    # CPython 3.12 throws no deeper: C calls itself for each that is thrown through
    shape = kind * (30 if end == "throw" else 200)
    found, expected = interpret(_chain)(shape, "raise", end), _chain(shape, "raise", end)
    assert sorted(found) == sorted(expected)
    assert found[:20] == expected[:20]
    assert reports == []


def test_how_deep_for_loops_over_generators_go() -> None:
    """From 3.13 on ``for`` steps generators without counting them."""

    def deepest() -> int:
        def looping(items: Any) -> Iterator[int]:
            for item in items:  # noqa: UP028
                yield item

        items: Any = iter([1])
        for _ in range(3):  # CPython has to have seen it a few times
            list(looping(looping(items)))
        for count in (500, 2000):
            items = iter([1])
            for _ in range(count):
                items = looping(items)
            try:
                list(items)
            except RecursionError:
                return count
        return 0

    for _ in range(20):
        expected = deepest()
    assert interpret(deepest)() == expected
