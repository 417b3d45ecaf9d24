"""Recurrent networks: whole sequences and single cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from fx_ir.meta import Size, TensorMeta
from fx_ir.ops.arrays import Array, as_array
from fx_ir.ops.attention import dropout as drop
from fx_ir.ops.matmul import check_same_dtype, linear
from fx_ir.ops.registry import register
from fx_ir.ops.shapes import differ
from fx_ir.ops.unary import sigmoid

State = tuple[Array, ...]
# (input's part of the gates, hidden's part of the gates, state) -> new state; the first item is the output
Step = Callable[[Array, Array, State], State]


# --- steps -----------------------------------------------------------------------------------------------------------


def _lstm_step(seen: Array, kept: Array, state: State) -> State:
    gates = seen + kept
    into, forget, cell, out = np.split(gates, 4, axis=-1)
    memory = sigmoid(forget) * state[1] + sigmoid(into) * np.tanh(cell)
    return as_array(sigmoid(out) * np.tanh(memory)), as_array(memory)


def _gru_step(seen: Array, kept: Array, state: State) -> State:
    reset_in, update_in, new_in = np.split(seen, 3, axis=-1)
    reset_kept, update_kept, new_kept = np.split(kept, 3, axis=-1)
    reset = sigmoid(as_array(reset_in + reset_kept))
    update = sigmoid(as_array(update_in + update_kept))
    new = np.tanh(new_in + reset * new_kept)
    return (as_array((state[0] - new) * update + new),)


def _tanh_step(seen: Array, kept: Array, state: State) -> State:
    return (as_array(np.tanh(seen + kept)),)


def _relu_step(seen: Array, kept: Array, state: State) -> State:
    return (as_array(np.maximum(seen + kept, 0)),)


STEPS: Final[dict[str, Step]] = {
    "lstm": _lstm_step, "gru": _gru_step, "rnn_tanh": _tanh_step, "rnn_relu": _relu_step,
}  # fmt: skip


# --- sequences -------------------------------------------------------------------------------------------------------


def _direction(
    steps: Sequence[Array],
    state: State,
    w_kept: Array,
    b_kept: Array | None,
    projection: Array | None,
    step: Step,
    backward: bool,
) -> tuple[list[Array], State]:
    """One layer in one direction: outputs step by step, and the last state.

    ``steps`` holds the input's part of the gates for the rows that run at each step: the first ones, whose states alone go on.
    """
    outputs: list[Any] = [None] * len(steps)
    for time in range(len(steps) - 1, -1, -1) if backward else range(len(steps)):
        rows = len(steps[time])
        new = step(
            steps[time], linear(state[0][:rows], w_kept, b_kept), tuple([part[:rows] for part in state])
        )
        if projection is not None:
            new = (linear(new[0], projection), *new[1:])
        outputs[time] = new[0]
        state = tuple(
            [
                np.concatenate([part, old[rows:]]) if rows < len(old) else part
                for part, old in zip(new, state, strict=True)
            ]
        )
    return outputs, state


def run(
    step: Step,
    input: Array,
    states: Sequence[Array],
    params: Sequence[Array],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    batch_sizes: Array | None = None,
) -> tuple[Array, list[Array]]:
    """All layers; the output and the last states of every layer and direction.

    ``input`` is (length, batch, features), or packed: (rows of all steps, features) with the ``batch_sizes`` of the steps.
    """
    if batch_first:
        input = input.swapaxes(0, 1)
    cuts = None if batch_sizes is None else np.cumsum(batch_sizes)[:-1]
    directions = 2 if bidirectional else 1
    per = len(params) // (num_layers * directions)
    last: list[list[Array]] = [[] for _ in states]
    for layer in range(num_layers):
        outputs = []
        for side in range(directions):
            place = layer * directions + side
            weights = params[place * per : (place + 1) * per]
            bias_in, bias_kept = (weights[2], weights[3]) if has_biases else (None, None)
            projection = weights[-1] if per == (5 if has_biases else 3) else None
            seen = linear(input, weights[0], bias_in)
            steps = list(seen) if cuts is None else np.split(seen, cuts)
            first = tuple([one[place] for one in states])
            parts, state = _direction(steps, first, weights[1], bias_kept, projection, step, side == 1)
            if cuts is not None:
                outputs.append(np.concatenate(parts))
            else:
                width = state[0].shape[-1]
                outputs.append(
                    np.stack(parts) if parts else np.zeros((0, input.shape[1], width), input.dtype)
                )
            for kept, value in zip(last, state, strict=True):
                kept.append(value)
        input = outputs[0] if directions == 1 else np.concatenate(outputs, axis=-1)
        if dropout and train and layer < num_layers - 1:
            input = drop(input, dropout, True)
    ends = [np.stack(kept) for kept in last]
    return (input.swapaxes(0, 1) if batch_first else input), ends


# --- fake rules ------------------------------------------------------------------------------------------------------


def checked_width(
    input: TensorMeta, states: Sequence[TensorMeta], params: Sequence[TensorMeta], bidirectional: bool
) -> Size:
    """The features of a network's output. RuntimeError where operands do not go together."""
    check_same_dtype(input, *states, *params)
    features = params[0].shape[1]
    if differ(input.shape[-1], features):
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {features}, got {input.shape[-1]}"
        )
    return states[0].shape[-1] * (2 if bidirectional else 1)


