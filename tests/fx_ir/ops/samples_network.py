"""Sample calls of neural-network operators, metadata readers and assertions."""

from __future__ import annotations

from fx_ir.dtypes import CPU, by_name
from tests.fx_ir.ops.sampling import B, F, L, Sample, T, sample

f16, f32, f64, i64 = (by_name(name) for name in ("float16", "float32", "float64", "int64"))
HALF = 4e-3
POSITIVE = "positive"


def norms() -> list[Sample]:
    found: list[Sample] = []
    for name in ("softmax.int", "log_softmax.int", "_safe_softmax"):
        found += [
            sample(name, F(3, 4), -1),
            sample(name, F(2, 3, 4), 1),
            sample(name, F(3, 4), 0, f64),
            sample(name, F(2, 3, 4, layout="t"), 2),
            sample(name, F(), 0),
        ]
        found += [
            sample(name, T((3, 4), "float16"), -1, _tolerance=HALF),
            sample(name, T((3, 4), "float16"), -1, f32, _tolerance=HALF),
            sample(name, L(3, 4), 1, f32),
        ]
    for name in ("_softmax", "_log_softmax"):
        found += [sample(name, F(3, 4), 1, False)]
    found += [
        sample("layer_norm", F(2, 3, 4), [4], F(4), F(4)), sample("layer_norm", F(2, 3, 4), [3, 4]), sample("layer_norm", F(2, 3, 4, layout="t"), [4], F(4), None, 1e-3),
        sample("layer_norm", T((2, 4), "float16"), [4], T((4,), "float16"), T((4,), "float16"), _tolerance=HALF), sample("native_layer_norm", F(2, 3, 4), [4], F(4), F(4), 1e-5),
        sample("rms_norm", F(2, 3, 4), [4], F(4), 1e-6), sample("rms_norm", F(2, 3, 4), [4]), sample("rms_norm", F(2, 3, 4), [3, 4], F(3, 4)),
        sample("rms_norm", F(2, 4, 3, layout="swap"), [3], F(3)), sample("group_norm", F(2, 6, 4), 3, F(6), F(6)), sample("group_norm", F(2, 6, 4, 5), 2), sample("group_norm", F(2, 6), 2, F(6)),
        sample("batch_norm", F(4, 3, 5), F(3), F(3), F(3), F(3, values=POSITIVE), False, 0.1, 1e-5, True), sample("batch_norm", F(4, 3), None, None, None, None, True, 0.1, 1e-5, True),
        sample("batch_norm", F(4, 3, 5, 6, layout="last"), F(3), F(3), F(3), F(3, values=POSITIVE), False, 0.1, 1e-5, True), sample("batch_norm", F(4, 3, 5, 6), F(3), None, None, None, True, 0.1, 1e-5, True),
        sample("_native_batch_norm_legit_functional", F(4, 3, 5), F(3), F(3), F(3), F(3, values=POSITIVE), True, 0.1, 1e-5),
        sample("_native_batch_norm_legit_functional", F(4, 3, 5), F(3), F(3), F(3), F(3, values=POSITIVE), False, 0.1, 1e-5),
        sample("instance_norm", F(2, 3, 4, 5), F(3), F(3), None, None, True, 0.1, 1e-5, True), sample("instance_norm", F(2, 3, 8), None, None, None, None, True, 0.1, 1e-5, True),
        sample("_weight_norm", F(4, 3, 2), T((4, 1, 1), values=POSITIVE)), sample("_weight_norm", F(4, 3), T((1, 3), values=POSITIVE), 1),
        sample("_weight_norm_interface", F(4, 3, 2), T((4, 1, 1), values=POSITIVE)), sample("_weight_norm_interface", F(4, 3), T((1, 3), values=POSITIVE), 1),
    ]  # fmt: skip
    return found


