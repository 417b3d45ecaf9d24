"""Programs run while tracing: a helper of a forward, on plain values. Its result is burned in, or the helper is refused by name."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from solver.errors import ExportError
from tests.dynamo_lite.strict.fuzz.compare import Exhausted, compiled

_TICKS: Final = 3000
# how often each refusal was met, by its id
REFUSED: Final[Counter[str]] = Counter()


def _load(source: str) -> tuple[Callable[[], int], list[str], list[str]]:
    """A function that runs ``main`` and gives a number for its value and what it printed and reported; that log; the text numbered."""
    log: list[str] = []
    texts: list[str] = []
    left = [_TICKS]

    def tick() -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise Exhausted
        return True

    def show(*values: object, sep: str = " ") -> None:
        log.append(sep.join(map(str, values)))

    def report(error: BaseException) -> None:
        for each in (error, error.__cause__, error.__context__):
            if isinstance(each, RecursionError):  # whether C or Python notices is not compared
                log.append("RecursionError")
            elif each is not None:
                log.append(f"{type(each).__name__}{each.args}")

    namespace: dict[str, Any] = {
        "__name__": "program", "kept": lambda fn: fn, "print": show, "report": report, "tick": tick,
    }  # fmt: skip
    exec(compiled(source), namespace)
    main = namespace["main"]

    def number() -> int:
        value = 0
        texts.append(repr((main(), log)))
        for byte in texts[-1].encode():
            value = (31 * value + byte) % 1_000_003
        return value

    return number, log, texts


class _Model(nn.Module):
    def __init__(self, number: Callable[[], int]) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.number()


def difference(source: str) -> str | None:
    """How tracing differs from running, or None; refusals are counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        native, _, texts = _load(source)
        try:
            expected = native()
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None
        if "0x" in texts[0]:  # an address is in the value or the output
            return None
        traced, log, _ = _load(source)
        x = torch.zeros(1)
        try:
            program = dl.export(_Model(traced), (x,), strict=True)
        except ExportError as refusal:
            REFUSED[refusal.id] += 1
            return f"the log holds {log[:3]} after a refusal" if log else None
        except Exception as error:
            return f"tracing raises {error!r}"
    if log:
        return f"the log holds {log[:3]} after the trace"
    found = int(program.module()(x).tolist()[0])
    return None if found == expected else f"{found} is burned in, CPython computes {expected}"
