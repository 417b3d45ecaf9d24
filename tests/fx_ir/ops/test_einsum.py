"""Random Einstein sums beside PyTorch's: type, shape, strides and values, or an error where PyTorch has one."""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np
import pytest

from fx_ir.dtypes import CPU, by_name
from fx_ir.meta import TensorMeta
from fx_ir.ops import OPS
from tests.fx_ir.ops.sampling import significant, strides_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

EQUATIONS: Final = (
    "ij->i", "ij->", "ij->ji", "ii->i", "ii->", "ij,jk->ik", "ij,jk->ki", "ij,jk->jik", "ij,jk->kji", "ij,kj->ik", "ij,kj->ki", "ij,ij->i",
    "ij,ij->", "ij,ij->ij", "i,j->ij", "ij,j->i", "ij,k->ik", "ij,k->ijk", "ij,k->i", "...i,i->...", "bij,bjk->bik", "bij,bjk->kib",
    "bij,bjk->bki", "ilj,jk->kil", "ilj,jk->ikl", "ilj,jkm->kmil", "ilj,jkm->kiml", "ij,jk,kl->il", "ij,jk,kl->", "ij,jk,kl->ljik",
)  # fmt: skip
DTYPES: Final = ("float32", "float64", "bfloat16", "int32", "int64", "bool")


def operands(equation: str, source: random.Random) -> list[Any]:
    """Tensors of sizes 1 to 3, a size of 1 in place of any, of one type or of several, some of them in columns."""
    sizes = {label: source.choice([1, 2, 3]) for label in "abijklm"}
    common = source.choice(DTYPES) if source.random() < 0.6 else None
    made = []
    for term in equation.partition("->")[0].split(","):
        labels = term.replace("...", "a")
        stretch = "ii" not in equation
        shape = [1 if stretch and source.random() < 0.25 else sizes[label] for label in labels]
        turned = source.random() < 0.3
        tensor = torch.randint(0, 3, shape[::-1] if turned else shape)
        tensor = tensor.to(getattr(torch, common or source.choice(DTYPES)))
        made.append(tensor.permute(*range(len(shape) - 1, -1, -1)) if turned else tensor)
    return made


def meta(tensor: Any) -> TensorMeta:
    dtype = by_name(str(tensor.dtype).removeprefix("torch."))
    return TensorMeta(tuple(tensor.shape), dtype, CPU, tuple(tensor.stride()))


@pytest.mark.parametrize("equation", EQUATIONS)
def test_random_operands(equation: str) -> None:
    source = random.Random(equation)
    operator = OPS["aten::einsum"]
    compared = 0
    for _ in range(60):
        given = operands(equation, source)
        try:
            expected = torch.ops.aten.einsum(equation, given)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                operator.fake(equation, [meta(tensor) for tensor in given])
            continue
        found = operator.fake(equation, [meta(tensor) for tensor in given])
        shape = tuple(expected.shape)
        assert found.dtype.name == str(expected.dtype).removeprefix("torch.") and found.shape == shape
        assert significant(shape, found.strides) == significant(shape, expected.stride())
        if any(tensor.dtype is torch.bfloat16 for tensor in given):
            continue
        assert operator.kernel is not None
        value = operator.kernel(equation, [tensor.numpy() for tensor in given])
        np.testing.assert_array_equal(value, expected.numpy())
        assert value.dtype == expected.numpy().dtype and value.shape == shape
        # A diagonal is a view in PyTorch, and arrays do not keep the strides of dimensions of one element.
        if equation != "ii->i" and all(1 not in tensor.shape for tensor in given):
            assert significant(shape, strides_of(value)) == significant(shape, expected.stride())
        compared += 1
    assert compared > 10
