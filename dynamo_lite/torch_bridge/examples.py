"""Example inputs for a program that holds none: tensors of zeros, of sizes that the contract admits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import torch

from dynamo_lite.torch_bridge.convert import TORCH_DTYPES, torch_device
from dynamo_lite.torch_bridge.errors import NO_EXAMPLE
from fx_ir.contract import ConstLeaf, InputContract, IntLeaf, TensorLeaf
from fx_ir.program import ExportedProgram
from fx_ir.pytree import tree_unflatten
from solver.errors import GuardError
from solver.expr import IntExpr, evaluate

_STEPS: Final = 12  # sizes that are tried for each symbol
_TRIES: Final = 20_000


def examples(program: ExportedProgram, least: int = 2) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that the contract admits, of ``least`` and larger sizes if it admits some. Raises ``no-example`` where none are found."""
    contract = program.contract
    check = contract.compiled().checker(program.backend)
    for sizes in itertools.islice(_assignments(contract, least), _TRIES):
        with suppress(GuardError, ArithmeticError, RuntimeError):
            if all(evaluate(condition.expr, sizes) for condition in contract.conditions):
                leaves = _leaves(contract, sizes)
                check(leaves)
                args, kwargs = tree_unflatten(leaves, contract.in_spec)
                return tuple(args), dict(kwargs)
    raise NO_EXAMPLE()


def _assignments(contract: InputContract, smallest: int) -> Iterator[dict[str, int]]:
    """Values of the symbols, sizes of ``smallest`` and more that differ from each other first."""
    ranges = contract.ranges
    choices: list[list[int]] = []
    for place, (low, high) in enumerate(ranges.values()):
        least = 0 if low is None else low
        most = least + _STEPS if high is None else min(high, least + _STEPS)
        values = list(range(least, most + 1))
        values.sort(key=lambda value, start=place + smallest: (value < start, value))  # type: ignore[misc]
        choices.append(values)
    for chosen in itertools.product(*choices):
        yield dict(zip(ranges, chosen, strict=True))


def _leaves(contract: InputContract, sizes: Mapping[str, int]) -> list[Any]:
    def size(dimension: Any) -> int:
        return evaluate(dimension, sizes) if isinstance(dimension, IntExpr) else int(dimension)

    made: list[Any] = []
    for leaf in contract.leaves:
        if isinstance(leaf, ConstLeaf):
            made.append(leaf.value)
        elif isinstance(leaf, IntLeaf):
            made.append(size(leaf.expr))
        elif leaf.alias_of is not None:
            made.append(made[leaf.alias_of])
        else:
            made.append(_tensor(leaf, [size(dimension) for dimension in leaf.dims], size))
    return made


def _tensor(leaf: TensorLeaf, shape: list[int], size: Any) -> torch.Tensor:
    options: Any = {"dtype": TORCH_DTYPES[leaf.dtype], "device": torch_device(leaf.device)}
    if leaf.strides is None:
        made = torch.zeros(shape, **options)
    else:
        made = torch.empty_strided(shape, [size(stride) for stride in leaf.strides], **options).zero_()
    if leaf.class_name == "Parameter":
        return torch.nn.Parameter(made, requires_grad=bool(leaf.requires_grad))
    return made.requires_grad_(bool(leaf.requires_grad))
