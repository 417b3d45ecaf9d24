"""Seeds and generators. One stream a process is drawn from in program order, by eager calls and programs alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamo_lite.torchlite._tensor import Tensor, wrap
from dynamo_lite.torchlite.types import device as device_type
from fx_ir import rng
from fx_ir.ops.registry import register_generator_type


class Generator:
    """A stream of random numbers of its own."""

    def __init__(self, device: Any = "cpu") -> None:
        self.device = device_type(device)
        self._seed = 67280421310721
        self.stream = np.random.default_rng(self._seed)

    def manual_seed(self, seed: int) -> Generator:
        self._seed = int(seed)
        self.stream = np.random.default_rng(self._seed % 2**64)
        return self

    def seed(self) -> int:
        """Seeds from the operating system and returns the seed."""
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        self.manual_seed(entropy % 2**63)
        return self._seed

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Any:
        return self.stream.bit_generator.state

    def set_state(self, state: Any) -> Generator:
        self.stream.bit_generator.state = state
        return self


register_generator_type(Generator)


def manual_seed(seed: int) -> Generator:
    """Starts the default stream anew."""
    rng.manual_seed(seed)
    return default_generator


def seed() -> int:
    """Seeds the default stream from the operating system and returns the seed."""
    return rng.seed()


def initial_seed() -> int:
    """The last seed given to the default stream."""
    return rng.initial_seed()


def get_rng_state() -> Tensor:
    """The default stream's state, as bytes."""
    import pickle

    return wrap(np.frombuffer(pickle.dumps(rng.get_state()), dtype=np.uint8).copy())


def set_rng_state(state: Tensor) -> None:
    """Sets what :func:`get_rng_state` gave."""
    import pickle

    rng.set_state(pickle.loads(state._array.tobytes()))


class _DefaultGenerator(Generator):
    """The default stream as an object."""

    def __init__(self) -> None:
        self.device = device_type("cpu")

    @property
    def stream(self) -> np.random.Generator:  # type: ignore[override]
        return rng.generator()

    def manual_seed(self, seed: int) -> Generator:
        rng.manual_seed(seed)
        return self

    def seed(self) -> int:
        return rng.seed()

    def initial_seed(self) -> int:
        return rng.initial_seed()


default_generator = _DefaultGenerator()
