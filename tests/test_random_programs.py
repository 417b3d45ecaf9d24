"""Random programs: strict = non-strict = eager at several sizes (the long tier is ``python -m tests.fuzz_programs``)."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz_programs import DEPTH, TEMPLATES, Step, check

STEPS = st.tuples(
    st.integers(0, len(TEMPLATES) - 1),
    st.integers(0, 7),
    st.integers(0, 7),
    st.integers(0, 2),
    st.integers(0, 3),
)


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=1, max_size=2 * DEPTH))
def test_modes_and_eager_agree(steps: list[Step]) -> None:
    """M2, M3, M4, M15, M19, M20, M22, M26, M32: 300 programs, views, in-place operators and two dynamic dimensions included."""
    check(steps)
