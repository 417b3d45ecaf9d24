"""The identity that says that a gradient is not in the graph."""

from __future__ import annotations

import numpy as np

from fx_ir import dtypes
from fx_ir.meta import TensorMeta
from fx_ir.ops.autograd import OPAQUE
from fx_ir.ops.registry import OPS, infer


def test_it_is_a_view_of_the_whole() -> None:
    operator = OPS[OPAQUE]
    value = np.arange(6.0).reshape(2, 3).T
    assert operator.kernel is not None
    result = operator.kernel(value, [value], "x")
    assert np.shares_memory(result, value) and result.strides == value.strides
    assert operator.schema.returns[0].alias is not None
    assert not operator.schema.is_mutable


def test_it_requires_grad_if_a_source_does() -> None:
    plain = TensorMeta((2, 3), dtypes.float32, dtypes.CPU)
    source = plain.like(requires_grad=True)
    operator = OPS[OPAQUE]
    assert infer(operator, (plain, [plain, source], "x"), {}, grad=True).requires_grad
    assert not infer(operator, (plain, [plain], "x"), {}, grad=True).requires_grad
    assert not infer(operator, (plain, [source], "x"), {}, grad=False).requires_grad
    swapped = TensorMeta((2, 3), dtypes.float32, dtypes.CPU, strides=(1, 2))
    assert infer(operator, (swapped, [source], "x"), {}).strides == (1, 2)
