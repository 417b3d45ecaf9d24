"""M36: a dimension that is AUTO and turns out static leaves the program that a static export makes; it is valid and is loaded again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import dynamo_lite as dl
import dynamo_lite.torchlite as torch
from fx_ir.structure import same_graph
from tests.exporting import agree, both_modes, export, numbers


def loops(x: Any, n: int) -> Any:
    z = x[0]
    for row in x:
        z = z + row
    return z, x.shape[0] * n, x.shape[0] + 1


def makes(x: Any, n: int) -> Any:
    size = x.shape[0] * n
    rows = list(x)
    return torch.ones(size), size + x.shape[1], rows[0].expand(n, 4), rows[-1] * n


def branches(x: Any, n: int) -> Any:
    more = x.shape[0] * n
    rows = x.unbind(0)
    return dl.cond(x.sum() > 0, lambda x: x * x.shape[0], lambda x: x + more, (x,)), rows[0], n // 2


PROGRAMS: Final = (loops, makes, branches)


@both_modes
@pytest.mark.parametrize("forward", PROGRAMS)
def test_what_collapses_is_as_if_it_had_been_static(
    forward: Callable[..., Any], strict: bool, tmp_path: Path
) -> None:
    args = (numbers(3, 4), 3)
    program = export(forward, args, dynamic_shapes={"x": {0: dl.Dim.AUTO}, "n": None}, strict=strict)
    static = export(forward, args, strict=strict)
    if forward is not branches:  # a size that a branch was handed stays one of its operands
        assert same_graph(program.graph_module, static.graph_module) == []
    assert program.contract.leaves == static.contract.leaves and not program.range_constraints
    dl.save(program, tmp_path / "program.dlp")
    loaded = dl.load(tmp_path / "program.dlp")
    agree(loaded, forward, [args])
    with pytest.raises(dl.GuardError, match=r"x\.shape\[0\]"):
        loaded.module()(numbers(2, 4), 3)