def _fake_run(
    input: TensorMeta,
    states: Sequence[TensorMeta],
    params: Sequence[TensorMeta],
    bidirectional: bool,
    batch_first: bool,
) -> TensorMeta:
    if input.ndim != 3:
        raise RuntimeError(f"RNN: Expected input to be 3D, got {input.ndim}D instead")
    width = checked_width(input, states, params, bidirectional)
    batch_dim = 0 if batch_first else 1
    if differ(input.shape[batch_dim], states[0].shape[1]):
        raise RuntimeError(
            f"Expected hidden size {list(states[0].shape)} to agree with the batch of input {list(input.shape)}"
        )
    shape = (*input.shape[:-1], width)
    if batch_first:
        strides = lambda: (width, shape[0] * width, 1)  # noqa: E731
        return TensorMeta(shape, input.dtype, input.device, strides)
    return TensorMeta(shape, input.dtype, input.device)


def plain(meta: TensorMeta) -> TensorMeta:
    """A new tensor of the same kind, contiguous."""
    return TensorMeta(meta.shape, meta.dtype, meta.device)


def _fake_lstm(
    input: TensorMeta, hx: Sequence[TensorMeta], params: Sequence[TensorMeta], *options: Any
) -> tuple[TensorMeta, ...]:
    return _fake_run(input, hx, params, *options[-2:]), plain(hx[0]), plain(hx[1])


def _lstm(
    input: Array, hx: Sequence[Array], params: Sequence[Array], *options: Any
) -> tuple[Array, Array, Array]:
    output, (hidden, memory) = run(_lstm_step, input, hx, params, *options)
    return output, hidden, memory


def _fake_simple(
    input: TensorMeta, hx: TensorMeta, params: Sequence[TensorMeta], *options: Any
) -> tuple[TensorMeta, ...]:
    return _fake_run(input, [hx], params, *options[-2:]), plain(hx)


def _simple(step: Step) -> Callable[..., tuple[Array, Array]]:
    def kernel(input: Array, hx: Array, params: Sequence[Array], *options: Any) -> tuple[Array, Array]:
        output, (hidden,) = run(step, input, [hx], params, *options)
        return output, hidden

    return kernel


# --- cells -----------------------------------------------------------------------------------------------------------


def _check_cell(input: TensorMeta, hidden: TensorMeta, w_ih: TensorMeta) -> None:
    check_same_dtype(input, hidden, w_ih)
    if differ(input.shape[-1], w_ih.shape[1]):
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[-1]} expected {w_ih.shape[1]}"
        )


def _fake_lstm_cell(
    input: TensorMeta, hx: Sequence[TensorMeta], w_ih: TensorMeta, *rest: Any
) -> tuple[TensorMeta, TensorMeta]:
    _check_cell(input, hx[0], w_ih)
    return plain(hx[0]), plain(hx[1])


def _lstm_cell(
    input: Array,
    hx: Sequence[Array],
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> State:
    return _lstm_step(linear(input, w_ih, b_ih), linear(hx[0], w_hh, b_hh), tuple(hx))


def _fake_cell(input: TensorMeta, hx: TensorMeta, w_ih: TensorMeta, *rest: Any) -> TensorMeta:
    _check_cell(input, hx, w_ih)
    return plain(hx)


def _cell(step: Step) -> Callable[..., Array]:
    def kernel(
        input: Array,
        hx: Array,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None = None,
        b_hh: Array | None = None,
    ) -> Array:
        return step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), (hx,))[0]

    return kernel


def _declare() -> None:
    options = (
        "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
    )
    weights = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"
    register(
        f"aten::lstm.input(Tensor input, Tensor[] hx, Tensor[] params, {options}) -> (Tensor, Tensor, Tensor)",
        fake=_fake_lstm,
        kernel=_lstm,
        random=True,
    )
    register(
        f"aten::lstm_cell(Tensor input, Tensor[] hx, {weights}) -> (Tensor, Tensor)",
        fake=_fake_lstm_cell,
        kernel=_lstm_cell,
    )
    for name in ("gru", "rnn_tanh", "rnn_relu"):
        step = STEPS[name]
        register(
            f"aten::{name}.input(Tensor input, Tensor hx, Tensor[] params, {options}) -> (Tensor, Tensor)",
            fake=_fake_simple,
            kernel=_simple(step),
            random=True,
        )
        register(
            f"aten::{name}_cell(Tensor input, Tensor hx, {weights}) -> Tensor",
            fake=_fake_cell,
            kernel=_cell(step),
        )


_declare()
