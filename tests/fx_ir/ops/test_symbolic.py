"""Which questions fake rules ask of symbolic sizes: none but those that PyTorch itself must have answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import pytest

from fx_ir import dtypes, fake_context
from fx_ir.meta import Size, TensorMeta
from fx_ir.ops import OPS
from fx_ir.ops.shapes import is_contiguous
from solver.shape_env import ShapeEnv
from solver.sym import SymInt


class Trace:
    """An environment with symbols, and the context that makes unbacked sizes in it."""

    def __init__(self) -> None:
        self.env = ShapeEnv()
        self._count = 0

    def size(self, hint: int) -> Size:
        from solver.dims import Dim

        self._count += 1
        return self.env.input_dim(f"x.shape[{self._count}]", hint, Dim(f"d{self._count}", min=0))

    def unbacked(self, source: str, kind: str = "int", min: int | None = None, max: Any = None) -> Any:
        bound = max if isinstance(max, int) else None
        made = self.env.unbacked(source, cast('Literal["int", "float", "bool"]', kind), min, bound)
        if max is not None and bound is None:
            self.env.learn(made <= max)
        return made

    def guards(self) -> list[str]:
        return [str(guard.expr) for guard in self.env.guards]


@pytest.fixture
def trace() -> Iterator[Trace]:
    made = Trace()
    with fake_context.activate(made):
        yield made


def tensor(*shape: Size, dtype: dtypes.DType = dtypes.float32) -> TensorMeta:
    return TensorMeta(shape, dtype, dtypes.CPU)


def fake(name: str, *args: Any, **kwargs: Any) -> Any:
    operator = OPS[f"aten::{name}"]
    full, keywords = operator.bind(args, kwargs)
    return operator.fake(*full, **keywords)


@contextmanager
def no_question(trace: Trace) -> Iterator[None]:
    yield
    assert trace.guards() == []


def test_broadcasting_equal_symbols_and_a_static_one_asks_nothing(trace: Trace) -> None:
    s = trace.size(4)
    with no_question(trace):
        result = fake("add.Tensor", tensor(s, 3), tensor(s, 1))
        assert result.shape == (s, 3)
        assert fake("mul.Tensor", tensor(1, 3), tensor(s, 3)).shape == (s, 3)
        assert fake("add.Tensor", tensor(s, 3), 2).shape == (s, 3)


def test_broadcasting_different_symbols_asks_for_equality_alone(trace: Trace) -> None:
    a, b = trace.size(4), trace.size(4)
    fake("add.Tensor", tensor(a), tensor(b))
    assert len(trace.guards()) == 1
    assert "==" in trace.guards()[0]


def test_broadcasting_a_symbol_that_is_one_at_the_example(trace: Trace) -> None:
    a, b = trace.size(4), trace.size(1)
    result = fake("add.Tensor", tensor(a), tensor(b))
    assert result.shape == (a,)
    assert len(trace.guards()) >= 1


def test_a_product_with_a_static_inner_size_asks_nothing(trace: Trace) -> None:
    b = trace.size(1)
    with no_question(trace):
        assert fake("matmul", tensor(b, 3), tensor(3, 5)).shape == (b, 5)
        assert fake("linear", tensor(b, 7, 3), tensor(5, 3), tensor(5)).shape == (b, 7, 5)
        assert fake("bmm", tensor(b, 2, 3), tensor(b, 3, 4)).shape == (b, 2, 4)


def test_slicing_clamps_without_a_question(trace: Trace) -> None:
    s = trace.size(8)
    with no_question(trace):
        first = fake("slice.Tensor", tensor(2, s), 1, 0, 5)
        assert isinstance(first.shape[1], SymInt) and first.shape[1].hint == 5
        last = fake("slice.Tensor", tensor(2, s), 1, -3)
        assert isinstance(last.shape[1], SymInt) and last.shape[1].hint == 3
        assert fake("slice.Tensor", tensor(2, s), 1).shape[1] == s
        assert fake("slice.Tensor", tensor(2, s), 1, 0, s).shape[1] == s
        stepped = fake("slice.Tensor", tensor(2, s), 1, None, None, 3)
        assert isinstance(stepped.shape[1], SymInt) and stepped.shape[1].hint == 3


def test_reshape_to_eight_columns_asks_one_divisibility(trace: Trace) -> None:
    a, b = trace.size(8), trace.size(6)
    result = fake("reshape", tensor(a, b), [-1, 8])
    assert len(trace.guards()) == 1
    assert "% 8 == 0" in trace.guards()[0]
    assert result.shape[1] == 8


@pytest.mark.parametrize("name", ["view", "reshape"])
def test_splitting_heads_asks_nothing(trace: Trace, name: str) -> None:
    b, s = trace.size(2), trace.size(5)
    with no_question(trace):
        split = fake(name, tensor(b, s, 24), [b, s, 4, 6])
        assert split.shape == (b, s, 4, 6)
        assert fake(name, tensor(b, s, 24), [b, s, -1, 6]).shape == (b, s, 4, 6)
        assert fake(name, tensor(b, s, 24), [b, -1, 4, 6]).shape == (b, s, 4, 6)


def test_attention_with_its_transposes_asks_nothing(trace: Trace) -> None:
    b, s = trace.size(2), trace.size(5)
    with no_question(trace):
        heads = fake("transpose.int", fake("view", tensor(b, s, 24), [b, s, 4, 6]), 1, 2)
        mask = fake("expand", tensor(b, 1, 1, s, dtype=dtypes.bool_), [b, 1, s, s])
        context = fake("scaled_dot_product_attention", heads, heads, heads, mask)
        assert context.shape == (b, 4, s, 6)
        merged = fake("reshape", fake("transpose.int", context, 1, 2), [b, s, 24])
        normed = fake(
            "layer_norm", fake("add.Tensor", merged, tensor(b, s, 24)), [24], tensor(24), tensor(24)
        )
        assert normed.shape == (b, s, 24)


def test_flattening_and_joining_ask_nothing(trace: Trace) -> None:
    b, s = trace.size(2), trace.size(5)
    with no_question(trace):
        assert fake("flatten.using_ints", tensor(b, s, 4)).shape == (b * s * 4,)
        assert fake("cat", [tensor(b, s), tensor(b, 3)], 1).shape == (b, s + 3)
        assert fake("stack", [tensor(b, s), tensor(b, s)]).shape == (2, b, s)
        assert fake("repeat", tensor(b, s), [2, 1]).shape == (b * 2, s)
        assert fake("expand", tensor(1, s), [b, -1]).shape == (b, s)
        assert fake("arange", s).shape == (s,)
        assert fake("sum.dim_IntList", tensor(b, s), [1]).shape == (b,)


def test_convolution_and_pooling_sizes_are_floor_expressions(trace: Trace) -> None:
    h = trace.size(32)
    assert isinstance(h, SymInt)
    out = fake("conv2d", tensor(1, 3, h, 16), tensor(8, 3, 3, 3), None, [2, 2], [1, 1])
    assert isinstance(out.shape[2], SymInt) and out.shape[2].hint == 16
    pooled = fake("max_pool2d", out, [2, 2])
    assert isinstance(pooled.shape[2], SymInt) and pooled.shape[2].hint == 8
    assert not any("==" in guard for guard in trace.guards())


def test_an_index_asks_only_that_it_lies_inside(trace: Trace) -> None:
    s = trace.size(5)
    fake("select.int", tensor(3, s), 1, 2)
    assert len(trace.guards()) == 1
    fake("select.int", tensor(3, s), 0, 2)
    assert len(trace.guards()) == 1


def test_chunks_of_a_symbolic_dimension_ask_how_many(trace: Trace) -> None:
    s = trace.size(6)
    pieces = fake("chunk", tensor(s), 2)
    assert [piece.shape[0].hint for piece in pieces] == [3, 3]
    assert len(trace.guards()) == 1


def test_chunks_of_a_multiple_ask_nothing(trace: Trace) -> None:
    s = trace.size(6)
    with no_question(trace):
        pieces = fake("chunk", tensor(2, s * 3), 3, 1)
        assert [piece.shape[1].hint for piece in pieces] == [6, 6, 6]


def test_sizes_that_depend_on_data_are_unbacked(trace: Trace) -> None:
    s = trace.size(5)
    with no_question(trace):
        found = fake("nonzero", tensor(s, 3))
        assert found.shape[1] == 2
        assert found.shape[0].hint is None
        assert fake("masked_select", tensor(s), tensor(s, dtype=dtypes.bool_)).shape[0].hint is None
        assert fake("index.Tensor", tensor(s, 3), [tensor(s, dtype=dtypes.bool_)]).shape[1] == 3
        assert fake("item", tensor(dtype=dtypes.int64)).hint is None


def test_nonzero_is_bounded_by_the_number_of_elements(trace: Trace) -> None:
    s = trace.size(5)
    found = fake("nonzero", tensor(s))
    with no_question(trace):
        assert bool(found.shape[0] <= s)
        assert bool(found.shape[0] >= 0)


def test_the_layout_of_attention_is_settled_without_a_question(trace: Trace) -> None:
    b, s = trace.size(2), trace.size(5)
    with no_question(trace):
        heads = fake("transpose.int", fake("view", tensor(b, s, 24), [b, s, 4, 6]), 1, 2)
        scaled = fake("mul.Tensor", heads, 2.0)
        assert scaled.strides == heads.strides and not scaled.is_plain
        context = fake("transpose.int", fake("scaled_dot_product_attention", scaled, heads, heads), 1, 2)
        merged = fake("view", context, [b, s, 24])
        assert merged.strides[1:] == (24, 1)
        assert context.is_plain


def test_a_piece_of_a_projection_is_viewed_as_heads_without_a_question(trace: Trace) -> None:
    b, s = trace.size(2), trace.size(5)
    with no_question(trace):
        query, _, _ = fake("split.Tensor", fake("linear", tensor(b, s, 24), tensor(72, 24)), 24, 2)
        assert fake("view", query, [b, s, 4, 6]).strides[1:] == (72, 6, 1)


def test_asking_whether_a_transposed_tensor_is_contiguous_is_a_question(trace: Trace) -> None:
    b = trace.size(4)
    turned = fake("t", tensor(b, 3))
    assert not is_contiguous(turned)
    assert any("!= 1" in guard or ">= 2" in guard for guard in trace.guards())


def test_strides_of_a_plain_tensor_are_products(trace: Trace) -> None:
    b, s = trace.size(2), trace.size(5)
    with no_question(trace):
        turned = fake("permute", tensor(b, s, 4), [0, 2, 1])
        assert turned.strides[1:] == (1, 4)
        assert isinstance(turned.strides[0], SymInt) and turned.strides[0].hint == 20


def test_errors_are_pytorchs(trace: Trace) -> None:
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        fake("add.Tensor", tensor(3), tensor(4))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        fake("matmul", tensor(2, 3), tensor(4, 5))
    with pytest.raises(IndexError, match="Dimension out of range"):
        fake("softmax.int", tensor(2, 3), 2)
    with pytest.raises(RuntimeError, match="is invalid for input of size 6"):
        fake("view", tensor(2, 3), [4, 2])
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        fake("mean", tensor(3, dtype=dtypes.int64))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        fake("view", fake("t", tensor(2, 3)), [6])
