"""Random programs give the same value, output, exception, context chain and traceback positions as under CPython."""

from __future__ import annotations

import dis
import gc
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dynamo_lite.strict.fuzz import traced
from tests.dynamo_lite.strict.fuzz.__main__ import NEVER, opcodes, shorten
from tests.dynamo_lite.strict.fuzz.compare import check, compiled, difference
from tests.dynamo_lite.strict.fuzz.found import PROGRAMS
from tests.dynamo_lite.strict.fuzz.writer import write_program


@pytest.fixture(autouse=True, scope="module")
def little_to_collect() -> Iterator[None]:
    """Each program ends with a collection: of its own objects, not of all that the process holds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**40))
def test_random_programs(seed: int) -> None:
    check(seed)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**40))
def test_random_programs_while_tracing(seed: int) -> None:
    """On plain values a helper's result is burned in, or the helper is refused by name and nothing is left of the run."""
    found = traced.difference(write_program(Random(seed)))
    assert found is None, f"seed {seed}: {found}"


@pytest.mark.long
def test_ten_thousand_random_programs() -> None:
    for seed in range(10_000):
        check(seed)


@pytest.mark.parametrize("source", PROGRAMS)
def test_what_was_found(source: str) -> None:
    assert difference(source) is None


def test_programs_hold_every_opcode() -> None:
    """The grammar reaches all that this CPython's compiler emits in functions."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        opcodes(compiled(write_program(Random(seed))), seen)
    assert set(dis.opmap) - set(seen) <= NEVER
    assert not NEVER & set(seen)


def test_a_difference_is_found_and_shortened() -> None:
    """The comparison can fail: C sees the interpreter's own frames, and a program can ask it."""
    source = "import sys\ndef main():\n    a = 1\n    b = a + 1\n    if a:\n        b = [f.f_code.co_name for f in sys._current_frames().values()]\n    return b\n"
    assert difference(source) is not None
    short = shorten(source, lambda text: difference(text) is not None)
    assert "_current_frames" in short and "a + 1" not in short
