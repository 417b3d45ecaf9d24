"""An interrupt inside our own code ends the capture as an interrupt; all is as before, and nothing of the capture goes on."""

from __future__ import annotations

import builtins
import gc
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dynamo_lite as dl
from dynamo_lite import dispatch
from dynamo_lite import torchlite as torch
from dynamo_lite.strict.machine.current import peek
from dynamo_lite.torchlite import nn

PACKAGE = Path(dl.__file__).parent
OURS = {True: str(PACKAGE / "strict"), False: str(PACKAGE)}  # in strict mode the interpreter
FEW = 1000  # objects that are immortal, which the collector sets aside by itself
ENDING = 90  # so many functions are entered from before the program's last line on


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.log = [1]

    def forward(self, x: Any) -> Any:
        def parts() -> Iterator[Any]:
            yield x
            yield x + 1

        self.count += 1
        self.log.append(2)
        self.new = 3
        for part in parts():
            x = x + part
        return sorted([x.shape[0], 2, 1], key=lambda value: -value)[0] * x


class Interrupts:
    """Raises KeyboardInterrupt where the ``at``-th function of ours is entered."""

    def __init__(self, at: int, strict: bool) -> None:
        self.at = at
        self.ours = OURS[strict]
        self.count = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code.co_filename.startswith(self.ours):
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt


def capture(at: int, strict: bool) -> tuple[int, bool]:
    """A capture that is interrupted; how many functions were entered, and whether the interrupt came out."""
    interrupts = Interrupts(at, strict)
    model = Model()
    names = list(vars(model))
    before = sys.gettrace()
    interrupted = False
    sys.settrace(interrupts)
    try:
        dl.export(model, (torch.ones(3),), strict=strict)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        sys.settrace(before)
    assert (model.count, model.log, list(vars(model))) == (0, [1], names)
    return interrupts.count, interrupted


def running() -> list[Any]:
    """What a capture holds of the thread and of the process while it runs."""
    machine = peek()
    idle = machine is None or (machine.policy is None and machine.frame is machine.base)
    monitoring: Any = getattr(sys, "monitoring", None)
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    process = [
        sys.getrecursionlimit(),
        sys.getprofile(),
        gc.get_freeze_count() > FEW,
        builtins.print,
        warnings.warn,
    ]
    return [idle, tools, process, dispatch.recorder()]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("strict", [True, False])
def test_an_interrupt_inside_our_own_code_leaves_nothing_running(strict: bool) -> None:
    capture(0, strict)
    total, _ = capture(0, strict)
    assert total > 300
    before = running()
    came_out = 0
    places = (*range(1, total - ENDING, 37), *range(total - ENDING, total + 1))
    for place in places:
        came_out += capture(place, strict)[1]
        assert running() == before, place
    assert came_out > 0.9 * len(places)  # a finaliser drops it