def attention() -> list[Sample]:
    q, k, v = F(2, 3, 5, 8), F(2, 3, 7, 8), F(2, 3, 7, 8)
    name = "scaled_dot_product_attention"
    return [
        sample(name, q, k, v), sample(name, q, k, v, B(5, 7)), sample(name, q, k, v, B(2, 1, 5, 7)), sample(name, q, k, v, F(2, 3, 5, 7)), sample(name, q, q, q, None, 0.0, True), sample(name, q, k, v, scale=0.3),
        sample(name, F(2, 4, 5, 8), F(2, 2, 7, 8), F(2, 2, 7, 8), enable_gqa=True), sample(name, F(3, 5, 8), F(3, 7, 8), F(3, 7, 8)), sample(name, F(5, 8), F(7, 8), F(7, 6)), sample(name, q, k, F(2, 3, 7, 6)),
        sample(name, q, k, v, F(5, 7)), sample(name, T((2, 3, 5, 8), layout="between"), k, v), sample(name, T((2, 3, 5, 8), layout="between"), k, v, B(2, 1, 5, 7)), sample(name, q, k, v, None, 0.0, True),
        sample("embedding", F(7, 4), L(2, 3, low=0, high=7)), sample("embedding", F(7, 4), L(low=0, high=7)), sample("embedding", F(7, 4, layout="t"), L(3, low=0, high=7), 0), sample("embedding", F(7, 4), T((2, 3), "int32", "plain", "range", 0, 7)),
        sample("one_hot", L(2, 3, low=0, high=5), 6), sample("one_hot", L(2, 3, low=0, high=5)), sample("embedding_bag.padding_idx", F(7, 4), L(6, low=0, high=7), T((1,), "int64", "plain", "range", 0, 1), False, 0, False, None, False, None, _compare="first"),
        sample("embedding_bag.padding_idx", F(7, 4), L(6, low=0, high=7), T((1,), "int64", "plain", "range", 0, 1), False, 1, False, None, False, 2, _compare="first"), sample("embedding_bag", F(7, 4), L(6, low=0, high=7), T((1,), "int64", "plain", "range", 0, 1), _compare="first"),
        sample("dropout", F(3, 4), 0.5, False), sample("dropout", F(3, 4), 0.0, True), sample("dropout", F(3, 4), 1.0, True), sample("feature_dropout", F(3, 4, 5), 0.5, False), sample("native_dropout", F(3, 4), 0.0, False, _compare="strides"),
    ]  # fmt: skip


def encoder_layers() -> list[Sample]:
    name = "_transformer_encoder_layer_fwd"
    qkv = (F(24, 8), F(24), F(8, 8), F(8))
    norms, feed = (F(8), F(8), F(8), F(8)), (F(16, 8), F(16), F(8, 16), F(8))
    found = [
        sample(name, F(2, 5, 8), 8, 2, *qkv, gelu, first, 1e-5, *norms, *feed, _tolerance=2e-4)
        for gelu in (False, True)
        for first in (False, True)
    ]
    weights = (*qkv, False, False, 1e-5, *norms, *feed)
    x = F(2, 5, 8)
    for mask, kind in ((B(5, 5), 0), (B(2, 5), 1), (B(2, 2, 5, 5), 2)):
        found += [
            sample(name, x, 8, 2, *weights, mask, kind, _tolerance=2e-4),
            sample(
                "_native_multi_head_attention", x, x, x, 8, 2, *qkv, mask, True, False, kind, _tolerance=2e-4
            ),
        ]
    return [
        *found,
        sample("_native_multi_head_attention", x, x, x, 8, 2, *qkv, _tolerance=2e-4),
        sample("_native_multi_head_attention", x, x, x, 8, 2, *qkv, None, False, _tolerance=2e-4),
    ]


def matrices() -> list[Sample]:
    return [
        *[sample("pdist", F(*shape), p) for shape in ((4, 3), (1, 3), (0, 2)) for p in (2.0, 1.0, 3.0)],
        *[
            sample(name, given, _tolerance=2e-4)
            for name in ("matrix_exp", "linalg_matrix_exp")
            for given in (F(3, 3), F(2, 4, 4, layout="t"), T((2, 2, 2), "float64"), F(2, 0, 0), F(1, 1))
        ],
    ]


def noise() -> list[Sample]:
    found = [sample("rrelu", F(3, 4)), sample("rrelu", F(3, 4, layout="t"), 0.1, 0.4)]
    for name in ("alpha_dropout", "feature_alpha_dropout"):
        found += [sample(name, F(3, 4, 5), 0.5, False), sample(name, F(3, 4, 5), 0.0, True)]
    return found


def metadata() -> list[Sample]:
    return [
        sample("sym_size.int", F(3, 4), 1), sample("sym_size.int", F(3, 4), -2), sample("sym_stride.int", F(3, 4), 0), sample("sym_stride.int", F(3, 4, layout="t"), 0), sample("sym_size", F(3, 4)), sample("sym_stride", F(3, 4)),
        sample("sym_numel", F(3, 4)), sample("sym_storage_offset", F(3, 4)), sample("item", F()), sample("item", L(1)), sample("item", B(1, 1)), sample("_local_scalar_dense", T((), "float64")), sample("is_nonzero", F()), sample("equal", L(3), L(3)),
        sample("_assert_scalar", True, "no"), sample("_assert_async", T((), "int64", "plain", "range", 1, 2)), sample("_assert_async.msg", T((), "int64", "plain", "range", 1, 2), "no"), sample("sym_constrain_range", 3, min=1, max=4),
        sample("sym_constrain_range_for_size", 3, min=1, max=4), sample("_assert_tensor_metadata", F(3, 4), [3, 4], None, f32, device=CPU),
    ]  # fmt: skip


def samples() -> list[Sample]:
    return [*norms(), *attention(), *encoder_layers(), *matrices(), *noise(), *metadata()]
