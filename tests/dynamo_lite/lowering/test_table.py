"""The table is total: a name is an operator's, or it is known to wait for one."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dynamo_lite.torchlite as torch
from dynamo_lite.lowering import dunders, names
from dynamo_lite.lowering.packets import SYNONYMS, packet
from dynamo_lite.lowering.table import METHODS
from fx_ir.ops import PACKETS
from solver.errors import UnsupportedError

GROUPS = {
    "shared": names.SHARED,
    "methods": names.METHODS_ONLY,
    "in place": names.INPLACE,
    "functions": names.FUNCTIONS_ONLY,
    "factories": names.FACTORIES,
    "nn": names.NN,
}


@pytest.mark.parametrize("group", GROUPS)
def test_names_are_listed_once(group: str) -> None:
    assert len(set(GROUPS[group])) == len(GROUPS[group])


@pytest.mark.parametrize("group", GROUPS)
def test_every_name_has_its_operator(group: str) -> None:
    for name in GROUPS[group]:
        assert packet(name).overloads, name


def test_every_operator_dunder_of_python_is_there() -> None:
    binary = [
        "add",
        "sub",
        "mul",
        "matmul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "lshift",
        "rshift",
        "and",
        "xor",
        "or",
    ]
    wanted = {f"__{name}__" for name in (*binary, "neg", "pos", "abs", "invert", "divmod")}
    wanted |= {f"__r{name}__" for name in binary}
    wanted |= {f"__i{name}__" for name in binary if name != "matmul"}  # PyTorch has no in-place matmul
    wanted |= {
        f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "len", "iter")
    }
    wanted |= {
        f"__{name}__" for name in ("bool", "int", "float", "complex", "index", "contains", "format", "repr")
    }
    wanted |= {f"__{name}__" for name in ("array", "reversed", "copy", "deepcopy")}
    assert wanted <= set(METHODS)


def test_dunders_name_operators() -> None:
    spelled = {*dunders.BINARY.values(), *dunders.SWAPPED.values(), *dunders.UNARY.values()}
    missing = {name for name in spelled if not dunders.available(name)}
    assert missing <= {"__ilshift__", "__irshift__"}


def test_a_missing_operator_names_itself() -> None:
    with pytest.raises(UnsupportedError, match="aten::nonsense") as caught:
        packet("nonsense")
    assert caught.value.id == "missing-operator"


def test_synonyms_lead_to_operators() -> None:
    assert all(f"aten::{target}" in PACKETS for target in SYNONYMS.values())


def test_what_the_namespace_lacks_names_itself() -> None:
    with pytest.raises(AttributeError, match=r"torchlite has no torch\.nonsense"):
        torch.nonsense  # noqa: B018
    with pytest.raises(AttributeError, match=r"torchlite has no nn\.Nonsense"):
        torch.nn.Nonsense  # noqa: B018


def test_numpy_defers_to_tensors() -> None:
    with pytest.raises(TypeError):
        np.ones(2) + torch.ones(2)


def test_out_takes_the_result() -> None:
    out = torch.zeros(2)
    assert torch.add(torch.ones(2), 1, out=out) is out and out.tolist() == [2.0, 2.0]
    values, indices = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    torch.max(torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 1, out=(values, indices))
    assert values.tolist() == [3.0, 5.0] and indices.tolist() == [1, 0]


def test_modules_of_the_lowering_are_documented() -> None:
    for name in ("indexing", "metadata", "conversion", "creation", "structure", "packets", "dunders"):
        module = __import__(f"dynamo_lite.lowering.{name}", fromlist=[name])
        for value in vars(module).values():
            if (
                inspect.isfunction(value)
                and value.__module__ == module.__name__
                and not value.__name__.startswith("_")
            ):
                assert value.__doc__, value
