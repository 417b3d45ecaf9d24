"""Sample calls of reductions, products, indexing and sorting."""

from __future__ import annotations

from typing import Any

from fx_ir.dtypes import by_name
from tests.fx_ir.ops.sampling import B, F, L, Sample, T, sample

f16, f32, f64, i64 = (by_name(name) for name in ("float16", "float32", "float64", "int64"))
HALF = 4e-3


def sums() -> list[Sample]:
    found: list[Sample] = []
    for name, dims in (("sum", "sum.dim_IntList"), ("mean", "mean.dim")):
        found += [
            sample(name, F(3, 4)),
            sample(name, F()),
            sample(name, T((3, 4), "float16"), _tolerance=HALF),
            sample(name, L(3, 4), dtype=f32),
            sample(dims, F(2, 3, 4), [1]),
            sample(dims, F(2, 3, 4), [0, -1], True),
            sample(dims, F(2, 3, 4, layout="t"), [1]),
            sample(dims, F(2, 3, 4), None),
            sample(dims, F(2, 3, 4), [], False),
            sample(dims, F(2, 3), [-1], dtype=f64),
            sample(dims, F(), [0]),
        ]
    found += [
        sample("sum", L(3, 4)),
        sample("sum", B(3, 4)),
        sample("sum.dim_IntList", T((3, 4), "int32"), [0]),
        sample("sum", F(0)),
        *[
            sample("sum_to_size", F(2, 3, 4), size)
            for size in ([2, 3, 4], [1, 4], [3, 1], [4], [1, 1, 1], [])
        ],
        sample("sum_to_size", T((3, 4), "int32"), [1, 4]),
        sample("sum_to_size", F(4, 3, layout="t"), [4, 3]),
    ]
    for name in ("nansum", "nanmean"):
        found += [sample(name, T((3, 4), values="special")), sample(name, F(3, 4), [0])]
    found += [
        sample("prod", F(3, 4)),
        sample("prod", L(3, 4)),
        sample("prod.dim_int", F(3, 4), 1),
        sample("prod.dim_int", L(3, 4), 0, True),
        sample("logsumexp", F(3, 4), [1]),
        sample("logsumexp", F(2, 3, 4), [0, 2], True),
        sample("logsumexp", L(3, 4), [0]),
        sample("trace", F(3, 4)),
    ]
    return found


def extremes() -> list[Sample]:
    found: list[Sample] = []
    for name in ("all", "any"):
        found += [
            sample(name, B(3, 4)),
            sample(f"{name}.dim", F(3, 4), 1),
            sample(f"{name}.dim", B(3, 4), 0, True),
            sample(name, T((3,), "uint8")),
            sample(f"{name}.dims", B(2, 3, 4), [0, 1]),
            sample(f"{name}.dims", B(2, 3), None),
            sample(name, B(0)),
        ]
    found += [
        sample("count_nonzero", L(3, 4)),
        sample("count_nonzero", L(3, 4), 1),
        sample("count_nonzero.dim_IntList", L(2, 3, 4), [0, 1]),
    ]
    for name in ("max", "min"):
        found += [
            sample(name, F(3, 4)),
            sample(f"{name}.dim", F(3, 4), 1),
            sample(f"{name}.dim", T((5, 6), values="ties"), 0, True),
            sample(f"{name}.dim", T((4, 6), values="special"), 1),
            sample(f"{name}.dim", F(2, 3, 4, layout="t"), -1),
            sample(f"{name}.dim", F(), 0),
            sample(f"{name}.other", F(3, 4), F(4)),
            sample(f"a{name}", F(3, 4), [0]),
            sample(f"a{name}", F(3, 4)),
            sample(f"a{name}", L(2, 3, 4), [0, 2], True),
            sample(f"arg{name}", F(3, 4)),
            sample(f"arg{name}", F(3, 4), 1),
            sample(f"arg{name}", T((5, 6), values="ties"), 0, True),
            sample(f"arg{name}", T((4, 6), values="special"), 1),
            sample(name, B(3, 4)),
            sample(name, L(3, 4)),
            sample(f"arg{name}", F()),
        ]
    found += [sample("aminmax", F(3, 4)), sample("aminmax", F(3, 4), dim=1, keepdim=True)]
    return found


