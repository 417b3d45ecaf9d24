"""Random programs over PyTorch: both modes, decorated or with named dimensions, equal eager or refuse (the long tier is
``python -m tests.fuzz_torch``)."""

from __future__ import annotations

import random
import warnings

import pytest

from tests.fuzz_torch import check
from tests.torch_programs import kept, random_lines, source

PARTS = 8
EACH = 12


@pytest.mark.parametrize("part", range(PARTS))
def test_programs_equal_eager_or_are_refused(part: int) -> None:
    """M2, M3, M4, M15, M19, M24, M26, M32: programs with views, writes, state, draws, structures and indices of every form."""
    for seed in range(part * EACH, (part + 1) * EACH):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lines, back = kept(random_lines(random.Random(seed)), seed)
            try:
                check(lines, seed, back, thorough=False)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error}\n{source(lines, back)}") from error
