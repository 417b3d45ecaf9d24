"""Generators that a trace leaves suspended."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from dynamo_lite.torchlite import nn
from solver.errors import ExportError

LOG: list[str] = []


class Refused(nn.Module):
    """Refused while a generator waits at its yield."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def waiting() -> Iterator[int]:
            try:
                yield 1
            finally:
                LOG.append("cleaned up")

        held = waiting()
        kept = [held]
        kept.append(kept)  # type: ignore[arg-type]
        next(held)
        print(torch, file=open("/missing"))  # noqa: SIM115
        return x


def test_a_refused_run_is_not_gone_on_with_when_its_generators_are_collected() -> None:
    with pytest.raises(ExportError, match="open"):
        dl.export(Refused(), (torch.zeros(1),), strict=True)
    gc.collect()
    assert LOG == []
