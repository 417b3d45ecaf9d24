"""What ``dl.interpret`` is given: everything that can be called works, the rest is a clear error; endless recursion; interrupts."""

from __future__ import annotations

import asyncio
import functools
import json
import operator
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.strict.interpret import interpret, is_interpreting
from dynamo_lite.strict.machine.current import current_machine
from tests.dynamo_lite.strict import recursion
from tests.exporting import module, numbers

_ROOT = Path(__file__).parents[3]


class _Adder:
    def __init__(self, amount: int) -> None:
        self.amount = amount

    def add(self, x: int) -> tuple[int, bool]:
        return self.amount + x, is_interpreting()

    def __call__(self, x: int) -> tuple[int, bool]:
        return self.amount * x, is_interpreting()

    @staticmethod
    def plain(x: int) -> tuple[int, bool]:
        return x, is_interpreting()

    @classmethod
    def of(cls, x: int) -> tuple[int, bool]:
        return cls(x).amount, is_interpreting()


class _Meta(type):
    def __call__(cls, x: int) -> Any:
        return x, is_interpreting()


class _Made(metaclass=_Meta):
    pass


class _Child:
    def __init__(self, x: int) -> None:
        self.pair = x, is_interpreting()


INTERPRETED: list[tuple[str, Callable[..., Any], Any]] = [
    ("function", _Adder.plain, 3),
    ("lambda", lambda x: (x, is_interpreting()), 3),
    ("bound method", _Adder(1).add, 4),
    ("class method", _Adder.of, 3),
    ("static method object", vars(_Adder)["plain"], 3),
    ("callable object", _Adder(2), 6),
    ("partial", functools.partial(_Adder.add, _Adder(1)), 4),
    ("partial of a partial", functools.partial(functools.partial(_Adder(1).add)), 4),
    ("class with a metaclass", _Made, 3),
    ("interpreted function", interpret(_Adder(1).add), 4),
    ("interpret itself", lambda x: interpret(_Adder.plain)(x), 3),
]


@pytest.mark.parametrize(("fn", "value"), [each[1:] for each in INTERPRETED], ids=[e[0] for e in INTERPRETED])
def test_python_code_behind_any_callable_is_interpreted(fn: Callable[..., Any], value: Any) -> None:
    assert interpret(fn)(3) == (value, True)
    assert not is_interpreting()


def test_classes_generators_and_coroutines() -> None:
    def count(n: int) -> Iterator[tuple[int, bool]]:
        for i in range(n):
            yield i, is_interpreting()

    async def work(x: int) -> tuple[int, bool]:
        await asyncio.sleep(0)
        return x, is_interpreting()

    made = interpret(_Child)(3)
    assert type(made) is _Child and made.pair == (3, True)
    assert list(interpret(count)(2)) == [(0, True), (1, True)]
    assert asyncio.run(interpret(work)(5)) == (5, True)


C_CALLABLES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (len, ([1],)),
    (sorted, ("ba",)),
    (str.upper, ("x",)),
    (int, ("5",)),
    (operator.itemgetter(0), ([5],)),
    ([3, 4].index, (4,)),
    (functools.lru_cache(abs), (-3,)),
    (eval, ("_MARK",)),
    (functools.partial(eval, "_MARK"), ()),
]
_MARK = "global of the caller"


@pytest.mark.parametrize(("fn", "args"), C_CALLABLES)
def test_c_callables_give_what_c_gives(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert interpret(fn)(*args) == fn(*args)


def test_c_functions_see_the_caller() -> None:
    assert interpret(globals)() is globals()
    assert interpret(sys._getframe)().f_code is test_c_functions_see_the_caller.__code__
    assert interpret(type)("X", (), {}).__module__ == __name__


async def _coroutine() -> None:
    pass


NOT_CALLABLE: list[Callable[[], Any]] = [
    lambda: (x for x in "ab"),
    lambda: vars(_Adder)["of"],
    lambda: property(len),
    lambda: None,
    lambda: 3,
    lambda: "text",
    lambda: NotImplemented,
]


@pytest.mark.parametrize("make", NOT_CALLABLE)
def test_what_cannot_be_called_is_refused(make: Callable[[], Any]) -> None:
    value = make()
    with pytest.raises(dl.InputError) as caught:
        interpret(value)
    assert caught.value.id == "not-interpretable"
    assert type(value).__name__ in str(caught.value)


def test_a_coroutine_object_is_refused() -> None:
    waiting = _coroutine()
    with pytest.raises(dl.InputError, match="coroutine"):
        interpret(waiting)  # type: ignore[arg-type]
    waiting.close()


@pytest.mark.parametrize("args", [(), (1, 2)])
def test_wrong_arguments_are_the_functions_own_error(args: Any) -> None:
    def program(x: Any) -> Any:
        return x

    with pytest.raises(TypeError) as expected:
        program(*args)
    with pytest.raises(TypeError) as found:
        interpret(program)(*args)
    assert str(found.value) == str(expected.value)


# --- recursion


def test_endless_recursion_ends_as_in_cpython() -> None:
    """Each way of calling back into Python, in one process that must survive: RecursionError, at about the same depth."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", recursion.__name__],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    depths = json.loads(done.stdout)
    assert set(depths) == set(recursion.KINDS)
    for kind, (native, interpreted) in depths.items():
        # CPython counts C functions too, on 3.12 apart: there a level of ours is several
        assert native * 0.45 < interpreted < native * 3.2, (kind, native, interpreted)
        if kind in recursion.WITHOUT_C:
            assert native - 10 < interpreted <= native, (kind, native, interpreted)


def test_a_raised_limit_does_not_end_the_process() -> None:
    """What goes through C gets no more of the C stack than CPython would give it."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", recursion.__name__, "4000"],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert set(json.loads(done.stdout)) == set(recursion.THROUGH_C)


