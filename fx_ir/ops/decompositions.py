"""Composite operators in terms of elementary ones: what ``run_decompositions()`` applies unless told otherwise."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from fx_ir.decompose import Builder, Rule
from fx_ir.node import Node
from fx_ir.ops.registry import OPS, Operator

Expand = Callable[..., Any]
_RULES: Final[dict[str, Expand]] = {}


def default_decompositions() -> dict[Operator, Rule]:
    """The rules by operator."""
    return {OPS[name]: Rule(expand) for name, expand in _RULES.items()}


def _rule(*names: str) -> Callable[[Expand], Expand]:
    def add(expand: Expand) -> Expand:
        for name in names:
            _RULES[name] = expand
        return expand

    return add


def _ndim(x: Node) -> int:
    ndim: int = x.meta["val"].ndim
    return ndim


def _sizes(b: Builder, x: Node) -> list[Any]:
    return [b.size(x, dim) for dim in range(_ndim(x))]


@_rule("aten::linear")
def _linear(b: Builder, x: Node, weight: Node, bias: Node | None) -> Any:
    """Rows through ``addmm``; other shapes are flattened to rows first."""
    if _ndim(weight) != 2 or _ndim(x) < 2:
        return NotImplemented
    turned = b.call("aten::permute", weight, [1, 0])
    rows = x if _ndim(x) == 2 else b.call("aten::reshape", x, [-1, b.size(x, -1)])
    result = b.call("aten::mm", rows, turned) if bias is None else b.call("aten::addmm", bias, rows, turned)
    if _ndim(x) == 2:
        return result
    return b.call("aten::reshape", result, [*_sizes(b, x)[:-1], b.size(weight, 0)])


@_rule("aten::t")
def _t(b: Builder, x: Node) -> Any:
    return b.call("aten::permute", x, [1, 0]) if _ndim(x) == 2 else NotImplemented


@_rule("aten::transpose.int")
def _transpose(b: Builder, x: Node, dim0: int, dim1: int) -> Any:
    order = list(range(_ndim(x)))
    if not order:
        return NotImplemented
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return b.call("aten::permute", x, order)


@_rule("aten::view_as", "aten::reshape_as")
def _view_as(b: Builder, x: Node, other: Node) -> Any:
    return b.call("aten::reshape", x, _sizes(b, other))


@_rule("aten::expand_as")
def _expand_as(b: Builder, x: Node, other: Node) -> Any:
    return b.call("aten::expand", x, _sizes(b, other))


@_rule("aten::softmax.int")
def _softmax(b: Builder, x: Node, dim: int, dtype: Any) -> Any:
    return b.call(
        "aten::_softmax", x if dtype is None else b.call("aten::_to_copy", x, dtype=dtype), dim, False
    )


@_rule("aten::log_softmax.int")
def _log_softmax(b: Builder, x: Node, dim: int, dtype: Any) -> Any:
    return b.call(
        "aten::_log_softmax", x if dtype is None else b.call("aten::_to_copy", x, dtype=dtype), dim, False
    )


@_rule("aten::layer_norm")
def _layer_norm(
    b: Builder, x: Node, shape: list[Any], weight: Any, bias: Any, eps: float, cudnn: bool
) -> Any:
    results = b.call("aten::native_layer_norm", x, shape, weight, bias, eps)
    return b.node(operator.getitem, (results, 0), {}, results.meta["val"][0])


@_rule("aten::dropout")
def _dropout(b: Builder, x: Node, p: float, train: bool) -> Any:
    """Without training it is its input; with training it draws, and stays."""
    return x if train is False else NotImplemented


@_rule("aten::silu")
def _silu(b: Builder, x: Node) -> Any:
    return b.call("aten::mul.Tensor", x, b.call("aten::sigmoid", x))


@_rule("aten::rsub.Tensor")
def _rsub(b: Builder, x: Node, other: Node, *, alpha: Any) -> Any:
    return b.call("aten::sub.Tensor", other, x, alpha=alpha)


@_rule("aten::square")
def _square(b: Builder, x: Node) -> Any:
    return b.call("aten::mul.Tensor", x, x)


@_rule("aten::addcmul")
def _addcmul(b: Builder, x: Node, first: Node, second: Node, *, value: Any) -> Any:
    product = b.call("aten::mul.Tensor", first, second)
    return b.call(
        "aten::add.Tensor", x, product if value == 1 else b.call("aten::mul.Tensor", product, value)
    )
