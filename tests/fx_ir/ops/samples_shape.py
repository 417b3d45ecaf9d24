"""Sample calls of operators that move, cut, join and make tensors."""

from __future__ import annotations

from fx_ir.dtypes import CPU, MemoryFormat, by_name
from tests.fx_ir.ops.sampling import B, F, L, Sample, T, sample

f16, f32, f64, i32, i64, b8, u8 = (
    by_name(name) for name in ("float16", "float32", "float64", "int32", "int64", "bool", "uint8")
)


def reshapes() -> list[Sample]:
    return [
        sample("view", F(3, 4), [2, 6]), sample("view", F(3, 4), [-1]), sample("view", F(2, 3, 4), [2, -1, 2]),
        sample("view", F(), [1, 1]), sample("view", F(1), []), sample("view", F(0, 3), [3, 0]),
        sample("view", F(4, 6, layout="step"), [4, 2, 3]), sample("view", F(4, 6, layout="step"), [2, 2, 6]),
        sample("view", F(4, 3, 2, layout="swap"), [2, 2, 3, 2]), sample("view", F(1, 6, layout="step"), [6, 1]),
        sample("view_as", F(3, 4), F(2, 6)), sample("reshape", F(3, 4), [4, 3]), sample("reshape", F(2, 3, 4, layout="t"), [6, 4]),
        sample("reshape", F(2, 3, 4, layout="swap"), [-1, 4]), sample("reshape", F(2, 3, 4, layout="swap"), [2, 12]),
        sample("reshape", F(2, 3, 4, layout="step"), [6, 4]), sample("reshape_as", F(3, 4), F(12)),
        sample("reshape", F(3, 2, 4, layout="wide"), [3, 8]), sample("reshape", F(3, 2, 4, layout="wide"), [24]),
        sample("flatten.using_ints", F(2, 3, 4)), sample("flatten.using_ints", F(2, 3, 4), 1), sample("flatten.using_ints", F()),
        sample("flatten.using_ints", F(2, 3, 4), 0, 1), sample("flatten.using_ints", F(2, 3, 4, layout="swap"), 1, 2),
        sample("flatten.using_ints", F(2, 3), 1, 1), sample("ravel", F(2, 3, layout="t")), sample("ravel", F(2, 3)),
        sample("ravel", F(2, 3, layout="step")), sample("ravel", F(6, layout="step")), sample("ravel", F()), sample("unflatten.int", F(2, 12), 1, [3, -1]),
        sample("unflatten.int", F(12, 2, layout="t"), 0, [3, 4]), sample("_unsafe_view", F(3, 4), [6, 2]),
        sample("unsqueeze", F(3, 4), 0), sample("unsqueeze", F(3, 4), -1), sample("unsqueeze", F(2, 3, layout="t"), 1),
        sample("unsqueeze", F(), 0), sample("squeeze", F(1, 3, 1)), sample("squeeze.dim", F(1, 3, 1), 0), sample("squeeze.dim", F(1, 3), 1),
        sample("squeeze.dims", F(1, 3, 1), [0, -1]), sample("squeeze.dim", F(), 0), sample("squeeze", F(1, 2, 3, layout="t")),
        sample("expand", F(1, 4), [3, 4]), sample("expand", F(4), [2, 3, -1]), sample("expand", F(3, 1, layout="t"), [2, 3, 5]),
        sample("expand", F(), [2, 2]), sample("expand", F(3, 4), [-1, 4]), sample("expand", F(1, 4), [1, 1, 4]), sample("expand", F(1), [0]),
        sample("expand_as", F(1, 4), F(3, 4)), sample("broadcast_to", F(1, 4), [2, 3, 4]),
    ]  # fmt: skip


