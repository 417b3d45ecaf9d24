"""Every fake rule and every kernel against PyTorch: shape, type, strides and values of each sample call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fx_ir import dtypes, fake_context
from fx_ir.meta import TensorMeta
from fx_ir.ops import OPS
from tests.fx_ir.ops.all_samples import ATEN, BY_OPERATOR, NOT_SAMPLED
from tests.fx_ir.ops.sampling import (
    Sample,
    arguments,
    bound,
    describe,
    is_contiguous,
    leaves,
    significant,
    strides_of,
)

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


class Unbacked:
    """Answers each request for an unbacked number with the one that PyTorch's result shows."""

    env = None

    def __init__(self, expected: Any) -> None:
        self.expected = expected

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        assert kind in ("int", "bool", "float")
        return Wild(source)


class Wild(int):
    """A size that is compared with nothing: it stands for whatever data gives."""

    def __new__(cls, source: str) -> Wild:
        return super().__new__(cls, -7)


def to_torch(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value) if value.ndim else torch.from_numpy(value.copy())
    if isinstance(value, dtypes.DType):
        return getattr(torch, value.name)
    if isinstance(value, dtypes.Device):
        return torch.device(value.type)
    if isinstance(value, dtypes.MemoryFormat):
        return getattr(torch, value.name)
    if isinstance(value, (list, tuple)):
        return type(value)([to_torch(item) for item in value])
    return value


def torch_overload(name: str) -> Any:
    operator = OPS[name]
    return getattr(getattr(torch.ops.aten, operator.name), operator.overload)


@pytest.mark.parametrize("name", sorted(ATEN))
def test_schema_is_letter_for_letter(name: str) -> None:
    assert str(torch_overload(name)._schema) == OPS[name].text


@pytest.mark.parametrize("name", sorted(ATEN))
def test_schema_is_parsed_as_torch_parses_it(name: str) -> None:
    theirs = torch_overload(name)._schema
    ours = OPS[name].schema
    assert [argument.name for argument in ours.arguments] == [argument.name for argument in theirs.arguments]
    assert [argument.kwarg_only for argument in ours.arguments] == [
        argument.kwarg_only for argument in theirs.arguments
    ]
    assert [argument.is_mutated for argument in ours.arguments] == [
        argument.alias_info is not None and argument.alias_info.is_write for argument in theirs.arguments
    ]
    assert len(ours.returns) == len(theirs.returns)
    for argument, other in zip(ours.arguments, theirs.arguments, strict=True):
        assert argument.has_default == other.has_default_value()
        if argument.has_default and not isinstance(argument.default, (dtypes.DType, dtypes.MemoryFormat)):
            assert argument.default == other.default_value


def same_meta(meta: Any, result: Any, call: Sample) -> None:
    if not isinstance(meta, TensorMeta):
        assert isinstance(meta, Wild) or meta == result
        return
    assert meta.dtype.name == str(result.dtype).removeprefix("torch.")
    assert len(meta.shape) == result.ndim
    assert all(
        isinstance(size, Wild) or size == other for size, other in zip(meta.shape, result.shape, strict=True)
    )
    if call.compare != "values" and not any(isinstance(size, Wild) for size in meta.shape):
        shape = tuple(result.shape)
        if is_contiguous(shape, result.stride()):
            assert is_contiguous(shape, meta.strides), f"strides {meta.strides}, PyTorch {result.stride()}"
        else:
            assert significant(shape, meta.strides) == significant(shape, result.stride())  # type: ignore[arg-type]


def same_values(array: Any, result: Any, call: Sample) -> None:
    if not isinstance(array, np.ndarray):
        assert array == pytest.approx(result, nan_ok=True) if isinstance(result, float) else array == result
        return
    assert dtypes.from_numpy(array.dtype).name == str(result.dtype).removeprefix("torch.")
    assert array.shape == tuple(result.shape)
    if call.compare == "values strides" and array.size and not is_contiguous(array.shape, result.stride()):
        assert significant(array.shape, strides_of(array)) == significant(array.shape, result.stride())
    if "values" in call.compare or call.compare == "first":
        expected = result.detach().resolve_conj().resolve_neg().numpy()
        if array.dtype.kind in "fc":
            np.testing.assert_allclose(array, expected, rtol=call.tolerance, atol=call.tolerance)
        else:
            np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("name", sorted(set(ATEN) - NOT_SAMPLED))
def test_same_as_torch(name: str) -> None:
    for call in BY_OPERATOR[name]:
        args, kwargs = arguments(call)
        expected = torch_overload(name)(
            *to_torch(args), **{key: to_torch(value) for key, value in kwargs.items()}
        )
        results = leaves(expected)[:1] if call.compare == "first" else leaves(expected)
        full, keywords = bound(call, args, kwargs)
        try:
            with fake_context.activate(Unbacked(expected)):
                metas = leaves(call.operator.fake(*describe(full), **describe_each(keywords)))
            for meta, result in zip(metas[: len(results)], results, strict=True):
                same_meta(meta, result, call)
            assert call.operator.kernel is not None
            with np.errstate(all="ignore"):
                arrays = leaves(call.operator.kernel(*full, **keywords))
            for array, result in zip(arrays[: len(results)], results, strict=True):
                same_values(array, result, call)
        except Exception as error:
            error.add_note(str(call))
            raise


def describe_each(keywords: dict[str, Any]) -> dict[str, Any]:
    return {key: describe(value) for key, value in keywords.items()}
