"""Random numbers: one generator a process, drawn from in program order."""

from __future__ import annotations

from typing import Any

import numpy as np


class _State:
    generator: np.random.Generator = np.random.default_rng()
    seed: int = 0


def manual_seed(seed: int) -> np.random.Generator:
    """Starts the default generator anew: what is drawn afterwards depends on the seed alone."""
    _State.seed = int(seed)
    _State.generator = np.random.default_rng(_State.seed % 2**64)
    return _State.generator


def seed() -> int:
    """Seeds the default generator from the operating system and returns the seed."""
    fresh = int(np.random.SeedSequence().entropy) % 2**63  # type: ignore[arg-type]
    manual_seed(fresh)
    return fresh


def initial_seed() -> int:
    """The last seed given."""
    return _State.seed


def generator(given: np.random.Generator | None = None) -> np.random.Generator:
    """The generator to draw from: the one given, or the default one."""
    return _State.generator if given is None else given


def get_state() -> dict[str, Any]:
    """What :func:`set_state` takes to draw the same again."""
    return dict(_State.generator.bit_generator.state)


def set_state(state: dict[str, Any]) -> None:
    _State.generator.bit_generator.state = state