def views() -> list[Sample]:
    return [
        sample("permute", F(2, 3, 4), [2, 0, 1]), sample("permute", F(2, 3, 4), [-1, 0, 1]), sample("permute", F(), []),
        sample("transpose.int", F(2, 3, 4), 1, 2), sample("transpose.int", F(2, 3), -1, 0), sample("transpose.int", F(), 0, -1),
        sample("swapaxes", F(2, 3, 4), 0, 2), sample("swapdims", F(2, 3, 4), 0, 1), sample("t", F(2, 3)), sample("t", F(3)),
        sample("numpy_T", F(2, 3, 4)), sample("mT", F(2, 3, 4)), sample("movedim.int", F(2, 3, 4), 0, 2), sample("moveaxis.int", F(2, 3, 4), 2, 0),
        sample("movedim.intlist", F(2, 3, 4), [0, 1], [1, 2]), sample("moveaxis.intlist", F(2, 3, 4), [0, 1], [-1, 0]),
        sample("select.int", F(3, 4), 0, 1), sample("select.int", F(3, 4), 1, -1), sample("select.int", F(2, 3, 4, layout="t"), 1, 2),
        sample("slice.Tensor", F(5, 4), 0, 1, 4), sample("slice.Tensor", F(5, 4), 1, None, None, 2), sample("slice.Tensor", F(5, 4), 0, -2),
        sample("slice.Tensor", F(5, 4), 0, 3, 2), sample("slice.Tensor", F(5, 4), 0, -9, 9), sample("slice.Tensor", F(5, 4), 1, 1, -1, 2),
        sample("slice.Tensor", F(5, 4)), sample("slice.Tensor", F(5, 4, layout="t"), 0, 2), sample("slice.Tensor", F(5), 0, 0, 9223372036854775807),
        sample("narrow", F(5, 4), 0, 1, 3), sample("narrow", F(5, 4), 1, -2, 2), sample("diagonal", F(3, 4)), sample("diagonal", F(3, 4), 1),
        sample("linalg_diagonal", F(2, 3, 4)), sample("linalg_diagonal", F(3, 4, 4), offset=1, dim1=0, dim2=2),
        sample("diagonal", F(3, 4), -2), sample("diagonal", F(2, 3, 4), 0, 1, 2), sample("diagonal", F(3, 4), 7), sample("diagonal", F(3, 4), -5),
        sample("as_strided", F(3, 4), [2, 2], [1, 2]), sample("as_strided", F(3, 4), [2, 3], [4, 1], 1), sample("as_strided", F(12), [3], [0]),
        sample("unfold", F(7, 4), 0, 3, 2), sample("unfold", F(2, 7), -1, 2, 1), sample("alias", F(3, 4)), sample("detach", F(3, 4, layout="t")),
        sample("select_scatter", F(3, 4), F(4), 0, 1), sample("slice_scatter", F(5, 4), F(2, 4), 0, 1, 3),
        sample("slice_scatter", F(5, 4), F(5, 2), 1, None, None, 2), sample("diagonal_scatter", F(3, 4), F(3)),
        sample("as_strided_scatter", F(3, 4), F(2, 2), [2, 2], [4, 1]), sample("select_scatter", F(3, 4, layout="t"), F(4), 0, 1),
        sample("split.Tensor", F(7, 4), 3), sample("split.Tensor", F(4, 6), 2, 1), sample("split.Tensor", F(2, 3), 5), sample("split.sizes", F(7, 2), [3, 4]),
        sample("split_with_sizes", F(7, 2), [1, 2, 4]), sample("split_with_sizes", F(2, 7, layout="t"), [3, 4], 1),
        sample("chunk", F(7, 2), 3), sample("chunk", F(2, 6), 2, -1), sample("chunk", F(2, 6), 4, 1), sample("chunk", F(5), 9),
        sample("tensor_split.sections", F(7, 2), 3), sample("tensor_split.indices", F(7, 2), [2, 5]), sample("unsafe_split.Tensor", F(7), 3),
        sample("unsafe_chunk", F(7), 3), sample("unbind.int", F(3, 4)), sample("unbind.int", F(3, 4), 1), sample("unbind.int", F(2, 3, 4, layout="t"), -1),
    ]  # fmt: skip


