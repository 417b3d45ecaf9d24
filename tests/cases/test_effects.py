"""Side effects, output, interrupts and the model's own errors (M3, M28, M29)."""

from __future__ import annotations

import logging
import os
import random
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite import Dim
from dynamo_lite.torchlite import nn
from dynamo_lite.trace.tracer import Tracer
from tests.exporting import (
    MODES,
    arrays,
    blamed,
    both,
    both_modes,
    export,
    module,
    numbers,
    refused,
    state,
    text,
)

OUTSIDE: list[Any] = []


TABLE: dict[str, Any] = {}


def _append(x: Any) -> Any:
    OUTSIDE.append(x * 2)
    return x


def _item(x: Any) -> Any:
    TABLE["last"] = x * 2
    return x


def _extend(x: Any) -> Any:
    OUTSIDE.extend([x, x + 1])
    return x


def _setdefault(x: Any) -> Any:
    TABLE.setdefault("first", x)
    return x


@both_modes
@pytest.mark.parametrize("forward", [_append, _item, _extend, _setdefault])
def test_outside_container_would_hold_a_tensor(forward: Any, strict: bool) -> None:
    """8: state restored and the write refused, with its line in strict mode."""
    error = refused(forward, (numbers(3),), strict=strict, error=dl.StateError)
    assert error.id == "tensor-left-outside"
    assert OUTSIDE == []
    assert TABLE == {}
    if strict:
        assert error.location.line == forward.__code__.co_firstlineno + 1


def test_closure_list() -> None:
    """8: the same for a list in the closure."""
    bank: list[Any] = []

    def forward(x: Any) -> Any:
        bank.append(x * 2)
        return x

    for strict in MODES:
        error = refused(forward, (numbers(3),), strict=strict)
        assert error.id == "tensor-left-outside"
        assert bank == []


def test_outside_container_of_plain_values() -> None:
    """8, M29: plain values written to outside containers are rolled back, with an entry in the ledger."""
    seen: list[int] = []

    def forward(x: Any) -> Any:
        seen.append(3)
        return x + len(seen)

    for program in both(forward, (numbers(3),)):
        assert seen == []
        assert text(program) == ["add = aten.add.Tensor(x, 1)"]
        assert any(effect.became == "rolled back" for effect in program.effects)


def _uses_random(x: Any) -> Any:
    return x + random.random()


def _uses_randint(x: Any) -> Any:
    return x + random.randint(0, 3)


def _uses_numpy_random(x: Any) -> Any:
    return x + float(np.random.rand())


def _uses_clock(x: Any) -> Any:
    return x + time.time()


def _uses_counter(x: Any) -> Any:
    return x + time.perf_counter_ns() % 3


def _uses_id(x: Any) -> Any:
    return x + id(x) % 3


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        (_uses_random, "random"),
        (_uses_randint, "random"),
        (_uses_numpy_random, "random"),
        (_uses_clock, "clock"),
        (_uses_counter, "clock"),
        (_uses_id, "other"),
    ],
)
def test_what_differs_from_run_to_run(forward: Any, kind: str) -> None:
    """25, M3: strict refuses with the reason, the line and the way out; non-strict notes it in ``effects``."""
    error = refused(forward, (numbers(3),), strict=True, error=dl.UnsupportedError)
    assert error.location.line == forward.__code__.co_firstlineno + 1
    assert error.hint
    program = export(forward, (numbers(3),), strict=False)
    (effect,) = (effect for effect in program.effects if effect.kind == kind)
    assert effect.became == "noted"
    if forward is _uses_numpy_random:
        return  # seen by what it leaves behind, not where it was called
    assert effect.location is not None
    assert effect.location.line == forward.__code__.co_firstlineno + 1


