"""Functions of the program that the library's own Python calls are interpreted: none runs natively, and what they write is rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dynamo_lite as dl
from dynamo_lite import torchlite as torch
from dynamo_lite.torchlite import nn
from dynamo_lite.torchlite.utils import _pytree as pytree

SEEN: list[str] = []


def seen(name: str, value: Any) -> Any:
    SEEN.append(name)
    return value


class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second


pytree.register_pytree_node(
    Pair,
    lambda pair: seen("flatten", ([pair.first, pair.second], None)),
    lambda values, context: seen("unflatten", Pair(*values)),
    serialized_type_name="tests.library_callbacks.Pair",
)


@torch.no_grad()
def without_gradients(x: Any) -> Any:
    return seen("no_grad", x * 2)


@torch.no_grad
def without_gradients_bare(x: Any) -> Any:
    return seen("no_grad", x * 2)


@torch.enable_grad()
def with_gradients(x: Any) -> Any:
    return seen("enable_grad", x * 2)


@torch.set_grad_enabled(False)
def switched(x: Any) -> Any:
    return seen("set_grad_enabled", x * 2)


@torch.inference_mode()
def inferring(x: Any) -> Any:
    return seen("inference_mode", x * 2)


def decorated_inside(x: Any) -> Any:
    return torch.no_grad()(lambda t: seen("inner", t + 1))(x)


def mapped(x: Any) -> Any:
    return pytree.tree_map(lambda t: seen("map", t * 2), {"a": [x]})["a"][0]


def mapped_pair(x: Any) -> Any:
    return pytree.tree_map(lambda t: seen("map", t * 2), Pair(x, x + 1)).second


def mapped_only(x: Any) -> Any:
    return pytree.tree_map_only(int, lambda n: seen("only", n * 2), (3, x))[0] * x


def there_and_back(x: Any) -> Any:
    leaves, spec = pytree.tree_flatten(Pair(x, [x + 1]))
    return pytree.tree_unflatten(leaves, spec).second[0]


def leaves_told(x: Any) -> Any:
    return pytree.tree_leaves([[x, x], x], is_leaf=lambda t: seen("is_leaf", isinstance(t, list)))[0]


def all_of(x: Any) -> Any:
    return x * 2 if pytree.tree_all(lambda t: seen("all", t.shape[0] == 3), [x, x]) else x


def with_paths(x: Any) -> Any:
    return pytree.tree_map_with_path(lambda path, t: seen("path", t * len(path)), [[x]])[0][0]


FUNCTIONS = [
    without_gradients, without_gradients_bare, with_gradients, switched, inferring, decorated_inside, mapped, mapped_pair,
    mapped_only, there_and_back, leaves_told, all_of, with_paths,
]  # fmt: skip


class Calls(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def plain(value: Any) -> Any:
    return [plain(each) for each in value] if isinstance(value, list) else value.tolist()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_given_to_the_library_are_interpreted(function: Callable[[Any], Any]) -> None:
    x = torch.ones(3) * 2
    SEEN.clear()
    program = dl.export(Calls(function), (x,), strict=True)
    assert SEEN == []
    assert plain(program.module()(x)) == plain(function(x))
    assert SEEN


class Asked:
    """Notes each look at it, the one for its class included."""

    def __getattribute__(self, name: str) -> Any:
        SEEN.append(name)
        return object.__getattribute__(self, name)


class Listed(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        SEEN.append("iter")
        return super().__iter__()

    def copy(self) -> list[Any]:
        SEEN.append("copy")
        return super().copy()


def test_what_was_written_is_looked_at_without_asking_it() -> None:
    """After the run: for the effects, and for tensors that would be left outside."""

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.asked, self.listed = Asked(), Listed([Asked()])

        def forward(self, x: Any) -> Any:
            object.__setattr__(self.asked, "value", 1)
            list.append(self.listed, 2)
            return x * 2

    model = Model()
    SEEN.clear()
    program = dl.export(model, (torch.ones(3),), strict=True)
    assert SEEN == []
    assert len(program.effects) == 2
    assert list.__len__(model.listed) == 1