def spreads_and_norms() -> list[Sample]:
    found: list[Sample] = []
    for name in ("var", "std", "var_mean", "std_mean"):
        found += [
            sample(name, F(3, 4)),
            sample(name, F(3, 4), False),
            sample(f"{name}.dim", F(3, 4), [1]),
            sample(f"{name}.dim", F(3, 4), None, False, True),
            sample(f"{name}.correction", F(3, 4), [0]),
            sample(f"{name}.correction", F(3, 4), [0, 1], correction=0, keepdim=True),
            sample(f"{name}.correction", F(3, 1), [1]),
            sample(f"{name}.correction", F(3, 4), None, correction=2),
        ]
    for order in (2, 1, 0, 3, float("inf"), float("-inf"), 0.5):
        found.append(sample("linalg_vector_norm", F(3, 4), order, [1]))
    found += [
        sample("linalg_vector_norm", F(3, 4)),
        sample("linalg_vector_norm", F(3, 4), 2, None, True, dtype=f64),
        sample("norm.Scalar", F(3, 4)),
        sample("norm.ScalarOpt_dim", F(3, 4), 2, [1]),
        sample("norm.ScalarOpt_dim", F(3, 4), None, [0], True),
        sample("norm.ScalarOpt_dtype", F(3, 4), 2, dtype=f64),
        sample("norm.ScalarOpt_dim_dtype", F(3, 4), 2, [1], False, dtype=f64),
        sample("linalg_norm", F(3, 4)),
        sample("linalg_norm", F(3, 4), 2, [1]),
        sample("linalg_norm.ord_str", F(3, 4), "fro"),
        sample("median", F(3, 4)),
        sample("median.dim", F(3, 4), 1),
        sample("median.dim", F(3, 5), 0, True),
    ]
    return found


def products() -> list[Sample]:
    found = [
        sample("linear", F(2, 3), F(4, 3), F(4)), sample("linear", F(2, 5, 3), F(4, 3)), sample("linear", F(3), F(4, 3), F(4)), sample("linear", F(2, 5, 3, layout="swap"), F(4, 3), F(4)),
        sample("linear", T((2, 3), "float16"), T((4, 3), "float16"), T((4,), "float16"), _tolerance=HALF), sample("linear", F(2, 3), F(3)), sample("linear", F(0, 3), F(4, 3), F(4)),
        sample("matmul", F(3), F(3)), sample("matmul", F(2, 3), F(3)), sample("matmul", F(3), F(3, 4)), sample("matmul", F(2, 3), F(3, 4)), sample("matmul", F(5, 2, 3), F(3, 4)),
        sample("matmul", F(5, 2, 3), F(5, 3, 4)), sample("matmul", F(7, 1, 2, 3), F(5, 3, 4)), sample("matmul", F(5, 2, 3), F(3)), sample("matmul", F(3), F(5, 3, 4)),
        sample("matmul", L(2, 3), L(3, 4)), sample("matmul", F(2, 3, layout="t"), F(3, 4, layout="t")), sample("mm", F(2, 3), F(3, 4)), sample("bmm", F(5, 2, 3), F(5, 3, 4)),
        sample("mv", F(2, 3), F(3)), sample("dot", F(3), F(3)), sample("vdot", F(3), F(3)), sample("outer", F(3), F(4)), sample("outer", B(3), F(4)), sample("outer", F(3), L(4)), sample("ger", F(3), F(4)),
        sample("addmm", F(4), F(2, 3), F(3, 4)), sample("addmm", F(2, 4), F(2, 3), F(3, 4), beta=0.5, alpha=2), sample("addmm", F(4), F(2, 3), F(3, 4), beta=0),
        sample("addmv", F(2), F(2, 3), F(3)), sample("addr", F(3, 4), F(3), F(4)), sample("baddbmm", F(5, 2, 4), F(5, 2, 3), F(5, 3, 4)), sample("baddbmm", F(4), F(5, 2, 3), F(5, 3, 4), beta=2),
        sample("addbmm", F(2, 4), F(5, 2, 3), F(5, 3, 4)), sample("tensordot", F(2, 3, 4), F(4, 3, 5), [1, 2], [1, 0]), sample("kron", F(2, 3), F(4, 5)),
    ]  # fmt: skip
    for equation, shapes in (
        ("ij,jk->ik", ((2, 3), (3, 4))), ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))), ("bij,bjk", ((2, 3, 4), (2, 4, 5))), ("ii->i", ((3, 3),)), ("ij->ji", ((3, 4),)),
        ("...ij,...jk->...ik", ((2, 3, 4), (2, 4, 5))), ("i,j->ij", ((3,), (4,))), ("ij,j,k->ik", ((3, 4), (4,), (5,))), ("bnd,bne->bde", ((2, 3, 4), (2, 3, 5))), ("ij->", ((3, 4),)),
        ("bcxd,bcyd->bcxy", ((2, 3, 4, 5), (2, 3, 6, 5))), ("blh,bl->bh", ((2, 3, 4), (2, 3))),
    ):  # fmt: skip
        found.append(sample("einsum", equation, [F(*shape) for shape in shapes], _compare="values"))
    return found


