"""Sample calls of convolutions, pooling, resizing, recurrent networks, losses and transforms."""

from __future__ import annotations

from typing import Any

from fx_ir.dtypes import by_name, float64
from tests.fx_ir.ops.sampling import B, F, L, Sample, T, sample

f32 = by_name("float32")
HALF = 8e-3
TOLERANT = 1e-4


def convolutions() -> list[Sample]:
    found: list[Sample] = []
    for rank in (1, 2, 3):
        size = (9, 8, 7)[:rank]
        kernel = (3, 2, 3)[:rank]
        name = f"conv{rank}d"
        ones, zeros, two = [1] * rank, [0] * rank, [2] * rank
        found += [
            sample(name, F(2, 4, *size), F(6, 4, *kernel), F(6)), sample(name, F(2, 4, *size), F(6, 4, *kernel), None, two, ones),
            sample(name, F(2, 4, *size), F(6, 2, *kernel), F(6), ones, ones, two[:rank] if rank == 1 else ones, 2),
            sample(name, F(2, 4, *size), F(4, 1, *kernel), F(4), ones, ones, ones, 4), sample(name, F(4, *size), F(6, 4, *kernel), F(6)),
            sample(name, F(2, 4, *size), F(6, 4, *[1] * rank), F(6)), sample(name, F(2, 4, *size), F(6, 4, *[1] * rank), None, two),
            sample(f"{name}.padding", F(2, 4, *size), F(6, 4, *kernel), F(6), ones, "same"), sample(f"{name}.padding", F(2, 4, *size), F(6, 4, *kernel), None, ones, "valid"),
            sample(f"{name}.padding", F(2, 4, *size), F(6, 4, *[3] * rank), None, ones, "same"),
        ]  # fmt: skip
        name = f"conv_transpose{rank}d" + (".input" if rank > 1 else "")
        found += [
            sample(name, F(2, 4, *size), F(4, 6, *kernel), F(6)), sample(name, F(2, 4, *size), F(4, 6, *kernel), None, two, ones, ones),
            sample(name, F(2, 4, *size), F(4, 3, *kernel), F(6), two, zeros, zeros, 2), sample(name, F(2, 4, *size), F(4, 3, *kernel), F(6), ones, zeros, zeros, 2, two),
            sample(name, F(4, *size), F(4, 6, *kernel), F(6)),
        ]  # fmt: skip
    found += [
        sample("conv2d", F(2, 4, 8, 8, layout="last"), F(6, 4, 3, 3), F(6)), sample("conv2d", T((2, 4, 6, 6), "float16"), T((3, 4, 3, 3), "float16"), _tolerance=4e-2),
        sample("convolution", F(2, 4, 8, 8), F(6, 4, 3, 3), F(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 1), sample("convolution", F(2, 4, 8), F(4, 6, 3), None, [2], [0], [1], True, [0], 1),
        sample("conv2d", F(2, 8, 8, 8), F(8, 4, 3, 3), F(8), [2, 2], [1, 1], [1, 1], 2), sample("conv1d", F(2, 6, 12), F(12, 1, 4), F(12), [1], [3], [1], 6),
    ]  # fmt: skip
    return [Sample(one.op, one.args, one.kwargs, one.compare, max(one.tolerance, TOLERANT)) for one in found]


def pools() -> list[Sample]:
    found: list[Sample] = []
    for rank in (1, 2, 3):
        size = (9, 8, 7)[:rank]
        three, two, one = [3] * rank, [2] * rank, [1] * rank
        for name in (f"max_pool{rank}d", f"max_pool{rank}d_with_indices"):
            found += [
                sample(name, F(2, 4, *size), three), sample(name, F(2, 4, *size), three, two, one), sample(name, F(2, 4, *size), two, two, one, two, True),
                sample(name, F(4, *size), two, one), sample(name, F(2, 4, *size), three, two, one, one, True), sample(name, T((2, 2, *size), values="ties"), three, one),
            ]  # fmt: skip
        name = f"avg_pool{rank}d"
        found += [
            sample(name, F(2, 4, *size), three), sample(name, F(2, 4, *size), three, two, one), sample(name, F(2, 4, *size), three, two, one, True),
            sample(name, F(2, 4, *size), three, two, one, False, False), sample(name, F(2, 4, *size), three, two, one, True, False), sample(name, F(4, *size), two),
        ]  # fmt: skip
        if rank > 1:
            found.append(sample(name, F(2, 4, *size), two, two, [0] * rank, False, True, 3))
        found += [
            sample(f"adaptive_avg_pool{rank}d", F(2, 4, *size), one),
            sample(f"adaptive_avg_pool{rank}d", F(2, 4, *size), [4, 3, 5][:rank]),
            sample(f"adaptive_max_pool{rank}d", F(2, 4, *size), [4, 3, 5][:rank]),
            sample(f"adaptive_max_pool{rank}d", F(4, *size), one),
        ]
    found += [
        sample("max_pool2d", F(2, 4, 8, 8, layout="last"), [2, 2]),
        sample("avg_pool2d", F(2, 4, 8, 8, layout="last"), [2, 2]),
    ]
    found += [
        sample("_adaptive_avg_pool2d", F(2, 4, 8, 8), [3, 3]),
        sample("adaptive_avg_pool2d", F(2, 4, 8, 8), [4, 2]),
    ]
    return found


def resampling() -> list[Sample]:
    found = [
        sample("pad", F(2, 3, 4), [1, 2]), sample("pad", F(2, 3, 4), [1, 2, 0, 1], "constant", 3.0), sample("pad", F(2, 3, 4), [-1, 2]), sample("pad", L(2, 3), [1, 1]), sample("pad", F(2, 3, 4), [1, 1], "reflect"),
        sample("pad", F(2, 3, 4, 5), [1, 2, 2, 0], "reflect"), sample("pad", F(2, 3, 4), [1, 2], "replicate"), sample("pad", F(2, 3, 4, 5), [1, 2, 3, 0], "replicate"), sample("pad", F(2, 3, 4), [1, 2], "circular"),
        sample("constant_pad_nd", F(2, 3), [1, 0, 0, 2], 7), sample("constant_pad_nd", B(2, 3), [1, 1]), sample("pad", F(2, 3, 4, 5, layout="last"), [1, 1, 1, 1]), sample("reflection_pad1d", F(2, 3, 4), [2, 1]),
        sample("reflection_pad2d", F(2, 3, 4, 5), [2, 1, 1, 0]), sample("reflection_pad3d", F(1, 2, 3, 4, 5), [2, 1, 1, 0, 1, 1]), sample("replication_pad1d", F(2, 3, 4), [2, 1]), sample("replication_pad2d", F(2, 3, 4, 5), [2, 1, 1, 0]),
        sample("replication_pad3d", F(1, 2, 3, 4, 5), [2, 1, 1, 0, 1, 1]), sample("pixel_shuffle", F(2, 8, 3, 4), 2), sample("pixel_unshuffle", F(2, 2, 6, 4), 2), sample("channel_shuffle", F(2, 6, 3), 3),
        sample("im2col", F(2, 3, 6, 7), [2, 3], [1, 1], [1, 0], [2, 1]), sample("im2col", F(3, 6, 7), [2, 2], [2, 1], [0, 0], [1, 1]), sample("col2im", F(2, 12, 30), [6, 7], [2, 2], [1, 1], [0, 0], [1, 1]),
        sample("upsample_nearest1d", F(2, 3, 4), [7]), sample("upsample_nearest1d.vec", F(2, 3, 4), None, [2.0]), sample("upsample_linear1d", F(2, 3, 4), [7], False), sample("upsample_linear1d.vec", F(2, 3, 4), [3], True, None),
        sample("upsample_nearest2d", F(2, 3, 4, 5), [7, 3]), sample("upsample_nearest2d.vec", F(2, 3, 4, 5), None, [2.0, 2.0]), sample("upsample_nearest2d.vec", F(2, 3, 4, 5), None, [1.5, 2.3]),
        sample("upsample_nearest2d.vec", F(2, 3, 4, 5, layout="last"), [8, 8], None),
    ]  # fmt: skip
    for name in (
        "upsample_bilinear2d",
        "upsample_bicubic2d",
        "_upsample_bilinear2d_aa",
        "_upsample_bicubic2d_aa",
    ):
        tolerance: dict[str, Any] = {"_tolerance": TOLERANT}
        found += [sample(name, F(2, 3, 4, 5), [7, 9], corners, **tolerance) for corners in (True, False)]
        found += [sample(name, F(2, 3, 8, 6), [3, 4], corners, **tolerance) for corners in (True, False)]
        found += [
            sample(f"{name}.vec", F(2, 3, 4, 5), None, False, [2.0, 1.5], **tolerance),
            sample(f"{name}.vec", F(2, 3, 4, 5), [8, 8], True, None, **tolerance),
        ]
    return found


def recurrent() -> list[Sample]:
    found: list[Sample] = []
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, directions, batch_first in ((1, 1, False), (2, 1, True), (2, 2, False), (1, 2, True)):
            params: list[T] = []
            for layer in range(layers):
                width = 5 if layer == 0 else 4 * directions
                params += [F(4 * gates, width), F(4 * gates, 4), F(4 * gates), F(4 * gates)] * directions
            state = F(layers * directions, 3, 4)
            input = F(3, 6, 5) if batch_first else F(6, 3, 5)
            hidden: Any = [state, state] if name == "lstm" else state
            found.append(
                sample(
                    f"{name}.input",
                    input,
                    hidden,
                    params,
                    True,
                    layers,
                    0.0,
                    False,
                    directions == 2,
                    batch_first,
                )
            )
        lone: Any = [F(1, 2, 4), F(1, 2, 4)] if name == "lstm" else F(1, 2, 4)
        found.append(
            sample(
                f"{name}.input",
                F(6, 2, 5),
                lone,
                [F(4 * gates, 5), F(4 * gates, 4)],
                False,
                1,
                0.0,
                False,
                False,
                False,
            )
        )
        cell: Any = [F(3, 4), F(3, 4)] if name == "lstm" else F(3, 4)
        found.append(
            sample(
                f"{name}_cell", F(3, 5), cell, F(4 * gates, 5), F(4 * gates, 4), F(4 * gates), F(4 * gates)
            )
        )
        found.append(sample(f"{name}_cell", F(3, 5), cell, F(4 * gates, 5), F(4 * gates, 4)))
    return found


def losses() -> list[Sample]:
    found: list[Sample] = []
    for reduction in (0, 1, 2):
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
            found.append(sample(name, F(3, 4), F(3, 4), reduction))
        found += [
            sample("smooth_l1_loss", F(3, 4), F(3, 4), reduction, 0.5), sample("huber_loss", F(3, 4), F(3, 4), reduction, 0.5), sample("kl_div", F(3, 4), T((3, 4), values="unit"), reduction), sample("kl_div", F(3, 4), F(3, 4), reduction, log_target=True),
            sample("binary_cross_entropy", T((3, 4), values="unit"), T((3, 4), values="unit"), None, reduction), sample("binary_cross_entropy", T((3, 4), values="unit"), T((3, 4), values="unit"), F(3, 4), reduction),
            sample("binary_cross_entropy_with_logits", F(3, 4), T((3, 4), values="unit"), None, None, reduction), sample("binary_cross_entropy_with_logits", F(3, 4), T((3, 4), values="unit"), F(4), T((4,), values="positive"), reduction),
            sample("cross_entropy_loss", F(3, 5), L(3, low=0, high=5), None, reduction), sample("cross_entropy_loss", F(3, 5, 4), L(3, 4, low=0, high=5), T((5,), values="positive"), reduction, 2), sample("cross_entropy_loss", F(5), L(low=0, high=5), None, reduction),
            sample("cross_entropy_loss", F(3, 5), L(3, low=0, high=5), T((5,), values="positive"), reduction, 1, 0.1), sample("cross_entropy_loss", F(3, 5), T((3, 5), values="unit"), T((5,), values="positive"), reduction, -100, 0.1), sample("cross_entropy_loss", F(3, 5), L(3, low=0, high=5), None, reduction, -100, 0.2),
            sample("nll_loss", F(3, 5), L(3, low=0, high=5), None, reduction), sample("nll_loss_nd", F(3, 5, 4), L(3, 4, low=0, high=5), T((5,), values="positive"), reduction, 1), sample("margin_ranking_loss", F(3), F(3), F(3), 0.2, reduction),
            sample("margin_ranking_loss", L(3), L(3), L(3), 0.2, reduction), sample("margin_ranking_loss", L(3), L(3), F(3), 0.0, reduction),
        ]  # fmt: skip
        found += [
            sample("soft_margin_loss", F(3, 4), F(3, 4), reduction), sample("poisson_nll_loss", F(3, 4), T((3, 4), values="positive"), True, False, 1e-8, reduction), sample("poisson_nll_loss", T((3, 4), values="positive"), T((3, 4), values="above"), False, True, 1e-8, reduction), sample("poisson_nll_loss", F(3, 4), T((3, 4), values="positive"), True, True, 1e-8, reduction),
            sample("poisson_nll_loss", L(3, 4), L(3, 4), True, False, 1e-8, reduction), sample("poisson_nll_loss", L(3, 4, low=1), L(3, 4, low=2), False, True, 1e-8, reduction),
            sample("multi_margin_loss", F(3, 5), L(3, low=0, high=5), 1, 1, None, reduction), sample("multi_margin_loss", F(3, 5), L(3, low=0, high=5), 2, 0.5, T((5,), values="positive"), reduction), sample("multi_margin_loss", F(5), L(low=0, high=5), 1, 1, None, reduction), sample("multi_margin_loss", F(5), L(1, low=0, high=5), 1, 1, None, reduction),
        ]  # fmt: skip
    found += [sample("cosine_similarity", F(3, 4), F(3, 4)), sample("cosine_similarity", F(2, 3, 4), F(4), -1), sample("pairwise_distance", F(3, 4), F(3, 4)),
        sample("pairwise_distance", L(3, 4), L(3, 4)), sample("pairwise_distance", L(3, 4), F(3, 4), 1.0, 1e-6, True), sample("pairwise_distance", F(3, 4), F(4), 1.0, 1e-6, True), sample("cdist", F(3, 4), F(5, 4)), sample("cdist", F(2, 3, 4), F(2, 5, 4), 1.0)]  # fmt: skip
    return found


def spectral() -> list[Sample]:
    found: list[Sample] = []
    for name in ("fft_fft", "fft_ifft"):
        found += [
            sample(name, F(3, 8), _compare="values"),
            sample(name, T((3, 8), "complex64"), 5, 0, "ortho", _compare="values"),
            sample(name, T((6,), "float64"), _compare="values"),
            sample(name, L(8), _compare="values"),
        ]
    found += [
        sample("fft_rfft", F(3, 8), _compare="values"),
        sample("fft_rfft", F(3, 7), 6, 1, "forward", _compare="values"),
        sample("fft_irfft", T((3, 5), "complex64"), _compare="values"),
        sample("fft_irfft", T((3, 5), "complex64"), 7, _compare="values"),
    ]
    for name in ("fft_rfftn", "fft_rfft2"):
        found += [
            sample(name, F(2, 3, 8), _compare="values"),
            sample(name, F(2, 3, 8), None, [-1, 0], "ortho", _compare="values"),
            sample(name, F(2, 3, 8), [4, -1], [1, 2], _compare="values"),
        ]
    for name in ("fft_irfftn", "fft_irfft2"):
        found += [
            sample(name, T((2, 3, 5), "complex64"), None, [1, 2], _compare="values"),
            sample(name, T((2, 3, 5), "complex64"), [4, 7], [0, 2], _compare="values"),
        ]
    for name in ("fft_fftn", "fft_ifftn", "fft_fft2", "fft_ifft2"):
        found += [
            sample(name, F(2, 3, 8), _compare="values"),
            sample(name, T((2, 3, 8), "complex64"), None, [-2, -1], _compare="values"),
            sample(name, F(2, 3, 8), [4, 4], [1, 2], _compare="values"),
        ]
    c = T((3, 4), "complex64")
    found += [
        sample("real", c), sample("imag", c), sample("real", F(3, 4)), sample("view_as_real", c), sample("view_as_complex", F(3, 2)), sample("view_as_real", T((3, 4), "complex128", "t")), sample("resolve_conj", F(3)), sample("resolve_neg", F(3)), sample("positive", F(3)),
        sample("cross", F(4, 3), F(4, 3)), sample("cross", F(3, 4), F(3, 4), 0), sample("linalg_cross", F(4, 3), F(1, 3)),
    ]  # fmt: skip
    return found


def frames() -> list[Sample]:
    found: list[Sample] = []
    window = T((16,), values="positive")
    for signal in (F(40), F(2, 41), T((2, 41), "float64")):
        found += [sample("stft", signal, 16, 4, 16, None, False, None, True), sample("stft", signal, 16, None, 12, None, True, False, True), sample("stft", signal, 15, 5, None, None, False, None, False)]  # fmt: skip
    found += [sample("stft", F(2, 40), 16, 4, None, window, False, None, True), sample("stft", T((40,), "complex64"), 16, 4), sample("stft", F(40), 16, 4, 12, T((12,), values="positive"), False, True, True)]  # fmt: skip
    for bins, fft in ((9, 16), (8, 15)):
        spectrum = T((2, bins, 7), "complex64")
        tail: dict[str, Any] = {"_compare": "values", "_tolerance": 1e-4}
        found += [sample("istft", spectrum, fft, 4, **tail), sample("istft", spectrum, fft, 4, fft, T((fft,), values="positive"), True, True, None, 25, **tail), sample("istft", spectrum, fft, 4, None, None, False, **tail)]  # fmt: skip
    found += [sample("istft", T((9, 7), "complex128"), 16, 4, _compare="values"), sample("istft", T((16, 7), "complex64"), 16, 4, None, None, True, False, False, None, True, _compare="values", _tolerance=1e-4), sample("istft", T((9, 7), "complex64"), 16, 4, None, None, True, False, None, 60, _compare="values", _tolerance=1e-4)]  # fmt: skip
    for name in ("fft_fftfreq", "fft_rfftfreq"):
        found += [sample(name, 5), sample(name, 8, 0.5), sample(name, 7, 2.0, dtype=float64)]
    return found


def composites() -> list[Sample]:
    found = [
        *[sample(f"atleast_{rank}d", F(*shape)) for rank in (1, 2, 3) for shape in ((), (3,), (2, 3), (2, 3, 4))], sample("dstack", [F(2, 3), F(2, 3)]), sample("fliplr", F(3, 4)), sample("flipud", F(3, 4)),
        sample("_unsafe_index.Tensor", F(3, 4), [L(2, low=0, high=3)]), sample("native_group_norm", F(2, 6, 4), F(6), F(6), 2, 6, 4, 3, 1e-5), sample("hann_window", 8), sample("hann_window.periodic", 7, False),
        sample("fft_fftshift", F(5, 4)), sample("fft_ifftshift", F(5, 4), [0]), sample("dist", F(3, 4), F(3, 4)), sample("dist", F(3, 4), F(4), 1), sample("bilinear", F(3, 4), F(3, 5), F(6, 4, 5), F(6)),
        sample("upsample_nearest3d", F(1, 2, 3, 4, 5), [5, 3, 7]), sample("upsample_nearest3d.vec", F(1, 2, 3, 4, 5), None, [2.0, 1.5, 2.0]), sample("upsample_trilinear3d", F(1, 2, 3, 4, 5), [5, 3, 7], False, _tolerance=TOLERANT),
        sample("upsample_trilinear3d.vec", F(1, 2, 3, 4, 5), [5, 6, 7], True, None, _tolerance=TOLERANT),
    ]  # fmt: skip
    for reduction in (0, 1, 2):
        found += [
            sample("triplet_margin_loss", F(3, 4), F(3, 4), F(3, 4), 1.0, 2.0, 1e-6, True, reduction),
            sample("triplet_margin_loss", L(3, 4), L(3, 4), L(3, 4), 1.0, 2.0, 1e-6, False, reduction),
            sample("triplet_margin_loss", L(4), L(4), T((4,), "float16"), 1.0, 2.0, 1e-6, True, reduction, _tolerance=1e-2), sample("hinge_embedding_loss", F(3, 4), L(3, 4, low=-1, high=2), 0.5, reduction),
            sample("cosine_embedding_loss", F(3, 4), F(3, 4), T((3,), "int64", "plain", "range", 1, 2), 0.1, reduction),
        ]  # fmt: skip
    return found


def grid_samples() -> list[Sample]:
    image, grid = F(2, 3, 4, 5), F(2, 3, 6, 2)
    found = [
        sample(name, image, grid, mode, padding, corners, _tolerance=TOLERANT)
        for name in ("grid_sampler", "grid_sampler_2d")
        for mode in (0, 1, 2)
        for padding in (0, 1, 2)
        for corners in (False, True)
    ]
    volume, places = F(2, 3, 4, 5, 3), F(2, 3, 2, 4, 3)
    for name in ("grid_sampler", "grid_sampler_3d"):
        found += [sample(name, volume, places, mode, mode, True, _tolerance=TOLERANT) for mode in (0, 1)]
    found += [sample("affine_grid_generator", F(2, 2, 3), [2, 3, 4, 5], corners) for corners in (False, True)]
    found += [
        sample("affine_grid_generator", F(2, 3, 4), [2, 3, 4, 5, 1], False),
        sample("max_unpool2d", F(2, 3, 2, 2), L(2, 3, 2, 2, low=5, high=6), [4, 5]),
        sample("max_unpool2d", F(2, 3, 1, 2, layout="last"), L(2, 3, 1, 2, low=5, high=6), [4, 5]),
        sample("_upsample_nearest_exact1d", F(2, 3, 5), [8]),
        sample("_upsample_nearest_exact1d.vec", F(2, 3, 5), None, [1.7]),
        sample("_upsample_nearest_exact2d", F(2, 3, 4, 5), [7, 3]),
        sample("_upsample_nearest_exact2d.vec", F(2, 3, 4, 5), None, [1.5, 2.3]),
        sample("_upsample_nearest_exact3d", F(1, 2, 3, 4, 5), [5, 3, 7]),
        sample("_upsample_nearest_exact3d.vec", F(1, 2, 3, 4, 5), [5, 3, 7], None),
    ]
    return found


def samples() -> list[Sample]:
    return [
        *grid_samples(),
        *convolutions(),
        *pools(),
        *resampling(),
        *recurrent(),
        *losses(),
        *spectral(),
        *frames(),
        *composites(),
    ]
