"""Sample calls of packed sequences and of losses over sequences."""

from __future__ import annotations

from typing import Any

from tests.fx_ir.ops.sampling import F, L, N, Sample, T, sample


def packed() -> list[Sample]:
    pack, pad = "_pack_padded_sequence", "_pad_packed_sequence"
    found = [
        sample(pack, F(6, 3, 5), N(6, 4, 2), False), sample(pack, F(3, 6, 5), N(5, 5, 1), True), sample(pack, L(4, 3), N(4, 4, 4), False),
        sample(pack, F(3, 6, 2, 2, layout="t"), N(3, 2, 2), True), sample(pack, F(1, 4), N(2), True),
        sample(pad, F(12, 5), N(3, 3, 2, 2, 1, 1), False, 0.0, 6), sample(pad, F(12, 5), N(3, 3, 2, 2, 1, 1), True, -1.5, 9),
        sample(pad, L(5, 2, 2), N(3, 2), True, 7, 2), sample(pad, F(4), N(2, 2), False, 0.0, 0),
    ]  # fmt: skip
    for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for layers, directions, biases in ((1, 1, True), (2, 2, True), (1, 2, False)):
            params: list[T] = []
            for layer in range(layers):
                width = 5 if layer == 0 else 4 * directions
                weights = [F(4 * gates, width), F(4 * gates, 4), *([F(4 * gates)] * 2 if biases else [])]
                params += weights * directions
            state = F(layers * directions, 3, 4)
            hidden: Any = [state, state] if name == "lstm" else state
            options = (biases, layers, 0.0, False, directions == 2)
            found.append(sample(f"{name}.data", F(12, 5), N(3, 3, 2, 2, 1, 1), hidden, params, *options))
    projected = [F(16, 5), F(16, 2), F(16), F(16), F(2, 4)]
    options = (True, 1, 0.0, False, False)
    found.append(sample("lstm.data", F(6, 5), N(3, 2, 1), [F(1, 3, 2), F(1, 3, 4)], projected, *options))
    return found


def losses() -> list[Sample]:
    found: list[Sample] = []
    ctc, margin = "ctc_loss.Tensor", "multilabel_margin_loss"
    scores, labels = T((7, 3, 5), values="normal"), L(3, 4, low=1, high=5)
    for reduction in (0, 1, 2):
        found += [
            sample(ctc, scores, labels, N(7, 6, 5), N(3, 2, 0), 0, reduction), sample(ctc, scores, L(6, low=0, high=4), N(7, 7, 4), N(3, 1, 2), 4, reduction),
            sample(ctc, scores, L(3, 4, low=2, high=3), N(7, 4, 3), N(4, 3, 2), 0, reduction, True), sample(ctc, scores, L(3, 4, low=2, high=3), N(7, 4, 3), N(4, 3, 2), 0, reduction, False),
            sample(ctc, T((7, 5), "float64"), L(3, low=1, high=5), N(7), N(3), 0, reduction),
            sample("ctc_loss.IntList", scores, labels, [7, 6, 5], [3, 2, 1], 0, reduction),
            sample(margin, F(3, 5), L(3, 5, low=-1, high=5), reduction), sample(margin, F(5), L(5, low=0, high=5), reduction), sample(margin, F(2, 4), L(2, 4, low=-1, high=0), reduction),
        ]  # fmt: skip
    return found


def samples() -> list[Sample]:
    return [*packed(), *losses()]
