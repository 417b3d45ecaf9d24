"""Tensor functions are single objects: bound, copied and pickled they stay what they are."""

from __future__ import annotations

import copy
import pickle
from types import MethodType

import pytest

import dynamo_lite.torchlite as torch
from dynamo_lite.lowering.leaf import REGISTRY, TensorFunction, find, leaf
from dynamo_lite.lowering.table import (
    FUNCTIONS,
    GETTERS,
    METHODS,
    NN_FUNCTIONS,
    PROPERTIES,
    SETTERS,
    install_methods,
)
from dynamo_lite.torchlite import nn


def test_a_method_binds_its_tensor() -> None:
    x = torch.ones(2)
    bound = x.add
    assert isinstance(bound, MethodType) and bound.__func__ is METHODS["add"] and bound.__self__ is x
    assert vars(torch.Tensor)["add"] is METHODS["add"] is not FUNCTIONS["add"] is torch.add


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))])
def test_copies_are_the_same_object(again: object) -> None:
    assert callable(again)
    for function in (
        torch.add,
        nn.functional.gelu,
        METHODS["view"],
        torch.ops.aten.add,
        torch.ops.aten.add.Tensor,
    ):
        assert again(function) is function


def test_names() -> None:
    assert (torch.add.__name__, torch.add.__qualname__, torch.add.name) == ("add", "torch.add", "torch.add")
    assert repr(METHODS["view"]) == "<tensor function Tensor.view>"
    assert METHODS["size"].__doc__ == "The sizes, or the size of one dimension."


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match=r"torch\.add"):
        leaf("torch.add", lambda args, kwargs: None)
    with pytest.raises(KeyError):
        find("torch.nonsense")


def test_each_entry_is_one_object() -> None:
    entries = [
        *FUNCTIONS.values(),
        *METHODS.values(),
        *NN_FUNCTIONS.values(),
        *GETTERS.values(),
        *SETTERS.values(),
    ]
    assert len({id(entry) for entry in entries}) == len(entries)
    assert all(REGISTRY[entry.name] is entry and isinstance(entry, TensorFunction) for entry in entries)


def test_install_methods_respects_the_class_body() -> None:
    class Own:
        def add(self) -> str:
            return "own"

    install_methods(Own)
    assert Own().add() == "own"
    assert vars(Own)["view"] is METHODS["view"] and vars(Own)["shape"] is PROPERTIES["shape"]
    assert hash(Own()) is not None