def test_environment() -> None:
    """25: the environment is an assumption, with its value and line."""
    os.environ["DYNAMO_LITE_TEST"] = "5"

    def forward(x: Any) -> Any:
        return x + int(os.environ["DYNAMO_LITE_TEST"])

    try:
        for program in both(forward, (numbers(3),)):
            (assumption,) = (a for a in program.assumptions if a.path == "environment DYNAMO_LITE_TEST")
            assert assumption.expected == "5"
            assert program.check_assumptions(module(forward)) == []
            os.environ["DYNAMO_LITE_TEST"] = "6"
            assert "DYNAMO_LITE_TEST" in program.check_assumptions(module(forward))[0]
            os.environ["DYNAMO_LITE_TEST"] = "5"
    finally:
        del os.environ["DYNAMO_LITE_TEST"]


def _prints(x: Any) -> Any:
    print("shape", x.shape[0])
    return x + 1


def _warns(x: Any) -> Any:
    warnings.warn("careful", stacklevel=2)
    return x + 1


def _logs(x: Any) -> Any:
    logging.getLogger("model").warning("size %s", x.shape[0])
    return x + 1


@pytest.mark.parametrize("forward", [_prints, _warns, _logs])
def test_output_is_skipped(forward: Any, capsys: Any, caplog: Any, recwarn: Any) -> None:
    """26: skipped, with an entry in the ledger; a symbolic size that is shown adds no guard."""
    for program in both(forward, (numbers(3),), dynamic_shapes={"x": {0: Dim("n", min=1)}}):
        assert program.guards == ()
        (effect,) = program.effects
        assert (effect.kind, effect.became) == ("output", "dropped")
        assert effect.location is not None
        assert effect.location.line == forward.__code__.co_firstlineno + 1
    assert capsys.readouterr().out == ""
    assert caplog.records == []
    assert len(recwarn) == 0


@both_modes
def test_typo_is_the_models_own_error(strict: bool) -> None:
    """37: the AttributeError at the user's line alone."""

    def forward(x: Any) -> Any:
        return x.to_bytess()

    with pytest.raises(AttributeError) as caught:
        dl.export(module(forward), (numbers(3),), strict=strict)
    assert set(blamed(caught.value)) == {__file__}
    assert "to_bytess" in str(caught.value)


class Interrupted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.count = 1
        self.seen: list[int] = []
        self.interrupt: Callable[[], None] | None = None

    def forward(self, x: Any) -> Any:
        self.count += 1
        self.seen.append(self.count)
        self.total = self.total + x
        self.total.add_(1)
        if self.interrupt is not None:
            self.interrupt()
        self.extra = 5
        return x + self.total


def _interrupt() -> None:
    raise KeyboardInterrupt


@both_modes
def test_interrupted_at_every_operator(strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """38: wherever the interrupt comes, the model is as before, and the next export is right."""
    model = Interrupted()
    before = state(model)
    original = Tracer.call
    for when in range(20):
        left = [when]

        def call(self: Any, *args: Any, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return original(self, *args)

        monkeypatch.setattr(Tracer, "call", call)
        try:
            dl.export(model, (numbers(3),), strict=strict)
        except KeyboardInterrupt:
            assert state(model) == before
        else:
            break
    assert 0 < when < 19
    assert state(model) == before


@both_modes
@pytest.mark.parametrize("wrapped", [False, True])
def test_interrupted_export(strict: bool, wrapped: bool) -> None:
    """38: Ctrl-C in the middle leaves the model as before; so does a failure."""
    model = Interrupted()
    model.interrupt = dl.allow_call(_interrupt) if wrapped else _interrupt
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        dl.export(model, (numbers(3),), strict=strict)
    assert state(model) == before
    model.interrupt = None
    before = state(model)
    program = dl.export(model, (numbers(3),), strict=strict)
    assert state(model) == before
    fresh = Interrupted()
    assert arrays(program.module()(numbers(3))) == arrays(fresh(numbers(3)))


@both_modes
def test_swallowed_refusal_still_fails(strict: bool) -> None:
    """M3, M16: a refusal that the model catches with ``except Exception`` still fails the export."""

    def forward(x: Any) -> Any:
        try:
            if x.sum() > 0:
                return x + 1
        except Exception:
            pass
        return x - 1

    error = refused(forward, (numbers(3),), strict=strict, error=dl.DataDependentError)
    assert error.location.line == forward.__code__.co_firstlineno + 2
