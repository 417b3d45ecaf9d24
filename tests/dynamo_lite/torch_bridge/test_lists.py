"""The operators and functions that real models use, as counted over some hundred of them: all are declared, and compared with PyTorch."""

from __future__ import annotations

import operator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
import torch

from dynamo_lite.lowering.leaf import REGISTRY
from dynamo_lite.torch_bridge.answers import ANSWERS
from dynamo_lite.torch_bridge.leaves import BY_ATTRIBUTE, BY_METHOD, LEAVES
from fx_ir.higher_order import HIGHER_ORDER
from fx_ir.number_ops import NUMBER_OPS
from fx_ir.ops import OPS, PACKETS
from tests.fx_ir.ops.all_samples import BY_OPERATOR, NOT_SAMPLED

LISTS = Path(__file__).resolve().parents[2] / "zoo"
# What other tests compare: operators with effects, sizes, random numbers, groups of matrices.
ELSEWHERE = {name for name in NOT_SAMPLED if name in OPS}


def names(file: str) -> list[str]:
    lines = (LISTS / file).read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t")[0] for line in lines]


@pytest.mark.parametrize("name", names("operators.tsv"))
def test_operator_is_declared_and_compared(name: str) -> None:
    kind, _, rest = name.partition(".")
    if kind == "aten":
        qualified = f"aten::{rest.removesuffix('.default')}"
        declared = OPS[qualified]
        assert declared.kernel is not None or declared.is_inplace or declared.lower is not None
        assert BY_OPERATOR[qualified] or qualified in ELSEWHERE
    elif kind == "py":
        function = getattr(operator, rest.rpartition(".")[2])
        assert function is operator.getitem or function in NUMBER_OPS
    elif kind == "hop":
        # A gradient mode is data in our graphs: what it cuts off is detached.
        assert rest in HIGHER_ORDER or rest == "wrap_with_set_grad_enabled"
    else:  # an operator that transformers registers: met as any user's
        assert kind == "transformers"


def found(name: str) -> Any:
    """The object behind a dotted name."""
    value: Any = torch
    for part in name.removesuffix(".__get__").split(".")[1:]:
        value = torch._C._VariableFunctions if part == "_VariableFunctionsClass" else getattr(value, part)
    return value


@pytest.mark.parametrize("name", names("functions.tsv"))
def test_function_is_met(name: str) -> None:
    """By identity, or its Python body is what is run; and what it calls for is in the operator table."""
    name = name.removeprefix("?")
    last = name.removesuffix(".__get__").rpartition(".")[2]
    if name.startswith("torch.Tensor.") and (last in BY_METHOD or last in BY_ATTRIBUTE):
        function: Any = BY_METHOD.get(last) or BY_ATTRIBUTE[last]
    else:
        value = found(name)
        if id(value) in ANSWERS or (type(value) is FunctionType and id(value) not in LEAVES):
            return
        function = LEAVES[id(value)]
    if function.__qualname__.endswith("*"):  # not listed by the lowering: its operator must be in the table
        assert f"aten::{function.__name__.rstrip('*')}" in PACKETS
    else:
        assert function.__qualname__ in REGISTRY or function.__qualname__.startswith(
            ("Tensor.", "torch.", "nn.")
        )