def test_the_limit_is_put_back_when_runs_in_several_threads_overlap() -> None:
    limit = sys.getrecursionlimit()
    begun, met, ended = threading.Event(), threading.Event(), threading.Event()
    seen: list[int] = []

    def first() -> None:
        begun.set()
        met.wait(10)

    def second() -> None:
        seen.append(sys.getrecursionlimit())
        met.set()
        ended.wait(10)

    threads = [threading.Thread(target=interpret(fn)) for fn in (first, second)]
    threads[0].start()
    begun.wait(10)
    threads[1].start()
    threads[0].join()
    ended.set()
    threads[1].join()
    assert seen == [limit]
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("kind", sorted(recursion.WITHOUT_C))
def test_endless_recursion_while_tracing(kind: str) -> None:
    program = recursion.KINDS[kind]([0])

    def forward(x: Any) -> Any:
        program()
        return x

    limit = sys.getrecursionlimit()
    with pytest.raises((RecursionError, dl.ExportError)) as caught:
        dl.export(module(forward), (numbers(2),), strict=True)
    assert isinstance(caught.value, RecursionError) or isinstance(caught.value.__cause__, RecursionError)
    assert sys.getrecursionlimit() == limit


def test_generators_that_the_limit_keeps_from_running_are_closed_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that never began, and those dropped while the exception leaves deep frames."""
    reports: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reports.append)

    def wrapped(items: Iterator[int]) -> Iterator[int]:
        try:
            yield from (item for item in items)
        finally:
            sorted(())

    def chain() -> list[int]:
        items: Iterator[int] = iter([1])
        for _ in range(2 * sys.getrecursionlimit()):
            items = wrapped(items)
        return list(items)

    def nested() -> Any:
        held = wrapped(iter([1]))
        next(held)
        return nested()

    for fn in (chain, nested):
        with pytest.raises(RecursionError):
            interpret(fn)()
    assert reports == []


# --- interrupts


def test_an_interrupt_leaves_all_as_it_was() -> None:
    limit = sys.getrecursionlimit()
    machine = current_machine()

    def endless() -> int:
        count = 0
        while True:
            count += sum(i for i in range(3))

    def alarm(*_: Any) -> None:
        if is_interpreting():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        for fn in (endless, lambda: sorted([1, 2], key=lambda x: endless())):
            for hundredths in range(1, 6):  # wherever it comes
                with pytest.raises(KeyboardInterrupt):
                    # again after a while: an exception in a finaliser or a collector's callback is dropped by CPython
                    signal.setitimer(signal.ITIMER_REAL, hundredths / 100, 1.0)
                    interpret(fn)()
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert machine.frame is machine.base
                assert sys.getrecursionlimit() == limit
                assert not is_interpreting()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interpret(lambda: [i * 2 for i in range(3)])() == [0, 2, 4]


def test_interrupts_come_out_as_interrupts_wherever_they_hit() -> None:
    """Frames that are being made or taken off included: two hundred moments in generators, ``with`` and handlers."""

    class Held:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *exc: object) -> None:
            pass

    def inner() -> Iterator[int]:
        try:
            yield from (x for x in [1, 2])
        finally:
            pass

    empty: dict[str, int] = {}

    def endless() -> None:
        while True:
            with Held():
                sorted([3, 1, 2], key=lambda x: -x)
            try:
                empty["x"]
            except KeyError as error:
                repr(error)
            for _ in inner():
                pass

    def alarm(*_: Any) -> None:
        if is_interpreting():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        for number in range(200):
            with pytest.raises(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, 0.002 + number * 0.00003, 0.5)
                interpret(endless)()
            signal.setitimer(signal.ITIMER_REAL, 0)
            with pytest.raises(ZeroDivisionError) as caught:
                interpret(lambda: 1 / 0)()
            # no handler of the interrupted run is thought to be running
            assert caught.value.__context__ is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_interrupt_while_tracing_leaves_all_as_it_was() -> None:
    outside: list[int] = []
    limit = sys.getrecursionlimit()

    def forward(x: Any) -> Any:
        outside.append(1)
        while True:
            x = torch.relu(x) if len(outside) > 5 else x

    def alarm(*_: Any) -> None:
        raise KeyboardInterrupt

    model = module(forward)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 1.0)
        with pytest.raises(KeyboardInterrupt):
            dl.export(model, (numbers(2),), strict=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert outside == []
    assert sys.getrecursionlimit() == limit
    assert not is_interpreting()
