"""Resolution of overloads by PyTorch's argument rules, binding, and the parts of a declaration."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from fx_ir import dtypes
from fx_ir.meta import TensorMeta
from fx_ir.ops import OPS, PACKETS, find, infer
from fx_ir.ops.registry import Operator, is_tensor, register, register_inplace
from tests.fx_ir.ops.all_samples import ATEN

X = TensorMeta((3, 4), dtypes.float32, dtypes.CPU)
N = TensorMeta((3, 4), dtypes.int64, dtypes.CPU)


class Size(tuple[int, ...]):
    """A subclass of tuple, as ``torch.Size`` is."""


@pytest.mark.parametrize(
    ("packet", "args", "kwargs", "overload", "bound"),
    [
        ("add", (X, X), {}, "Tensor", (X, X)),
        ("add", (X, 2), {}, "Tensor", (X, 2)),
        ("add", (X, 2.5), {"alpha": 2}, "Tensor", (X, 2.5)),
        ("mul", (2, X), {}, "Tensor", (2, X)),
        ("floor_divide", (X, 2), {}, "default", (X, 2)),
        ("div", (X, 2), {"rounding_mode": "floor"}, "Tensor_mode", (X, 2)),
        ("eq", (X, 2), {}, "Scalar", (X, 2)),
        ("eq", (X, X), {}, "Tensor", (X, X)),
        ("remainder", (X, 2), {}, "Scalar", (X, 2)),
        ("bitwise_and", (N, True), {}, "Scalar", (N, True)),
        ("pow", (X, 2), {}, "Tensor_Scalar", (X, 2)),
        ("pow", (2, X), {}, "Scalar", (2, X)),
        ("pow", (X, X), {}, "Tensor_Tensor", (X, X)),
        ("view", (X, 2, 6), {}, "default", (X, [2, 6])),
        ("view", (X, (2, 6)), {}, "default", (X, [2, 6])),
        ("view", (X, Size((2, 6))), {}, "default", (X, [2, 6])),
        ("view", (X, 12), {}, "default", (X, [12])),
        ("view", (X, dtypes.int32), {}, "dtype", (X, dtypes.int32)),
        ("reshape", (X, -1), {}, "default", (X, [-1])),
        ("permute", (X, 1, 0), {}, "default", (X, [1, 0])),
        ("permute", (X,), {"dims": (1, 0)}, "default", (X, [1, 0])),
        ("expand", (X, 2, 3, 4), {}, "default", (X, [2, 3, 4])),
        ("repeat", (X, 2, 2), {}, "default", (X, [2, 2])),
        ("flip", (X, 0, 1), {}, "default", (X, [0, 1])),
        ("zeros", (2, 3), {}, "default", ([2, 3],)),
        ("new_ones", (X, 2, 3), {}, "default", (X, [2, 3])),
        ("sum", (X,), {}, "default", (X,)),
        ("sum", (X, 1), {}, "dim_IntList", (X, [1], False)),
        ("sum", (), {"input": X, "axis": (0, 1), "keepdims": True}, "dim_IntList", (X, [0, 1], True)),
        ("mean", (X, -1, True), {}, "dim", (X, [-1], True)),
        ("max", (X,), {}, "default", (X,)),
        ("max", (X, 1), {}, "dim", (X, 1, False)),
        ("max", (X, X), {}, "other", (X, X)),
        ("squeeze", (X, 0), {}, "dim", (X, 0)),
        ("squeeze", (X, (0, 1)), {}, "dims", (X, [0, 1])),
        ("where", (X,), {}, "default", (X,)),
        ("where", (X, X, 0), {}, "ScalarOther", (X, X, 0)),
        ("where", (X, 1.0, 0.0), {}, "Scalar", (X, 1.0, 0.0)),
        ("masked_fill", (X, X, -1e9), {}, "Scalar", (X, X, -1e9)),
        ("clamp", (X,), {"min": 0}, "default", (X, 0, None)),
        ("clamp", (X, X, None), {}, "Tensor", (X, X, None)),
        ("max_pool2d", (X, 2), {}, "default", (X, [2, 2], [], [0, 0], [1, 1], False)),
        ("conv2d", (X, X), {"padding": 1}, "default", (X, X, None, [1, 1], [1, 1], [1, 1], 1)),
        ("conv2d", (X, X), {"padding": "same"}, "padding", (X, X, None, [1, 1], "same", [1, 1], 1)),
        ("arange", (5,), {}, "default", (5,)),
        ("arange", (1, 5), {}, "start", (1, 5)),
        ("arange", (1, 5, 2), {}, "start_step", (1, 5, 2)),
        ("index", (X, [None, N]), {}, "Tensor", (X, [None, N])),
        ("index", (X, (N,)), {}, "Tensor", (X, [N])),
        ("cat", ((X, X), -1), {}, "default", ([X, X], -1)),
        ("to", (X, dtypes.int64), {}, "dtype", (X, dtypes.int64, False, False, None)),
        ("to", (X, "cpu", dtypes.int64), {}, "device", (X, dtypes.CPU, dtypes.int64, False, False, None)),
        ("to", (X, X), {}, "other", (X, X, False, False, None)),
        ("dropout", (X, 0, False), {}, "default", (X, 0.0, False)),
        ("sum", (X, np.int64(1)), {}, "dim_IntList", (X, [1], False)),
        ("split", (X, 2), {}, "Tensor", (X, 2, 0)),
        ("split", (X, [1, 2]), {}, "sizes", (X, [1, 2], 0)),
    ],
)
def test_resolution(packet: str, args: Any, kwargs: Any, overload: str, bound: Any) -> None:
    for _ in range(2):  # the second time from the cache
        operator, full, keywords = PACKETS[f"aten::{packet}"].resolve(args, kwargs)
        assert operator.overload == overload
        assert full == bound
        assert all(type(given) is type(wanted) for given, wanted in zip(full, bound, strict=True))
        assert set(keywords) == {argument.name for argument in operator.schema.keyword_only}


@pytest.mark.parametrize(
    ("packet", "args", "kwargs"),
    [
        ("add", (X, "a"), {}),
        ("eq", (X, None), {}),
        ("view", (X, 2.5), {}),
        ("sum", (X,), {"nonsense": 1}),
        ("matmul", (X, 2), {}),
        ("softmax", (X, 1.5), {}),
        ("cat", ([X, 2],), {}),
        ("permute", (X, [0.5, 1]), {}),
        ("relu", (X, X), {}),
        ("dropout", (X, 0.5, 1), {}),
    ],
)
def test_what_does_not_fit_is_a_type_error_that_shows_signatures(packet: str, args: Any, kwargs: Any) -> None:
    with pytest.raises(TypeError, match=rf"{packet}\(\).*Tensor"):
        PACKETS[f"aten::{packet}"].resolve(args, kwargs)


def test_a_list_given_is_copied() -> None:
    sizes = [2, 6]
    _, (_, kept), _ = PACKETS["aten::view"].resolve((X, sizes), {})
    sizes.append(3)
    assert kept == [2, 6]


def test_defaults_that_are_lists_are_not_shared() -> None:
    first, _ = OPS["aten::conv2d"].bind((X, X), {})
    first[3].append(7)
    second, _ = OPS["aten::conv2d"].bind((X, X), {})
    assert second[3] == [1, 1]
    _, third, _ = PACKETS["aten::conv2d"].resolve((X, X), {})
    third[3].append(7)
    _, fourth, _ = PACKETS["aten::conv2d"].resolve((X, X), {})
    assert fourth[3] == [1, 1]


def test_bind_refuses_what_the_schema_does_not_have() -> None:
    add = OPS["aten::add.Tensor"]
    assert add.bind((X, X), {}) == ((X, X), {"alpha": 1})
    with pytest.raises(TypeError, match="missing argument 'other'"):
        add.bind((X,), {})
    with pytest.raises(TypeError, match="multiple values"):
        add.bind((X, X), {"self": X})
    with pytest.raises(TypeError, match="unexpected keyword"):
        add.bind((X, X), {"beta": 1})
    with pytest.raises(TypeError, match="takes 2 positional"):
        add.bind((X, X, X), {})


def test_the_shortest_call_binds_to_the_same() -> None:
    conv = OPS["aten::conv2d"]
    full, keywords = conv.bind((X, X, None, [2, 2]), {})
    assert conv.without_defaults(full, keywords) == ((X, X, None, [2, 2]), {})
    assert OPS["aten::add.Tensor"].without_defaults((X, X), {"alpha": 2}) == ((X, X), {"alpha": 2})
    assert OPS["aten::sum.dim_IntList"].without_defaults((X, [1], False), {"dtype": None}) == ((X, [1]), {})


def test_names() -> None:
    add, relu = OPS["aten::add.Tensor"], OPS["aten::relu"]
    assert (add.qualified, str(add), add.overload) == ("aten::add.Tensor", "aten.add.Tensor", "Tensor")
    assert (relu.qualified, str(relu), relu.overload) == ("aten::relu", "aten.relu.default", "default")
    assert find("aten::relu.default") is relu
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.deepcopy(add) is add


def test_an_inplace_operator_checks_that_its_type_can_hold_the_result() -> None:
    operator = OPS["aten::add_.Tensor"]
    assert operator.is_inplace and operator.functional is OPS["aten::add.Tensor"]
    assert operator.fake(X, N, alpha=1) is X
    with pytest.raises(
        RuntimeError, match=r"result type torch.float32 can't be cast to the desired output type torch.int64"
    ):
        operator.fake(N, X, alpha=1)


@pytest.mark.parametrize("name", sorted(name for name, operator in ATEN.items() if operator.is_inplace))
def test_inplace_operators_match_their_functional_ones(name: str) -> None:
    operator = OPS[name]
    functional = operator.functional
    assert functional is not None
    ours, theirs = operator.schema, functional.schema
    assert [argument.name for argument in ours.arguments[1:]] == [
        argument.name for argument in theirs.arguments[1:]
    ]
    assert ours.arguments[0].is_mutated and not theirs.is_mutable
    assert operator.random == functional.random


def test_grad_spreads_from_floating_arguments() -> None:
    weight = X.like(requires_grad=True)
    assert infer(OPS["aten::add.Tensor"], (X, weight), {"alpha": 1}, grad=True).requires_grad
    assert not infer(OPS["aten::add.Tensor"], (X, weight), {"alpha": 1}).requires_grad
    assert not infer(OPS["aten::eq.Tensor"], (X, weight), {}, grad=True).requires_grad
    assert not infer(OPS["aten::detach"], (weight,), {}, grad=True).requires_grad
    values, indices = infer(OPS["aten::max.dim"], (weight, 1, False), {}, grad=True)
    assert values.requires_grad and not indices.requires_grad


def test_a_tensor_is_what_was_registered() -> None:
    assert is_tensor(X)
    assert not is_tensor(np.zeros(3))
    assert not is_tensor(3)


def test_a_name_is_declared_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        register("aten::relu(Tensor self) -> Tensor", fake=lambda self: self, kernel=None)
    with pytest.raises(KeyError):
        register_inplace("aten::nothing_(Tensor(a!) self) -> Tensor(a!)", "aten::nothing")


@pytest.mark.parametrize("name", sorted(ATEN))
def test_every_declaration_is_complete(name: str) -> None:
    operator: Operator = OPS[name]
    assert operator.schema.qualified == name
    assert callable(operator.fake)
    assert operator.kernel is not None or operator.is_inplace or operator.lower is not None
    writes = operator.schema.is_mutable
    assert writes == (operator.is_inplace or name == "aten::detach_")
    shares = any(result.alias is not None for result in operator.schema.returns) and not writes
    assert not shares or operator.view is not None, "a result that may share memory needs a view rule"