def conversions() -> list[Sample]:
    found: list[Sample] = []
    for target in (f16, f32, f64, i32, i64, b8):
        for dtype in ("float32", "int64", "bool", "float16"):
            found.append(sample("to.dtype", T((3, 4), dtype, values="halves"), target))
    last, plain = MemoryFormat.channels_last, MemoryFormat.contiguous_format
    found += [
        sample("to.dtype", F(2, 3, 4, layout="t"), f64), sample("to.dtype", F(3, 4, layout="step"), i64), sample("to.dtype", F(3, 4), f32, False, True),
        sample("to.dtype", F(2, 3, 4, 5), f64, False, False, last), sample("to.dtype", F(2, 3, 4, 5), f32, False, False, last),
        sample("to.device", F(3, 4), CPU, f64), sample("to.device", F(3, 4), CPU, f32), sample("to.other", F(3, 4), L(2)), sample("to.other", F(3, 4), F(2)),
        sample("to.dtype_layout", F(3, 4), dtype=f64), sample("to.dtype_layout", F(3, 4, layout="t")), sample("_to_copy", F(3, 4)),
        sample("_to_copy", F(2, 3, 4, layout="t"), dtype=i64), sample("_to_copy", F(2, 3, 4, 5), memory_format=last),
        sample("_to_copy", F(2, 3, layout="t"), memory_format=plain), sample("type_as", F(3, 4), L(1)), sample("type_as", F(3, 4), F(1)),
        sample("clone", F(2, 3, 4, layout="t")), sample("clone", F(2, 3, 4, layout="t"), memory_format=plain), sample("clone", F(3, 4, layout="step")),
        sample("clone", F(3, 2, 4, layout="wide")), sample("clone", F(3, 1, 4, layout="thin")), sample("clone", F(3, 4), memory_format=plain),
        sample("clone", F(2, 3, 4, 5, layout="last"), memory_format=last), sample("_to_copy", F(2, 3, 4, 5, layout="last"), memory_format=last),
        sample("_to_copy", T((3,), "complex64"), dtype=f32), sample("to.dtype", T((3,), "complex64"), f32),
        sample("to.dtype", F(3, 4), f32, False, True, plain), sample("to.device", F(3, 4), CPU, f32, False, True, plain),
        sample("to.other", F(3, 4), F(2), False, True, plain), sample("to.dtype_layout", F(3, 1, 4, layout="thin"), copy=True), sample("clone", F(2, 3, 4, 5), memory_format=last), sample("contiguous", F(2, 3, layout="t")),
        sample("contiguous", F(2, 3)), sample("contiguous", F(2, 3, 4, 5), memory_format=last), sample("contiguous", F(3, 2, layout="wide")),
        sample("lift_fresh_copy", F(3, 4)), sample("lift_fresh", F(3, 4)), sample("copy", F(3, 4), L(4)), sample("copy", L(2, 3, layout="t"), F(3)),
        sample("view.dtype", F(3, 4), i32), sample("view.dtype", F(3, 4), f16), sample("view.dtype", F(3, 4), f64), sample("view.dtype", L(3), u8),
    ]  # fmt: skip
    return found


def creation() -> list[Sample]:
    last = MemoryFormat.channels_last
    found = [
        sample("zeros", [2, 3]), sample("ones", [2, 3], dtype=i64), sample("zeros", []), sample("full", [2, 3], 1.5), sample("full", [2], 3),
        sample("full", [2], True), sample("full", [2, 2], 3, dtype=f32), sample("eye", 3), sample("eye.m", 3, 4, dtype=i64),
        sample("empty.memory_format", [2, 3], _compare="strides"), sample("empty_strided", [2, 3], [1, 2], _compare="strides"),
        sample("empty_permuted", [2, 3, 4], [0, 2, 1], _compare="strides"), sample("arange", 5), sample("arange", 5.5), sample("arange", 5, dtype=f32),
        sample("arange.start", 2, 7), sample("arange.start", 0.5, 3), sample("arange.start_step", 0, 10, 3), sample("arange.start_step", 10, 0, -3),
        sample("arange.start_step", 0, 1, 0.1), sample("arange.start_step", 0, 64, 2, dtype=f32), sample("arange", 0), sample("linspace", 0, 1, 5),
        sample("linspace", -3.0, 7.0, 11, dtype=f64), sample("linspace", 0, 1, 1), sample("logspace", 0, 2, 5), sample("scalar_tensor", 3),
        sample("scalar_tensor", 2.5, dtype=f64), sample("tril_indices", 3, 4), sample("triu_indices", 4, 3, 1), sample("fill.Scalar", F(3, 4), 2),
        sample("fill.Tensor", L(3, 4), F()), sample("zero", F(2, 3, layout="t")),
    ]  # fmt: skip
    for name in ("zeros_like", "ones_like"):
        found += [
            sample(name, F(2, 3, 4, layout="t")),
            sample(name, F(3, 4, layout="step")),
            sample(name, F(3, 4), dtype=b8),
        ]
        found += [
            sample(name, F(3, 2, 4, layout="wide")),
            sample(name, F(2, 3, 4, 5), memory_format=last),
            sample(name, L()),
        ]
    found += [
        sample("empty_like", F(2, 3, layout="t"), _compare="strides"),
        sample("full_like", F(2, 3, layout="t"), 7),
    ]
    found += [
        sample("full_like", L(2, 3), 1.5, dtype=f32),
        sample("new_zeros", L(2), [3, 4]),
        sample("new_ones", F(2), [3], dtype=b8),
    ]
    found += [sample("new_full", F(2), [2, 2], 4), sample("new_empty", F(2), [2, 2], _compare="strides")]
    found += [sample("new_empty_strided", F(2), [2, 3], [1, 2], _compare="strides")]
    return found


