"""For every sample call the fake rule foretells what the kernel gives: shape, type, and layout; nothing is changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir import dtypes, fake_context
from fx_ir.meta import TensorMeta
from fx_ir.ops.registry import infer
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR, NOT_SAMPLED
from tests.fx_ir.ops.sampling import (
    arguments,
    bound,
    describe,
    is_contiguous,
    leaves,
    significant,
    strides_of,
)


class Unknown(int):
    """A size that data decides: it agrees with any."""


class Context:
    env = None

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        assert kind in ("int", "float", "bool")
        return Unknown(-7)


def agree(meta: Any, value: Any, compare_strides: bool) -> None:
    if not isinstance(meta, TensorMeta):
        assert isinstance(meta, Unknown) or meta == value
        return
    assert type(value) is np.ndarray
    assert dtypes.from_numpy(value.dtype) is meta.dtype
    assert len(meta.shape) == value.ndim
    unknown = [isinstance(size, Unknown) for size in meta.shape]
    assert all(
        free or size == actual for free, size, actual in zip(unknown, meta.shape, value.shape, strict=True)
    )
    if not compare_strides or any(unknown):
        return
    strides = strides_of(value)
    if is_contiguous(value.shape, strides):
        assert is_contiguous(value.shape, meta.strides)
    else:
        assert significant(value.shape, strides) == significant(value.shape, meta.strides)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(set(ATEN) - NOT_SAMPLED))
def test_fake_foretells_the_kernel(name: str) -> None:
    assert BY_OPERATOR[name], f"{name} has no sample call"
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        full, keywords = bound(call, args, kwargs)
        kernel = call.operator.kernel
        assert kernel is not None
        try:
            with fake_context.activate(Context()):
                metas = leaves(
                    infer(
                        call.operator,
                        describe(full),
                        {key: describe(value) for key, value in keywords.items()},
                    )
                )
            with np.errstate(all="ignore"):
                values = leaves(kernel(*full, **keywords))
            assert len(metas) == len(values)
            for meta, value in zip(metas, values, strict=True):
                agree(meta, value, call.compare != "values")
            for before, after in zip(leaves(list(arguments(call)[0])), leaves(list(args)), strict=True):
                np.testing.assert_array_equal(before, after, err_msg="the kernel changed its argument")
        except Exception as error:
            error.add_note(str(call))
            raise


def _views() -> list[str]:
    return [
        name for name, operator in ATEN.items() if operator.view is not None and operator.maybe_view is None
    ]


@pytest.mark.parametrize("name", sorted(_views()))
def test_views_share_memory(name: str) -> None:
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        full, keywords = bound(call, args, kwargs)
        assert call.operator.kernel is not None
        for value in leaves(call.operator.kernel(*full, **keywords)):
            if value.size and not name.startswith(
                ("aten::_unsafe", "aten::view_as_complex", "aten::view_as_real")
            ):
                assert np.may_share_memory(value, args[0]), str(call)


SHARING = {
    "aten::_unsafe_view",
    "aten::meshgrid",
    "aten::meshgrid.indexing",
}  # in PyTorch too, unsaid by the schema


@pytest.mark.parametrize(
    "name",
    sorted(name for name in set(ATEN) - NOT_SAMPLED - SHARING if ATEN[name].view is None),
)
def test_other_results_are_new_memory(name: str) -> None:
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        full, keywords = bound(call, args, kwargs)
        assert call.operator.kernel is not None
        with np.errstate(all="ignore"):
            results = leaves(call.operator.kernel(*full, **keywords))
        arrays = [
            value
            for value in [*results, *leaves([*full, *keywords.values()])]
            if isinstance(value, np.ndarray)
        ]
        for index, result in enumerate(results):
            if isinstance(result, np.ndarray):
                assert not any(np.shares_memory(result, other) for other in arrays[index + 1 :]), str(call)


@pytest.mark.parametrize(
    "name", sorted(name for name, operator in ATEN.items() if operator.maybe_view is not None)
)
def test_what_may_be_a_view_says_when(name: str) -> None:
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        full, keywords = bound(call, args, kwargs)
        operator = call.operator
        metas, named = describe(full), {key: describe(value) for key, value in keywords.items()}
        assert operator.maybe_view is not None and operator.kernel is not None
        says = operator.maybe_view(operator.fake(*metas, **named), *metas, **named)
        value = operator.kernel(*full, **keywords)
        if value.size:
            assert bool(says) == np.may_share_memory(value, args[0]), str(call)
