"""What a graph says about gradients and ATen has no word for."""

from __future__ import annotations

from typing import Any, Final

from fx_ir.meta import TensorMeta
from fx_ir.ops.arrays import Array
from fx_ir.ops.registry import register
from fx_ir.ops.views import WHOLE_RULE, alias, fake_alias

OPAQUE: Final = "dynamo_lite::opaque_backward"
"""The identity, whose result has a gradient that the graph does not know: it requires grad if one of ``sources`` does, and a
backward pass that reaches it raises an error that says ``why``. A library without autograd has the identity alone."""


def _fake(self: TensorMeta, sources: Any, why: str) -> TensorMeta:
    return fake_alias(self)


def _kernel(self: Array, sources: Any, why: str) -> Array:
    return alias(self)


register(
    f"{OPAQUE}(Tensor(a) self, Tensor[] sources, str why) -> Tensor(a)",
    fake=_fake,
    kernel=_kernel,
    view=WHOLE_RULE,
)
