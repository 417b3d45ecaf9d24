"""Random programs give the same value, output, exception, context chain and traceback lines as under CPython."""

from __future__ import annotations

import contextlib
import gc
import io
import traceback
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamo_lite.strict.interpret import interpret
from tests.dynamo_lite.strict.programs import write_program

FILE = "<program>"


def _chain(error: BaseException | None, seen: int = 0) -> Any:
    """What can be told of an exception: type, arguments, cause, context, and the program's lines in its traceback."""
    if error is None or seen > 6:
        return None
    lines = [
        (entry.name, entry.lineno)
        for entry in traceback.extract_tb(error.__traceback__)
        if entry.filename == FILE
    ]
    return (
        type(error).__name__,
        repr(error.args),
        error.__suppress_context__,
        lines,
        _chain(error.__cause__, seen + 1),
        _chain(error.__context__, seen + 1),
    )


def observe(source: str, wrap: Callable[[Any], Any]) -> Any:
    """Runs ``main`` of a program, and returns what can be seen of the run."""
    namespace: dict[str, Any] = {"__name__": "program", "report": lambda error: print(_chain(error))}
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            exec(compile(source, FILE, "exec"), namespace)
            outcome: Any = ("value", repr(wrap(namespace["main"])()))
        except Exception as error:
            outcome = ("error", _chain(error))
        # generators left in cycles are closed here, not in the next program's output
        namespace.clear()
        gc.collect()
    return _without_addresses(outcome), _without_addresses(output.getvalue())


def _without_addresses(value: Any) -> Any:
    import re

    if isinstance(value, tuple):
        return tuple(_without_addresses(each) for each in value)
    return re.sub(r"0x[0-9a-f]+", "0x", value) if isinstance(value, str) else value


def check(random: Random) -> None:
    source = write_program(random)
    expected = observe(source, lambda fn: fn)
    found = observe(source, interpret)
    assert found == expected, source


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_random_programs(random: Random) -> None:
    check(random)


@pytest.mark.long
def test_ten_thousand_random_programs() -> None:
    for seed in range(10_000):
        check(Random(seed))