def joining() -> list[Sample]:
    return [
        sample("cat", [F(2, 3), F(4, 3)]), sample("cat", [F(2, 3), F(2, 1)], 1), sample("cat", [F(2, 3), L(2, 3)], -1), sample("cat", [F(0), F(2, 3)]),
        sample("cat", [F(2, 3, layout="t"), F(2, 3, layout="t")]), sample("concat", [F(2), F(3)]), sample("concatenate", [F(2), F(3)]),
        sample("cat", [F(2, 3, 4, 5, layout="last"), F(2, 2, 4, 5, layout="last")], 1), sample("stack", [F(2, 3), F(2, 3)]),
        sample("stack", [F(2, 3), L(2, 3)], -1), sample("stack", [F(2, 3, layout="t"), F(2, 3)], 1), sample("stack", [F(), F()]),
        sample("pad_sequence", [F(2, 3), F(4, 3), F(1, 3)]), sample("pad_sequence", [F(2), F(4)], True, 1.5, "left"), sample("pad_sequence", [L(2, 3, 2), L(3, 3, 2)], True),
        sample("hstack", [F(2), F(3)]), sample("hstack", [F(2, 3), F(2, 1)]), sample("vstack", [F(3), F(2, 3)]), sample("column_stack", [F(3), F(3, 2)]),
        sample("hstack", [F(), F()]), sample("repeat", F(2, 3), [2, 1]), sample("repeat", F(3), [2, 2]), sample("repeat", F(2, 3, layout="t"), [1, 2]),
        sample("repeat", F(2, 3), [1, 1, 1]), sample("tile", F(2, 3), [2]), sample("tile", F(3), [2, 2]), sample("repeat_interleave.self_int", F(2, 3), 2),
        sample("repeat_interleave.self_int", F(2, 3), 3, 1), sample("repeat_interleave.self_Tensor", F(2, 3), L(2, low=0), 0),
        sample("repeat_interleave.Tensor", L(4, low=0)), sample("flip", F(2, 3), [0]), sample("flip", F(2, 3, 4, layout="t"), [0, -1]),
        sample("roll", F(3, 4), [1], [0]), sample("roll", F(3, 4), [1, -1], [0, 1]), sample("roll", F(3, 4), [2]), sample("roll", F(3, 4, layout="t"), [1], [1]),
        sample("rot90", F(3, 4)), sample("rot90", F(2, 3, 4), 3, [1, 2]), sample("rot90", F(3, 4), 2), sample("tril", F(3, 4)), sample("triu", F(2, 3, 4), 1),
        sample("tril", F(3, 4, layout="t"), -1), sample("tril", B(3, 3)), sample("diag", F(3)), sample("diag", F(3), -1), sample("diag", F(3, 4), 1),
        sample("diag_embed", F(2, 3)), sample("diag_embed", F(2, 3), 1), sample("diag_embed", F(2, 3), -1, 0, 2), sample("meshgrid", [F(3), F(4)]),
        sample("meshgrid.indexing", [F(3), F(4)], indexing="xy"), sample("meshgrid.indexing", [F(3), F(4), F(2)], indexing="ij"),
        sample("cartesian_prod", [F(3), F(2)]), sample("cartesian_prod", [F(3)]), sample("diff", F(3, 5)), sample("diff", F(5, 3), 2, 0),
        sample("diff", L(5), 1, -1, L(1), L(2)), sample("diff", B(5)),
        sample("diff", F(3, 5, layout="t"), 2, 0), sample("diff", F(3, 5, layout="step")), sample("diff", F(2, 3, 4, layout="between"), 1, 1),
        sample("diff", F(3, 5, layout="t"), 0, 0, F(1, 5), F(2, 5)), sample("diff", B(3, 5, layout="t"), 1, 0), sample("diff", L(3, 2), 3), sample("complex", F(3), F(3)), sample("polar", T((3,), values="positive"), F(3)),
    ]  # fmt: skip


def samples() -> list[Sample]:
    return [*reshapes(), *views(), *conversions(), *creation(), *joining()]
