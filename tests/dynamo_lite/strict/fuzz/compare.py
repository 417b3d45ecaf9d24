"""What is seen of a program's run: value, output, exceptions with their chains and traceback positions."""

from __future__ import annotations

import contextlib
import gc
import io
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from random import Random
from types import CodeType
from typing import Any, Final

from dynamo_lite.strict.interpret import interpret
from dynamo_lite.strict.machine.code import forget
from tests.dynamo_lite.strict.fuzz.writer import write_program

FILE: Final = "<program>"
_TICKS: Final = 3000
_ADDRESS: Final = re.compile(
    r"0x[0-9a-f]+|[0-9a-f]+x0", re.IGNORECASE
)  # backwards in a string that a program has turned round


class Exhausted(BaseException):
    """A program has run for long enough."""


def _shown(value: object) -> str:
    """The value's repr, or what the program's own method raised instead."""
    try:
        return repr(value)
    except Exception as problem:
        return f"<{type(problem).__name__} in repr>"


def _chain(error: BaseException | None, seen: int = 0) -> Any:
    """What can be told of an exception: type, arguments, notes, parts, cause, context, and the program's places in its traceback."""
    if error is None or seen > 6:
        return None
    if isinstance(error, RecursionError):  # at what depth, and whether C or Python notices, is not compared
        return "RecursionError"
    places = [
        (entry.name, entry.lineno, entry.end_lineno, entry.colno, entry.end_colno)
        for entry in traceback.extract_tb(error.__traceback__)
        if entry.filename == FILE
    ]
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return (
        type(error).__name__,
        _shown(error.args),
        getattr(error, "__notes__", None),
        error.__suppress_context__,
        places,
        _chain(error.__cause__, seen + 1),
        _chain(error.__context__, seen + 1),
        [_chain(part, seen + 1) for part in parts],
    )


def _ticker() -> Callable[[], bool]:
    left = iter(range(_TICKS))

    def tick() -> bool:
        if next(left, None) is None:
            raise Exhausted
        return True

    return tick


def compiled(source: str) -> CodeType:
    """The code of a program; CPython's doubts about it (``1()``) are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, FILE, "exec", dont_inherit=True)


def load(source: str, made: list[Any]) -> dict[str, Any]:
    """The namespace of a program; ``main`` is in it. Generators and coroutines are kept in ``made``.

    Which of them a traceback keeps alive differs: the interpreter's frames in it are without local variables.
    """

    def kept(fn: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **kwargs: Any) -> Any:
            made.append(fn(*args, **kwargs))
            return made[-1]

        return make

    namespace: dict[str, Any] = {
        "kept": kept,
        "__name__": "program",
        "report": lambda error: print(_chain(error)),
        "tick": _ticker(),
    }
    exec(compiled(source), namespace)
    return namespace


@contextlib.contextmanager
def _unraisable_in_short() -> Iterator[None]:
    """Errors that C can only report are told by type and arguments: their tracebacks show a generator's native driver."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda told: print(
        "unraisable", told.exc_type.__name__, getattr(told.exc_value, "args", None)
    )
    try:
        yield
    finally:
        sys.unraisablehook = before


def observe(source: str, wrap: Callable[[Any], Any]) -> tuple[str, list[str]]:
    """Runs ``main`` of a program; what came of it, and the lines it printed."""
    output = io.StringIO()
    streams = contextlib.redirect_stdout(output), contextlib.redirect_stderr(output)
    with streams[0], streams[1], _unraisable_in_short(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: list[Any] = []
        namespace = load(source, made)
        try:
            outcome = f"value {_shown(wrap(namespace['main'])())}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # groups of them, too
            outcome = f"error {_chain(error)}"
        while made:
            made.pop(0)
        # generators left in cycles are closed here, not in the next program's output
        namespace.clear()
        forget()
        gc.collect()
    return _ADDRESS.sub("0x", outcome), _ADDRESS.sub("0x", output.getvalue()).splitlines()


def natively(source: str) -> tuple[str, list[str]]:
    """What CPython does."""
    return observe(source, lambda fn: fn)


def difference(source: str) -> str | None:
    """The first thing that differs between CPython and the interpreter, or None."""
    expected, found = natively(source), observe(source, interpret)
    if expected == found:
        return None
    for number, pair in enumerate(zip(expected[1], found[1], strict=False)):
        if pair[0] != pair[1]:
            return f"line {number} of the output\n CPython:     {pair[0]}\n interpreted: {pair[1]}"
    if len(expected[1]) != len(found[1]):
        return f"CPython prints {expected[1][len(found[1]) :][:2]} more, the interpreter {found[1][len(expected[1]) :][:2]}"
    return f"the outcome\n CPython:     {expected[0]}\n interpreted: {found[0]}"


def check(seed: int) -> None:
    """Raises AssertionError where the program of this seed runs differently."""
    source = write_program(Random(seed))
    found = difference(source)
    assert found is None, f"seed {seed}: {found}"