def indexing() -> list[Sample]:
    low: dict[str, Any] = {"low": -3, "high": 3}
    return [
        sample("index.Tensor", F(3, 4), [L(2, **low)]), sample("index.Tensor", F(3, 4), [None, L(2, 5, **low)]), sample("index.Tensor", F(3, 4), [L(2, **low), L(2, **low)]),
        sample("index.Tensor", F(3, 4, 5), [L(2, 1, **low), None, L(3, **low)]), sample("index.Tensor", F(3, 4, 5), [None, L(2, 1, **low), L(3, **low)]), sample("index.Tensor", F(3, 4), [B(3, 4)]),
        sample("index.Tensor", F(3, 4), [B(3)]), sample("index.Tensor", F(3, 4), [None, B(4)]), sample("index.Tensor", F(2, 3, 4), [B(2, 3)]), sample("index.Tensor", F(3, 4, 5, layout="t"), [L(2, **low)]),
        sample("index.Tensor", F(3, 4, 5, layout="swap"), [None, L(2, 2, **low)]), sample("index.Tensor", F(3, 4), [L(**low)]), sample("index.Tensor", F(3, 4), [L(0)]),
        sample("index.Tensor", F(3, 4), [B(3), L(1, low=0, high=3)]), sample("index.Tensor", F(3, 4, 5), [L(2, 2, layout="t", **low), L(2, 1, **low)]), sample("index_select", F(3, 4), 0, L(5, low=0, high=3)),
        sample("index_select", F(3, 4, layout="t"), 1, L(2, low=0, high=3)), sample("index_select", F(), 0, L(1, low=0, high=1)), sample("gather", F(3, 4), 1, L(3, 2, low=0, high=4)),
        sample("gather", F(3, 4), 0, L(2, 3, low=0, high=3)), sample("gather", F(3, 4, layout="t"), 1, L(3, 2, low=0, high=4)), sample("take", F(3, 4), L(2, 2, low=0, high=12)),
        sample("take_along_dim", F(3, 4), L(3, 2, low=0, high=4), 1), sample("take_along_dim", F(3, 4), L(5, low=0, high=12)), sample("nonzero", L(3, 4, low=0, high=2)), sample("argwhere", L(3, 4, low=0, high=2)),
        sample("nonzero", L()), sample("nonzero_numpy", B(3, 4)), sample("where", B(3, 4)), sample("masked_select", F(3, 4), B(4)), sample("masked_select", F(3, 4), B(3, 4)),
        sample("_unique2", L(12), True, True, True), sample("_unique2", L(3, 4)), sample("unique_dim", L(4, 2, low=0, high=2), 0, True, True, True, _compare="values"),
        sample("unique_consecutive", L(12, low=0, high=2), True, True), sample("unique_consecutive", L(6, 1, low=0, high=2), True, True, 0, _compare="values"),
        sample("index_put", F(3, 4), [L(2, **low)], F(4)), sample("index_put", F(3, 4), [L(4, **low)], F(4, 4), True), sample("index_put", F(3, 4), [B(3, 4)], F()),
        sample("index_put", F(3, 4), [B(3, 4)], L()), sample("index_put", F(3, 4), [None, B(4)], L(1)),
        sample("index_put", F(3, 4), [None, L(1, low=0, high=4)], F(3, 1)), sample("index_put", L(3, 4, layout="t"), [L(2, **low), L(2, **low)], L(2), True),
        sample("index_add", F(3, 4), 0, L(5, low=0, high=3), F(5, 4)), sample("index_add", F(3, 4), 1, L(2, low=0, high=4), F(3, 2), alpha=2), sample("index_copy", F(3, 4), 1, T((2,), "int64", "plain", "range", 1, 2), F(3, 2), _compare="strides"),
        sample("index_fill.int_Scalar", F(3, 4), 0, L(2, low=0, high=3), 1.5), sample("index_fill.int_Tensor", F(3, 4), 1, L(2, low=0, high=4), F()),
        sample("scatter.src", F(3, 5), 0, L(1, 5, low=0, high=3), F(2, 5)), sample("scatter.value", F(3, 5), 1, L(3, 2, low=0, high=5), 1.5), sample("scatter.reduce", F(3, 5), 0, L(2, 5, low=0, high=3), F(2, 5), reduce="multiply"),
        sample("scatter.value_reduce", F(3, 5), 0, L(2, 5, low=0, high=3), 2.0, reduce="add"), sample("scatter_add", F(3, 5), 0, L(2, 5, low=0, high=3), F(2, 5)), sample("scatter_add", F(3, 5), 1, L(2, 7, low=0, high=5), F(3, 8)),
        *[sample("scatter_reduce.two", F(3, 5), 0, L(4, 5, low=0, high=3), F(4, 5), reduce, include_self=keep) for reduce in ("sum", "prod", "mean", "amax", "amin") for keep in (True, False)],
        sample("scatter_reduce.two", L(3, 5), 0, L(4, 5, low=0, high=3), L(4, 5), "mean"), sample("masked_scatter", F(3, 4), B(3, 4), F(12)), sample("masked_scatter", F(3, 4), B(4), F(12)),
    ]  # fmt: skip


