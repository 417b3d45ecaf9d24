"""The rules that write through views, against writing into NumPy's own views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir.dtypes import from_numpy
from fx_ir.ops import OPS
from fx_ir.ops.registry import ViewRule
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR
from tests.fx_ir.ops.sampling import arguments, bound, leaves


class Tensor:
    """What a rule may ask of a base: its shape and type."""

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        self.value = value
        self.shape = value.shape
        self.dtype = from_numpy(value.dtype)


def call_operator(name: str, *args: Any, **kwargs: Any) -> Tensor:
    operator = OPS[name]
    plain = [arg.value if isinstance(arg, Tensor) else arg for arg in args]
    full, keywords = operator.bind(tuple(plain), kwargs)
    assert operator.kernel is not None
    return Tensor(operator.kernel(*full, **keywords))


def _written_through() -> list[str]:
    refusing = {"aten::expand", "aten::expand_as", "aten::broadcast_to", "aten::unfold"}
    return [name for name, operator in ATEN.items() if operator.view is not None and name not in refusing]


@pytest.mark.parametrize("name", sorted(_written_through()))
def test_scatter_does_what_writing_into_the_view_does(name: str) -> None:
    checked = 0
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        base = args[0]
        if not base.flags.writeable or (call.op == "aten::as_strided" and 0 in call.args[2]):
            continue
        full, keywords = bound(call, args, kwargs)
        assert call.operator.kernel is not None and call.operator.view is not None
        views = leaves(call.operator.kernel(*full, **keywords))
        for index, view in enumerate(views):
            if not np.may_share_memory(view, base) or not view.size or not view.flags.writeable:
                continue
            check_one(call.operator.view, base, view, index, full, keywords)
            checked += 1
    assert checked, f"no sample of {name} is a view"


def check_one(
    rule: ViewRule, base: Any, view: Any, index: int, full: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    before = base.copy()
    new = np.asarray(view * 2 + 1).astype(view.dtype)
    result = rule.scatter(call_operator, Tensor(before), Tensor(new), index, *full[1:], **keywords)
    view[...] = new
    expected = base.copy()
    base[...] = before
    assert result.value.shape == expected.shape
    np.testing.assert_array_equal(result.value, expected)


@pytest.mark.parametrize("name", ["expand", "expand_as", "broadcast_to", "unfold"])
def test_overlapping_views_refuse(name: str) -> None:
    rule = OPS[f"aten::{name}"].view
    assert rule is not None
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        rule.scatter(call_operator, Tensor(np.zeros((1, 4))), Tensor(np.zeros((3, 4))), 0)
