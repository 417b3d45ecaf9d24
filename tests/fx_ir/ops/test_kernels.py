"""Kernels against brute force: loops written from the definitions, and NumPy's own functions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from fx_ir import rng
from fx_ir.ops import OPS
from tests.fx_ir.ops.all_samples import ATEN

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(7)


def f32(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def run(name: str, *args: Any, **kwargs: Any) -> Any:
    operator = OPS[f"aten::{name}"]
    full, keywords = operator.bind(args, kwargs)
    assert operator.kernel is not None
    with np.errstate(all="ignore"):
        return operator.kernel(*full, **keywords)


def close(ours: Array, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)


def test_gelu_by_the_error_function() -> None:
    x = f32(50)
    close(run("gelu", x), [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()])
    inner = [math.sqrt(2 / math.pi) * (v + 0.044715 * v**3) for v in x.tolist()]
    close(
        run("gelu", x, approximate="tanh"),
        [0.5 * v * (1 + math.tanh(t)) for v, t in zip(x.tolist(), inner, strict=True)],
    )


def test_softmax_of_large_numbers() -> None:
    x = np.array([[1000.0, 1001.0, 1002.0], [-1000.0, 0.0, -1000.0]], np.float32)
    weights = np.exp([-2.0, -1.0, 0.0])
    close(run("softmax.int", x, 1)[0], weights / weights.sum())
    assert run("softmax.int", x, 1)[1].tolist() == [0.0, 1.0, 0.0]
    logs = run("log_softmax.int", x, 1)
    close(logs[0], np.log(weights / weights.sum()))
    assert logs[1].tolist() == [-1000.0, 0.0, -1000.0]


def test_layer_norm_by_its_formula() -> None:
    x, weight, bias = f32(3, 5), f32(5), f32(5)
    for row, out in zip(x, run("layer_norm", x, [5], weight, bias, 1e-5), strict=True):
        mean = sum(row.tolist()) / 5
        variance = sum((v - mean) ** 2 for v in row.tolist()) / 5
        close(
            out,
            [
                (v - mean) / math.sqrt(variance + 1e-5) * w + b
                for v, w, b in zip(row, weight, bias, strict=True)
            ],
        )


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"),
    [
        ((1, 1), (0, 0), (1, 1), 1),
        ((2, 1), (1, 2), (1, 1), 1),
        ((1, 1), (2, 2), (2, 1), 2),
        ((1, 2), (1, 1), (1, 1), 4),
    ],
)
def test_convolution_by_loops(stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    x, weight, bias = f32(2, 4, 6, 7), f32(8, 4 // groups, 3, 2), f32(8)
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2)).astype(np.float64)
    rows = (padded.shape[2] - dilation[0] * 2 - 1) // stride[0] + 1
    columns = (padded.shape[3] - dilation[1] - 1) // stride[1] + 1
    expected = np.zeros((2, 8, rows, columns))
    for n, o, i, j in np.ndindex(2, 8, rows, columns):
        first = o // (8 // groups) * (4 // groups)
        total = float(bias[o])
        for c, a, b in np.ndindex(4 // groups, 3, 2):
            total += (
                padded[n, first + c, i * stride[0] + a * dilation[0], j * stride[1] + b * dilation[1]]
                * weight[o, c, a, b]
            )
        expected[n, o, i, j] = total
    close(run("conv2d", x, weight, bias, list(stride), list(padding), list(dilation), groups), expected, 1e-4)


def test_transposed_convolution_is_the_adjoint() -> None:
    x, weight, y = f32(1, 3, 5, 6), f32(3, 4, 3, 2), f32(1, 4, 11, 12)
    ours = run("conv_transpose2d.input", x, weight, None, [2, 2])
    back = run("conv2d", y, weight.transpose(0, 1, 2, 3), None, [2, 2])
    assert ours.shape == y.shape
    close(np.array((ours * y).sum()), (x * back).sum(), 1e-3)


def test_attention_by_loops() -> None:
    q, k, v = f32(2, 3, 4), f32(2, 5, 4), f32(2, 5, 4)
    mask = RNG.integers(0, 2, (3, 5)).astype(bool)
    mask[1] = False
    ours = run("scaled_dot_product_attention", q, k, v, mask)
    for n, i in np.ndindex(2, 3):
        scores = [float(q[n, i] @ k[n, j]) / 2 if mask[i, j] else -math.inf for j in range(5)]
        if not mask[i].any():
            assert ours[n, i].tolist() == [0.0] * 4
            continue
        weights = np.exp(np.array(scores) - max(scores))
        close(ours[n, i], (weights / weights.sum()) @ v[n])


def test_causal_attention_sees_the_past_alone() -> None:
    q = f32(1, 2, 4, 8)
    ours = run("scaled_dot_product_attention", q, q, q, None, 0.0, True)
    close(ours[:, :, 0], q[:, :, 0])
    changed = q.copy()
    changed[:, :, 3] += 1
    again = run("scaled_dot_product_attention", changed, changed, changed, None, 0.0, True)
    close(again[:, :, :3], ours[:, :, :3])


def test_grouped_heads_equal_repeated_ones() -> None:
    q, k = f32(1, 4, 3, 8), f32(1, 2, 5, 8)
    repeated = np.repeat(k, 2, axis=1)
    close(
        run("scaled_dot_product_attention", q, k, k, enable_gqa=True),
        run("scaled_dot_product_attention", q, repeated, repeated),
    )


def test_pooling_by_loops() -> None:
    x = f32(1, 2, 7, 6)
    best = run("max_pool2d", x, [3, 2], [2, 2])
    mean = run("avg_pool2d", x, [3, 2], [2, 2])
    for c, i, j in np.ndindex(2, 3, 3):
        window = x[0, c, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        assert best[0, c, i, j] == window.max()
        close(mean[0, c, i, j], window.mean())


def test_lstm_by_its_equations() -> None:
    def sigmoid(v: Any) -> Any:
        return 1 / (1 + np.exp(-v))

    x, w, u, b, c = f32(4, 2, 3), f32(20, 3), f32(20, 5), f32(20), f32(20)
    output, hidden, memory = run(
        "lstm.input", x, [f32(1, 2, 5) * 0, f32(1, 2, 5) * 0], [w, u, b, c], True, 1, 0.0, False, False, False
    )
    h, m = np.zeros((2, 5)), np.zeros((2, 5))
    for t in range(4):
        gates = x[t] @ w.T + b + h @ u.T + c
        i, f, g, o = gates[:, :5], gates[:, 5:10], gates[:, 10:15], gates[:, 15:]
        m = sigmoid(f) * m + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(m)
        close(output[t], h)
    close(hidden[0], h)
    close(memory[0], m)


def test_integer_division_rounds_as_asked() -> None:
    pairs = [(a, b) for a, b in itertools.product(range(-7, 8), (-3, -2, 2, 3))]
    a, b = (np.array(side) for side in zip(*pairs, strict=True))
    assert run("div.Tensor_mode", a, b, rounding_mode="floor").tolist() == [p // q for p, q in pairs]
    assert run("div.Tensor_mode", a, b, rounding_mode="trunc").tolist() == [int(p / q) for p, q in pairs]
    assert run("remainder.Tensor", a, b).tolist() == [p % q for p, q in pairs]
    assert run("fmod.Tensor", a, b).tolist() == [int(math.fmod(p, q)) for p, q in pairs]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run("floor_divide", a, np.array(0))


def test_types_of_mixed_arithmetic() -> None:
    single, whole = f32(3), np.arange(3)
    assert run("add.Tensor", single, np.array(1.0)).dtype == np.float32
    assert run("add.Tensor", whole, 0.5).dtype == np.float32
    assert run("div.Tensor", whole, whole + 1).dtype == np.float32
    assert run("mul.Tensor", whole.astype(np.int8), 300).tolist() == [0, 44, 88]
    assert run("add.Tensor", single.astype(np.float64), single).dtype == np.float64


def test_variance_by_definition() -> None:
    x = f32(4, 6)
    for correction in (0, 1, 2):
        expected = [sum((v - row.mean()) ** 2 for v in row) / (6 - correction) for row in x]
        close(run("var.correction", x, [1], correction=correction), expected)


def test_einsum_against_numpy() -> None:
    a, b = f32(2, 3, 4), f32(2, 4, 5)
    for equation in ("bij,bjk->bik", "bij,bjk->ik", "bij,bjk->", "bij,bjk->kbi"):
        close(run("einsum", equation, [a, b]), np.einsum(equation, a, b), 1e-4)


def test_scatter_by_loops() -> None:
    x, src = f32(3, 4), f32(2, 4)
    index = RNG.integers(0, 3, (2, 4))
    expected = x.copy()
    for i, j in np.ndindex(2, 4):
        expected[index[i, j], j] += src[i, j]
    close(run("scatter_add", x, 0, index, src), expected)
    gathered = run("gather", x, 0, index)
    assert all(gathered[i, j] == x[index[i, j], j] for i, j in np.ndindex(2, 4))


def test_cross_entropy_by_definition() -> None:
    x, target = f32(4, 5), np.array([0, 3, -100, 2])
    losses = [
        math.log(sum(math.exp(v) for v in row)) - row[t]
        for row, t in zip(x.tolist(), target, strict=True)
        if t >= 0
    ]
    close(run("cross_entropy_loss", x, target), sum(losses) / 3)
    close(run("cross_entropy_loss", x, target, None, 2), sum(losses))


def test_groups_of_rows_are_multiplied_each_with_its_matrix() -> None:
    x, w, ends = f32(6, 3), f32(3, 3, 4), np.array([2, 2, 6], np.int32)
    expected = np.concatenate([x[:2] @ w[0], x[2:2] @ w[1], x[2:] @ w[2]])
    close(run("_grouped_mm", x, w, ends), expected)


def test_sorting_is_stable_and_puts_nans_last() -> None:
    x = np.array([2.0, np.nan, 1.0, 2.0, 1.0])
    values, order = run("sort.stable", x, stable=True)
    assert order.tolist() == [2, 4, 0, 3, 1]
    assert values[:4].tolist() == [1.0, 1.0, 2.0, 2.0] and np.isnan(values[4])
    assert run("sort.stable", x, stable=True, descending=True)[1].tolist() == [1, 0, 3, 2, 4]


def test_batch_norm_moves_its_statistics() -> None:
    x, mean, var = f32(6, 3), f32(3), np.abs(f32(3))
    out, _, _, new_mean, new_var = run(
        "_native_batch_norm_legit_functional", x, None, None, mean, var, True, 0.1, 1e-5
    )
    close(new_mean, 0.9 * mean + 0.1 * x.mean(axis=0))
    close(new_var, 0.9 * var + 0.1 * x.var(axis=0, ddof=1))
    close(out.mean(axis=0), np.zeros(3))


def test_lowering_of_batch_norm_writes_both_buffers() -> None:
    operator = OPS["aten::batch_norm"]
    assert operator.lower is not None
    written: list[tuple[Any, Any]] = []
    result = operator.lower(
        lambda name, *args: [name, "mean", "scale", "new mean", "new var"],
        lambda tensor, value: written.append((tensor, value)),
        "x", "w", "b", "running mean", "running var", True, 0.1, 1e-5, True,
    )  # fmt: skip
    assert result == "aten::_native_batch_norm_legit_functional"
    assert written == [("running mean", "new mean"), ("running var", "new var")]
    assert operator.lower(None, None, "x", None, None, "m", "v", False, 0.1, 1e-5, True) is NotImplemented


_DRAWS: dict[str, tuple[Any, ...]] = {
    "randn": ([3, 4],), "rand": ([3, 4],), "randint": (9, [5]), "randint.low": (2, 9, [5]), "randperm": (7,),
    "bernoulli.p": (f32(5), 0.5), "bernoulli.Tensor": (f32(5), np.full(5, 0.5, np.float32)), "bernoulli": (np.full(9, 0.5, np.float32),),
    "randint_like": (f32(5), 9), "randint_like.low_dtype": (f32(5), 2, 9), "normal.float_float": (1.0, 2.0, [5]),
    "normal.Tensor_float": (f32(5), 2.0), "normal.float_Tensor": (0.0, np.abs(f32(5))), "normal.Tensor_Tensor": (f32(5), np.abs(f32(5))),
    "multinomial": (np.abs(f32(3, 5)), 2), "dropout": (f32(50), 0.5, True), "feature_dropout": (f32(5, 9, 2), 0.5, True),
    "native_dropout": (f32(50), 0.5, True), "uniform": (f32(5), 2.0, 3.0), "normal_functional": (f32(5),), "exponential": (f32(5),),
    "randn_like": (f32(5),), "rand_like": (f32(5),), "alpha_dropout": (f32(50), 0.5, True),
    "random": (f32(5),), "random.to": (f32(9), 9), "random.from": (f32(9), 2, 9), "cauchy": (f32(5),), "log_normal": (f32(5),), "geometric": (f32(9), 0.1),
    "feature_alpha_dropout": (f32(5, 9, 2), 0.5, True), "rrelu": (-np.abs(f32(9)), 0.1, 0.4, True),
}  # fmt: skip
# Overloads with a generator share a kernel; the rest draws for dropout alone.
_OTHER_RANDOM = ("generator", ".input", ".data", "scaled_dot_product_attention")


def test_every_random_operator_is_drawn_from() -> None:
    random = {
        name.removeprefix("aten::") for name, operator in ATEN.items() if operator.random and operator.kernel
    }
    assert {name for name in random if not name.endswith(_OTHER_RANDOM)} == set(_DRAWS)


@pytest.mark.parametrize("short", sorted(_DRAWS))
def test_random_operators_repeat_after_one_seed(short: str) -> None:
    draws = []
    for seed in (1, 1, 2):
        rng.manual_seed(seed)
        result = run(short, *_DRAWS[short])
        draws.append(result[0] if isinstance(result, tuple) else result)
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    rng.manual_seed(0)
    out = run(
        "alpha_dropout", np.random.default_rng(0).standard_normal(200_000).astype(np.float32), 0.2, True
    )
    assert abs(out.mean()) < 0.02 and abs(out.var() - 1) < 0.02


def test_random_leaks_lie_between_their_bounds() -> None:
    rng.manual_seed(0)
    out = run("rrelu", np.full(1000, -1.0, np.float32), 0.1, 0.4, True)
    assert -0.4 <= out.min() < -0.38 and -0.12 < out.max() <= -0.1


def test_dropout_keeps_the_mean() -> None:
    rng.manual_seed(0)
    x = np.ones(20000, np.float32)
    out = run("dropout", x, 0.25, True)
    assert set(np.unique(out).tolist()) == {0.0, np.float32(1 / 0.75)}
    assert abs(out.mean() - 1) < 0.03
    assert run("dropout", x, 0.25, False) is x
