"""What tests of the shape environment share."""

from __future__ import annotations

from typing import Any

import pytest

from solver.dims import DimSpec
from solver.errors import ConstraintViolationError, Location
from solver.shape_env import ShapeEnv


class Lines:
    """Gives out user lines: ``at(n)`` sets the current one."""

    def __init__(self) -> None:
        self.line = 1

    def at(self, line: int) -> None:
        self.line = line

    def __call__(self) -> Location:
        return Location("model.py", self.line, "forward")


def dims(*specs: tuple[int, DimSpec], **options: Any) -> tuple[ShapeEnv, list[Any]]:
    env = ShapeEnv(**options)
    return env, [env.input_dim(f"x.shape[{i}]", size, spec) for i, (size, spec) in enumerate(specs)]


def guards(env: ShapeEnv) -> list[str]:
    return [str(g) for g in env.guards]


def refusal(env: ShapeEnv) -> ConstraintViolationError:
    with pytest.raises(ConstraintViolationError) as caught:
        env.prove()
    return caught.value


def counterexample(error: ConstraintViolationError) -> dict[str, int]:
    found = next(g for g in error.report.guards if g.verdict == "refuted").counterexample
    assert isinstance(found, dict)
    return found
