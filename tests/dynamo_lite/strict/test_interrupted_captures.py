"""An interrupt inside the interpreter's own code ends the capture as an interrupt, and nothing of the capture goes on."""

from __future__ import annotations

import sys
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

INTERPRETER = str(Path(dl.__file__).parent / "strict")
ENDING = 120  # so many functions are entered from before the program's last line on


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def forward(self, x: Any) -> Any:
        def parts() -> Iterator[Any]:
            yield x
            yield x + 1

        self.count += 1
        for part in parts():
            x = x + part
        return sorted([x.shape[0], 2, 1], key=lambda value: -value)[0] * x


class Interrupts:
    """Raises KeyboardInterrupt where the ``at``-th function of the interpreter is entered."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if frame.f_code.co_filename.startswith(INTERPRETER):
            self.count += 1
            if self.count == self.at:
                sys.settrace(None)
                raise KeyboardInterrupt


def capture(at: int) -> tuple[int, bool]:
    """A capture that is interrupted; how many functions were entered, and whether the interrupt came out."""
    interrupts = Interrupts(at)
    model = Model()
    before = sys.gettrace()
    interrupted = False
    sys.settrace(interrupts)
    try:
        dl.export(model, (torch.ones(3),), strict=True)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        sys.settrace(before)
    assert model.count == 0
    return interrupts.count, interrupted


def running() -> list[Any]:
    """What a capture holds of the thread and of the process while it runs."""
    machine = peek()
    idle = machine is None or (machine.policy is None and machine.frame is machine.base)
    monitoring: Any = getattr(sys, "monitoring", None)
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring else []
    return [idle, tools, sys.getrecursionlimit(), sys.getprofile(), dispatch.recorder()]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_inside_the_interpreter_leaves_nothing_running() -> None:
    capture(0)
    total, _ = capture(0)
    assert total > 500
    before = running()
    came_out = 0
    places = (*range(1, total - ENDING, 19), *range(total - ENDING, total + 1))
    for place in places:
        came_out += capture(place)[1]
        assert running() == before, place
    assert came_out > 0.9 * len(places)  # a finaliser drops it
