"""Output is skipped while tracing: a program that reads its own output back is refused, in both modes."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn


def _redirected() -> int:
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        print("text")
    return len(buffer.getvalue())


def _given() -> int:
    buffer = io.StringIO()
    print("text", file=buffer)
    return len(buffer.getvalue())


def _replaced() -> int:
    before, sys.stdout = sys.stdout, io.StringIO()
    try:
        print("text")
        return len(sys.stdout.getvalue())
    finally:
        sys.stdout = before


def _in_python() -> int:
    written: list[str] = []

    class Writer:
        def write(self, text: str) -> None:
            written.append(text)

    print("text", file=Writer())
    return len(written)


def _recorded() -> int:
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        warnings.warn("text", stacklevel=1)
    return len(met)


def _logged() -> int:
    buffer = io.StringIO()
    handler = logging.StreamHandler(buffer)
    logger = logging.getLogger("test_outputs")
    logger.addHandler(handler)
    try:
        logger.error("text")
    finally:
        logger.removeHandler(handler)
    return len(buffer.getvalue())


def _as_usual() -> int:
    print("text")
    print("text", file=sys.stderr)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("text", stacklevel=1)
    logging.getLogger("test_outputs").debug("text")
    return 3


def state() -> tuple[Any, ...]:
    """How warnings are filtered and shown."""
    module: Any = warnings
    return id(module.filters), [*module.filters], module.showwarning, module._showwarnmsg_impl


class Model(nn.Module):
    def __init__(self, work: Callable[[], int]) -> None:
        super().__init__()
        self.work = work

    def forward(self, x: Any) -> Any:
        return x + self.work()


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("work", [_redirected, _given, _replaced, _in_python, _recorded, _logged])
def test_output_that_is_read_back_is_refused(work: Callable[[], int], strict: bool) -> None:
    model, x = Model(work), torch.ones(2)
    assert float(model(x)[0]) > 1
    stream, shown = sys.stdout, state()
    with pytest.raises(dl.UnsupportedError, match=r"output-read|call-refused"):
        dl.export(model, (x,), strict=strict)
    assert sys.stdout is stream
    assert state() == shown


def _filtered() -> int:
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "text")
    return 3


@pytest.mark.parametrize("strict", [True, False])
def test_filters_are_put_back(strict: bool) -> None:
    before = state()
    dl.export(Model(_filtered), (torch.ones(2),), strict=strict)
    assert state() == before


@pytest.mark.parametrize("strict", [True, False])
def test_other_output_is_skipped(strict: bool) -> None:
    program = dl.export(Model(_as_usual), (torch.ones(2),), strict=strict)
    assert program.module()(torch.ones(2)).tolist() == [4.0, 4.0]
    assert any(effect.kind == "output" for effect in program.effects)
