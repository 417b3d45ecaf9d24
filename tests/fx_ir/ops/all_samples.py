"""All sample calls by operator, and the operators that have none, with the reason."""

from __future__ import annotations

from collections import defaultdict

from fx_ir.ops import OPS
from tests.fx_ir.ops import (
    samples_data,
    samples_elementwise,
    samples_matrices,
    samples_network,
    samples_sequences,
    samples_shape,
    samples_spatial,
)
from tests.fx_ir.ops.sampling import Sample

SAMPLES: list[Sample] = [
    *samples_elementwise.samples(), *samples_shape.samples(), *samples_data.samples(), *samples_network.samples(),
    *samples_spatial.samples(), *samples_sequences.samples(), *samples_matrices.samples(),
]  # fmt: skip

BY_OPERATOR: dict[str, list[Sample]] = defaultdict(list)
for _sample in SAMPLES:
    BY_OPERATOR[_sample.op].append(_sample)

# Operators that users (other tests) defined are not the table's.
ATEN = {name: operator for name, operator in OPS.items() if operator.namespace == "aten"}

# In-place operators have no kernel of their own; what draws random numbers cannot be compared value by value; PyTorch
# multiplies groups of matrices in bfloat16 alone (a test of its own compares with a loop).
NOT_SAMPLED = {
    name
    for name, operator in ATEN.items()
    if operator.kernel is None or (operator.random and name not in BY_OPERATOR) or name == "aten::_grouped_mm"
}