def sorting() -> list[Sample]:
    return [
        sample("sort", F(3, 6)), sample("sort", F(3, 6), 0, True), sample("sort", F(2, 3, 4, layout="t"), 1), sample("sort", T((5, 5), values="special"), 1, _compare="strides"), sample("sort", F()),
        sample("sort.stable", T((4, 9), values="ties"), stable=True), sample("sort.stable", T((4, 9), values="ties"), stable=True, dim=0, descending=True), sample("argsort", F(3, 6)),
        sample("argsort.stable", T((4, 9), values="ties"), stable=True, descending=True), sample("msort", F(4, 3)), sample("topk", F(3, 7), 3), sample("topk", F(7, 3), 2, 0, False), sample("topk", F(3, 7, layout="t"), 2),
        sample("kthvalue", F(3, 7), 2), sample("kthvalue", F(3, 7), 2, 0, True), sample("cumsum", F(3, 4), 1), sample("cumsum", L(3, 4), 0), sample("cumsum", B(3, 4), -1), sample("cumsum", F(3, 4, layout="t"), 0),
        sample("cumsum", L(3, 4), 0, dtype=f32), sample("cumsum", F(), 0), sample("cumprod", F(3, 4), 1), sample("cummax", F(3, 6), 1), sample("cummin", T((4, 8), values="ties"), 1), sample("cummax", T((4, 8), values="ties"), 0),
        sample("logcumsumexp", F(3, 4), 1), sample("searchsorted.Tensor", T((4,), "int64", "plain", "range", 1, 2), L(2, 3)), sample("searchsorted.Scalar", L(1), 2, right=True), sample("searchsorted.Tensor", L(1), L(3), out_int32=True),
        sample("bucketize.Tensor", F(3, 4), F(1)), sample("bucketize.Scalar", 0.5, F(1)), sample("histc", F(20), 5), sample("histc", F(20), 4, -1, 1), sample("bincount", L(9, low=0, high=6)), sample("bincount", L(9, low=0, high=6), F(9), 8),
        sample("isin.Tensor_Tensor", L(3, 4), L(3)), sample("isin.Tensor_Scalar", L(3, 4), 2), sample("isin.Scalar_Tensor", 2, L(3)), sample("isin.Tensor_Tensor", L(3, 4), L(3), invert=True),
    ]  # fmt: skip


def order() -> list[Sample]:
    """Quantiles, modes, covariance, integrals, combinations, powers of matrices."""
    q = T((2,), values="unit")
    ties, holes = T((4, 9), values="ties"), T((4, 6), values="special")
    found = [
        sample("nanmedian", F(7)), sample("nanmedian", T((9,), values="special")), sample("nanmedian.dim", F(3, 6), 1), sample("nanmedian.dim", F(3, 5), 0, True), sample("nanmedian", F(0)),
        sample("mode", ties), sample("mode", L(5, 3, low=0, high=3), 0, True), sample("mode", F()), sample("mode", L(3, 7, low=0, high=3, layout="t"), 1),
        sample("cov", F(3, 5)), sample("cov", F(5)), sample("cov", L(3, 5)), sample("cov", F(3, 5), correction=0), sample("cov", F(3, 5), fweights=L(5, low=1, high=4)),
        sample("cov", F(3, 5), aweights=T((5,), values="positive")), sample("cov", F(3, 5), fweights=L(5, low=1, high=4), aweights=T((5,), values="positive"), correction=0), sample("cov", T((3, 5), "complex64")),
        sample("corrcoef", F(3, 5)), sample("corrcoef", F(5)), sample("combinations", L(4)), sample("combinations", F(4), 3), sample("combinations", F(3), 2, True), sample("combinations", F(2), 3), sample("combinations", F(2), 0), sample("combinations", F(0), 2, True),
        *[sample(name, F(3, 3), n, _tolerance=1e-3) for name in ("matrix_power", "linalg_matrix_power") for n in (-2, -1, 0, 1, 3)], sample("matrix_power", F(2, 3, 3), 2), sample("matrix_power", F(2, 3, 3), -1, _tolerance=1e-3), sample("matrix_power", F(3, 3, layout="t"), 1), sample("matrix_power", T((3, 3), "float64"), 4),
    ]  # fmt: skip
    for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
        found += [
            sample(f"{name}.dx", F(3, 4)), sample(f"{name}.dx", L(3, 4)), sample(f"{name}.dx", F(3, 4), dx=0.5, dim=0), sample(f"{name}.x", F(3, 4), F(4)), sample(f"{name}.x", F(4, 3), F(4), dim=0),
            sample(f"{name}.x", L(3, 4), L(4)), sample(f"{name}.x", F(3, 4, 2), F(3, 4, 2), dim=1), sample(f"{name}.x", T((3, 4), "float64"), F(4)),
        ]  # fmt: skip
    for name in ("quantile", "nanquantile"):
        for way in ("linear", "lower", "higher", "midpoint", "nearest"):
            found.append(sample(name, F(3, 7), q, 1, interpolation=way))
        found += [
            sample(name, F(3, 7), q), sample(name, F(3, 7), q, None, True), sample(name, F(3, 7), q, 0, True), sample(name, F(2, 3, 4), T((), values="unit"), 1), sample(name, holes, q, 1), sample(name, F(), q),
            sample(f"{name}.scalar", F(3, 7), 0.3, 1), sample(f"{name}.scalar", F(3, 7), 1.0), sample(f"{name}.scalar", T((2, 3, 4), "float64"), 0.25, -2, True), sample(f"{name}.scalar", F(3, 7, layout="t"), 0.3, 0),
        ]  # fmt: skip
    return found


def samples() -> list[Sample]:
    return [*sums(), *extremes(), *spreads_and_norms(), *products(), *indexing(), *sorting(), *order()]
